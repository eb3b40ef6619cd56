"""Instance: derived facts, ties, and what it refuses."""

import numpy as np
import pytest

from tutelage.errors import InputError
from tutelage.instances.base import Instance, equal_weights
from tutelage.instances.laws import Empirical


def make(means, **more):
    """An instance of equal weights."""
    means = np.array(means, dtype=float)
    return Instance("test", means, equal_weights(len(means)), **more)


def test_tie_is_noted():
    """Two best arms exactly tied are allowed, and the notes say so with the arms' names."""
    notes = dict(make([[0.1, 0.5, 0.2], [0.7, 0.3, 0.2]], arm_names=("a", "b", "c")).notes)
    assert "exactly tied (a, b)" in notes["tie"]
    assert notes["gap"] == "0"


def test_tie_but_for_rounding():
    """.1 and .7 tie with .4 and .4, although the rounded sums of the floats differ."""
    instance = make([[0.4, 0.1], [0.4, 0.7]])
    assert instance.best_arms == (0, 1)
    assert instance.best_arm == 0
    assert instance.min_gap == 0.0


def test_no_tie_without_one():
    """Without a tie the notes hold the gap alone; a tie below the best is none."""
    notes = dict(make([[0.1, 0.1, 0.2]]).notes)
    assert notes == {"gap": "0.1"}
    assert make([[0.3]]).min_gap == 0.0


@pytest.mark.parametrize(
    ("means", "more", "words"),
    [
        ([[0.1, 1.2]], {}, "1.2"),
        ([[0.1, float("nan")]], {}, "nan"),
        ([[-0.1, 0.2]], {}, "-0.1"),
        ([[0.1]], {"client_names": ("a", "b")}, "2 names for 1 clients"),
        ([[0.1, 0.2]], {"arm_names": ("a", "a")}, "'a' is given to two arms"),
        ([[0.1, 0.2]], {"law": Empirical()}, "observed rewards"),
    ],
)
def test_refused(means, more, words):
    """Means outside [0, 1], names that do not fit and an empirical law of nothing are refused."""
    with pytest.raises(InputError, match=words):
        make(means, **more)


@pytest.mark.parametrize("weights", [[0.5, 0.6], [1.0, 0.0], [1.0], [1.5, -0.5], [float("nan"), 1.0]])
def test_weights_refused(weights):
    """Weights that do not sum to 1, are not positive or do not fit the clients are refused."""
    with pytest.raises(InputError, match="weight"):
        Instance("test", np.full((2, 2), 0.5), np.array(weights))
