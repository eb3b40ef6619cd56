"""SPECs: names with keyword arguments, and what is said when one cannot be used."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutelage.errors import InputError
from tutelage.registry import (
    Parameter,
    Table,
    check_parameters,
    parameter,
    parameters_of,
    read_value,
    split_arguments,
    split_call,
    split_top,
    unquote,
    write_value,
)
from tutelage.teachers import TEACHERS


@dataclass(frozen=True)
class Kettle:
    """A kettle.

    It has one parameter of each kind.
    """

    size: int = parameter(help="litres", minimum=0)
    heat: float = parameter(1.5, help="degrees")
    lid: bool = parameter(default=True, help="whether it has one")
    colour: str = parameter("red", help="any word")
    label: str | None = parameter(None, help="a name")
    serial: int = 7  # not a parameter

    def __post_init__(self):
        check_parameters(self)
        if self.heat > 100:
            raise ValueError("it boils over")


class Plain:
    """Takes nothing."""


HERE = f"{__name__}"
TABLE = Table("pot", "pots", {"kettle": "tests.test_registry:Kettle", "plain": "tests.test_registry:Plain"})


@pytest.fixture(autouse=True)
def _these_classes(monkeypatch):
    """The table imports this very module under its dotted name."""
    monkeypatch.setitem(__import__("sys").modules, "tests.test_registry", __import__("sys").modules[__name__])


def test_parameters_are_the_documented_fields():
    """Type, default and help of each; an optional one has its plain type; a required one no default."""
    found = parameters_of(Kettle)
    assert [(item.name, item.type, item.required) for item in found] == [
        ("size", int, True),
        ("heat", float, False),
        ("lid", bool, False),
        ("colour", str, False),
        ("label", str, False),
    ]
    assert found[1] == Parameter("heat", float, 1.5, "degrees")
    assert parameters_of(Plain) == ()
    assert TABLE.parameters("kettle") == found


def test_table_lists_and_sums_up():
    """A table iterates over its names and knows the first line of each docstring."""
    assert list(TABLE) == ["kettle", "plain"]
    assert TABLE.summary("kettle") == "A kettle."


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        ("kettle(size=3)", Kettle(3)),
        ("  kettle ( size = +3 , heat=1e1 )  ", Kettle(3, 10.0)),
        ("kettle(size=3,lid=false,colour=blue)", Kettle(3, lid=False, colour="blue")),
        ("""kettle(size=3,colour='a,b',label="x=(1:2)")""", Kettle(3, colour="a,b", label="x=(1:2)")),
        ("tests.test_registry:Kettle(size=3)", Kettle(3)),
    ],
)
def test_parses(spec, wanted):
    """Spaces, signs, exponents, quotes, and the dotted name of an installed class."""
    assert TABLE.parse(spec) == wanted


@pytest.mark.parametrize("spec", ["plain", "plain()", " plain( ) "])
def test_parses_without_arguments(spec):
    """Only a name, with or without parentheses."""
    assert isinstance(TABLE.parse(spec), Plain)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("ketle(size=3)", r"Unknown pot 'ketle' \(did you mean 'kettle'\?\): use one of kettle, plain"),
        ("", "Invalid pot '': write a name"),
        ("3", "Invalid pot '3'"),
        ("kettle,plain", "Invalid pot 'kettle,plain': write a name, .*; name several one by one"),
        ("kettle size=3", "Invalid pot"),
        ("kettle(size=3", "Invalid pot"),
        ("kettle(size=3)x", "Invalid pot"),
        ("kettle(siz=3)", r"Unknown parameter 'siz' \(did you mean 'size'\?\) of the pot 'kettle': use size, heat"),
        ("plain(size=3)", "Unknown parameter 'size' of the pot 'plain': it has none"),
        ("kettle", r"'kettle' needs size=\.\.\.: litres, at least 0\.$"),
        ("kettle(size=3,size=4)", "'size' appears twice in .*: remove one"),
        ("kettle(size=3.5)", "Invalid size=3.5 in .*: use a whole number of at least 0"),
        ("kettle(size=three)", "Invalid size=three in .*: use a whole number of at least 0"),
        ("kettle(size=3,heat=hot)", "Invalid heat=hot in .*: use a number"),
        ("kettle(size=3,heat=0,5)", r"Invalid argument '5' in .*: write key=value \(a decimal comma\? write a point"),
        ("kettle(size=3,heat=0;5)", "Invalid heat=0;5 in .* with a decimal point, not a comma"),
        ("kettle(size=3,lid=yes)", "Invalid lid=yes in .*: use true or false"),
        ("kettle(size=3,colour=)", "Invalid argument 'colour=' in .*: write key=value"),
        ("kettle(3)", "Invalid argument '3' in .*: write key=value"),
        ("kettle(size=3,colour='red)", "lacks a closing '"),
        ("kettle(size=3,colour=(red)", "lacks a parenthesis"),
        ("kettle(size=-1)", r"Invalid size=-1 in 'kettle\(size=-1\)': use a whole number of at least 0\.$"),
        ("kettle(size=1,heat=101)", r"Invalid pot 'kettle\(size=1,heat=101\)': it boils over"),
        ("no.such.package:Name", "'no.such.package:Name' cannot be imported: .* or add its folder to PYTHONPATH."),
        ("tests.test_registry:Nothing", "cannot be imported"),
        ("tests.test_registry:", "cannot be imported"),
        ("math:sqrt", "is not a class"),
    ],
)
def test_says_what_is_wrong(spec, message):
    """Every mistake is one InputError that names the offending part and the remedy."""
    with pytest.raises(InputError, match=message):
        TABLE.parse(spec)


def test_spec_spells_everything_out():
    """The canonical SPEC names every parameter but those that are None; a stranger gets its dotted name."""
    assert TABLE.spec(Kettle(3)) == "kettle(size=3,heat=1.5,lid=true,colour=red)"
    assert TABLE.spec(Kettle(3, 2.0, label="a,b")) == 'kettle(size=3,heat=2,lid=true,colour=red,label="a,b")'
    assert TABLE.spec(Plain()) == "plain"
    assert Table("pot", "pots", {}).spec(Plain()) == "tests.test_registry:Plain"


WORDS = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs")), max_size=12)


@given(
    st.integers(0, 2**63 - 1),
    st.floats(max_value=100, allow_nan=False, allow_infinity=False),
    st.booleans(),
    WORDS.filter(lambda text: not ('"' in text and "'" in text)),
)
def test_spec_round_trip(size, heat, lid, colour):
    """Any object's SPEC parses back equal: any number, and words with commas, spaces or quotes."""
    kettle = Kettle(size, heat, lid, colour)
    spec = TABLE.spec(kettle)
    assert TABLE.parse(spec) == kettle
    assert TABLE.spec(TABLE.parse(spec)) == spec


@given(st.floats())
def test_numbers_are_written_to_read_back_equal(value):
    """The text of a float reads back as that float, infinities and NaN included."""
    again = read_value(write_value(value), float)
    assert again == value or math.isnan(value)


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.0, "1"), (-0.5, "-0.5"), (0.1, "0.1"), (1e15, "1000000000000000.0"), (True, "true"), (12, "12")],
)
def test_values_are_written_shortly(value, text):
    """Whole floats without a point, booleans in lower case."""
    assert write_value(value) == text


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", [""]),
        ("a,b", ["a", "b"]),
        ("f(a,b),c", ["f(a,b)", "c"]),
        ("f(g(a,b),c),d", ["f(g(a,b),c)", "d"]),
        ("'a,b',c", ["'a,b'", "c"]),
        ('"it\'s, so",c', ['"it\'s, so"', "c"]),
        ("','", ["','"]),
    ],
)
def test_splits_at_the_top(text, parts):
    """Separators inside quotes and parentheses do not count."""
    assert split_top(text, ",") == parts


def test_splits_calls_and_arguments():
    """A call is its name and its pairs of texts, without quotes."""
    assert split_call("twl(gamma1=1, gamma2='0')", "teacher") == ("twl", [("gamma1", "1"), ("gamma2", "0")])
    assert split_arguments("a=b=c", "x") == [("a", "b=c")]
    assert [unquote(text) for text in ("'a'", '"a"', "'a\"", "'", "a")] == ["a", "a", "'a\"", "'", "a"]


@pytest.mark.parametrize(
    ("spec", "label"),
    [
        ("blt", "blt"),
        ("blt(tolerance=0.01,lift=false)", "blt(tolerance=0.01,lift=false)"),
        ("twl(gamma1=1,gamma2=0)", "twl"),
        ("tal(gamma1=0,gamma2=0)", "tal(gamma1=0)"),
        ("known(target=2)", "known(target=2)"),
        ("tests.test_registry:Kettle(size=3,lid=true)", "tests.test_registry:Kettle(size=3)"),
    ],
)
def test_a_label_is_the_spec_without_defaults(spec, label):
    """Both name the same object, so equal labels are equal SPECs."""
    table = Table("thing", "things", TEACHERS.entries)
    assert table.label(table.parse(spec)) == label
    assert table.parse(label) == table.parse(spec)


@dataclass(frozen=True)
class Pan:
    """A pan: every kind of bound."""

    width: float = parameter(0.5, help="metres", above=0, below=1)
    weight: float | None = parameter(None, help="kilograms", maximum=3)
    oil: float = parameter(1.0, help="spoons", minimum=0, maximum=math.inf)
    eggs: int = parameter(1, help="eggs in it", minimum=1, maximum=6)
    grip: Literal["left", "right", "both"] = parameter("left", help="side of the grip")

    def __post_init__(self):
        check_parameters(self)


PANS = Table("pan", "pans", {"pan": "tests.test_registry:Pan"})


def test_bounds_and_choices_are_part_of_the_help():
    """What is declared is not written a second time."""
    assert [item.help for item in parameters_of(Pan)] == [
        "metres, in (0, 1)",
        "kilograms, at most 3",
        "spoons, at least 0",
        "eggs in it, in [1, 6]",
        "side of the grip: left, right or both",
    ]


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("width", 0, r"a number in \(0, 1\)"),
        ("width", 1.0, r"a number in \(0, 1\)"),
        ("width", math.nan, r"a number in \(0, 1\)"),
        ("weight", 3.5, "a number of at most 3"),
        ("weight", -math.inf, "a number of at most 3"),
        ("oil", -0.1, "a number of at least 0"),
        ("eggs", 0, r"a whole number in \[1, 6\]"),
        ("eggs", 7, r"a whole number in \[1, 6\]"),
        ("grip", "top", "left, right or both"),
    ],
)
def test_bounds_hold_for_specs_and_in_python(key, value, allowed):
    """The same sentence with the place where the value stands: the SPEC or the class."""
    with pytest.raises(InputError, match=f"^Invalid {key}=.* in 'pan\\({key}={value}\\)': use {allowed}\\.$"):
        PANS.parse(f"pan({key}={value})")
    with pytest.raises(InputError, match=f"^Invalid {key}=.* in Pan: use {allowed}\\.$"):
        Pan(**{key: value})


@pytest.mark.parametrize(
    ("key", "value"), [("width", "wide"), ("width", None), ("width", True), ("eggs", 1.0), ("grip", 3)]
)
def test_a_value_of_another_type_is_refused_in_python(key, value):
    """A text for a number, a truth value for a number, a float for a whole number."""
    with pytest.raises(InputError, match=f"^Invalid {key}=.* in Pan: use "):
        Pan(**{key: value})


def test_what_bounds_allow():
    """None where it is a default, infinity where the maximum says so, and numbers of numpy."""
    assert Pan(weight=None, oil=math.inf, eggs=np.int64(3), width=np.float64(0.25)).eggs == 3
