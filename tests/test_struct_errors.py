"""msgspec's errors in plain English: the place of a fault, and the values that a type allows."""

from typing import Annotated, Any, Literal

import msgspec
import pytest
from msgspec import Meta

from tutelage.struct_errors import StructFault, describe_type, explain_error, find_fault

Count = Annotated[int, Meta(ge=1, lt=100)]


class Inner(msgspec.Struct, forbid_unknown_fields=True):
    """A part of a whole."""

    size: Count
    word: Literal["red", "green"] = "red"

    def __post_init__(self):
        if self.size == 13:
            raise ValueError("13 is unlucky")


class Outer(msgspec.Struct, forbid_unknown_fields=True):
    """A whole."""

    parts: list[Inner]


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ({}, StructFault((), "missing", "parts")),
        ({"parts": [], "more": 1}, StructFault((), "unknown", "more")),
        ({"parts": [{"size": 1}, {"size": 0}]}, StructFault(("parts", 1, "size"), "value")),
        ({"parts": [{"size": 1, "word": "blue"}]}, StructFault(("parts", 0, "word"), "value")),
        ({"parts": [{"size": 1, "sort": 2}]}, StructFault(("parts", 0), "unknown", "sort")),
        ({"parts": [{}]}, StructFault(("parts", 0), "missing", "size")),
        ({"parts": [{"size": 13}]}, StructFault(("parts", 0), "check", reason="13 is unlucky")),
        (3, StructFault((), "value")),
    ],
)
def test_find_fault_names_place_and_problem(content, fault):
    """The path leads to the part that is wrong; a missing or unknown field is named."""
    with pytest.raises(msgspec.ValidationError) as raised:
        msgspec.convert(content, Outer)
    assert find_fault(raised.value) == fault


@pytest.mark.parametrize(
    ("wanted", "described"),
    [
        (Count, "a whole number in [1, 99]"),
        (Annotated[int, Meta(gt=0)] | None, "a whole number of at least 1"),
        (Annotated[float, Meta(ge=0, le=1)], "a number in [0, 1]"),
        (Annotated[float, Meta(gt=0)], "a number above 0"),
        (Annotated[float, Meta(lt=2.5)], "a number below 2.5"),
        (Annotated[float, Meta(le=2)], "a number of at most 2"),
        (Literal["a", "b", "c"], "a, b or c"),
        (bool, "true or false"),
        (str | int, "text or a whole number"),
        (Annotated[tuple[Count, ...], Meta(min_length=2)], "a list of at least 2, each a whole number in [1, 99]"),
        (Annotated[str, Meta(max_length=3, description="a short word")], "a short word"),
        (Inner, "an object"),
    ],
)
def test_describe_type(wanted, described):
    """Bounds, alternatives and lists; a description of the type itself comes first."""
    assert describe_type(wanted) == described


class Leaf(msgspec.Struct, forbid_unknown_fields=True):
    number: int

    def __post_init__(self):
        if self.number == 3:
            raise ValueError("three is reserved.")


class Sample(msgspec.Struct, forbid_unknown_fields=True):
    port: Annotated[int, Meta(ge=0, le=65535)] = 0
    share: Annotated[float, Meta(gt=0, lt=1)] = 0.5
    name: Annotated[str, Meta(min_length=1)] = "a"
    arms: Annotated[list[int], Meta(max_length=2)] = []
    level: Literal["low", "high", "full"] = "low"
    colour: Annotated[Literal["red", "green"], Meta(description="Any.")] = "red"
    weights: list[float] | dict[str, float] | None = None
    inner: Leaf | None = None


def explain(content: Any) -> str:
    """The sentence about a content that cannot be decoded."""
    with pytest.raises(msgspec.ValidationError) as raised:
        msgspec.convert(content, Sample)
    return explain_error(raised.value, Sample).describe()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ({"port": -1}, "The field port must be a whole number of at least 0."),
        ({"port": 70000}, "The field port must be a whole number of at most 65535."),
        ({"port": "x"}, "The field port must be a whole number, not text."),
        ({"share": 0}, "The field share must be a number greater than 0."),
        ({"share": 1}, "The field share must be a number less than 1."),
        ({"name": ""}, "The field name must be text of at least 1 characters."),
        ({"arms": [1, 2, 3]}, "The field arms must be a list of at most 2 items."),
        ({"arms": ["x"]}, "The field arms[0] must be a whole number, not text."),
        ({"level": "middle"}, "The field level must be low, high or full."),
        ({"colour": "blue"}, "The field colour must be red or green."),
        ({"weights": 1}, "The field weights must be an object, a list or null, not a whole number."),
        ({"inner": {"number": 3}}, "The field inner is invalid: three is reserved."),
        ({"inner": {}}, "The field inner.number is missing."),
        ({"inner": {"number": 1, "x": 2}}, "The field inner.x is unknown."),
        ({"x": 1}, "The field x is unknown; the fields are port, share, name, arms, level, colour, weights, inner."),
        ([], "The body must be an object, not a list."),
    ],
)
def test_each_kind_of_error_has_its_sentence(content, sentence):
    """The field, what it must be and, where that says more, what it was."""
    assert explain(content) == sentence
