"""SPECs: names with keyword arguments, and what is said when one cannot be used."""

import math
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutelage.errors import InputError
from tutelage.registry import (
    Parameter,
    Table,
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

    size: int = parameter(help="litres")
    heat: float = parameter(1.5, help="degrees")
    lid: bool = parameter(default=True, help="whether it has one")
    colour: str = parameter("red", help="any word")
    label: str | None = parameter(None, help="a name")
    serial: int = 7  # not a parameter

    def __post_init__(self):
        if self.size < 0:
            raise InputError(f"size={self.size} is below 0.")
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
    """A name alone, with or without parentheses."""
    assert isinstance(TABLE.parse(spec), Plain)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("ketle(size=3)", r"no pot 'ketle' \(did you mean 'kettle'\?\); the pots are kettle, plain"),
        ("", "'' is not a pot: write a name"),
        ("3", "not a pot"),
        ("kettle size=3", "not a pot"),
        ("kettle(size=3", "not a pot"),
        ("kettle(size=3)x", "not a pot"),
        ("kettle(siz=3)", r"no parameter 'siz' \(did you mean 'size'\?\); it takes size, heat"),
        ("plain(size=3)", "no parameter 'size'; it takes none"),
        ("kettle", r"'kettle' needs size=\.\.\.: litres"),
        ("kettle(size=3,size=4)", "'size' is given twice"),
        ("kettle(size=3.5)", "size=3.5 .* is not a whole number"),
        ("kettle(size=three)", "size=three .* is not a whole number"),
        ("kettle(size=3,heat=hot)", "heat=hot .* is not a number"),
        ("kettle(size=3,heat=0,5)", r"'5' in .* is not key=value \(a decimal comma\? write a point"),
        ("kettle(size=3,heat=0;5)", "heat=0;5 .* with a decimal point, not a comma"),
        ("kettle(size=3,lid=yes)", "lid=yes .* is not true or false"),
        ("kettle(size=3,colour=)", "'colour=' in .* is not key=value"),
        ("kettle(3)", "'3' in .* is not key=value"),
        ("kettle(size=3,colour='red)", "lacks a closing '"),
        ("kettle(size=3,colour=(red)", "lacks a parenthesis"),
        ("kettle(size=-1)", "size=-1 is below 0"),
        ("kettle(size=1,heat=101)", r"'kettle\(size=1,heat=101\)' cannot be made: it boils over"),
        ("no.such.package:Name", "'no.such.package:Name' cannot be imported"),
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
    st.integers(0, 10**20),
    st.floats(max_value=100, allow_nan=False),
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
    """A call is its name and its pairs of texts, quotes taken off."""
    assert split_call("twl(gamma1=1, gamma2='0')", "teacher") == ("twl", [("gamma1", "1"), ("gamma2", "0")])
    assert split_arguments("a=b=c", "x") == [("a", "b=c")]
    assert [unquote(text) for text in ("'a'", '"a"', "'a\"", "'", "a")] == ["a", "a", "'a\"", "'", "a"]


def test_a_brief_spec_leaves_out_what_is_usual():
    """With many parameters only those that differ from their defaults are shown; with few, all."""
    assert TEACHERS.brief(TEACHERS.parse("blt")) == "blt"
    changed = "blt(tolerance=0.01,lift=false)"
    assert TEACHERS.brief(TEACHERS.parse(changed)) == changed
    assert TEACHERS.brief(TEACHERS.parse("twl")) == "twl(gamma1=1,gamma2=0)"
