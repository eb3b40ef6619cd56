"""Uniform random instances."""

import numpy as np
import pytest

from tutelage.instances import load


def test_seeded():
    """The same seed gives the same means, another seed others, and the notes show it."""
    one, two, other = (load(f"uniform:clients=3,arms=4,seed={seed}") for seed in (3, 3, 4))
    assert np.array_equal(one.local_means, two.local_means)
    assert not np.array_equal(one.local_means, other.local_means)
    assert one.notes[0] == ("seed", "3")


@pytest.mark.parametrize(("clients", "arms"), [(1, 1), (1, 7), (7, 1), (200, 30)])
def test_any_size(clients, arms):
    """Any size works, one client and one arm too."""
    instance = load(f"uniform:clients={clients},arms={arms}")
    assert instance.local_means.shape == (clients, arms)


def test_means_are_uniform():
    """10,000 means: the largest distance of their distribution from the uniform one is as it should be.

    Kolmogorov's bound 2 exp(-2 n d^2) at d = .027 is a false alarm in a million; the seed is fixed anyway.
    """
    means = np.sort(load("uniform:clients=100,arms=100,seed=1").local_means.reshape(-1))
    assert np.max(np.abs(means - np.arange(1, 10_001) / 10_000)) < 0.027
