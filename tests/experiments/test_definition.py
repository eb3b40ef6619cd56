"""Experiments as values: what a file leaves out, sets of instances, and a choice of panels."""

import dataclasses

import pytest
from pydantic import ValidationError

from tutelage.experiments import ClientsEntry, Experiment, InstanceEntry
from tutelage.experiments.reading import parse


def test_without_panels_everything_is_shown(small):
    """A panel for each quantity of every instance, clients and horizon; a set has no curves."""
    text = small[: small.index("[[panels]]")].replace("[300]", "[300, 400]")
    shown = parse(text, "small.toml").shown()
    assert [panel.name for panel in shown] == [
        f"fixed-all-{horizon}-{quantity}"
        for horizon in (300, 400)
        for quantity in ("regret", "cost", "regret-cost")
    ] + ["random-all-300-regret-cost", "random-all-400-regret-cost"]
    assert {panel.horizon for panel in shown} == {300, 400}


def test_only_narrows_the_matrix(small):
    """What no chosen panel shows need not be played."""
    chosen = parse(small, "small.toml").only({"dots"})
    assert [entry.label for entry in chosen.instances] == ["random"]
    assert [panel.name for panel in chosen.panels] == ["dots"]


def test_panels_take_the_only_horizon(small):
    """A panel that names none is of the experiment's, also where that is changed later."""
    experiment = dataclasses.replace(parse(small, "small.toml"), horizons=(77,))
    assert {panel.horizon for panel in experiment.shown()} == {77}


@pytest.mark.parametrize(
    ("entry", "path", "specs"),
    [
        (InstanceEntry(label="a", spec="paper"), None, ["paper"]),
        (InstanceEntry(label="a", spec="uniform", seeds="8..9"), None, ["uniform:seed=8", "uniform:seed=9"]),
        (
            InstanceEntry(label="a", spec="uniform:arms=2", seeds="8..8"),
            None,
            ["uniform:arms=2,seed=8"],
        ),
        (
            InstanceEntry(label="a", spec="movielens:clients=3", data="ml-latest-small"),
            "/x, y",
            ['movielens:"/x, y",clients=3'],
        ),
        (
            InstanceEntry(label="a", spec="movielens", data="ml-latest-small", seeds="1..1"),
            'a"b',
            ["movielens:'a\"b',seed=1"],
        ),
    ],
)
def test_specs_of_an_entry(entry, path, specs):
    """The path of a data set and the seeds of a set are put where a SPEC has them."""
    assert list(entry.specs(path)) == specs


def test_values_are_checked_in_python_too():
    """A dataclass made by hand takes no text for a number either."""
    with pytest.raises(ValidationError):
        Experiment(
            name="x",
            teachers=("twl",),
            instances=(InstanceEntry(label="a", spec="paper"),),
            clients=(ClientsEntry(label="c", spec="ucb1"),),
            runs="3",
        )
