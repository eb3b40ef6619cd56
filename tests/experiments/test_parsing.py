"""Strict reading: a fault is one sentence with the key and the section where it stands."""

import dataclasses
import re
import textwrap
from pathlib import Path

import pytest

from tutelage.errors import InputError
from tutelage.experiments import claim_kinds, definition, read
from tutelage.experiments.parsing import parse

CLAIM = "[[panels.claims]] number 1 of [[panels]] number 1 ('curves')"
SET = "[[instances]] number 2 ('random')"
HEAD = "the head of the file"


def test_a_file_is_read(small, tmp_path):
    """Every section arrives, SPECs in full, what is left out by its default."""
    path = tmp_path / "small.toml"
    path.write_text(small, encoding="utf-8")
    experiment = read(path)
    assert experiment.teachers == ("twl(gamma1=1,gamma2=0)", "known", "none")
    assert [entry.label for entry in experiment.instances] == ["fixed", "random"]
    assert experiment.instances[1].seed_numbers == (4, 5, 6)
    assert [panel.name for panel in experiment.panels] == ["curves", "costs", "dots"]
    assert experiment.panels[0].claims[0].factor == 1.0
    assert experiment == parse(small, "again")


@pytest.mark.parametrize(
    ("written", "instead", "key", "place"),
    [
        ("runs = 2\nseed", "rnus = 2\nseed", "'rnus' in", f"{HEAD} (did you mean 'runs'?)"),
        ('label = "fixed"', 'label = "fixed"\nrun = 3', "'run' in", "[[instances]] number 1 ('fixed')"),
        ('label = "all"', 'label = "all"\nfoo = 1', "'foo' in", "[[clients]] number 1 ('all')"),
        ('name = "dots"', 'name = "dots"\nfoo = 1', "'foo' in", "[[panels]] number 3 ('dots')"),
        ("than =", "then =", "'then' in", f"{CLAIM} (did you mean 'than'?)"),
        ('kind = "below"', 'kind = "bellow"', "kind = 'bellow' in", CLAIM),
        ('kind = "below"\n', "", "lacks the key 'kind'", CLAIM),
        ('section = "I"\n', "", "lacks the key 'section'", CLAIM),
        ('name = "small"\n', "", "lacks the key 'name'", HEAD),
        ("runs = 2\nseed", 'runs = "2"\nseed', 'runs = "2" in', f"{HEAD} is not a whole number"),
        ("runs = 2\nseed", "runs = true\nseed", "runs = true in", f"{HEAD} is not a whole number"),
        ("runs = 2\nseed", "runs = 0\nseed", "runs = 0 in", f"{HEAD} is below 1"),
        ("seed = 7", "seed = 1979-05-27", "seed = 1979-05-27 in", HEAD),
        ("[300]", "[300, 300]", "horizons '300'", "given twice"),
        ("[300]", "[]", "horizons in", f"{HEAD} is empty"),
        ("[300]", "[300, 400]", "lacks the key horizon", "[[panels]] number 1 ('curves')"),
        ('"twl", "known"', '"twl", "konwn"', "teachers in", f"{HEAD}: There is no teacher 'konwn'"),
        ("checkpoints = 6", 'checkpoints = "linaer"', "checkpoints in", HEAD),
        ("checkpoints = 6", "checkpoints = [1, 2.5]", "checkpoints = [1, 2.5] in", HEAD),
        ('"4..6"', '"6..4"', "seeds = '6..4'", SET),
        ("uniform:clients=3", "unifrom:clients=3", "spec = 'unifrom:clients=3", SET),
        ("arms=2", "arms=2,seed=1", "'seed' is given twice", SET),
        ('"uniform:clients=3,arms=2"', '"paper"', "spec = 'paper'", SET),
        ('label = "random"', 'label = "random"\ndata = "netflix"', "no data set 'netflix'", SET),
        ('label = "all"', 'label = "a b"', "label in", "[[clients]] number 1 ('a b')"),
        ('label = "random"', 'label = "fixed"', "label 'fixed'", "[[instances]] is given twice"),
        ('instance = "random"', 'instance = "rand"', "instance = 'rand'", "[[panels]] number 3 ('dots')"),
        ('"regret-cost"', '"regret"', "quantity = 'regret'", "use regret-cost"),
        ('"regret-cost"', '"both"', 'quantity = "both"', "[[panels]] number 3 ('dots')"),
        ('than = ["none"]', 'than = ["na"]', "na in than", "[[panels.claims]] number 1"),
        ('than = ["none"]', 'than = ["none"]\nfactor = inf', "factor = Infinity", CLAIM),
        ("[[clients]]", "[clients]", "clients = ", "write [[clients]]"),
        ("runs = 2\nseed", "runs = \nseed", "is not TOML", "line 4"),
        ("runs = 2\nseed", "runs = 2\nruns = 2", "is not TOML", "a key given twice"),
        ("runs = 2\nseed", f"runs = {'[' * 5000}\nseed", "is nested too deeply", "lists in lists"),
        ("runs = 2\nseed", f"runs = {'[' * 300}{']' * 300}\nseed", "is nested too deeply", "lists in lists"),
        ("runs = 2\nseed", f"runs = {'9' * 5000}\nseed", "too many digits", "shorten it"),
        ("runs = 2\nseed", f"runs = {'9' * 4000}\nseed", "runs = 999", "is not below 9007199254740992"),
        ('label = "all"', f'label = "{"a" * 101}"', "has 101 letters", f"number 1 ('{'a' * 37}...')"),
        ("checkpoints = 6", "checkpoints = [400]", "checkpoints with the horizon 300", "400 is above 300"),
        ('spec = "ucb1"', 'spec = "ucb9"', "spec = 'ucb9': There is no policy", "number 1 ('all')"),
    ],
)
def test_a_fault_names_key_and_section(small, written, instead, key, place):
    """One line that says which file, which key and where."""
    assert written in small
    with pytest.raises(InputError) as raised:
        parse(small.replace(written, instead, 1), "mine.toml")
    told = str(raised.value)
    assert told.startswith("mine.toml")
    assert key in told
    assert place in told
    assert "\n" not in told
    assert told.endswith(".")


def test_a_claim_about_a_scatter_says_of_what(small):
    """A panel of both quantities leaves its claims' quantity open, so they must name it."""
    claim = """
[[panels.claims]]
kind = "below"
text = "Knowing is better."
section = "I"
teachers = ["known"]
than = ["none"]
"""
    with pytest.raises(InputError, match=r"number 3 \('dots'\).* lacks the key quantity"):
        parse(small + claim, "mine.toml")
    assert parse(small + claim + 'quantity = "cost"', "mine.toml").panels[2].claims[0].quantity == "cost"


def test_growth_needs_curves(small):
    """A set of instances keeps no course of time."""
    claim = """
[[panels.claims]]
kind = "growth"
text = "It grows."
section = "I"
teachers = ["none"]
shape = "linear"
quantity = "regret"
"""
    with pytest.raises(InputError, match="kind = 'growth' needs curves"):
        parse(small + claim, "mine.toml")


@pytest.mark.parametrize("path", ["no-such.toml", "."])
def test_what_is_no_file(path):
    """A path that leads nowhere, or to a folder."""
    with pytest.raises(InputError, match=re.escape(repr(path))):
        read(path)


def test_every_key_is_documented():
    """docs/experiments.md names each key of each section and each kind of claim."""
    page = (Path(__file__).parents[2] / "docs" / "experiments.md").read_text(encoding="utf-8")
    claims = (
        claim_kinds.Below,
        claim_kinds.MostlyBelow,
        claim_kinds.Growth,
        claim_kinds.Balance,
        claim_kinds.Spread,
        claim_kinds.Reaches,
    )
    sections = (definition.Experiment, definition.InstanceEntry, definition.ClientsEntry, definition.Panel)
    for section in (*sections, *claims):
        for item in dataclasses.fields(section):
            assert f"`{item.name}`" in page, f"{section.__name__}.{item.name}"
    for kind in ("below", "mostly-below", "growth", "balance", "spread", "reaches"):
        assert f"`{kind}`" in page


@pytest.mark.parametrize("path", [None, 3, b"x", ["small.toml"], float("nan")])
def test_what_is_no_path(path):
    """It is told as such, whatever its text would be."""
    with pytest.raises(InputError, match="is not a path"):
        read(path)


def test_the_longest_labels_make_files(small, tmp_path):
    """The names of pictures are made of two labels, a horizon and a quantity: any file system takes them."""
    text = small[: small.index("[[panels]]")].replace("[300]", "[300, 9007199254740991]")
    for label in ("fixed", "random", "all"):
        text = text.replace(f'label = "{label}"', f'label = "{label}{"x" * (100 - len(label))}"')
    for panel in parse(text, "small.toml").shown():
        (tmp_path / f"{panel.name}.pdf").touch()


def test_the_pages_example_shows_all_that_it_plays():
    """docs/experiments.md's own file is read, and every instance, clients and horizon stands in a panel."""
    page = (Path(__file__).parents[2] / "docs" / "experiments.md").read_text(encoding="utf-8")
    block = next(
        part for part in re.findall(r"(?:^ {4}.*\n|^\n(?= {4}))+", page, re.MULTILINE) if "[[" in part
    )
    example = parse(textwrap.dedent(block), "experiments.md")
    shown = {(panel.instance, panel.clients, panel.horizon) for panel in example.shown()}
    assert shown == {
        (instance.label, clients.label, horizon)
        for instance in example.instances
        for clients in example.clients
        for horizon in example.horizons
    }
    assert {instance.is_set for instance in example.instances} == {True, False}
