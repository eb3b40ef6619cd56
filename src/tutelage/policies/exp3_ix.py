"""Exp3-IX, exponential weights with implicit exploration (Neu 2015)."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tutelage.policies.base import Learner, PolicyBase
from tutelage.policies.exp3 import draw_by_losses, learn
from tutelage.registry import parameter


def choose(round: int, learner: Learner, parameters: NDArray[np.float64], stream: Any) -> int:
    """An arm with probability proportional to exp(-eta_t L), L its loss so far as Exp3-IX estimates it.

    Neu 2015, Alg. 1 with the rates of Theorem 1: eta_t = 2 gamma_t = sqrt(log K / (K t)), or for a horizon T
    eta = 2 gamma = sqrt(2 log K / (K T)).  The loss of the pull is divided by its probability + gamma_t.
    """
    num_arms, horizon = learner.counts.size, parameters[0]
    rate = math.sqrt(math.log(num_arms) / (num_arms * (horizon / 2.0 if horizon > 0.0 else float(round))))
    arm = draw_by_losses(rate, learner, stream)
    learner.state[2 * num_arms] += rate / 2.0
    return arm


@dataclass(frozen=True)
class Exp3IX(PolicyBase):
    """Exp3-IX: Exp3 with each loss divided by the probability of its pull + eta_t / 2: fewer large estimates.

    It is made for rewards that an adversary sets: whatever they are, its regret against the best single arm is
    with probability 1 - delta at most 4 sqrt(K T log K) + (2 sqrt(K T / log K) + 1) log(2 / delta), or with a
    known horizon 2 sqrt(2 K T log K) + (sqrt(2 K T / log K) + 1) log(2 / delta) (Theorem 1).
    """

    horizon: int = parameter(0, help="horizon for which the rate is constant, in pulls (0: anytime rates)", minimum=0)

    choose = staticmethod(choose)
    learn = staticmethod(learn)

    def state_size(self, num_arms: int) -> int:
        return 2 * num_arms + 1
