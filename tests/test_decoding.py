"""What msgspec reports is said in plain English."""

from typing import Annotated, Any, Literal

import msgspec
import pytest

from tutelage.decoding import explain_error

Meta = msgspec.Meta


class Inner(msgspec.Struct, forbid_unknown_fields=True):
    number: int

    def __post_init__(self):
        if self.number == 3:
            raise ValueError("three is taken.")


class Sample(msgspec.Struct, forbid_unknown_fields=True):
    port: Annotated[int, Meta(ge=0, le=65535)] = 0
    share: Annotated[float, Meta(gt=0, lt=1)] = 0.5
    name: Annotated[str, Meta(min_length=1)] = "a"
    arms: Annotated[list[int], Meta(max_length=2)] = []
    level: Literal["low", "high", "full"] = "low"
    colour: Annotated[Literal["red", "green"], Meta(description="Any.")] = "red"
    weights: list[float] | dict[str, float] | None = None
    inner: Inner | None = None


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
        ({"inner": {"number": 3}}, "The field inner is invalid: three is taken."),
        ({"inner": {}}, "The field inner.number is missing."),
        ({"inner": {"number": 1, "x": 2}}, "The field inner.x is unknown."),
        (
            {"x": 1},
            "The field x is unknown; the fields are port, share, name, arms, level, colour, weights, inner.",
        ),
        ([], "The body must be an object, not a list."),
    ],
)
def test_each_kind_of_error_has_its_sentence(content, sentence):
    """The field, what it must be and, where that says more, what it was."""
    assert explain(content) == sentence


def test_the_type_is_optional():
    """Without it, values and fields are not listed."""
    for content in ({"level": "middle"}, {"x": 1}):
        with pytest.raises(msgspec.ValidationError) as raised:
            msgspec.convert(content, Sample)
        fault = explain_error(raised.value)
        assert fault.problem in {"has an invalid enum value 'middle'", "is unknown"}
