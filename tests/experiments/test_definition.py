"""Experiments as values: what a file leaves out, sets of instances, and a choice of panels."""

import dataclasses

import pytest

from tutelage.errors import InputError
from tutelage.experiments import ClientsEntry, Experiment, InstanceEntry, Panel
from tutelage.experiments.parsing import parse


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


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"runs": "3"}, "Experiment: runs = '3' cannot be used (Input should be a valid integer)."),
        ({"runs": -1}, "Experiment: runs = -1 cannot be used (Input should be greater than or equal to 1)."),
        ({"runs": 1.5}, "Experiment: runs = 1.5 cannot be used (Input should be a valid integer)."),
        ({"name": None}, "Experiment: name = None cannot be used (Input should be a valid string)."),
        ({"horizons": (5, 0)}, "Experiment: horizons = 0 cannot be used"),
        ({"teachers": ()}, "Experiment: teachers is empty: give at least one."),
        ({"teachers": ("twi",)}, "Experiment: teachers: There is no teacher 'twi'"),
        ({"panels": None}, "Experiment: panels = None cannot be used (Input should be a valid tuple)."),
        ({"rnus": 3}, "Experiment: rnus is no key of it."),
    ],
)
def test_values_are_checked_in_python_too(given, told):
    """What is made by hand, or changed, is checked as a file is, and told in one sentence."""
    whole = {
        "name": "x",
        "teachers": ("twl",),
        "instances": (InstanceEntry(label="a", spec="paper"),),
        "clients": (ClientsEntry(label="c", spec="ucb1"),),
    }
    with pytest.raises(InputError) as made:
        Experiment(**whole | given)
    assert str(made.value).startswith(told)
    assert "\n" not in str(made.value)
    if set(given) <= {"runs", "name"}:
        with pytest.raises(InputError):
            dataclasses.replace(Experiment(**whole), **given)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (Experiment, "Experiment: name is missing."),
        (
            lambda: InstanceEntry(label="a", spec="zz"),
            "InstanceEntry: spec = 'zz': There is no",
        ),
        (lambda: ClientsEntry(label="a", spec=""), "ClientsEntry: spec is empty"),
        (lambda: ClientsEntry(label="a", spec="2*ucb1,ts9"), "There is no policy 'ts9'"),
        (lambda: Panel(name="a", quantity="both", instance="p", clients="c"), "Panel: quantity = 'both'"),
    ],
)
def test_every_section_tells_its_faults(make, told):
    """Not only the whole experiment."""
    with pytest.raises(InputError) as raised:
        make()
    assert told in str(raised.value)


def test_an_instance_that_there_is_none_of(small):
    """Asking for it is an error of the one who asks."""
    with pytest.raises(InputError, match="no instance 'zz' in small: they are fixed, random"):
        parse(small, "small.toml").instance("zz")
