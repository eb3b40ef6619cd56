"""UCB-tuned: UCB1 scaled by a bound of the variance (Auer, Cesa-Bianchi and Fischer 2002, section 4)."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tutelage.policies.base import Learner, PolicyBase, argmax, first_pulls
from tutelage.policies.support.variance import PER_ARM, add_square, variance


def ucb_tuned_index(mean: float, spread: float, count: int, log: float) -> float:
    """The index mean + sqrt(log t / n min(1/4, V + sqrt(2 log t / n))), with V = ``spread``."""
    return mean + math.sqrt(log / count * min(0.25, spread + math.sqrt(2.0 * log / count)))


def choose(round: int, learner: Learner, parameters: NDArray[np.float64], stream: Any) -> int:
    """The arm with the largest index.  The state holds K indices, then what the variances need."""
    counts, means, state, num_arms = learner.counts, learner.means, learner.state, learner.counts.size
    arm = first_pulls(counts, stream)
    if arm >= 0:
        return arm
    log = math.log(round)
    for arm in range(num_arms):
        spread = variance(counts[arm], means[arm], state, num_arms + PER_ARM * arm)
        state[arm] = ucb_tuned_index(means[arm], spread, counts[arm], log)
    return argmax(state[:num_arms], stream)


def learn(arm: int, reward: float, learner: Learner, parameters: NDArray[np.float64], stream: Any) -> None:
    """Add the square of the reward."""
    add_square(arm, reward, learner, learner.counts.size)


@dataclass(frozen=True)
class UCBTuned(PolicyBase):
    """UCB-tuned: the largest mean + sqrt(log t / n min(1/4, V + sqrt(2 log t / n))), V the variance of rewards.

    Better than UCB1 in its authors' experiments; they prove no bound.
    """

    choose = staticmethod(choose)
    learn = staticmethod(learn)

    def state_size(self, num_arms: int) -> int:
        return (1 + PER_ARM) * num_arms
