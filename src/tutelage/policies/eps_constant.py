"""epsilon-greedy with a constant epsilon (Sutton and Barto 2018, section 2.2)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tutelage.draws import index, random
from tutelage.policies.base import Learner, PolicyBase, argmax, first_pulls
from tutelage.registry import parameter


def choose(round: int, learner: Learner, parameters: NDArray[np.float64], stream: Any) -> int:
    """With probability epsilon any of the K arms, else the best mean."""
    arm = first_pulls(learner.counts, stream)
    if arm >= 0:
        return arm
    if random(stream) < parameters[0]:
        return index(stream, learner.counts.size)
    return argmax(learner.means, stream)


@dataclass(frozen=True)
class EpsilonConstant(PolicyBase):
    """epsilon-greedy with a constant epsilon: the best mean, or with probability epsilon any arm.

    It never stops exploring: regret and the cost of teaching it grow linearly.
    """

    epsilon: float = parameter(0.1, help="probability of a pull of a uniformly random arm", minimum=0, maximum=1)

    choose = staticmethod(choose)
