"""MOSS without a horizon (Degenne and Perchet 2016, after Audibert and Bubeck 2009)."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tutelage.policies.base import Learner, PolicyBase, argmax, first_pulls
from tutelage.registry import parameter


def moss_index(mean: float, count: int, share: float, factor: float) -> float:
    """The index mean + sqrt(factor log+(share / n) / n), with ``share`` = t / K."""
    return mean + math.sqrt(factor * max(0.0, math.log(share / count)) / count)


def choose(round: int, learner: Learner, parameters: NDArray[np.float64], stream: Any) -> int:
    """The arm with the largest mean + sqrt((1 + alpha)/2 log+(t / (K n)) / n)."""
    counts, state, num_arms = learner.counts, learner.state, learner.counts.size
    arm = first_pulls(counts, stream)
    if arm >= 0:
        return arm
    for arm in range(num_arms):
        state[arm] = moss_index(learner.means[arm], counts[arm], round / num_arms, parameters[0])
    return argmax(state[:num_arms], stream)


@dataclass(frozen=True)
class MOSS(PolicyBase):
    """MOSS, anytime: the largest mean + sqrt((1 + alpha)/2 log+(t / (K n)) / n).

    log+ is the logarithm, or 0 where that is negative: an arm with more than its share of the pulls gets
    no bonus.
    """

    alpha: float = parameter(1.35, help="weight of exploration", above=0)

    choose = staticmethod(choose)

    def state_size(self, num_arms: int) -> int:
        return num_arms

    def parameters(self) -> tuple[float, ...]:
        return ((1.0 + self.alpha) / 2.0,)
