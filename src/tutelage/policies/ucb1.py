"""UCB1 (Auer, Cesa-Bianchi and Fischer 2002; Shi et al., section VI-A)."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tutelage.binomial import binomial
from tutelage.draws import hold, index, random, release
from tutelage.policies.base import (
    Lead,
    Learner,
    PolicyBase,
    Prospect,
    Stretch,
    first_pulls,
    note_pulls,
    rounds_to_checkpoint,
)

# Slots of the state: an arm in the lead (counted from 1; 0 for none), the last round for which that is
# known, 2 log of the round in which it was found, what no other arm exceeds until then, and the winner of
# the latest ranking; the latest pull whose lead was bounded, and the lead.
_LEADER, _LAST_ROUND, _LOG, _OTHERS, _WINNER = 0, 1, 2, 3, 4
_BOUNDED_FOR, _ARM, _PULLS, _LEAST, _SLOPE = 5, 6, 7, 8, 9
_WINDOW = 64
_LONGEST_WINDOW = 1 << 20  # rounds of a bounded lead
_LEAST_LEAD = 128  # rounds for which a leap of the leading arm pays
_DEVIATIONS = 3.0  # standard deviations by which the zeros of a part seldom exceed their expected number
_ALWAYS = 2.0**52  # pulls
_MARGIN = 1e-9  # far above the rounding of an index, far below a lead worth keeping


def ucb_index(mean: float, log: float, count: float) -> float:
    """The index mean + sqrt(2 log t / n), with ``log`` = 2 log t."""
    return mean + math.sqrt(log / count)


def choose(round: int, learner: Learner, parameters: NDArray[np.float64], stream: Any) -> int:
    """The arm with the largest index, uniformly at random among exactly equal ones.

    An arm that wins twice in a row may keep the lead for up to 64 rounds without a new ranking.  The others
    are not pulled meanwhile, so none of their indices exceeds what it would be in the last of these rounds;
    the leader's own is at least what its present mean and count give with the logarithm of the first of
    them. While the latter exceeds the former by more than rounding could, the leader is the only best arm:
    the same arm as a ranking would give, and like it without drawing a random number.
    """
    counts, means, state = learner.counts, learner.means, learner.state
    leader = int(state[_LEADER]) - 1
    if (
        leader >= 0
        and round <= state[_LAST_ROUND]
        and ucb_index(means[leader], state[_LOG], counts[leader]) > state[_OTHERS]
    ):
        return leader
    state[_LEADER] = 0.0
    arm = first_pulls(counts, stream)
    if arm >= 0:
        return arm
    log = 2.0 * math.log(round)
    best, ties, highest = 0, 0, -math.inf
    value, count, mean = 0.0, 0, 0.0
    for arm in range(counts.size):
        if counts[arm] != count or means[arm] != mean:  # else the same index
            count, mean = counts[arm], means[arm]
            value = ucb_index(mean, log, count)
            if value > highest:
                best, ties, highest = arm, 0, value
        if value == highest:
            ties += 1
    if ties > 1:
        best = _among_equal(learner, log, highest, index(stream, ties))
    elif state[_WINNER] == best + 1.0:
        _keep_lead(round, learner, log, best)
    state[_WINNER] = best + 1.0
    return best


def _among_equal(learner: Learner, log: float, highest: float, skipped: int) -> int:
    """The arm with this index that comes after ``skipped`` others with it."""
    value, count, mean = 0.0, 0, 0.0
    for arm in range(learner.counts.size):
        if learner.counts[arm] != count or learner.means[arm] != mean:
            count, mean = learner.counts[arm], learner.means[arm]
            value = ucb_index(mean, log, count)
        if value == highest:
            if skipped == 0:
                return arm
            skipped -= 1
    return -1


def _keep_lead(round: int, learner: Learner, log: float, leader: int) -> None:
    """Note how far the others can come within the window."""
    state = learner.state
    last_log = 2.0 * math.log(round + _WINDOW)
    others = -math.inf
    for arm in range(learner.counts.size):
        if arm != leader:
            others = max(others, ucb_index(learner.means[arm], last_log, learner.counts[arm]))
    state[_LEADER], state[_LAST_ROUND] = leader + 1.0, round + _WINDOW
    state[_LOG], state[_OTHERS] = log, others + _MARGIN


def bound_lead(round: int, learner: Learner, parameters: NDArray[np.float64]) -> Lead:
    """The arm with the largest index, and for how long it has; computed once for a pull.

    What :func:`choose` knows of a lead is forgotten, since pulls may follow of which it is not asked.
    """
    state = learner.state
    if state[_BOUNDED_FOR] != round:
        lead = _bound_lead(round, learner)
        state[_LEADER] = state[_WINNER] = 0.0
        state[_BOUNDED_FOR], state[_ARM], state[_PULLS] = round, lead.arm, lead.pulls
        state[_LEAST], state[_SLOPE] = lead.least, lead.slope
    return Lead(int(state[_ARM]), int(state[_PULLS]), state[_LEAST], state[_SLOPE], _LEAST_LEAD)


def _bound_lead(round: int, learner: Learner) -> Lead:
    """The arm with the largest index, and for how long it has.

    Proof.  No other arm is pulled meanwhile.  sqrt(2 log t) is concave, so j rounds later the index of another arm
    with n pulls has grown by at most j / (t sqrt(2 n log t)); and no index exceeds b + j g, with b the largest of the
    others and g the largest of these slopes.  Let n and m be the leading arm's pulls and mean.  After j more pulls
    that revealed S, its index is at least (n m + S) / (n + j) + sqrt(2 log t / (n + j)), which exceeds b + j g if

        S > f(j) = (n + j) (b + j g) - sqrt(2 log t (n + j)) - n m.

    f is convex, so from 0 to any w it lies below the straight line through f(0) and f(w).  As w, the rounds are taken
    in which the lead would be lost if the mean stayed m.  Rounding is far below the margin added to b.
    """
    counts, means = learner.counts, learner.means
    log, best, highest, others, fewest = 2.0 * math.log(round), 0, -math.inf, -math.inf, math.inf
    value, count, mean = 0.0, -1.0, 0.0
    for arm in range(counts.size):
        if counts[arm] == count and means[arm] == mean:  # the same index
            others = max(others, value)
            continue
        count, mean = float(counts[arm]), means[arm]
        if count == 0.0:
            return Lead(0, 0, 0.0, 0.0, _LEAST_LEAD)
        value = ucb_index(mean, log, count)
        if value > highest:
            best, highest, others = arm, value, highest
        else:
            others = max(others, value)
        fewest = min(fewest, count)
    lead = highest - others - _MARGIN
    if not lead > 0.0:
        return Lead(best, 0, 0.0, 0.0, _LEAST_LEAD)
    count, mean, root = float(counts[best]), means[best], math.sqrt(log)
    growth = 1.0 / (round * root * math.sqrt(fewest))
    window = min(float(_LONGEST_WINDOW), 1.0 + lead / (growth + root / (2.0 * count * math.sqrt(count))))
    last, others = count + window, others + _MARGIN
    least = count * (others - mean) - root * math.sqrt(count)
    gained = last * (others + window * growth) - root * math.sqrt(last) - count * mean - least
    return Lead(best, int(window), least, gained / window, _LEAST_LEAD)


def leap(
    round: int, learner: Learner, prospect: Prospect, stretch: Stretch, parameters: NDArray[np.float64], stream: Any
) -> int:
    """Play as many rounds as the arm with the largest index, or the settled arms tied with it, certainly lead.

    See :func:`_lead` and :func:`_fill`, each with its proof.
    """
    for arm in range(learner.counts.size):
        if learner.counts[arm] == 0:
            return 0
    lead = bound_lead(round, learner, parameters)
    rounds = _fill(round, lead.arm, learner, prospect, stretch)
    if rounds == 0 and not prospect.is_settled[lead.arm]:
        rounds = _lead(lead, prospect, stretch, stream)
    return rounds


def _lead(lead: Lead, prospect: Prospect, stretch: Stretch, stream: Any) -> int:
    """Pull the leader as long as the line of :func:`bound_lead` shows that its index exceeds all others.

    Proof.  After i pulls that revealed S, the *spare* reward is S - f - i s; the pull j < ``lead.pulls``, counted from
    0, is the leader's if the spare reward is above 0 for each i from 0 to j.  Parts are played: of n pulls, as many as
    the past suggests, the ones among independent trials are Binomial.  Given their number, their order is uniform.
    The spare reward is smallest before the part, where it is above 0, or after all its zeros if these come first, or,
    if s > 1, after all pulls.  If it is above 0 even so, all n pulls are the leader's.  Else the order is drawn, up to
    the first pull after which the spare reward is not above 0 (:func:`_find_loss`); if there is none, the next part
    follows, else the stretch ends with that pull.  Which pull that is depends on the rewards up to it only, so what
    was drawn about later ones may be forgotten.  A checkpoint makes n smaller.
    """
    leader, pulls, revealed = lead.arm, 0, 0.0
    is_constant, mean = prospect.is_constant[leader], prospect.means[leader]
    longest = min(prospect.rounds + prospect.later, int(prospect.room[leader]), lead.pulls)
    if longest < _LEAST_LEAD:
        return 0
    while pulls < longest:
        spare = revealed - lead.least - pulls * lead.slope
        more = min(longest - pulls, _count_safe_pulls(spare, lead.slope, mean, is_constant))
        if more < min(longest - pulls, _LEAST_LEAD):  # so few are as fast after a new `bound_lead`
            break
        if prospect.notes_ones:
            more = min(more, rounds_to_checkpoint(prospect, stretch) - pulls)
        if is_constant:
            revealed += more * mean
        else:
            ones = binomial(stream, more, mean)
            if not spare - (more - ones) * lead.slope + min(0.0, ones * (1.0 - lead.slope)) > 0.0:
                more, ones = _find_loss(stream, more, ones, spare, lead.slope)
            stretch.ones[leader] += ones
            revealed += ones
        note_pulls(leader, pulls, more, prospect, stretch)
        pulls += more
    return pulls


def _count_safe_pulls(spare: float, slope: float, mean: float, is_constant: bool) -> int:
    """Return for how many pulls the spare reward stays above 0 if they reveal a constant, and seldom does not else.

    Of n random rewards at most n (1 - m) + w sqrt(n m (1 - m)) are zeros, but with a small probability; with a slope
    up to 1 they are safe if these zeros times the slope are less than the spare reward.  Any number is right.
    """
    lowest, zero = mean if is_constant else 0.0, 1.0 - mean
    if not spare > 0.0:
        return 0
    if slope <= lowest:
        return int(_ALWAYS)
    if is_constant:
        return int(min(_ALWAYS, spare / (slope - mean)))
    width = _DEVIATIONS * math.sqrt(mean * zero)
    root = (math.sqrt(width * width + 4.0 * zero * spare / slope) - width) / (2.0 * zero)
    return int(min(_ALWAYS, root * root))


def _find_loss(stream: Any, pulls: int, ones: int, spare: float, slope: float) -> tuple[int, int]:
    """Draw in which order rewards are revealed, of which ``ones`` of ``pulls`` are 1, up to the loss of the lead.

    Return after how many pulls, with how many ones, no spare reward is left; after all of them if some always is.
    """
    played, found, held = 0, 0, hold(stream)
    while played < pulls and spare + found - played * slope > 0.0:
        if random(held) * (pulls - played) < ones - found:
            found += 1
        played += 1
    release(stream, held)
    return played, found


def _fill(round: int, best: int, learner: Learner, prospect: Prospect, stretch: Stretch) -> int:
    """Bring all settled arms with the best one's mean to the same number of pulls, over whole turns.

    Proof.  Among arms with one mean g that does not change, the index is the larger the fewer the pulls.  So while
    none of the others leads, each pull is of one with the fewest pulls; a tie decides which comes first, not how
    many pulls each has once all are raised to N.  Before each of these pulls one arm has at most N - 1, so the
    largest index among them is at least g + sqrt(2 log t / (N - 1)).  Another arm with mean m and n pulls stays
    below it if sqrt(2 log t) (1 / sqrt(n) - 1 / sqrt(N - 1)) < g - m, less what rounding could change; this is
    linear in sqrt(log t), so it holds in all rounds of the stretch if in the first and in the last.  And if it holds
    for N, then for all smaller N.  (Two indices of unequal counts differ as floating-point numbers up to 10^9 pulls.)
    """
    counts, means = learner.counts, learner.means
    if not prospect.is_settled[best] or not _can_fill(1, round, best, learner, prospect):
        return 0
    turns, too_many = 1, 2
    while _can_fill(too_many, round, best, learner, prospect):
        turns, too_many = too_many, 2 * too_many
    while too_many - turns > 1 + (turns >> 3):
        middle = (turns + too_many) >> 1
        if _can_fill(middle, round, best, learner, prospect):
            turns = middle
        else:
            too_many = middle
    rounds = 0
    for arm in range(counts.size):
        if prospect.is_settled[arm] and means[arm] == means[best]:
            stretch.pulls[arm] = max(0, counts[best] + turns - counts[arm])
            rounds += stretch.pulls[arm]
    return rounds


def _can_fill(turns: int, round: int, best: int, learner: Learner, prospect: Prospect) -> bool:
    """Whether the stretch of :func:`_fill` to N = the best arm's pulls + ``turns`` has room and no other arm in it."""
    counts, means, settled = learner.counts, learner.means, prospect.is_settled
    level, rounds, arms, room = counts[best] + turns, 0, 0, True
    for arm in range(counts.size):
        if settled[arm] and means[arm] == means[best]:
            pulls = max(0, level - counts[arm])
            rounds, arms = rounds + pulls, arms + (pulls > 0)
            room = room and pulls < prospect.room[arm]
    if not room or rounds > prospect.rounds or (prospect.one_arm and arms > 1):
        return False
    for arm in range(counts.size):
        if not (settled[arm] and means[arm] == means[best]):
            growth = 1.0 / math.sqrt(counts[arm]) - 1.0 / math.sqrt(level - 1)
            worst = round if growth < 0.0 else round + rounds - 1
            if math.sqrt(2.0 * math.log(worst)) * growth >= means[best] - means[arm] - _MARGIN:
                return False
    return True


@dataclass(frozen=True)
class UCB1(PolicyBase):
    """UCB1: the largest mean + sqrt(2 log t / n)."""

    choose = staticmethod(choose)
    leap = staticmethod(leap)
    bound_lead = staticmethod(bound_lead)

    def state_size(self, num_arms: int) -> int:
        return 10
