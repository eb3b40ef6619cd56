"""Reward distributions: the empirical distribution resamples what was seen."""

import numpy as np
import pytest

from tutelage.distributions import parse_distribution
from tutelage.distributions.base import RewardArrays
from tutelage.distributions.empirical import draw
from tutelage.errors import InputError
from tutelage.instances import load
from tutelage.instances.readers.reward_counts import tally


def reference(arrays, cell, share):
    """The first value whose cumulative share exceeds the drawn one, by a plain scan."""
    at = arrays.offsets[cell]
    while arrays.cumulative[at] <= share:
        at += 1
    return arrays.values[at]


def test_empirical_draw_is_the_inverse_of_the_shares():
    """draw() of the empirical distribution equals a plain scan of the cumulative shares, cell by cell."""
    generator = np.random.default_rng(1)
    cells = generator.integers(0, 6, 500)
    observed = tally(cells, generator.integers(0, 8, 500) / 7, None, 2, 3)
    samples = observed.samples()
    arrays = RewardArrays(
        observed.means, observed.means[0], np.zeros(0), samples.offsets, samples.values, samples.cumulative
    )
    for client in range(2):
        for arm in range(3):
            one, two = np.random.default_rng(5), np.random.default_rng(5)
            for _ in range(200):
                assert draw(arrays, client, arm, one) == reference(arrays, client * 3 + arm, two.random())


def test_samples_end_at_one_and_average_to_the_mean():
    """The last share of every cell is exactly 1, and the values weighted by their shares give the mean."""
    generator = np.random.default_rng(2)
    observed = tally(generator.integers(0, 4, 300), generator.random(300), None, 2, 2)
    samples = observed.samples()
    for cell in range(4):
        part = slice(samples.offsets[cell], samples.offsets[cell + 1])
        shares = np.diff(samples.cumulative[part], prepend=0.0)
        assert samples.cumulative[part][-1] == 1.0
        assert np.isclose(np.sum(shares * samples.values[part]), observed.means.reshape(-1)[cell])


def test_tally_dense_and_sorted_agree(monkeypatch):
    """Counting in one array and counting by sorting give the same."""
    generator = np.random.default_rng(3)
    cells, values = generator.integers(0, 6, 100), generator.integers(0, 5, 100) / 4
    dense = tally(cells, values, None, 2, 3)
    monkeypatch.setattr("tutelage.instances.readers.reward_counts._DENSE", 0)
    by_sorting = tally(cells, values, None, 2, 3)
    for field in ("cells", "values", "counts"):
        assert np.array_equal(getattr(dense, field), getattr(by_sorting, field))


def test_specs_of_distributions():
    """beta takes its concentration with or without the key; the instance's name spells it out."""
    assert parse_distribution("beta(20)") == parse_distribution("beta(concentration=20)")
    name = load("paper:rewards=beta(20)").name
    assert load(name).rewards == parse_distribution("beta(20)")
    with pytest.raises(InputError):
        parse_distribution("beta(twenty)")
