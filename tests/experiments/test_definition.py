"""Experiments as values: what a file leaves out, sets of instances, and a choice of panels."""

import pytest
from msgspec.structs import replace

from tutelage.errors import InputError
from tutelage.experiments import ClientsEntry, Experiment, InstanceEntry, Panel
from tutelage.experiments.parsing import parse_experiment


def test_without_panels_everything_has_one(small):
    """There is one for each quantity of every instance, clients and horizon; a set has no curves."""
    text = small[: small.index("[[panels]]")].replace("[300]", "[300, 400]")
    shown = parse_experiment(text, "small.toml").all_panels()
    assert [panel.name for panel in shown] == [
        f"fixed-all-{horizon}-{quantity}" for horizon in (300, 400) for quantity in ("regret", "cost", "regret-cost")
    ] + ["random-all-300-regret-cost", "random-all-400-regret-cost"]
    assert {panel.horizon for panel in shown} == {300, 400}


def test_select_keeps_only_what_panels_show(small):
    """Instances and clients that no selected panel shows are removed."""
    chosen = parse_experiment(small, "small.toml").select({"dots"})
    assert [entry.label for entry in chosen.instances] == ["random"]
    assert [panel.name for panel in chosen.panels] == ["dots"]


def test_panels_have_the_only_horizon(small):
    """A panel without a horizon has that of the experiment, also after it is changed."""
    experiment = replace(parse_experiment(small, "small.toml"), horizons=(77,))
    assert {panel.horizon for panel in experiment.all_panels()} == {77}


@pytest.mark.parametrize(
    ("entry", "path", "specs"),
    [
        (InstanceEntry(label="a", spec="paper"), None, ["paper"]),
        (InstanceEntry(label="a", spec="uniform", seeds="8..9"), None, ["uniform:seed=8", "uniform:seed=9"]),
        (InstanceEntry(label="a", spec="uniform:arms=2", seeds="8..8"), None, ["uniform:arms=2,seed=8"]),
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
    """The path of a data set and the seeds of a set become parameters of the SPEC."""
    assert list(entry.specs(path)) == specs


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"runs": "3"}, "Experiment: invalid runs '3': use a whole number in [1, "),
        ({"runs": -1}, "Experiment: invalid runs -1: use a whole number in [1, "),
        ({"runs": 1.5}, "Experiment: invalid runs 1.5: use a whole number in [1, "),
        ({"name": None}, "Experiment: invalid name None: use at most 100 letters"),
        ({"horizons": (5, 0)}, "Experiment: invalid horizons (5, 0): use a list of at least 1, each a whole"),
        ({"teachers": ()}, "Experiment: invalid teachers (): use a list of at least one teacher."),
        ({"teachers": ("twi",)}, "Experiment: invalid teachers: "),
        ({"panels": None}, "Experiment: invalid panels None: use [[panels]] sections."),
        ({"panels": ({"name": "a b"},)}, "Experiment: invalid panels ({'name': 'a b'},): use [[panels]]"),
    ],
)
def test_values_are_checked_in_python_too(values, message):
    """Sections made or replaced in Python are checked like a file, with one sentence."""
    whole = {
        "name": "x",
        "teachers": ("twl",),
        "instances": (InstanceEntry(label="a", spec="paper"),),
        "clients": (ClientsEntry(label="c", spec="ucb1"),),
    }
    with pytest.raises(InputError) as made:
        Experiment(**whole | values)
    assert str(made.value).startswith(message)
    assert "\n" not in str(made.value)
    if set(values) <= {"runs", "name"}:
        with pytest.raises(InputError):
            replace(Experiment(**whole), **values)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: InstanceEntry(label="a", spec="zz"), "InstanceEntry: invalid spec 'zz': "),
        (lambda: ClientsEntry(label="a", spec=""), "ClientsEntry: invalid spec ''"),
        (lambda: ClientsEntry(label="a", spec="2*ucb1,ts9"), "'ts9'"),
        (lambda: Panel(name="a", quantity="both", instance="p", clients="c"), "Panel: invalid quantity 'both'"),
    ],
)
def test_every_section_is_checked(make, message):
    """Not only the whole experiment is checked."""
    with pytest.raises(InputError) as raised:
        make()
    assert message in str(raised.value)


def test_an_unknown_instance(small):
    """The error lists the labels of the instances."""
    with pytest.raises(InputError, match="Unknown instance 'zz' in small: the instances are fixed, random"):
        parse_experiment(small, "small.toml").instance("zz")
