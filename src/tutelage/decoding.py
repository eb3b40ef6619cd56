"""Explanations of msgspec's validation errors, for HTTP bodies, configuration files and experiment files."""

import re
import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

_KINDS: Mapping[str, str] = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
_BOUNDS = {">=": "at least", "<=": "at most", ">": "greater than", "<": "less than"}
_EXPECTED = re.compile(r"Expected `([^`]*)`(?:, got `([^`]*)`| (of length )?([<>]=?) (\S+))?")
_NAMED = re.compile(r"Object (missing required|contains unknown) field `([^`]*)`")


@dataclass(frozen=True)
class FieldFault:
    """What is wrong with one field of a decoded value.

    ``field`` is its path, as in ``clients[...]``, empty for the value as a whole.  ``problem`` continues a
    sentence whose subject is the field: "must be a whole number of at least 1", "is missing".  ``found`` says
    what was there instead, if that is known.
    """

    field: str
    problem: str
    found: str = ""

    def describe(self, whole: str = "The body", part: str = "The field") -> str:
        """Return the sentence, about ``part`` with the field's name, or about the ``whole``."""
        subject = f"{part} {self.field}" if self.field else whole
        return f"{subject} {self.problem}" + (f", not {self.found}." if self.found else ".")


def explain_error(error: msgspec.ValidationError, wanted: Any = None) -> FieldFault:
    """Say in plain English what msgspec reported, with the allowed values where ``wanted`` lists them.

    ``wanted`` is the type that was decoded.
    """
    what, _, place = str(error).partition(" - at `$")
    field = place.rstrip("`").lstrip(".")
    if named := _NAMED.match(what):
        inner = f"{field}.{named[2]}" if field else named[2]
        if named[1] == "missing required":
            return FieldFault(inner, "is missing")
        known = () if wanted is None or field else msgspec.structs.fields(wanted)
        names = ", ".join(one.encode_name for one in known)
        return FieldFault(inner, f"is unknown; the fields are {names}" if names else "is unknown")
    if what.startswith("Invalid enum value"):
        values = _list_values(wanted, field)
        return FieldFault(field, f"must be {values}" if values else f"has an {what[0].lower()}{what[1:]}")
    if expected := _EXPECTED.match(what):
        found = _KINDS.get(expected[2], expected[2]) if expected[2] else ""
        return FieldFault(field, f"must be {_describe_expected(expected)}", found)
    return FieldFault(field, f"is invalid: {what.replace('`', '').rstrip('.')}")


def _describe_expected(expected: re.Match[str]) -> str:
    kind = _join(_KINDS.get(name, name) for name in expected[1].split(" | "))
    if expected[4]:
        bound = f"{_BOUNDS[expected[4]]} {expected[5].removesuffix('.0')}"
        if not expected[3]:
            return f"{kind} {bound}" if "than" in bound else f"{kind} of {bound}"
        unit = "characters" if expected[1] == "str" else "items"
        return f"{kind} of {bound} {unit}"
    return kind


def _list_values(wanted: Any, field: str) -> str:
    """The values that a field of type Literal can have; empty if there is no such field."""
    for one in () if wanted is None else msgspec.structs.fields(wanted):
        kind = typing.get_args(one.type)[0] if typing.get_origin(one.type) is typing.Annotated else one.type
        if one.encode_name == field and typing.get_origin(kind) is typing.Literal:
            return _join(map(str, typing.get_args(kind)))
    return ""


def _join(words: Iterable[str]) -> str:
    """``a, b or c``."""
    *most, last = words
    return f"{', '.join(most)} or {last}" if most else last
