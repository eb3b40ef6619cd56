"""msgspec's errors in plain English: the place of a fault, and the values that a type allows."""

from typing import Annotated, Literal

import msgspec
import pytest
from msgspec import Meta

from tutelage.struct_errors import StructFault, describe_type, find_fault

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
        (
            Annotated[tuple[Count, ...], Meta(min_length=2)],
            "a list of at least 2, each a whole number in [1, 99]",
        ),
        (Annotated[str, Meta(max_length=3, description="a short word")], "a short word"),
        (Inner, "an object"),
    ],
)
def test_describe_type(wanted, described):
    """Bounds, alternatives and lists; a description of the type itself comes first."""
    assert describe_type(wanted) == described
