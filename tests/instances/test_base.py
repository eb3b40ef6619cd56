"""Instance: derived facts, ties, and what it refuses."""

import math

import numpy as np
import pytest

from tutelage.distributions.beta import Beta
from tutelage.distributions.empirical import Empirical
from tutelage.errors import InputError
from tutelage.instances.base import Instance, equal_weights


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
    """Without a tie the notes have only the gap; a tie below the best arm does not count."""
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
        ([[0.1, 0.2]], {"arm_names": ("a", "a")}, "'a' appears twice among the arms"),
        ([[0.1, 0.2]], {"rewards": Empirical()}, "observed rewards"),
    ],
)
def test_refused(means, more, words):
    """Means outside [0, 1], names that do not fit and an empirical distribution of nothing are refused."""
    with pytest.raises(InputError, match=words):
        make(means, **more)


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ([0.5, 0.6], "sum to 1.1, not to 1"),
        ([1.0, 0.0], "Invalid weight 0 of client 1: use a finite number above 0"),
        ([0.0, 0.0], "Invalid weight 0 of client 0"),
        ([1.0], "1 weights for 2 clients"),
        ([], "0 weights for 2 clients"),
        ([1.5, -0.5], "Invalid weight -0.5 of client 1"),
        ([math.nan, 1.0], "weight nan of client 0"),
        ([0.5, math.inf], "weight inf of client 1"),
        ([1e308, 1e308], r"up to 1e\+308, are too large to be summed"),
        ([1e308, 1.0], r"sum to 1e\+308, not to 1"),
    ],
)
def test_weights_refused(weights, said):
    """Weights that do not sum to 1, are not positive and finite or do not fit the clients are refused."""
    with pytest.raises(InputError, match=said):
        Instance("test", np.full((2, 2), 0.5), np.array(weights))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"name": 5}, "Invalid name of an instance 5: use a text"),
        ({"local_means": None}, "local means are not an array of numbers"),
        ({"local_means": [[0.1, 0.2], [0.3]]}, "rows of equal length"),
        ({"local_means": [["a"]]}, "not an array of numbers"),
        ({"local_means": np.array([[0.1]], dtype=object)}, "not an array of numbers"),
        ({"weights": None}, "weights are not an array of numbers"),
        ({"weights": 1.0}, "1 weights for 1 clients"),
        ({"rewards": 5}, "Invalid reward distribution 5: use a SPEC"),
        ({"rewards": "gamma"}, "Unknown reward distribution 'gamma'"),
        ({"client_names": 5}, "Invalid names of clients 5"),
        ({"client_names": "x"}, "Invalid names of clients 'x'"),
        ({"arm_names": [5]}, "Invalid name 5 among the arms: use a text"),
        ({"samples": None}, "invalid samples None"),
    ],
)
def test_invalid_fields(given, words):
    """One sentence says which part cannot be used."""
    fields = {"name": "x", "local_means": [[0.5]], "weights": [1.0]} | given
    with pytest.raises(InputError, match=words):
        Instance(**fields)


def test_lists_and_specs_are_converted():
    """Lists become arrays and tuples, a SPEC becomes a reward distribution."""
    instance = Instance("x", [[0, 1]], [1], rewards="beta(20)", client_names=["a"], arm_names=["b", "c"])
    assert instance.local_means.dtype == instance.weights.dtype == np.float64
    assert instance.rewards == Beta(20.0)
    assert (instance.client_names, instance.arm_names) == (("a",), ("b", "c"))
