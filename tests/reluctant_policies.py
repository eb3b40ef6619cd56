"""Two kinds of agents that leave the arm they met first only if it seems worthless, as policies for the engine.

Neither is optimistic about an arm that it has not tried: such an arm counts as worth 0, and so does an arm whose
mean it believes to be at most ``worth``.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tutelage.draws import index, random
from tutelage.policies.base import Learner, argmax, first_pulls, no_learning

REPLICATES = 5


def choose_reluctantly(round: int, learner: Learner, parameters: NDArray[np.float64], stream: Any) -> int:
    """Return the best arm so far, or a new one where all that are known are worth nothing."""
    for mean in learner.means:
        if mean > parameters[0]:
            return argmax(learner.means, stream)
    new = first_pulls(learner.counts, stream)
    return new if new >= 0 else argmax(learner.means, stream)


@dataclass(frozen=True)
class Reluctant:
    """Greedy; tries a new arm only when all known ones are worth nothing."""

    worth: float = 0.0

    choose = staticmethod(choose_reluctantly)
    learn = staticmethod(no_learning)

    def state_size(self, num_arms: int) -> int:
        return 0

    def parameters(self) -> tuple[float, ...]:
        return (self.worth,)


def choose_by_replicate(round: int, learner: Learner, parameters: NDArray[np.float64], stream: Any) -> int:
    """Return the best arm according to one of the replicates; ties are broken at random."""
    num_arms = learner.counts.size
    first = index(stream, REPLICATES) * 2 * num_arms
    best, highest, ties = 0, -1.0, 0
    for arm in range(num_arms):
        weight, total = learner.state[first + 2 * arm], learner.state[first + 2 * arm + 1]
        mean = total / weight if weight > 0.0 else 0.0
        if mean <= parameters[0]:
            mean = 0.0
        if mean > highest:
            best, highest, ties = arm, mean, 1
        elif mean == highest:
            ties += 1
            if index(stream, ties) == 0:
                best = arm
    return best


def learn_by_bootstrap(arm: int, reward: float, learner: Learner, parameters: NDArray[np.float64], stream: Any) -> None:
    """Add the reward to each replicate as often as a Poisson variable of mean 1 says."""
    num_arms = learner.counts.size
    for replicate in range(REPLICATES):
        times, product = 0, random(stream)
        while product > math.exp(-1.0):
            times += 1
            product *= random(stream)
        place = 2 * (replicate * num_arms + arm)
        learner.state[place] += times
        learner.state[place + 1] += times * reward


@dataclass(frozen=True)
class Bagging:
    """Online bagging: five bootstrap replicates of the arms' means, one of which chooses."""

    worth: float = 0.0

    choose = staticmethod(choose_by_replicate)
    learn = staticmethod(learn_by_bootstrap)

    def state_size(self, num_arms: int) -> int:
        return 2 * REPLICATES * num_arms

    def parameters(self) -> tuple[float, ...]:
        return (self.worth,)
