"""The bets of BLT: predictions of the null hypothesis, the test martingale, the grid."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.reference_blt import bisected, grid_of

from tutelage.teachers.blt.betting import NEVER, GridStep, log_gain, log_mean, make_bets, make_grid, null_means

STAKES = 2.0 ** (-np.arange(14) / 2.0)
GAPS = [0.0, 1e-12, 0.01, 0.3, 0.96, 0.999]  # tolerances


def stakes_for(units):
    """The stakes that clients of these units allow."""
    return STAKES / max(1.0, units.max())


def betting(units, rho):
    """What these clients bet."""
    return make_bets(units, stakes_for(units), rho)


# ----------------------------------------------------------------------------------------------- the grid


@given(
    st.integers(1, 10**5),
    st.integers(1, 5),
    st.sampled_from([0.01, 0.05, 0.1, 0.5, 3.0, 1e300]),
    st.sampled_from([0, 1, 8, 300]),
)
def test_grid(T, rho, growth, head):
    """The counts, the place of each among the cuts, and the number of completed steps."""
    grid = make_grid(T, rho, growth, head)
    assert list(grid.counts) == grid_of(T, growth)
    cuts = (0, *grid.cuts)
    assert list(cuts) == sorted({0} | {c for n in grid.counts for c in (n, head + rho * n) if c <= T})
    within = [n for n in grid.counts if n == 0 or head + (1 + rho) * n <= T]
    assert [cuts[place] for place in grid.at[:-1]] == within
    reached = [head + rho * n for n in within if head + rho * n <= T]
    assert [cuts[place] for place in grid.at_leading[:-1] if place != NEVER] == reached
    assert grid.at[-1] == grid.at_leading[-1] == NEVER
    for done, cut in enumerate(cuts):
        assert grid.steps[done] == sum(n <= cut for n in within) - 1
        assert grid.leading_steps[done] == sum(n <= cut for n in reached) - 1


# -------------------------------------------------------------------------------------------- predictions


@st.composite
def predictions(draw):
    """p, q [P, M] strictly inside (0, 1), units of M clients, rho; the extremes too."""
    M = draw(st.one_of(st.integers(1, 8), st.sampled_from([11, 12, 40, 200, 1000])))
    P = draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    p, q = rng.random((2, P, M)) * (1 - 2e-9) + 1e-9
    for values in (p, q):
        edge = draw(st.sampled_from([None, 0.005, 1e-4, 1e-9]))
        if edge is not None:
            some = rng.random((P, M)) < draw(st.sampled_from([0.3, 1.0]))
            sides = rng.random((P, M)) < draw(st.sampled_from([0.0, 0.5, 1.0]))
            values[some] = np.where(sides, edge, 1 - edge)[some]
    if draw(st.booleans()):
        q[:] = p
    weights = np.full(M, 1 / M)
    if draw(st.booleans()):
        weights = rng.random(M) ** draw(st.sampled_from([1, 10])) + 1e-6
        weights /= weights.sum()
    return p, q, M * weights, draw(st.sampled_from([1, 2, 9])), draw(st.sampled_from(GAPS))


@given(predictions())
def test_predictions_hold_the_null_hypothesis(given_):
    """Sum u c is at least sum u d - M tolerance without any rounding, and both stay in [.01, .99]."""
    p, q, units, rho, tolerance = given_
    c, d = null_means(np.array([p, q]), betting(units, rho), tolerance)
    assert min(c.min(), d.min()) >= 0.01
    assert max(c.max(), d.max()) <= 0.99
    u = [Fraction(unit) for unit in units.tolist()]
    for row_c, row_d in zip(c.tolist(), d.tolist(), strict=True):
        terms = (unit * (Fraction(x) - Fraction(y)) for unit, x, y in zip(u, row_c, row_d, strict=True))
        assert sum(terms) >= -len(u) * Fraction(tolerance)


@given(predictions())
def test_predictions_are_those_of_the_bisection(given_):
    """Each is the one that 40 halvings find to within 1e-9, by its client's weight in the sum."""
    p, q, units, rho, tolerance = given_
    if tolerance > 0.97:  # out of reach of predictions in [.01, .99]: any are right
        return
    c, d = null_means(np.array([p, q]), betting(units, rho), tolerance)
    for pair in range(len(p)):
        by_halving = bisected(p[pair].tolist(), q[pair].tolist(), units.tolist(), rho, tolerance)
        weight = np.minimum(1.0, units)
        for found, wanted in zip((c[pair], d[pair]), by_halving, strict=True):
            assert np.abs((found - np.array(wanted)) * weight).max() <= 1e-9


def test_predictions_do_not_depend_on_the_other_pairs():
    """A pair gives the same values, bit for bit, by itself and among others."""
    rng = np.random.default_rng(3)
    for M in (1, 3, 12, 150):
        p, q = rng.random((2, 9, M)) * 0.998 + 0.001
        units = rng.random(M) + 0.5
        c, d = null_means(np.array([p, q]), betting(units, 2), 0.0)
        for pair in range(9):
            single = null_means(np.array([p, q])[:, pair : pair + 1], betting(units, 2), 0.0)
            assert np.array_equal(single[0][0], c[pair])
            assert np.array_equal(single[1][0], d[pair])


def test_predictions_leave_the_null_hypothesis_alone():
    """Where p and q just hold it, or nearly, they are moved hardly at all."""
    p = np.array([[0.5, 0.4, 0.6], [0.2, 0.9, 0.4]])
    c, d = null_means(np.array([p, p]), betting(np.ones(3), 2), 0.0)
    assert np.abs(c - p).max() < 1e-12
    assert np.abs(d - p).max() < 1e-12


# -------------------------------------------------------------------------------------------- one step


def one_step(before_j, won_j, before_k, won_k, count, length, rho):
    """A step of one pair."""
    before, won = np.array([[before_j], [before_k]], dtype=float), np.array([[won_j], [won_k]], dtype=float)
    shares = np.array([[[float(rho)]], [[1.0]]])
    return GridStep(before, won, count * shares, length * shares)


def factor(before_j, won_j, before_k, won_k, count, length, units, rho, tolerance=0.0):
    """What the step multiplies W of each stake by."""
    step = one_step(before_j, won_j, before_k, won_k, count, length, rho)
    return np.exp(log_gain(step, betting(units, rho), tolerance)[0])


def test_gain_is_the_product_of_the_bets():
    """For rewards 0 and 1 it is the log of the product of all single bets' factors."""
    rng = np.random.default_rng(0)
    M, rho, count, length = 3, 2, 7, 2
    units = M * np.array([0.5, 0.3, 0.2])
    x_j, x_k = rng.integers(0, 2, (rho * length, M)), rng.integers(0, 2, (length, M))
    before_j, before_k = np.array([9.0, 3, 14]), np.array([4.0, 4, 0])
    seen = np.array([[(before_j + 0.5) / 15], [(before_k + 0.5) / 8]])
    c, d = null_means(seen, betting(units, rho), 0.0)
    stakes = stakes_for(units)
    found = factor(before_j, x_j.sum(axis=0), before_k, x_k.sum(axis=0), count, length, units, rho)
    for g, stake in enumerate(stakes):
        product = np.prod(1 + stake * units / rho * (x_j - c)) * np.prod(1 - stake * units * (x_k - d))
        assert found[g] == pytest.approx(product, rel=1e-12)


def test_gain_is_below_the_product_for_rewards_inside():
    """For rewards inside (0, 1) what the sums give is never above the product of the bets (concavity)."""
    rng = np.random.default_rng(1)
    units = np.array([1.2, 0.8])
    for _ in range(200):
        x_j, x_k = rng.random((6, 2)), rng.random((3, 2))
        before = rng.random((2, 2)) * np.array([[10], [5]])
        seen = np.array([[(before[0] + 0.5) / 11], [(before[1] + 0.5) / 6]])
        c, d = null_means(seen, betting(units, 2), 0.0)
        found = factor(before[0], x_j.sum(axis=0), before[1], x_k.sum(axis=0), 5, 3, units, 2)
        for g, stake in enumerate(stakes_for(units)):
            product = np.prod(1 + stake * units / 2 * (x_j - c)) * np.prod(1 - stake * units * (x_k - d))
            assert found[g] <= product * (1 + 1e-12)


def binomial(n, mean):
    """The probabilities of 0 .. n."""
    return [math.comb(n, s) * mean**s * (1 - mean) ** (n - s) for s in range(n + 1)]


CASES = [
    # rho, length, weights, mu_j, mu_k (the null hypothesis just holds), sums of 10 rho and 10 pulls before
    (1, 1, (1.0,), (0.3,), (0.3,), (2.0,), (9.0,)),
    (2, 1, (1.0,), (0.5,), (0.5,), (19.0,), (0.0,)),
    (2, 2, (1.0,), (0.95,), (0.95,), (0.0,), (10.0,)),
    (2, 1, (0.5, 0.5), (0.9, 0.1), (0.1, 0.9), (18.0, 3.0), (2.0, 7.0)),
    (2, 1, (0.5, 0.5), (1.0, 0.0), (0.3, 0.7), (20.0, 0.0), (3.0, 9.0)),
    (3, 1, (0.8, 0.2), (0.5, 0.9), (0.6, 0.5), (15.0, 27.0), (6.0, 5.0)),
    (1, 2, (0.6, 0.3, 0.1), (0.2, 0.6, 0.9), (0.5, 0.1, 0.6), (1.0, 6.0, 10.0), (4.0, 0.0, 7.0)),
]


@pytest.mark.parametrize("case", CASES)
def test_conditional_mean_of_a_step_is_at_most_one(case):
    """By enumeration of all outcomes, with the null hypothesis just holding: each stake's mean factor."""
    rho, length, weights, mu_j, mu_k, before_j, before_k = case
    assert np.dot(weights, mu_j) == pytest.approx(np.dot(weights, mu_k), abs=1e-15)
    units = len(weights) * np.array(weights)
    distributions = [binomial(rho * length, mean) for mean in mu_j] + [binomial(length, mean) for mean in mu_k]
    mean = np.zeros(14)
    for outcome in itertools.product(*(range(len(distribution)) for distribution in distributions)):
        chance = math.prod(distribution[won] for distribution, won in zip(distributions, outcome, strict=True))
        won_j, won_k = outcome[: len(weights)], outcome[len(weights) :]
        mean += chance * factor(before_j, won_j, before_k, won_k, 10, length, units, rho)
    assert mean.max() <= 1 + 1e-12
    assert mean.min() > 0.1  # a bet, not a gift


@pytest.mark.parametrize("case", CASES)
def test_conditional_mean_with_a_tolerance(case):
    """The same where j is worse than k by just the tolerance."""
    rho, length, weights, mu_j, mu_k, before_j, before_k = case
    mu_j = np.array(mu_j) * 0.9
    tolerance = float(np.dot(weights, mu_k) - np.dot(weights, mu_j))
    units = len(weights) * np.array(weights)
    distributions = [binomial(rho * length, mean) for mean in mu_j] + [binomial(length, mean) for mean in mu_k]
    mean = np.zeros(14)
    for outcome in itertools.product(*(range(len(distribution)) for distribution in distributions)):
        chance = math.prod(distribution[won] for distribution, won in zip(distributions, outcome, strict=True))
        won_j, won_k = outcome[: len(weights)], outcome[len(weights) :]
        mean += chance * factor(before_j, won_j, before_k, won_k, 10, length, units, rho, tolerance)
    assert mean.max() <= 1 + 1e-12


def test_log_mean():
    """The log of the mean of exponentials, where these themselves would be too large or too small."""
    logs = np.array([[0.0, math.log(3.0)], [1000.0, 1000.0], [-2000.0, -2000.0 + math.log(2.0)]])
    assert log_mean(logs) == pytest.approx([math.log(2), 1000, -2000 + math.log(1.5)], rel=1e-14)


# ------------------------------------------------------------------------------------------ whole games


def sums_of_pulls(distribution, means, length, paths, rng):
    """Sums of ``length`` rewards of each client [paths, M]."""
    shape = (paths, len(means))
    if distribution == "bernoulli":
        return rng.binomial(length, means, shape).astype(float)
    if distribution == "two":  # .25 or .75
        return 0.25 * length + 0.5 * rng.binomial(length, 2 * means - 0.5, shape)
    total = np.zeros(shape)
    for _ in range(length):
        total += rng.beta(2 * means, 2 * (1 - means), shape)
    return total


def greatest_log_wealth(distribution, mu_j, mu_k, weights, *, paths, T=3000, rho=2, seed=0):
    """Of each path the largest log W over the whole grid; all paths bet side by side, as pairs."""
    rng = np.random.default_rng(seed)
    M = len(weights)
    units, grid = M * np.array(weights), make_grid(T, rho, 0.05)
    mu_j, mu_k = np.array(mu_j), np.array(mu_k)
    wealth, greatest = np.zeros((paths, 14)), np.zeros(paths)
    before, shares = np.zeros((2, paths, M)), np.array([[[float(rho)]], [[1.0]]])
    for count, following in itertools.pairwise(n for n in grid.counts if rho * n <= T):
        length = following - count
        won = np.array(
            [
                sums_of_pulls(distribution, mu_j, rho * length, paths, rng),
                sums_of_pulls(distribution, mu_k, length, paths, rng),
            ]
        )
        pulls, lengths = (np.repeat(number * shares, paths, axis=1) for number in (count, length))
        wealth += log_gain(GridStep(before, won, pulls, lengths), betting(units, rho), 0.0)
        greatest = np.maximum(greatest, log_mean(wealth))
        before += won
    return greatest


NULLS = [
    ("bernoulli", (0.5,), (0.5,), (1.0,)),
    ("bernoulli", (0.9, 0.1, 0.5), (0.1, 0.8, 0.6), (1 / 3,) * 3),
    ("bernoulli", (0.02, 0.06, 0.01, 0.03), (0.03, 0.03, 0.03, 0.03), (0.25,) * 4),
    ("bernoulli", (0.7, 0.2, 0.4), (0.5, 0.3, 1.0), (0.5, 0.4, 0.1)),
    ("bernoulli", (1.0, 0.0), (0.0, 1.0), (0.5, 0.5)),
    ("two", (0.7, 0.3, 0.5), (0.3, 0.7, 0.5), (0.4, 0.4, 0.2)),
    ("beta", (0.6, 0.3), (0.4, 0.5), (0.5, 0.5)),
]


@pytest.mark.parametrize("null", NULLS)
def test_wealth_seldom_grows_where_it_should_not(null):
    """P(sup W >= 1/alpha) is at most alpha, with room, where the arms are equally good.

    50,000 paths, over all grid steps of 3,000 pulls.  Were it alpha, none of the 21 counts would be above its
    bound, but with probability 21e-8.  They are far below it; with these seeds by a fifth at least.
    """
    distribution, mu_j, mu_k, weights = null
    assert np.dot(weights, mu_j) == pytest.approx(np.dot(weights, mu_k), abs=1e-12)
    paths = 2000 if distribution == "beta" else 8000
    greatest = greatest_log_wealth(
        distribution, mu_j, mu_k, weights, paths=paths, T=600 if distribution == "beta" else 3000
    )
    for alpha in (0.5, 0.1, 0.01):
        crossed = int(np.sum(greatest >= math.log(1 / alpha)))
        assert crossed <= stats.binom.isf(1e-8, paths, alpha)
        if alpha < 0.5:
            assert crossed <= 0.8 * alpha * paths


@pytest.mark.parametrize("rho", [1, 2, 4])
def test_wealth_grows_where_it_should(rho):
    """Where j is better by .1, W passes 1000 in nearly every path within 1,500 pulls."""
    greatest = greatest_log_wealth("bernoulli", (0.9, 0.3), (0.7, 0.3), (0.5, 0.5), paths=300, T=1500, rho=rho)
    assert np.mean(greatest >= math.log(1000)) > 0.9
    other = greatest_log_wealth("bernoulli", (0.7, 0.3), (0.9, 0.3), (0.5, 0.5), paths=300, T=1500, rho=rho)
    assert np.mean(other >= math.log(20)) <= 0.05 + 0.06


@given(
    st.integers(1, 9),
    st.sampled_from([1, 2, 3, 4]),
    st.booleans(),
    st.booleans(),
    st.sampled_from([0, 8]),
    st.integers(0, 2**32 - 1),
)
def test_capital_grows_with_the_gap_on_any_rewards(M, rho, is_even, is_binary, head, seed):
    """log W >= lambda sum u (S_j / rho - S_k) - lambda^2 n (1 + 1/rho) sum u^2 for stakes lambda u <= 1/2.

    This holds for all data, not only in the mean: the theorem on BLT's regret (docs/floors.md) rests on it.
    """
    rng = np.random.default_rng(seed)
    units = np.ones(M) if is_even else M * rng.dirichlet(np.ones(M))
    means = rng.random((2, M)) ** rng.choice([0.2, 1, 5])
    bets = betting(units, rho)
    stakes = bets.stakes[:, 0]
    n, gain, sums, before = 0, 0.0, np.zeros((2, M)), np.zeros((2, 1, M))
    if head:
        before[0, 0] = rng.binomial(head, means[0])
    while n < 150:
        step = max(1, n // 20)
        length = np.array([rho * step, step])
        won = rng.binomial(length[:, None], means) if is_binary else length[:, None] * rng.random((2, M))
        pulls = np.array([head + rho * n, n]).reshape(2, 1, 1)
        made = GridStep(before, won[:, None].astype(float), pulls, length.reshape(2, 1, 1))
        gain += log_gain(made, bets, 0.0)[0]
        sums += won
        before += won[:, None]
        n += step
        least = stakes * (units @ (sums[0] / rho - sums[1])) - stakes**2 * n * (1 + 1 / rho) * (units @ units)
        small = stakes * units.max() <= 0.5
        assert (gain >= least - 1e-9)[small].all()
