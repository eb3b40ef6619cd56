"""Checkpoints as rounds."""

import numpy as np
import pytest

from tutelage import simulator


@pytest.mark.parametrize(
    ("spec", "horizon", "rounds"),
    [
        ("linear", 3, [1, 2, 3]),
        ("linear(count=4)", 10, [2, 5, 7, 10]),
        ("4", 10, [2, 5, 7, 10]),
        (4, 10, [2, 5, 7, 10]),
        (np.int64(4), 10, [2, 5, 7, 10]),
        ("0004", 10, [2, 5, 7, 10]),
        (np.array([5, 2]), 9, [2, 5, 9]),
        ({5, 2}, 9, [2, 5, 9]),
        ("linear(count=1)", 10, [10]),
        ("logarithmic(count=4)", 1000, [1, 10, 100, 1000]),
        ("logarithmic(count=1)", 7, [1, 7]),
        ("logarithmic", 1, [1]),
        ([5, 2, 2], 9, [2, 5, 9]),
        ([], 9, [9]),
    ],
)
def test_checkpoints(spec, horizon, rounds):
    """Increasing rounds within the horizon, which is always the last."""
    assert simulator.checkpoint_rounds(spec, horizon).tolist() == rounds


@pytest.mark.parametrize("kind", ["linear", "logarithmic"])
@pytest.mark.parametrize("horizon", [1, 2, 199, 200, 201, 50_000, 10**9, 2**53])
def test_checkpoints_do_not_grow_with_the_horizon(kind, horizon):
    """At most 200, however long the horizon."""
    rounds = simulator.checkpoint_rounds(kind, horizon)
    assert rounds[0] >= 1
    assert rounds[-1] == horizon
    assert (np.diff(rounds) > 0).all()
    assert rounds.size <= 200
