"""Boltzmann exploration: softmax with a decreasing temperature (Singh et al. 2000)."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tutelage.policies.base import Learner, PolicyBase, first_pulls
from tutelage.policies.support.softmax import draw_weighted, to_weights
from tutelage.registry import parameter


def choose(round: int, learner: Learner, parameters: NDArray[np.float64], stream: Any) -> int:
    """An arm with probability proportional to exp(mean log t / scale), arms never pulled first."""
    state, num_arms = learner.state, learner.counts.size
    arm = first_pulls(learner.counts, stream)
    if arm >= 0:
        return arm
    rate = math.log(round) / parameters[0]
    for arm in range(num_arms):
        state[arm] = rate * learner.means[arm]
    weights = state[:num_arms]
    return draw_weighted(weights, to_weights(weights), stream)


@dataclass(frozen=True)
class Boltzmann(PolicyBase):
    """Boltzmann (softmax): an arm with probability proportional to exp(mean log t / scale).

    The temperature is scale / log t.  With a scale of at least the largest gap, which 1 is for rewards in
    [0, 1], no arm's probability falls faster than 1 / (K t), so no arm is ever abandoned (Singh et al.
    2000); an arm of gap Delta is then pulled some t^(1 - Delta / scale) times.  No such schedule is
    near-optimal whatever the gaps (Cesa-Bianchi et al. 2017): see boltzmann-gumbel.
    """

    scale: float = parameter(1.0, help="temperature times log t (smaller is greedier)", minimum=1e-9)

    choose = staticmethod(choose)

    def state_size(self, num_arms: int) -> int:
        return num_arms
