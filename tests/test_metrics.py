"""Regret and bands, against values worked out by hand."""

import math

import numpy as np

from tutelage.metrics import (
    RunStatistics,
    compute_phased_regret,
    compute_pseudo_regret,
    compute_pull_share,
    sum_over_clients,
    summarize_runs,
)


def test_regret_is_pulls_times_gaps():
    """Two clients at two checkpoints: sum over arms of pulls * gap, the best arm free."""
    pulls = np.array([[[1, 2, 3], [4, 4, 4]], [[0, 0, 9], [10, 0, 0]]])
    gaps = np.array([0.5, 0.25, 0.0])
    assert compute_pseudo_regret(pulls, gaps).tolist() == [[1.0, 3.0], [0.0, 5.0]]


def test_regret_sums_arms_in_order():
    """The sum equals a plain loop's to the last bit, for gaps that are not dyadic fractions."""
    pulls, gaps = np.array([3, 7, 11, 13]), np.array([0.1, 0.2, 0.3, 0.7])
    expected = 0.0
    for count, gap in zip(pulls.tolist(), gaps.tolist(), strict=True):
        expected += count * gap
    assert compute_pseudo_regret(pulls, gaps) == expected


def test_clients_are_summed_in_order():
    """1e16 + 1 - 1e16 is 0 in this order; any other grouping would give 1."""
    assert sum_over_clients(np.array([[1e16], [1.0], [-1e16]])).tolist() == [0.0]


def test_over_runs_interpolates_linearly():
    """0, 1, 2, 3: the 10th percentile lies three tenths of the way from the first to the second."""
    over = summarize_runs(np.array([3.0, 0.0, 2.0, 1.0]))
    assert over.mean == 1.5
    assert math.isclose(over.sd, math.sqrt(5 / 3))
    assert np.allclose([over.q10, over.q50, over.q90], [0.3, 1.5, 2.7], rtol=0, atol=1e-15)


def test_one_run_has_no_standard_deviation():
    """With one run all quantiles are its value; sd and interval are None, not NaN or 0."""
    assert summarize_runs(np.array([4.0])) == RunStatistics(4.0, None, 4.0, 4.0, 4.0, None, None)


def test_share_counts_pulls_between_two_states():
    """Of the 10 pulls made since, 6 went to arms 0 and 2."""
    before, after = np.array([[1, 1, 1]]), np.array([[6, 5, 2]])
    assert compute_pull_share((0, 2), before, after) == 0.6
    assert math.isnan(compute_pull_share((0,), after, after))


def test_regret_counts_each_pull_with_its_own_phase():
    """Pulls before a shift with the old gaps, after it with the new ones, whatever the checkpoints."""
    rng = np.random.default_rng(3)
    gaps = [rng.random(3) for _ in range(3)]
    arms = rng.integers(3, size=(2, 40))
    after = [0, 12, 30]
    rounds = np.array([5, 12, 20, 30, 40])
    pulls = np.array([[[int((row[:t] == k).sum()) for k in range(3)] for t in rounds] for row in arms])
    regret = compute_phased_regret(pulls, rounds, list(zip(after, gaps, strict=True)))
    phase = np.searchsorted(after, np.arange(1, 41), side="left") - 1
    for row, found in zip(arms, regret, strict=True):
        each = [gaps[phase[t]][arm] for t, arm in enumerate(row)]
        assert np.allclose(found, [sum(each[:t]) for t in rounds])
