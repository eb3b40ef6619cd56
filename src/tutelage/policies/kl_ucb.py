"""KL-UCB for rewards in [0, 1] (Garivier and Cappe 2011; Cappe et al. 2013)."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tutelage.policies.base import Learner, PolicyBase, argmax, first_pulls
from tutelage.policies.support.ranking_cache import (
    SLOTS,
    WINDOW,
    bar,
    keep_leading_arm,
    leading_arm,
    least_exploration,
    same_before,
    wins_again,
)
from tutelage.registry import parameter

_BELOW_ONE = 1.0 - 2.0**-53  # the largest double below 1
_MOST_STEPS = 50  # of Newton's method; a test shows that 12 are enough
_CLOSE = 1e-13  # of the last step; convergence is quadratic, so only the rounding error is left


def divergence(p: float, q: float) -> float:
    """kl(p, q) = p log(p / q) + (1 - p) log((1 - p) / (1 - q)) of Bernoulli distributions, for p and q in (0, 1)."""
    return p * math.log(p / q) + (1.0 - p) * math.log((1.0 - p) / (1.0 - q))


def exploration_term(round: int, c: float) -> float:
    """The exploration log t + c log log t, not below 0."""
    log = math.log(round)
    return log if c == 0.0 else max(0.0, log + c * math.log(log))


def kl_bound(mean: float, level: float) -> float:
    """The largest q in [mean, 1] with kl(mean, q) <= level.

    Newton's method for kl(mean, q) - level, which is convex in q: from above the root it comes down to it
    and never passes it.  It starts at the smallest of several upper bounds: from kl >= 2 (q - p)^2, from
    kl >= (q - p)^2 / (2 q), from kl >= (q - p)^2 / (2 p (1 - p)) where p >= 1/2, and from
    kl >= (1 - p) log(1 / (1 - q)) - h(p), h the entropy.  It ends with the first step that is
    below 10^-13 or not downwards, or after 50 steps: the same steps on every machine.
    """
    if mean >= 1.0 or level <= 0.0:
        return mean
    if mean <= 0.0:
        return -math.expm1(-level)
    rise = min(math.sqrt(level / 2.0), level + math.sqrt(level * level + 2.0 * level * mean))
    if mean >= 0.5:
        rise = min(rise, math.sqrt(2.0 * level * mean * (1.0 - mean)))
    entropy = -mean * math.log(mean) - (1.0 - mean) * math.log(1.0 - mean)
    q = min(mean + rise, -math.expm1(-(level + entropy) / (1.0 - mean)), _BELOW_ONE)
    if q <= mean:
        return mean
    for _ in range(_MOST_STEPS):
        lower = q - (divergence(mean, q) - level) * q * (1.0 - q) / (q - mean)
        if not mean < lower < q:
            break
        step, q = q - lower, lower
        if step < _CLOSE:
            break
    return q


def choose(round: int, learner: Learner, parameters: NDArray[np.float64], stream: Any) -> int:
    """The arm with the largest index, uniformly at random among exactly equal ones.

    The state holds what ``support/ranking_cache.py`` stores, then the K indices.
    """
    counts, means, state, num_arms = learner.counts, learner.means, learner.state, learner.counts.size
    arm = leading_arm(round, state)
    if arm >= 0 and _is_above(means[arm], counts[arm], least_exploration(state), bar(state)):
        return arm
    arm = first_pulls(counts, stream)
    if arm >= 0:
        return arm
    exploration = exploration_term(round, parameters[0])
    indices = state[SLOTS : SLOTS + num_arms]
    for arm in range(num_arms):
        same = same_before(arm, counts, means)
        indices[arm] = indices[same] if same >= 0 else kl_bound(means[arm], exploration / counts[arm])
    best = argmax(indices, stream)
    if wins_again(best, state):
        later = exploration_term(round + WINDOW, parameters[0])
        others = 0.0
        for arm in range(num_arms):
            if arm != best:
                others = max(others, kl_bound(means[arm], later / counts[arm]))
        keep_leading_arm(round, best, exploration, others, state)
    return best


def _is_above(mean: float, count: int, exploration: float, value: float) -> bool:
    """Whether the index of an arm is above a positive value."""
    return value < mean or (value < 1.0 and mean > 0.0 and count * divergence(mean, value) < exploration)


@dataclass(frozen=True)
class KLUCB(PolicyBase):
    """KL-UCB: the largest q with n kl(mean, q) <= log t + c log log t, kl of Bernoulli distributions.

    With rewards 0 and 1 its regret reaches the lower bound of Lai and Robbins. The proof of 2011
    needs c = 3; its authors recommend c = 0.
    """

    c: float = parameter(0.0, help="weight of log log t in the exploration term", minimum=0)

    choose = staticmethod(choose)

    def state_size(self, num_arms: int) -> int:
        return SLOTS + num_arms
