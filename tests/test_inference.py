"""Intervals, differences and bands, against scipy's and against simulated truths."""

import numpy as np
import pytest
from scipy import special, stats

from tutelage import inference
from tutelage.metrics import summarize_runs


def test_interval_of_the_mean_is_students():
    """That of scipy, also in the statistics of runs."""
    values = np.random.default_rng(1).exponential(5.0, 12)
    expected = stats.ttest_1samp(values, 0.0).confidence_interval(0.95)
    assert np.allclose(inference.interval_of_mean(values), expected)
    over = summarize_runs(values)
    assert np.allclose((over.mean_low, over.mean_high), expected)
    assert over.half_width == pytest.approx((expected.high - expected.low) / 2)


@pytest.mark.parametrize("freedom", [1, 2, 3, 9, 19, 99, 999, 10_000])
def test_students_distribution_is_scipys(freedom):
    """Quantiles and two-sided tails, from nearly 1 to a corrected level of 10^-9."""
    for risk in (0.9, 0.5, 0.05, 0.05 / 45, 1e-9):
        quantile = inference.student_quantile(freedom, risk)
        assert quantile == pytest.approx(-special.stdtrit(freedom, risk / 2), rel=1e-12)
        assert inference.student_tail(freedom, -quantile) == pytest.approx(risk, rel=1e-12)
    for t in (0.0, 1e-3, 0.5, 3.0, 40.0, 1e6):
        assert inference.student_tail(freedom, t) == pytest.approx(2 * special.stdtr(freedom, -t), rel=1e-11)


@pytest.mark.parametrize("count", [1, 7, 20])
def test_limits_of_a_share_are_the_exact_ones(count):
    """Each limit is the one-sided one of Clopper and Pearson."""
    for hits in range(count + 1):
        sides = [stats.binomtest(hits, count, alternative=side).proportion_ci() for side in ("greater", "less")]
        assert np.allclose(inference.interval_of_share(hits, count), (sides[0].low, sides[1].high))


def test_none_of_twenty_wrong_allows_fourteen_percent():
    """The figure that a reader of "0 of 20" should have in mind: 1 - 0.05^(1/20)."""
    assert inference.interval_of_share(0, 20) == (0.0, pytest.approx(1 - 0.05 ** (1 / 20)))
    assert 0.139 < inference.interval_of_share(0, 20)[1] < 0.14


def test_p_values_of_equal_differences():
    """p is 1 if no run differs, and 0 if all differ by the same amount."""
    values = np.random.default_rng(2).normal(0.5, 1.0, 9)
    assert inference.compute_p_value(values) == pytest.approx(stats.ttest_1samp(values, 0.0).pvalue)
    assert inference.compute_p_value(np.zeros(5)) == 1.0
    assert inference.compute_p_value(np.full(5, 2.0)) == 0.0


def test_holm_rejects_step_by_step():
    """A p-value below the level after the correction is one that Holm's procedure, written as steps, rejects."""
    generator = np.random.default_rng(3)
    for _ in range(200):
        p_values = generator.random(6) ** 3
        rejected, ordered = set(), sorted(range(6), key=lambda place: p_values[place])
        for step, place in enumerate(ordered):
            if p_values[place] >= inference.RISK / (6 - step):
                break
            rejected.add(place)
        corrected = inference.correct_by_holm(p_values.tolist())
        assert {place for place in range(6) if corrected[place] < inference.RISK} == rejected
    assert inference.correct_by_holm([]) == []


def test_teachers_are_compared_run_by_run():
    """All pairs and quantities are one family; turning a difference round changes its sign only."""
    generator = np.random.default_rng(4)
    noise = generator.normal(0.0, 100.0, 15)
    regret = np.array([noise, noise + 1.0 + generator.normal(0.0, 0.1, 15), noise])
    cost = generator.normal(0.0, 1.0, (3, 15))
    found = inference.compare_pairs({"regret": regret, "cost": cost}, ["a", "b", "c"])
    assert [(each.quantity, each.teacher, each.than) for each in found[:3]] == [
        ("regret", "a", "b"),
        ("regret", "a", "c"),
        ("regret", "b", "c"),
    ]
    differences = regret[0] - regret[1]
    low, high = stats.ttest_1samp(differences, 0.0).confidence_interval(1 - inference.RISK / 6)
    assert (found[0].low, found[0].high) == (pytest.approx(low), pytest.approx(high))
    assert found[0].p == pytest.approx(6 * stats.ttest_1samp(differences, 0.0).pvalue)
    assert (found[1].mean, found[1].low, found[1].high, found[1].p) == (0.0, 0.0, 0.0, 1.0)
    turned = inference.select_differences(found, "a")
    assert [(each.quantity, each.teacher) for each in turned] == [
        ("regret", "b"),
        ("regret", "c"),
        ("cost", "b"),
        ("cost", "c"),
    ]
    assert (turned[0].low, turned[0].high) == (-found[0].high, -found[0].low)
    assert inference.compare_pairs({"regret": regret[:, :1]}, ["a", "b", "c"]) == []


def test_simultaneous_band_covers_the_whole_mean():
    """Of random walks, a band misses the mean anywhere in about RISK of all repetitions, single intervals more often.

    If 7 % of the bands miss, more than the limit do in one of a million experiments.
    """
    generator = np.random.default_rng(5)
    repetitions, runs, rounds = 400, 10, 40
    walks = generator.normal(0.0, 1.0, (repetitions, runs, rounds)).cumsum(axis=2)
    misses = sum(bool((np.abs(walk.mean(axis=0)) > inference.half_width_of_band(walk)).any()) for walk in walks)
    assert misses <= stats.binom.isf(1e-6, repetitions, 0.07)
    single = stats.t.isf(inference.RISK / 2, runs - 1) * walks.std(axis=1, ddof=1) / np.sqrt(runs)
    assert (np.abs(walks.mean(axis=1)) > single).any(axis=1).sum() > stats.binom.isf(1e-6, repetitions, 0.07)


def test_band_of_one_checkpoint_is_the_interval():
    """Up to the error of the simulated quantile, and 0 for one run or equal runs."""
    values = np.random.default_rng(6).normal(0.0, 1.0, 8)
    low, high = inference.interval_of_mean(values)
    assert inference.half_width_of_band(values[:, None])[0] == pytest.approx((high - low) / 2, rel=0.05)
    assert inference.half_width_of_band(values[:1, None]).tolist() == [0.0]
    assert inference.half_width_of_band(np.full((4, 2), 3.0)).tolist() == [0.0, 0.0]
