"""epsilon-greedy, epsilon falling (Auer, Cesa-Bianchi and Fischer 2002; Shi et al., section VI-B)."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tutelage.binomial import binomial
from tutelage.draws import index, random
from tutelage.policies.base import (
    Learner,
    PolicyBase,
    Prospect,
    Stretch,
    argmax,
    first_pulls,
    note_checkpoint,
    rounds_to_checkpoint,
)
from tutelage.registry import parameter

_MUST_EXPLORE = 0  # slot of the state: 1 if the coming pull explores
_LEAST = 8  # rounds worth a leap
_MARGIN = 1e-12  # far above the rounding of a mean


def choose(round: int, learner: Learner, parameters: NDArray[np.float64], stream: Any) -> int:
    """With probability epsilon_t = min(1, c K / (d^2 t)) any of the K arms, else the best mean."""
    arm = first_pulls(learner.counts, stream)
    if arm >= 0:
        return arm
    num_arms = learner.counts.size
    c, d = parameters[0], parameters[1]
    if learner.state[_MUST_EXPLORE] == 1.0:
        learner.state[_MUST_EXPLORE] = 0.0
        return index(stream, num_arms)
    if random(stream) < min(1.0, c * num_arms / (d * d * round)):
        return index(stream, num_arms)
    return argmax(learner.means, stream)


def leap(
    round: int, learner: Learner, prospect: Prospect, stretch: Stretch, parameters: NDArray[np.float64], stream: Any
) -> int:
    """Pull the best arms, and explored ones, as long as the best arms certainly stay the same; or up to a new reward.

    Proof.  Whether a round explores, and which arm, is independent of everything before it.  Let ``longest`` be a
    number of rounds in which the best arms are the same in each, whatever is revealed for them, if no other arm's mean
    changes (below).  So up to the round ``longest``, or the first one in which an exploration may change another arm's
    mean or fills its room, each round that does not explore pulls one of these best arms.  Whether the stretch ends
    depends on the explorations only, not on greedy pulls or rewards, so these can be drawn afterwards.

    One best arm: it gets all greedy pulls, and the ones among its n independent trials are Binomial.  Several: each
    greedy pull is of any of them with equal probability, independently of the others: pulls are multinomial.

    Up to a checkpoint that the stretch passes, greedy pulls, and ones where they are noted, are drawn as for a stretch
    that ends there.  What follows is independent of them: it has the same best arms whatever was revealed.

    Where all pulls must be of one arm, the stretch ends before the first round that explores, which the state tells
    :func:`choose`.  Of rounds after the stretch nothing is known but that they are independent of the past; they are
    drawn when their turn comes.

    Several best arms stay tied while all are settled, since their means do not change, nor do those of others.  One
    best arm with n pulls and mean m stays the best at least until its mean could have sunk to the second best mean M.
    With g the least reward that it can get, it is at least (n m + i g) / (n + i) after i more pulls; this exceeds
    M for all i < n (m - M) / (M - g), or for all i if g > M.
    """
    counts, means = learner.counts, learner.means
    best, ties, longest = _find_longest(learner, prospect)
    weight = parameters[0] * counts.size / (parameters[1] * parameters[1])
    if longest < _LEAST or round < _LEAST * weight:
        return 0
    played, left, last = 0, 0, 0  # left: greedy pulls, not yet shared among the best arms
    while True:
        greedy = _count_greedy_rounds(round + played, longest - played, weight, stream)
        checkpoint = rounds_to_checkpoint(prospect, stretch)
        while checkpoint <= played + greedy:
            before = checkpoint - played
            _share_pulls(best, ties, left + before, means, stretch, stream)
            if prospect.notes_ones:
                last = _draw_ones(best, last, prospect, stretch, stream)
            played, greedy, left = checkpoint, greedy - before, 0
            note_checkpoint(stretch)
            checkpoint = rounds_to_checkpoint(prospect, stretch)
        played, left = played + greedy, left + greedy
        if played == longest:
            break
        if prospect.one_arm:
            learner.state[_MUST_EXPLORE] = 1.0
            break
        arm, played = index(stream, counts.size), played + 1
        stretch.pulls[arm] += 1
        if means[arm] == means[best]:
            continue
        if not prospect.is_constant[arm] and random(stream) < prospect.means[arm]:
            stretch.ones[arm] += 1
        if not prospect.is_settled[arm] or stretch.pulls[arm] == prospect.room[arm]:
            break
    _share_pulls(best, ties, left, means, stretch, stream)
    _draw_ones(best, last, prospect, stretch, stream)
    return played


def _share_pulls(best: int, ties: int, left: int, means: NDArray[np.float64], stretch: Stretch, stream: Any) -> None:
    """Share ``left`` greedy pulls among the best arms."""
    for arm in range(best, means.size):
        if means[arm] == means[best]:
            share = left if ties == 1 else binomial(stream, left, 1.0 / ties)
            stretch.pulls[arm] += share
            left -= share
            ties -= 1


def _draw_ones(best: int, last: int, prospect: Prospect, stretch: Stretch, stream: Any) -> int:
    """Draw the ones of the best arm's pulls in the stretch but for the ``last`` first ones; return all its pulls."""
    if not prospect.is_constant[best]:
        stretch.ones[best] += binomial(stream, stretch.pulls[best] - last, prospect.means[best])
    return int(stretch.pulls[best])


def _find_longest(learner: Learner, prospect: Prospect) -> tuple[int, int, int]:
    """The first best arm, the number of best arms, and the rounds in which they certainly are the best; else 0."""
    counts, means = learner.counts, learner.means
    rounds = prospect.rounds + prospect.later
    best, ties, second, is_known, settled, room = 0, 0, -1.0, True, True, rounds
    for arm in range(counts.size):
        is_known = is_known and counts[arm] > 0
        if ties == 0 or means[arm] > means[best]:
            second = means[best] if ties > 0 else -1.0
            best, ties, settled, room = arm, 0, True, rounds
        if means[arm] == means[best]:
            ties, settled = ties + 1, settled and prospect.is_settled[arm]
            room = min(room, prospect.room[arm])
        else:
            second = max(second, means[arm])
    if not is_known or learner.state[_MUST_EXPLORE] == 1.0 or (ties > 1 and (prospect.one_arm or not settled)):
        room = 0
    elif not settled:
        second += _MARGIN
        lowest = prospect.means[best] if prospect.is_constant[best] else 0.0
        if means[best] <= second:
            room = 0
        elif lowest <= second:
            room = int(min(float(room), counts[best] * (means[best] - second) / (second - lowest)))
    return best, ties, room


def _count_greedy_rounds(round: int, longest: int, weight: float, stream: Any) -> int:
    """Draw how many of the ``longest`` rounds from ``round`` on come before the first that explores.

    Round t explores with probability ``weight`` / t.  Thinning (Lewis and Shedler 1979): among t, t + 1, ..., 2 t - 1
    candidates come with the constant probability p = ``weight`` / t, so the gaps between them are geometric, and
    a candidate u is one with probability (``weight`` / u) / p.
    """
    passed = 0
    while weight > 0.0 and passed < longest:
        first = round + passed
        bound, end = weight / first, min(longest, passed + first)
        while passed < end:
            gap = math.log1p(-random(stream)) / math.log1p(-bound)
            if gap >= end - passed:
                break
            passed += int(gap)
            if random(stream) * bound < weight / (round + passed):
                return passed
            passed += 1
        passed = end
    return longest


@dataclass(frozen=True)
class EpsilonGreedy(PolicyBase):
    """epsilon-greedy: the best mean, or with probability min(1, c K / (d^2 t)) any arm."""

    c: float = parameter(1.0, help="weight of exploration", minimum=0)
    d: float = parameter(1.0, help="gap for which it is tuned, Auer et al.'s d", above=0, maximum=1)

    choose = staticmethod(choose)
    leap = staticmethod(leap)

    def state_size(self, num_arms: int) -> int:
        return 1
