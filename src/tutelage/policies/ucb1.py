"""UCB1 (Auer, Cesa-Bianchi and Fischer 2002; Shi et al., section VI-A)."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tutelage.draws import index
from tutelage.policies.base import Learner, PolicyBase, first_pulls

# Slots of the state: an arm in the lead (counted from 1; 0 for none), the last round for which that is
# known, 2 log of the round in which it was found, what no other arm exceeds until then, and the winner of
# the latest ranking.
_LEADER, _LAST_ROUND, _LOG, _OTHERS, _WINNER = 0, 1, 2, 3, 4
_WINDOW = 64
_MARGIN = 1e-9  # far above the rounding of an index, far below a lead worth keeping


def ucb_index(mean: float, log: float, count: int) -> float:
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
    for arm in range(counts.size):
        value = ucb_index(means[arm], log, counts[arm])
        if value > highest:
            best, ties, highest = arm, 1, value
        elif value == highest:
            ties += 1
    if ties > 1:
        best = _among_equal(learner, log, highest, index(stream, ties))
    elif state[_WINNER] == best + 1.0:
        _keep_lead(round, learner, log, best)
    state[_WINNER] = best + 1.0
    return best


def _among_equal(learner: Learner, log: float, highest: float, skipped: int) -> int:
    """The arm with this index that comes after ``skipped`` others with it."""
    for arm in range(learner.counts.size):
        if ucb_index(learner.means[arm], log, learner.counts[arm]) == highest:
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


@dataclass(frozen=True)
class UCB1(PolicyBase):
    """UCB1: the largest mean + sqrt(2 log t / n)."""

    choose = staticmethod(choose)

    def state_size(self, num_arms: int) -> int:
        return 5
