"""Thresholds of BLT's bets, which share the risk 1/T of a wrong target (docs/blt.md)."""

import functools
import math

import numpy as np

from tutelage.teachers.base import Problem
from tutelage.teachers.blt.betting import Array
from tutelage.teachers.families.weights import remaining_weights

_EVENLY = 0.05  # share of the risk that is divided evenly among the other arms


def log_inverse_risk(problem: Problem) -> float:
    """Return log T, or for an unknown horizon log(1 / risk), with the ``risk_divisor`` of the problem."""
    if problem.risk is None:
        return math.log(problem.horizon * problem.risk_divisor)
    return math.log(problem.risk_divisor / problem.risk)


def log_threshold(problem: Problem, excluded: int, tolerance: float) -> float:
    """log of T B M^r, or of B M^r / risk, the threshold of W_jk to rule k out after r exclusions.

    B bounds the number of bets that can be won wrongly: K - 1 bets against a best arm, and with a tolerance
    K (K - 1) / 2 bets on an arm that is too much worse.
    """
    size = problem.num_arms
    bets = size * (size - 1) // 2 if tolerance > 0.0 else size - 1
    return log_inverse_risk(problem) + math.log(max(1, bets)) + excluded * math.log(problem.num_clients)


@functools.lru_cache(maxsize=64)
def even_log_thresholds(problem: Problem, excluded: int, tolerance: float) -> Array:
    """:func:`log_threshold` for every pair of arms, [K, K]."""
    size = problem.num_arms
    return _read_only(np.full((size, size), log_threshold(problem, excluded, tolerance)))


@functools.lru_cache(maxsize=64)
def shared_log_thresholds(problem: Problem, excluded: tuple[int, ...], head_start: int, first: bytes) -> Array:
    """log of T M^r over the share of j in the risk of k, [K, K].

    ``first`` has the float64 sums [K, M] of the rewards in the first ``head_start`` pulls of each arm.
    """
    sums = np.frombuffer(first).reshape(problem.num_arms, problem.num_clients)
    shares = rival_shares(sums, remaining_weights(problem.weights, excluded), head_start)
    np.fill_diagonal(shares, 1.0)
    whole = log_inverse_risk(problem) + len(excluded) * math.log(problem.num_clients)
    return _read_only(whole - np.log(shares))


def _read_only(array: Array) -> Array:
    array.flags.writeable = False
    return array


def rival_shares(sums: Array, weights: Array, pulls: int) -> Array:
    """Compute the share of each arm j in the risk of wrongly ruling out arm k, float64 [K, K], k last.

    ``sums`` [K, M] are the rewards in the first ``pulls`` pulls of each arm.  A column k sums to 1 and
    depends only on the other arms' rewards: the share of an arm is roughly the probability that it is better
    than the best-looking one of them, and a twentieth of the risk is divided evenly.
    """
    size = len(sums)
    seen = (sums + 0.5) / (pulls + 1.0)
    means = np.add.reduce(weights * seen, axis=1).tolist()
    variances = (np.add.reduce(weights * weights * seen * (1.0 - seen), axis=1) / pulls).tolist()
    shares = np.zeros((size, size))
    for worse in range(size):
        others = [arm for arm in range(size) if arm != worse]
        best = max(others, key=lambda arm: means[arm])
        odds = [
            math.erfc((means[best] - means[arm]) / math.sqrt(2.0 * (variances[best] + variances[arm])))
            for arm in others
        ]
        total = math.fsum(odds)
        shares[others, worse] = [(1.0 - _EVENLY) * odd / total + _EVENLY / len(others) for odd in odds]
    return shares
