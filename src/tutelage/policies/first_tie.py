"""UCB1 that pulls the first of tied arms: breaks, on purpose, the assumption that ties are random."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tutelage.policies.base import Learner, PolicyBase
from tutelage.policies.ucb1 import ucb_index


def choose(round: int, learner: Learner, parameters: NDArray[np.float64], stream: Any) -> int:
    """The first of the arms with the largest UCB1 index; before that, arms never pulled in their order.

    Draws nothing: with constant rewards all clients pull the same arm in every round.
    """
    counts = learner.counts
    for arm in range(counts.size):
        if counts[arm] == 0:
            return arm
    log = 2.0 * math.log(round)
    best, highest = 0, -math.inf
    for arm in range(counts.size):
        value = ucb_index(learner.means[arm], log, counts[arm])
        if value > highest:
            best, highest = arm, value
    return best


@dataclass(frozen=True)
class FirstTie(PolicyBase):
    """UCB1 that pulls the first of tied arms, and new arms in the order of their numbers."""

    choose = staticmethod(choose)
    breaks_ties_at_random: ClassVar[bool] = False
