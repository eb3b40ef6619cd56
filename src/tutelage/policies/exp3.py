"""Exp3 without a horizon (Auer et al. 2002; Bubeck and Cesa-Bianchi 2012, section 3.1)."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tutelage.policies.base import Learner, PolicyBase
from tutelage.policies.support.softmax import draw_weighted, to_weights

LEAST_PROBABILITY = 2.0**-53  # a uniform number of 53 bits never selects a rarer arm


def choose(round: int, learner: Learner, parameters: NDArray[np.float64], stream: Any) -> int:
    """An arm with probability proportional to exp(-eta_t L), L its estimated loss so far."""
    num_arms = learner.counts.size
    return draw_by_losses(math.sqrt(math.log(num_arms) / (round * num_arms)), learner, stream)


def draw_by_losses(rate: float, learner: Learner, stream: Any) -> int:
    """An arm with probability proportional to exp(-rate L), L its estimated loss so far.

    The state holds K weights, K estimated losses and the probability of the current pull (0 outside a pull).
    """
    state, num_arms = learner.state, learner.counts.size
    for arm in range(num_arms):
        state[arm] = -rate * state[num_arms + arm]
    weights = state[:num_arms]
    total = to_weights(weights)
    arm = draw_weighted(weights, total, stream)
    state[2 * num_arms] = max(weights[arm] / total, LEAST_PROBABILITY)
    return arm


def learn(arm: int, reward: float, learner: Learner, parameters: NDArray[np.float64], stream: Any) -> None:
    """Add the loss 1 - reward over the divisor that ``choose`` stored, the probability of the pull.

    A pull that the policy has not drawn itself counts as drawn uniformly.
    """
    state, num_arms = learner.state, learner.counts.size
    divisor = state[2 * num_arms] if state[2 * num_arms] > 0.0 else 1.0 / num_arms
    state[num_arms + arm] += (1.0 - reward) / divisor
    state[2 * num_arms] = 0.0


@dataclass(frozen=True)
class Exp3(PolicyBase):
    """Exp3, anytime: exponential weights of importance-weighted losses at the rate sqrt(log K / (t K)).

    It is made for rewards that an adversary sets: its expected regret against the best single arm is at most
    2 sqrt(T K log K) whatever the rewards (Theorem 3.1).  It starts with equal probabilities, so an arm that
    was never pulled does not come first.
    """

    choose = staticmethod(choose)
    learn = staticmethod(learn)

    def state_size(self, num_arms: int) -> int:
        return 2 * num_arms + 1
