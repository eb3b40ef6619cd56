"""Tsallis-INF, for rewards of either kind, adversarial or independent (Zimmert and Seldin 2021)."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tutelage.policies.base import Learner, PolicyBase
from tutelage.policies.exp3 import LEAST_PROBABILITY, learn
from tutelage.policies.support.softmax import draw_weighted

_LEAST_STEP = 1e-12
_MOST_STEPS = 60


def choose(round: int, learner: Learner, parameters: NDArray[np.float64], stream: Any) -> int:
    """An arm with probability w = 4 / (eta_t (L - x))^2, L its estimated loss so far, x such that sum w = 1.

    Zimmert and Seldin 2021, Alg. 1 with alpha = 1/2, importance-weighted losses and eta_t = 2 / sqrt(t).
    The state holds K weights, K estimated losses and the probability of the current pull (0 outside a pull).
    """
    state, num_arms = learner.state, learner.counts.size
    total = _to_tsallis_weights(1.0 / math.sqrt(round), state[num_arms : 2 * num_arms], state[:num_arms])
    arm = draw_weighted(state[:num_arms], total, stream)
    state[2 * num_arms] = max(state[arm] / total, LEAST_PROBABILITY)
    return arm


def _to_tsallis_weights(half_rate: float, losses: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """Write the weights [K] and give their sum, 1 but for rounding.

    Alg. 2, Newton's method: with z = eta (min L - x) / 2 the weights are (eta (L - min L) / 2 + z)^-2.  Their
    sum is at least 1 at z = 1, and convex and decreasing, so z increases towards the root and never passes it.
    """
    least = losses[0]
    for arm in range(1, losses.size):
        least = min(least, losses[arm])
    z, total = 1.0, 0.0
    for _ in range(_MOST_STEPS):
        total, slope = 0.0, 0.0
        for arm in range(losses.size):
            inverse = 1.0 / (half_rate * (losses[arm] - least) + z)
            weights[arm] = inverse * inverse
            total += weights[arm]
            slope += weights[arm] * inverse
        step = (total - 1.0) / (2.0 * slope)
        if step < _LEAST_STEP:
            break
        z += step
    return total


@dataclass(frozen=True)
class TsallisINF(PolicyBase):
    """Tsallis-INF, anytime: w = 4 / (eta_t (L - x))^2 at the rate eta_t = 2 / sqrt(t), x such that sum w = 1.

    Its expected regret is at most 4 sqrt(K T) + 1 against the best single arm whatever the rewards (Theorem 1),
    and grows like log T where they are independent with one best arm.  Losses are weighted by importance; the
    paper's variant of reduced variance is not implemented.
    """

    choose = staticmethod(choose)
    learn = staticmethod(learn)

    def state_size(self, num_arms: int) -> int:
        return 2 * num_arms + 1
