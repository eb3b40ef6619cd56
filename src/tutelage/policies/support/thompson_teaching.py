"""The leap of Thompson sampling while it is taught: one arm shows its rewards, the others show nothing but zeros.

The target's draw is X ~ Beta(a, b), a - 1 its successes and b - 1 its failures.  Every other arm k has
shown zeros only, so its draw is theta_k ~ Beta(1, a_k), a_k = 1 + its failures.  Shapes: K arms.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tutelage.binomial import binomial, stirling_error
from tutelage.draws import exponential, gamma, random
from tutelage.policies.base import Prospect, Stretch, note_pulls, note_reached, rounds_to_checkpoint

_MOST_CANDIDATES = 0.25  # share of rounds beyond which comparing all draws in every round is faster
_SHORTEST = 4  # rounds worth the computation of a bound
_MOST_FACTORS, _FACTORS = 48, 16  # of a product, and of a part of it, which no numbers below 10^19 let overflow
_GUARD = 1.0 + 1e-9  # above the relative rounding error of a probability, so that bounds are bounds


def chance_above(a: float, b: float, other: float) -> float:
    """P(theta > X), theta ~ Beta(1, other) and X ~ Beta(a, b): E (1 - X)^other = B(a, b + other) / B(a, b).

    As Gamma(x + 1) = x Gamma(x), this is the product of (b + i) / (a + b + i) for i = 0 .. other - 1 if ``other`` is a
    whole number, and that of (b + i) / (b + other + i) for i = 0 .. a - 1 if ``a`` is.  Few factors take less time than
    logarithms.
    """
    few, many = min(a, other), max(a, other)
    if few > _MOST_FACTORS or few != math.floor(few):
        few, many = many, few
    if few > _MOST_FACTORS or few != math.floor(few):
        return math.exp(log_chance_above(a, b, other))
    chance, left, above, below = 1.0, int(few), b, b + many
    while left > 0:
        factors = min(left, _FACTORS)
        product, divisor = above, below
        for _ in range(factors - 1):
            above, below = above + 1.0, below + 1.0
            product, divisor = product * above, divisor * below
        chance *= product / divisor
        above, below, left = above + 1.0, below + 1.0, left - factors
    return chance


def log_chance_above(a: float, b: float, other: float) -> float:
    """log P(theta > X), theta ~ Beta(1, other) and X ~ Beta(a, b), for numbers of any size.

    Of the four log-gamma functions, by Stirling's formula, only differences of close numbers are taken.
    """
    total = a + b
    errors = stirling_error(b + other) - stirling_error(b) - stirling_error(total + other) + stirling_error(total)
    rise = (b - 0.5) * math.log1p(other / b) - (total - 0.5) * math.log1p(other / total)
    return rise + other * math.log1p(-a / (total + other)) + errors


def pull_taught(
    stream: Any,
    target: int,
    successes: NDArray[np.float64],
    failures: NDArray[np.float64],
    prospect: Prospect,
    stretch: Stretch,
    bounds: NDArray[np.float64],
) -> int:
    """Play a stretch in which only the target may succeed, with probability ``prospect.means[target]``.

    Returns its rounds.  ``successes`` [K], 0 for all arms but the target, and ``failures`` [K] are updated.
    ``bounds`` [K] is room for numbers.

    Exact for one round: with p_k = P(theta_k > X) and sum p_k <= 1, propose arm k with probability p_k and accept it
    with the probability, given theta_k > X, that theta_k exceeds the other theta_j, too; pull the target where no
    arm is accepted.  So arm k is pulled with probability P(theta_k is the largest).  In -log(1 - theta), which
    is exponential with rate a_k for theta_k: given theta_k > X, X is Beta(a, b + a_k), and -log(1 - theta_k) is
    -log(1 - X) + E / a_k, as exponentials have no memory (:func:`_exceeds_others`).

    Exact for a stretch (Lewis and Shedler 1979, thinning): p_k falls with a and grows with b.  So as long as the
    target has had at most z zeros since (a, b), p_k <= q_k = p_k(a, b + z), whatever the order of its rewards.
    With probability q = sum q_k a round is a *candidate*; the gap to the next candidate is geometric, and all
    pulls in it are the target's, with a binomial number of zeros that does not depend on the gap's length.  In a
    candidate round arm k is drawn with probability q_k / q and proposed with probability p_k / q_k.  Where a gap
    has more than the z zeros, it is cut right after zero z + 1, whose place among the pulls is uniform given their
    number (:func:`find_zero`): the bounds were valid up to there, and no candidate comes before.  Where ones are
    noted at checkpoints, a gap is cut there, too: what is left of a geometric gap is distributed like a new one.
    """
    rounds, done, has_ended = prospect.rounds + prospect.later, 0, False
    length = rounds
    while done < rounds and not has_ended:
        longest = min(rounds - done, 2 * length)  # if the latest part was short, so is this one
        length, zeros, total = _plan(longest, target, successes, failures, prospect, bounds)
        if total > _MOST_CANDIDATES:
            done = _step(stream, target, successes, failures, prospect, stretch, done, done + length)
        else:
            done = _thin(
                stream, target, successes, failures, prospect, stretch, bounds, total, zeros, done, done + length
            )
            note_reached(prospect, stretch, done)
        for arm in range(failures.size):
            has_ended = has_ended or stretch.pulls[arm] == prospect.room[arm]
    return done


def _plan(
    rounds: int,
    target: int,
    successes: NDArray[np.float64],
    failures: NDArray[np.float64],
    prospect: Prospect,
    bounds: NDArray[np.float64],
) -> tuple[int, int, float]:
    """Return how many rounds, up to ``rounds``, and zeros of the target come next at most, and the sum of the q_k.

    The q_k are written in ``bounds``.
    Any numbers are exact; these are fast: the pulls seldom have more zeros, and either fewer than one candidate is
    expected, or the zeros multiply no p_k by more than about exp(0.7).
    """
    a, b, most = 1.0 + successes[target], 1.0 + failures[target], 1.0
    for arm in range(failures.size):
        if arm != target:
            most = max(most, 1.0 + failures[arm])
    few = 0.7 * b * (a + b) / (a * most)
    length = min(int(a + b), rounds)
    while length >= _SHORTEST:
        expected = length * (1.0 - prospect.means[target])
        zeros = int(expected + 4.0 * math.sqrt(expected))
        most_total = 1.0 / length if zeros > few else _MOST_CANDIDATES
        total = _bound(1.0 / length, most_total, target, a, b + zeros, failures, bounds)
        if total * length <= 1.0 or (total <= _MOST_CANDIDATES and zeros <= few):
            return length, zeros, total
        length //= 2
    return min(max(_SHORTEST, int((a + b) / 16.0)), rounds), 0, 1.0


def _bound(
    enough: float,
    most: float,
    target: int,
    a: float,
    b: float,
    failures: NDArray[np.float64],
    bounds: NDArray[np.float64],
) -> float:
    """Write a bound of P(theta_k > X), X ~ Beta(a, b), in ``bounds`` [K], 0 for the target; return their sum.

    As theta_k ~ Beta(1, a_k), all are at most that of the smallest a_k, which is the bound of each if the sum is at
    most ``enough``, and which is returned if it alone is above ``most`` and the bounds are not needed: one probability
    is computed instead of K - 1.  Those of the others are found from it: E (1 - X)^(m + n) is E (1 - X)^m with b,
    multiplied by E (1 - X)^n with b + m.
    """
    least = math.inf
    for arm in range(failures.size):
        if arm != target:
            least = min(least, 1.0 + failures[arm])
    highest = chance_above(a, b, least) * _GUARD
    if highest > most:
        return highest
    is_enough, total = highest * (failures.size - 1) <= enough, 0.0
    for arm in range(failures.size):
        bounds[arm] = 0.0
        if arm != target:
            bounds[arm] = highest
            if not is_enough and failures[arm] + 1.0 > least:
                bounds[arm] = highest * chance_above(a, b + least, 1.0 + failures[arm] - least)
        total += bounds[arm]
    return total


def _step(
    stream: Any,
    target: int,
    successes: NDArray[np.float64],
    failures: NDArray[np.float64],
    prospect: Prospect,
    stretch: Stretch,
    done: int,
    end: int,
) -> int:
    """Play rounds by comparing all draws, from round ``done`` to ``end`` or the stretch's end; return the last one."""
    while done < end:
        arm = _compare(stream, target, successes, failures)
        _pull(stream, arm, arm == target, successes, failures, prospect, stretch)
        done += 1
        note_reached(prospect, stretch, done)
        if stretch.pulls[arm] == prospect.room[arm]:
            break
    return done


def _pull(
    stream: Any,
    arm: int,
    is_target: bool,
    successes: NDArray[np.float64],
    failures: NDArray[np.float64],
    prospect: Prospect,
    stretch: Stretch,
) -> None:
    """Pull an arm once."""
    stretch.pulls[arm] += 1
    if is_target and random(stream) < prospect.means[arm]:
        successes[arm] += 1.0
        stretch.ones[arm] += 1
    else:
        failures[arm] += 1.0


def _compare(stream: Any, target: int, successes: NDArray[np.float64], failures: NDArray[np.float64]) -> int:
    """Return the arm with the largest draw, in -log(1 - theta)."""
    x, y = gamma(stream, 1.0 + successes[target]), gamma(stream, 1.0 + failures[target])
    best, highest = target, math.log1p(x / y)  # X = x / (x + y)
    for arm in range(failures.size):
        if arm != target:
            value = exponential(stream) / (1.0 + failures[arm])
            if value > highest:
                best, highest = arm, value
    return best


def _thin(
    stream: Any,
    target: int,
    successes: NDArray[np.float64],
    failures: NDArray[np.float64],
    prospect: Prospect,
    stretch: Stretch,
    bounds: NDArray[np.float64],
    total: float,
    zeros: int,
    done: int,
    end: int,
) -> int:
    """Play from round ``done`` to ``end``, or until the target has more than ``zeros`` zeros or the stretch ends.

    Returns the last round.

    ``bounds`` [K] are the q_k, 0 for the target, and ``total`` is their sum.
    """
    first, most = 1.0 + successes[target], 1.0 + failures[target] + zeros
    rate = -math.log1p(-total)  # 0 where all bounds are too small for a number: no candidate ever comes
    while done < end:
        note_reached(prospect, stretch, done)
        gap = exponential(stream) / rate if rate > 0.0 else math.inf
        last = min(end, rounds_to_checkpoint(prospect, stretch)) if prospect.notes_ones else end
        free = min(last - done, prospect.room[target] - stretch.pulls[target])
        pulls = int(min(gap, float(free)))
        found = binomial(stream, pulls, 1.0 - prospect.means[target])
        if 1.0 + failures[target] + found > most:
            allowed = int(most - failures[target])  # this zero ends the part
            pulls, found = find_zero(stream, pulls, found, allowed), allowed
        successes[target] += pulls - found
        failures[target] += found
        stretch.ones[target] += pulls - found
        note_pulls(target, done, pulls, prospect, stretch)
        done += pulls
        if stretch.pulls[target] == prospect.room[target] or 1.0 + failures[target] > most:
            break
        if gap >= free:
            continue
        done += 1
        arm = draw_candidate(stream, bounds, total)
        a, b, other = 1.0 + successes[target], 1.0 + failures[target], 1.0 + failures[arm]
        is_pulled = random(stream) * bounds[arm] < chance_above(a, b, other)
        if is_pulled and _exceeds_others(stream, target, arm, a, b, failures):
            bounds[arm] *= (most + other) / (first + most + other)  # q_k with a_k one larger
            total = 0.0
            for each in range(bounds.size):
                total += bounds[each]
            rate = -math.log1p(-total)
        else:
            arm = target
        _pull(stream, arm, arm == target, successes, failures, prospect, stretch)
        if stretch.pulls[arm] == prospect.room[arm] or 1.0 + failures[target] > most:
            break
    return done


def find_zero(stream: Any, pulls: int, zeros: int, number: int) -> int:
    """Return in which of ``pulls`` pulls, of which ``zeros`` showed 0 in random order, zero ``number`` came."""
    left = number
    for pull in range(1, pulls + 1):
        if random(stream) * (pulls - pull + 1) < zeros:
            zeros -= 1
            left -= 1
            if left == 0:
                return pull
    return pulls


def draw_candidate(stream: Any, bounds: NDArray[np.float64], total: float) -> int:
    """Draw an arm with probabilities proportional to ``bounds`` [K]."""
    left, last = random(stream) * total, 0
    for arm in range(bounds.size):
        if bounds[arm] > 0.0:
            last = arm
            left -= bounds[arm]
            if left < 0.0:
                break
    return last


def _exceeds_others(stream: Any, target: int, arm: int, a: float, b: float, failures: NDArray[np.float64]) -> bool:
    """Draw whether theta of ``arm`` is the largest, given that it exceeds the target's X ~ Beta(a, b)."""
    own = 1.0 + failures[arm]
    x, y = gamma(stream, a), gamma(stream, b + own)
    value = math.log1p(x / y) + exponential(stream) / own
    for other in range(failures.size):
        if other not in (arm, target) and exponential(stream) > value * (1.0 + failures[other]):
            return False
    return True
