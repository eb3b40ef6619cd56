"""Planted gaps are exact."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutelage.instances import load


@given(clients=st.integers(1, 12), arms=st.integers(2, 12), gap=st.floats(1e-9, 1.0), seed=st.integers(0, 2**40))
def test_gap_is_exact(clients, arms, gap, seed):
    """The gap is within 1e-12 of the one asked for, whatever the size, and every mean is in [0, 1]."""
    instance = load(f"planted:clients={clients},arms={arms},gap={gap!r},seed={seed}")
    assert abs(instance.min_gap - gap) <= 1e-12
    assert instance.local_means.min() >= 0.0
    assert instance.local_means.max() <= 1.0


@given(raw=st.lists(st.integers(1, 1000), min_size=1, max_size=8), gap=st.floats(0.0, 1.0), seed=st.integers(0, 99))
def test_gap_respects_weights(raw, gap, seed):
    """Under any weights the weighted global means have the gap; 0 ties two arms."""
    weights = np.array(raw) / sum(raw)
    text = ";".join(repr(float(weight)) for weight in weights)
    if len(raw) == 1:
        text = "1"
    instance = load(f"planted:clients={len(raw)},arms=4,gap={gap!r},seed={seed},weights={text}")
    assert abs(instance.min_gap - gap) <= 1e-12
    if gap == 0.0:
        assert len(instance.best_arms) >= 2


@pytest.mark.parametrize("weights", ["", ",weights=.1;.2;.3;.4"])
def test_gap_zero_ties_exactly(weights):
    """gap=0 ties two best arms whose local means differ, and the notes say so."""
    for seed in range(20):
        instance = load(f"planted:clients=4,arms=5,gap=0,seed={seed}{weights}")
        one, two = instance.best_arms
        assert instance.global_means[one] == instance.global_means[two]
        assert not np.array_equal(instance.local_means[:, one], instance.local_means[:, two])
        assert "tie" in dict(instance.notes)


def test_clients_disagree():
    """The best arm for all is not every client's: planting stretches means, it does not level them."""
    instance = load("planted:clients=50,arms=5,gap=.05,seed=1")
    assert np.mean(instance.local_means.argmax(axis=1) == instance.best_arm) < 0.5


def test_best_arm_varies():
    """The best arm is any of the arms, over seeds."""
    assert {load(f"planted:arms=3,seed={seed}").best_arm for seed in range(60)} == {0, 1, 2}


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("planted:gap=1.1", "gap=1.1"),
        ("planted:gap=-0.1", "gap=-0.1"),
        ("planted:gap=nan", "gap=nan"),
        ("planted:arms=1", "arms=1"),
        ("planted:clients=0", "clients=0"),
        ("planted:weights=.5;.5", "2 weights for 5 clients"),
    ],
)
def test_impossible(refuses, spec, words):
    """A gap that cannot be planted is refused."""
    refuses(spec, words)
