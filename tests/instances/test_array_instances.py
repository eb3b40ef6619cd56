"""Instances from arrays and DataFrames."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import tutelage
from tutelage import planning
from tutelage.errors import InputError

MEANS = [[0.2, 0.9], [0.4, 0.1]]
SHOES = {"shoes": [0.2, 0.4], "hats": [0.9, 0.1]}


@pytest.mark.parametrize(
    ("means", "clients", "arms"),
    [
        (MEANS, None, None),
        (np.array(MEANS), None, None),
        (pd.DataFrame(MEANS), None, None),
        (pl.DataFrame(np.array(MEANS)), None, None),
        (pd.DataFrame(SHOES), None, ("shoes", "hats")),
        (pl.DataFrame(SHOES), None, ("shoes", "hats")),
        (pd.DataFrame(SHOES, index=["x", "y"]), ("x", "y"), ("shoes", "hats")),
        (pd.DataFrame({"client": [1.0, 2.0], **SHOES}), ("1", "2"), ("shoes", "hats")),
        (pl.DataFrame({"shop": ["x", "y"], **SHOES}), ("x", "y"), ("shoes", "hats")),
        (pd.DataFrame(MEANS, columns=[2021, 2022]), None, ("2021", "2022")),
    ],
)
def test_means_and_names(means, clients, arms):
    """Arrays, lists and the DataFrames of both libraries, with the names that they have."""
    instance = tutelage.instance(means)
    assert instance.local_means.tolist() == MEANS
    assert (instance.client_names, instance.arm_names) == (clients, arms)
    assert instance.weights.tolist() == [0.5, 0.5]
    assert f"arms ({', '.join(arms)})" if arms else "arms without names" in dict(instance.notes)["read as"]


def test_weights_names_and_rewards_are_given():
    """Arguments take precedence over what the DataFrame holds."""
    frame = pd.DataFrame({"weight": [0.25, 0.75], **SHOES})
    assert tutelage.instance(frame).weights.tolist() == [0.25, 0.75]
    given = tutelage.instance(
        frame, arms=[1, "b"], clients=["x", "y"], weights=[0.5, 0.5], rewards="beta(20)", name="m"
    )
    assert (given.arm_names, given.client_names, given.name) == (("1", "b"), ("x", "y"), "m")
    assert given.weights.tolist() == [0.5, 0.5]
    assert given.rewards == tutelage.load_instance("paper:rewards=beta(20)").rewards


def test_it_is_a_copy():
    """Changing the array afterwards changes no instance."""
    means, weights = np.array(MEANS), np.array([0.5, 0.5])
    instance = tutelage.instance(means, weights=weights)
    means[:], weights[:] = 0.0, 1.0
    assert instance.local_means.tolist() == MEANS
    assert instance.weights.tolist() == [0.5, 0.5]


def test_it_is_simulated_and_planned_for(tmp_path):
    """It plays as the same table in a file does, teachers find its arms by name, and a plan takes it."""
    path = tmp_path / "m.csv"
    path.write_text("shoes,hats\n0.2,0.9\n0.4,0.1\n")
    options = {"horizon": 300, "runs": 2, "seed": 1, "checkpoints": 1}
    mine = tutelage.simulate(tutelage.instance(pd.DataFrame(SHOES)), "known(target=shoes)", "ucb1", **options)
    file = tutelage.simulate(path, "known(target=0)", "ucb1", **options)
    assert mine.pulls.to_numpy().tolist() == file.pulls.to_numpy().tolist()
    request = planning.make_request(
        planning.KnownInstance(tutelage.instance(pd.DataFrame(SHOES))), "known(target=hats)", horizon=300, runs=1
    )
    assert [teacher.target for teacher in request.teachers if hasattr(teacher, "target")] == [1, None]


@pytest.mark.parametrize(
    ("means", "words"),
    [
        ([0.1], r"two dimensions, clients x arms, with at least one of each; their shape is \(1,\)"),
        ([], "two dimensions, clients x arms"),
        ([[0.1], [0.2, 0.3]], "rows of equal length"),
        ([["a"]], "not an array of numbers"),
        (None, "not an array of numbers"),
        ([[1.5]], "outside"),
        (pd.DataFrame({"a": [0.2, None]}), "nan"),
        (pl.DataFrame({"a": [0.2, None]}), "nan"),
        (pd.DataFrame({"a": [0.5, "0,2"]}), "'0,2' in row 1 of the column 'a'"),
        (pd.DataFrame({"a": [True]}), "True"),
        (pd.DataFrame({"client": ["x"]}), "no column for an arm"),
        (pd.DataFrame({"shop": [0, 1], "a": [0.2, 0.3]}), "column 'shop' .* names or means"),
        (pd.DataFrame([[0.1, 0.2]], columns=["a", "a"]), "two columns named 'a'"),
    ],
)
def test_bad_means(means, words):
    """What is no table of means is refused with the column."""
    with pytest.raises(InputError, match=words):
        tutelage.instance(means)


@pytest.mark.parametrize(
    "given", [{"arms": ["a"]}, {"arms": "ab"}, {"clients": ["x", "x"]}, {"weights": [1]}, {"rewards": "gauss"}]
)
def test_bad_arguments(given):
    """Names, weights and distributions are checked as everywhere."""
    with pytest.raises(InputError):
        tutelage.instance(MEANS, **given)
