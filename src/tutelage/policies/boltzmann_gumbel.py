"""Boltzmann-Gumbel exploration (Cesa-Bianchi, Gentile, Lugosi and Neu 2017, section 4)."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tutelage.draws import exponential
from tutelage.policies.base import Learner, PolicyBase, argmax, first_pulls
from tutelage.registry import parameter

_LEAST = 1e-300  # an exponential number may be exactly 0, whose logarithm is not a number to add


def choose(round: int, learner: Learner, parameters: NDArray[np.float64], stream: Any) -> int:
    """The arm with the largest mean + sqrt(C^2 / n) Z, Z = -log E a Gumbel number per arm, arms in order."""
    counts, state, num_arms = learner.counts, learner.state, learner.counts.size
    arm = first_pulls(counts, stream)
    if arm >= 0:
        return arm
    square = parameters[0] * parameters[0]
    for arm in range(num_arms):
        gumbel = -math.log(max(exponential(stream), _LEAST))
        state[arm] = learner.means[arm] + math.sqrt(square / counts[arm]) * gumbel
    return argmax(state[:num_arms], stream)


@dataclass(frozen=True)
class BoltzmannGumbel(PolicyBase):
    """Boltzmann-Gumbel: the largest mean + sqrt(C^2 / n) Z, Z a new Gumbel number for each arm.

    1/2 is the paper's choice C = sigma: rewards in [0, 1] are 1/4-subgaussian.
    """

    c: float = parameter(0.5, help="weight of exploration, the paper's C", above=0)

    choose = staticmethod(choose)

    def state_size(self, num_arms: int) -> int:
        return num_arms
