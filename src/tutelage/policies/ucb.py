"""UCB with a parameter (Auer, Cesa-Bianchi and Fischer 2002; Bubeck and Cesa-Bianchi 2012, section 2.2)."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tutelage.policies.base import Learner, PolicyBase, argmax, first_pulls
from tutelage.policies.ucb1 import ucb_index
from tutelage.registry import parameter


def choose(round: int, learner: Learner, parameters: NDArray[np.float64], stream: Any) -> int:
    """The arm with the largest mean + sqrt(alpha log t / n)."""
    counts, state, num_arms = learner.counts, learner.state, learner.counts.size
    arm = first_pulls(counts, stream)
    if arm >= 0:
        return arm
    log = parameters[0] * math.log(round)
    for arm in range(num_arms):
        state[arm] = ucb_index(learner.means[arm], log, counts[arm])
    return argmax(state[:num_arms], stream)


@dataclass(frozen=True)
class UCB(PolicyBase):
    """UCB: the largest mean + sqrt(alpha log t / n); alpha = 2 equals ucb1.

    Bubeck and Cesa-Bianchi's alpha is twice this one: their Theorem 2.1 needs alpha > 1 here, and then
    the regret is at most the sum over suboptimal arms of 4 alpha log(T) / Delta + alpha / (alpha - 1).
    """

    alpha: float = parameter(2.0, help="weight of exploration (its regret bound needs more than 1)", minimum=0)

    choose = staticmethod(choose)

    def state_size(self, num_arms: int) -> int:
        return num_arms
