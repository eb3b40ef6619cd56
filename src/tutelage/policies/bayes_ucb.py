"""Bayes-UCB with Beta posteriors (Kaufmann, Cappe and Garivier 2012; Kaufmann 2018)."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tutelage.beta_distribution import log_scale, log_tail, tail_fraction, upper_quantile
from tutelage.policies.base import Learner, PolicyBase, argmax, first_pulls
from tutelage.policies.kl_ucb import exploration_term, kl_bound
from tutelage.policies.support.ranking_cache import (
    MARGIN,
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

_LOG_TWO = math.log(2.0)  # exploration term above which quantiles lie above the median


def posterior_bound(mean: float, count: int, surprise: float) -> float:
    """An upper bound on the index: P(X > x) <= exp(-(n + 1) kl(s / (n + 1), x)), s = n mean.

    Chernoff's bound of the binomial tail that equals the Beta tail where s is whole.
    """
    return kl_bound(count * mean / (count + 1.0), surprise / (count + 1.0))


def bayes_index(mean: float, count: int, surprise: float) -> float:
    """The x that a Beta(1 + n mean, 1 + n (1 - mean)) number exceeds with probability exp(-surprise)."""
    if surprise <= 0.0:
        return 0.0
    start = posterior_bound(mean, count, surprise)
    return upper_quantile(1.0 + count * mean, 1.0 + count * (1.0 - mean), surprise, start)


def choose(round: int, learner: Learner, parameters: NDArray[np.float64], stream: Any) -> int:
    """The arm with the largest index, uniformly at random among exactly equal ones.

    The state holds what ``support/ranking_cache.py`` stores, then the K indices; where an arm cannot be the
    best, its place holds an upper bound on its index.
    """
    counts, means, state, num_arms = learner.counts, learner.means, learner.state, learner.counts.size
    arm = leading_arm(round, state)
    if arm >= 0 and _is_above(means[arm], counts[arm], least_exploration(state), bar(state)):
        return arm
    arm = first_pulls(counts, stream)
    if arm >= 0:
        return arm
    surprise = exploration_term(round, parameters[0])
    indices = state[SLOTS : SLOTS + num_arms]
    _rank(learner, surprise, indices)
    best = argmax(indices, stream)
    if wins_again(best, state) and surprise >= _LOG_TWO:
        later = exploration_term(round + WINDOW, parameters[0])
        keep_leading_arm(round, best, surprise, _highest_of_others(learner, later, best), state)
    return best


def _rank(learner: Learner, surprise: float, indices: NDArray[np.float64]) -> None:
    """Write the indices of the arms."""
    counts, means = learner.counts, learner.means
    highest = 0.0
    for arm in range(counts.size):
        same = same_before(arm, counts, means)
        if same >= 0:
            indices[arm] = indices[same]
            continue
        indices[arm] = posterior_bound(means[arm], counts[arm], surprise)
        if indices[arm] >= highest - MARGIN:
            indices[arm] = bayes_index(means[arm], counts[arm], surprise)
            highest = max(highest, indices[arm])


def _highest_of_others(learner: Learner, surprise: float, best: int) -> float:
    """The highest index of all arms except one."""
    counts, means = learner.counts, learner.means
    highest = 0.0
    for arm in range(counts.size):
        if arm != best and posterior_bound(means[arm], counts[arm], surprise) >= highest - MARGIN:
            highest = max(highest, bayes_index(means[arm], counts[arm], surprise))
    return highest


def _is_above(mean: float, count: int, surprise: float, value: float) -> bool:
    """Whether the index of an arm, above the median of its posterior, is above a positive value."""
    a, b = 1.0 + count * mean, 1.0 + count * (1.0 - mean)
    if value <= min((a - 1.0) / (a + b - 2.0), a / (a + b)):  # the median lies between mode and mean
        return True
    if value >= 1.0:
        return False
    return log_tail(a, b, log_scale(a, b), value, tail_fraction(a, b, 1.0 - value)) + surprise > 0.0


@dataclass(frozen=True)
class BayesUCB(PolicyBase):
    """Bayes-UCB: the largest quantile 1 - 1 / (t (log t)^c) of Beta(1 + n mean, 1 + n (1 - mean)).

    An arm whose revealed rewards are all 1 has the index (1 - 1/t)^(1/(n + 1)), which rises with n: under a
    teacher that reveals 1 for every arm, a client stays with one arm instead of trying them all.
    Anytime: log t replaces the log T of the paper of 2012, as in Kaufmann 2018.  The papers use c = 0;
    their proofs need 5 and 7.
    """

    c: float = parameter(0.0, help="power of log t in the level of the quantile", minimum=0)

    choose = staticmethod(choose)

    def state_size(self, num_arms: int) -> int:
        return SLOTS + num_arms
