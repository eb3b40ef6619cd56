"""How BLT shares its risk: thresholds, the shares of rivals, and that together they seldom win wrongly."""

import itertools
import math

import numpy as np
import pytest

from tutelage.teachers.base import Problem
from tutelage.teachers.blt.betting import GridStep, log_gain, log_mean, make_bets, make_grid
from tutelage.teachers.blt.thresholds import even_log_thresholds, log_threshold, rival_shares, shared_log_thresholds


def test_even_thresholds():
    """log of T (K - 1) M^r, with a tolerance of T K (K - 1) / 2 M^r, the same for all pairs."""
    paper = Problem(5, 5, 50_000, (0.2,) * 5)
    assert log_threshold(paper, 0, 0.0) == pytest.approx(math.log(200_000), rel=1e-15)
    assert log_threshold(paper, 2, 0.0) == pytest.approx(math.log(200_000 * 25), rel=1e-15)
    assert log_threshold(paper, 2, 0.1) == pytest.approx(math.log(500_000 * 25), rel=1e-15)
    assert np.array_equal(even_log_thresholds(paper, 2, 0.1), np.full((5, 5), log_threshold(paper, 2, 0.1)))
    assert log_threshold(Problem(5, 1, 50_000, (0.2,) * 5), 0, 0.0) == math.log(50_000)


def test_shared_thresholds_share_the_whole_risk():
    """Of each arm the sum of 1 / threshold over its rivals is 1 / (T M^r), whatever was seen at first."""
    rng = np.random.default_rng(0)
    problem = Problem(3, 4, 9000, (0.5, 0.3, 0.2))
    for excluded in ((), (1,), (0, 2)):
        sums = rng.binomial(8, rng.random((4, 3))).astype(float)
        thresholds = shared_log_thresholds(problem, excluded, 8, sums.tobytes())
        risks = np.exp(-thresholds)
        np.fill_diagonal(risks, 0.0)
        assert risks.sum(axis=0) * 9000 * 3 ** len(excluded) == pytest.approx(1.0, rel=1e-12)


def test_all_rivals_together_seldom_win():
    """With a head start P(any W_jk reaches 1 / (alpha share)) is at most alpha, for a best arm k among four.

    8,000 games of an arm against three as good ones, whose first pulls give the shares.
    """
    means = np.array([[0.8, 0.2], [0.2, 0.8], [0.5, 0.5], [0.6, 0.4]])
    rng, paths, head, weights = np.random.default_rng(3), 8000, 5, np.array([0.5, 0.5])
    first = rng.binomial(head, means, (paths, 4, 2)).astype(float)
    shares = np.array([rival_shares(sums, weights, head)[:3, 3] for sums in first])
    assert shares.sum(axis=1) == pytest.approx(1.0, rel=1e-12)
    grid, ratio = make_grid(1500, 2, 0.05), np.array([[[2.0]], [[1.0]]])
    bets = make_bets(np.ones(2), 2.0 ** (-np.arange(14) / 2.0), 2)
    rewards = [rng.binomial(b - a, means[3], (paths, 2)) for a, b in itertools.pairwise(grid.counts)]
    crossed = np.full(paths, -np.inf)
    for j in range(3):
        before = np.stack((first[:, j], np.zeros((paths, 2))))
        wealth = np.zeros((paths, 14))
        for (count, following), won_k in zip(itertools.pairwise(grid.counts), rewards, strict=True):
            length = following - count
            won = np.stack((rng.binomial(2 * length, means[j], (paths, 2)), won_k)).astype(float)
            pulls = np.repeat(count * ratio + [[[head]], [[0]]], paths, axis=1)
            lengths = np.repeat(length * ratio, paths, axis=1)
            wealth += log_gain(GridStep(before, won, pulls, lengths), bets, 0.0)
            crossed = np.maximum(crossed, log_mean(wealth) + np.log(shares[:, j]))
            before += won
    for alpha in (0.1, 0.02):
        assert 0 < np.sum(crossed >= math.log(1 / alpha)) <= 0.8 * alpha * paths


def test_shares_follow_the_other_arms_alone():
    """A column does not change with its own arm's rewards; the better an arm looks, the more it has."""
    weights, sums = np.array([0.25, 0.75]), np.array([[7.0, 2.0], [5.0, 5.0], [1.0, 0.0], [8.0, 8.0]])
    shares = rival_shares(sums, weights, 8)
    other = sums.copy()
    other[3] = 0.0
    assert np.array_equal(shares[:, 3], rival_shares(other, weights, 8)[:, 3])
    assert shares[3, 0] > shares[1, 0] > shares[2, 0] >= 0.05 / 3
    assert np.array_equal(np.diag(shares), np.zeros(4))
    assert shares.sum(axis=0) == pytest.approx(1.0, rel=1e-12)
    assert rival_shares(sums[[1, 1, 1]], weights, 8) == pytest.approx((1 - np.eye(3)) / 2, rel=1e-12)
