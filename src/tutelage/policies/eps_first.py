"""epsilon-first: explore, then exploit (Even-Dar, Mannor and Mansour 2002; Vermorel and Mohri 2005)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tutelage.draws import index
from tutelage.policies.base import Learner, PolicyBase, argmax, first_pulls
from tutelage.registry import parameter


def choose(round: int, learner: Learner, parameters: NDArray[np.float64], stream: Any) -> int:
    """Any of the K arms in the first ``pulls`` pulls, then the best mean."""
    arm = first_pulls(learner.counts, stream)
    if arm >= 0:
        return arm
    if round <= parameters[0]:
        return index(stream, learner.counts.size)
    return argmax(learner.means, stream)


@dataclass(frozen=True)
class EpsilonFirst(PolicyBase):
    """epsilon-first: a random arm for a number of pulls, then the best mean, updated by every reward.

    Afterwards it leaves an arm only when the arm's mean falls, so an arm that looked bad when exploration
    ended may never be pulled again.
    """

    pulls: int = parameter(100, help="length of the exploration, in pulls", minimum=0)

    choose = staticmethod(choose)
