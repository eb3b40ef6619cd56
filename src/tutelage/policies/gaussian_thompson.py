"""Thompson sampling with Gaussian posteriors (Agrawal and Goyal 2013, 2017)."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tutelage.draws import normal
from tutelage.policies.base import Learner, PolicyBase, argmax


def choose(round: int, learner: Learner, parameters: NDArray[np.float64], stream: Any) -> int:
    """The arm with the largest draw from its posterior N(n mean / (n + 1), 1 / (n + 1)), arms in order."""
    counts, state, num_arms = learner.counts, learner.state, learner.counts.size
    for arm in range(num_arms):
        seen = counts[arm] + 1.0
        state[arm] = counts[arm] * learner.means[arm] / seen + normal(stream) / math.sqrt(seen)
    return argmax(state[:num_arms], stream)


@dataclass(frozen=True)
class GaussianThompsonSampling(PolicyBase):
    """Thompson sampling from N(0, 1) priors and unit variance: draws N(sum / (n + 1), 1 / (n + 1)).

    It starts from its prior, so an arm that was never pulled does not come first.
    """

    choose = staticmethod(choose)

    def state_size(self, num_arms: int) -> int:
        return num_arms
