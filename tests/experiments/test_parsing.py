"""Reading experiment files: a fault is one sentence with section, key, value and what is allowed."""

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tutelage.errors import InputError
from tutelage.experiments import definition, read_experiment
from tutelage.experiments.claims import CLAIM_KINDS
from tutelage.experiments.parsing import parse_experiment

CLAIM = "[[panels.claims]] number 1 of [[panels]] number 1 ('curves')"
SET = "[[instances]] number 2 ('random')"
FIXED = "[[instances]] number 1 ('fixed')"
ALL = "[[clients]] number 1 ('all')"
CURVES = "[[panels]] number 1 ('curves')"
DOTS = "[[panels]] number 3 ('dots')"
HEAD = "top level"
COUNT = "use a whole number in [1, 9007199254740991]"


def test_a_file_is_read(small, tmp_path):
    """Every section is read, with full SPECs and with defaults for missing keys."""
    path = tmp_path / "small.toml"
    path.write_text(small, encoding="utf-8")
    experiment = read_experiment(path)
    assert experiment.teachers == ("twl", "known", "none")
    assert [entry.label for entry in experiment.instances] == ["fixed", "random"]
    assert experiment.instances[1].seed_numbers == (4, 5, 6)
    assert [panel.name for panel in experiment.panels] == ["curves", "costs", "dots"]
    assert experiment.panels[0].claims[0].factor == 1.0
    assert experiment == parse_experiment(small, "again")


@pytest.mark.parametrize(
    ("written", "instead", "fault", "place", "remedy"),
    [
        ("runs = 2\nseed", "rnus = 2\nseed", "unknown key 'rnus'", f"{HEAD}", "(did you mean 'runs'?)"),
        ('label = "fixed"', 'label = "fixed"\nrun = 3', "unknown key 'run'", FIXED, "the keys are label, spec"),
        ('label = "all"', 'label = "all"\nfoo = 1', "unknown key 'foo'", ALL, "the keys are label, spec."),
        ('name = "dots"', 'name = "dots"\nfoo = 1', "unknown key 'foo'", DOTS, "the keys are name, quantity"),
        ("than =", "then =", "unknown key 'then'", CLAIM, "(did you mean 'than'?)"),
        ('kind = "below"', 'kind = "bellow"', 'invalid kind "bellow"', CLAIM, "use one of below, mostly-below"),
        ('kind = "below"\n', "", "missing key 'kind'", CLAIM, "use one of below, mostly-below"),
        ('section = "I"\n', "", "missing key 'section'", CLAIM, "use text"),
        ('name = "small"\n', "", "missing key 'name'", HEAD, "use at most 100 letters"),
        ("runs = 2\nseed", 'runs = "2"\nseed', 'invalid runs "2"', HEAD, COUNT),
        ("runs = 2\nseed", "runs = true\nseed", "invalid runs true", HEAD, COUNT),
        ("runs = 2\nseed", "runs = 0\nseed", "invalid runs 0", HEAD, COUNT),
        ("seed = 7", "seed = 1979-05-27", 'invalid seed "1979-05-27"', HEAD, "a whole number from 0 to 2^63 - 1"),
        ("[300]", "[300, 300]", "horizons '300' appears twice", HEAD, "remove one"),
        ("[300]", "[]", "invalid horizons []", HEAD, "use a list of at least 1, each a whole number"),
        ("[300]", "[300, 400]", "missing key 'horizon'", CURVES, "use one of 300, 400"),
        ('"twl", "known"', '"twl", "konwn"', "invalid teachers", HEAD, "'konwn'"),
        ("checkpoints = 6", 'checkpoints = "linaer"', "invalid checkpoints", HEAD, "'linaer'"),
        ("checkpoints = 6", "checkpoints = [1, 2.5]", "invalid checkpoints [1, 2.5]", HEAD, "a list of rounds"),
        ('"4..6"', '"6..4"', "invalid seeds '6..4'", SET, "use FIRST..LAST"),
        ("uniform:clients=3", "unifrom:clients=3", "invalid spec 'unifrom:clients=3", SET, "uniform"),
        ("arms=2", "arms=2,seed=1", "invalid spec 'uniform:clients=3,arms=2,seed=1'", SET, "'seed'"),
        ('"uniform:clients=3,arms=2"', '"paper"', "invalid spec 'paper'", SET, "'seed'"),
        ('label = "random"', 'label = "random"\ndata = "netflix"', "data set 'netflix'", SET, "ml-latest-small"),
        ('label = "all"', 'label = "a b"', 'invalid label "a b"', "[[clients]] number 1 ('a b')", "use at most"),
        ('label = "random"', 'label = "fixed"', "label 'fixed' appears twice", "[[instances]]", "remove one"),
        ('instance = "random"', 'instance = "rand"', "invalid instance 'rand'", DOTS, "fixed, random"),
        ('"regret-cost"', '"regret"', "invalid quantity 'regret'", DOTS, "use regret-cost"),
        ('"regret-cost"', '"both"', 'invalid quantity "both"', DOTS, "use cost, regret or regret-cost"),
        ('than = ["none"]', 'than = ["na"]', "invalid teacher in than 'na'", "[[panels.claims]] number 1", "known"),
        ('than = ["none"]', 'than = ["none"]\nfactor = inf', "invalid factor Infinity", CLAIM, "a finite number"),
        ('than = ["none"]', 'than = ["none"]\nfactor = nan', "invalid factor NaN", CLAIM, "a finite number"),
        ("[[clients]]", "[clients]", "invalid clients {", HEAD, "use one or more [[clients]] sections"),
        ("runs = 2\nseed", "runs = \nseed", "invalid TOML", "line 4", ""),
        ("runs = 2\nseed", "runs = 2\nruns = 2", "invalid TOML", "a key appears twice", ""),
        ("runs = 2\nseed", f"runs = {'[' * 5000}\nseed", "nested too deeply", "a list of lists", ""),
        ("runs = 2\nseed", f"runs = {'[' * 300}{']' * 300}\nseed", "invalid runs [[[[", HEAD, COUNT),
        ("runs = 2\nseed", f"runs = {'9' * 5000}\nseed", "too many digits", "shorten it", ""),
        ("runs = 2\nseed", f"runs = {'9' * 4000}\nseed", "invalid runs 999", HEAD, COUNT),
        ('label = "all"', f'label = "{"a" * 101}"', 'invalid label "aaa', f"number 1 ('{'a' * 37}...')", "100"),
        ("checkpoints = 6", "checkpoints = [400]", "invalid checkpoints for the horizon 300", HEAD, "400"),
        ('spec = "ucb1"', 'spec = "ucb9"', "invalid spec 'ucb9'", ALL, "policy"),
    ],
)
def test_a_fault_names_file_section_value_and_remedy(small, written, instead, fault, place, remedy):
    """One line that says which file, which section, which key or value, and what is allowed."""
    assert written in small
    with pytest.raises(InputError) as raised:
        parse_experiment(small.replace(written, instead, 1), "mine.toml")
    message = str(raised.value)
    assert message.startswith("mine.toml: ")
    assert fault in message
    assert place in message
    assert remedy in message
    assert "\n" not in message
    assert message.endswith(".")


def test_a_list_of_values_in_place_of_sections():
    """The sentence says which list, and what belongs there."""
    text = 'name = "x"\nteachers = ["twl"]\ninstances = [1]\nclients = []'
    with pytest.raises(InputError, match=r"^x: \[\[instances\]\] number 1: 1 is not a section: write keys"):
        parse_experiment(text, "x")


def test_a_claim_about_a_scatter_plot_needs_a_quantity(small):
    """A panel of both quantities has no default for its claims."""
    claim = """
[[panels.claims]]
kind = "below"
text = "Knowing is better."
section = "I"
teachers = ["known"]
than = ["none"]
"""
    with pytest.raises(InputError, match=r"number 3 \('dots'\).*: missing key 'quantity'"):
        parse_experiment(small + claim, "mine.toml")
    assert parse_experiment(small + claim + 'quantity = "cost"', "mine.toml").panels[2].claims[0].quantity == "cost"


def test_growth_needs_curves(small):
    """A set of instances has no curves over time."""
    claim = """
[[panels.claims]]
kind = "growth"
text = "It grows."
section = "I"
teachers = ["none"]
shape = "linear"
quantity = "regret"
"""
    with pytest.raises(InputError, match="invalid kind 'growth': it needs curves"):
        parse_experiment(small + claim, "mine.toml")


@pytest.mark.parametrize("path", ["no-such.toml", "."])
def test_a_path_that_is_not_a_file(path):
    """A missing file and a folder are named in the error."""
    with pytest.raises(InputError, match=re.escape(repr(path))):
        read_experiment(path)


def test_every_key_is_documented():
    """docs/experiments.md names each key of each section and each kind of claim."""
    page = (Path(__file__).parents[2] / "docs" / "experiments.md").read_text(encoding="utf-8")
    sections: tuple[Any, ...] = (
        definition.Experiment,
        definition.InstanceEntry,
        definition.ClientsEntry,
        definition.Panel,
    )
    for section in (*sections, *CLAIM_KINDS.values()):
        for item in msgspec.structs.fields(section):
            assert f"`{item.name}`" in page, f"{section.__name__}.{item.name}"
    for kind in CLAIM_KINDS:
        assert f"`{kind}`" in page


@pytest.mark.parametrize("path", [None, 3, b"x", ["small.toml"], float("nan")])
def test_a_value_that_is_not_a_path(path):
    """The error says so, whatever the value's text is."""
    with pytest.raises(InputError, match="Invalid path"):
        read_experiment(path)


def test_the_longest_labels_are_valid_file_names(small, tmp_path):
    """Names of pictures consist of two labels, a horizon and a quantity, and any file system allows them."""
    text = small[: small.index("[[panels]]")].replace("[300]", "[300, 9007199254740991]")
    for label in ("fixed", "random", "all"):
        text = text.replace(f'label = "{label}"', f'label = "{label}{"x" * (100 - len(label))}"')
    for panel in parse_experiment(text, "small.toml").all_panels():
        (tmp_path / f"{panel.name}.pdf").touch()


def test_the_example_in_the_docs_shows_everything():
    """The example in docs/experiments.md has a panel for every instance, clients and horizon."""
    page = (Path(__file__).parents[2] / "docs" / "experiments.md").read_text(encoding="utf-8")
    block = next(part for part in re.findall(r"```toml\n(.*?)```", page, re.DOTALL) if "[[" in part)
    example = parse_experiment(block, "experiments.md")
    shown = {(panel.instance, panel.clients, panel.horizon) for panel in example.all_panels()}
    assert shown == {
        (instance.label, clients.label, horizon)
        for instance in example.instances
        for clients in example.clients
        for horizon in example.horizons
    }
    assert {instance.is_set for instance in example.instances} == {True, False}


def test_exponents_and_names_of_arms(small):
    """2e2 is a whole number; a teacher's target is a number, since instances differ in their names."""
    assert parse_experiment(small.replace("[300]", "[3e2]").replace("runs = 2", "runs = 2e0"), "x").horizons == (300,)
    with pytest.raises(InputError, match=r"horizons \[1.5\]"):
        parse_experiment(small.replace("[300]", "[1.5e0]"), "x")
    with pytest.raises(InputError, match=r"target=red in 'known\(target=red\)': use the number"):
        parse_experiment(small.replace('"known", "none"]', '"known(target=red)", "none"]', 1), "x")
