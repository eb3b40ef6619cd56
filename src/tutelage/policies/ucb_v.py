"""UCB-V: an index with the empirical variance (Audibert, Munos and Szepesvari 2009)."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tutelage.policies.base import Learner, PolicyBase, argmax, first_pulls
from tutelage.policies.support.variance import PER_ARM, add_square, variance
from tutelage.registry import parameter


def ucb_v_index(mean: float, spread: float, count: int, exploration: float, c: float) -> float:
    """The index mean + sqrt(2 V E / n) + 3 c E / n, with V = ``spread``, E = ``exploration`` = zeta log t."""
    return mean + math.sqrt(2.0 * spread * exploration / count) + 3.0 * c * exploration / count


def choose(round: int, learner: Learner, parameters: NDArray[np.float64], stream: Any) -> int:
    """The arm with the largest index.  The state holds K indices, then what the variances need."""
    counts, means, state, num_arms = learner.counts, learner.means, learner.state, learner.counts.size
    arm = first_pulls(counts, stream)
    if arm >= 0:
        return arm
    exploration = parameters[0] * math.log(round)
    for arm in range(num_arms):
        spread = variance(counts[arm], means[arm], state, num_arms + PER_ARM * arm)
        state[arm] = ucb_v_index(means[arm], spread, counts[arm], exploration, parameters[1])
    return argmax(state[:num_arms], stream)


def learn(arm: int, reward: float, learner: Learner, parameters: NDArray[np.float64], stream: Any) -> None:
    """Add the square of the reward."""
    add_square(arm, reward, learner, learner.counts.size)


@dataclass(frozen=True)
class UCBV(PolicyBase):
    """UCB-V: the largest mean + sqrt(2 V zeta log t / n) + 3 c zeta log t / n, V the variance of rewards.

    The defaults are those of the paper's theorem with constants: the regret is at most 10 times the sum
    over suboptimal arms of (variance / Delta + 2), times log T.
    """

    zeta: float = parameter(1.2, help="weight of exploration (its regret bound needs more than 1)", above=0)
    c: float = parameter(1.0, help="weight of the term for arms with few pulls", minimum=0)

    choose = staticmethod(choose)
    learn = staticmethod(learn)

    def state_size(self, num_arms: int) -> int:
        return (1 + PER_ARM) * num_arms
