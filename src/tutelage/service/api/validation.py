"""What validators object to, in our words: which field, and what it must be."""

import re
from collections.abc import Mapping
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
_BOUNDS = {">=": "at least", "<=": "at most", ">": "more than", "<": "less than"}
_EXPECTED = re.compile(r"Expected `([^`]*)`(?:, got `([^`]*)`| ([<>]=?) (\S+))?")

#: What a setting or a parameter of an address must be, by pydantic's type of error; its bounds in braces.
_MUST: Mapping[str, str] = {
    "int_parsing": "it must be a whole number",
    "int_parsing_size": "it must be a whole number",
    "int_type": "it must be a whole number",
    "int_from_float": "it must be a whole number",
    "float_parsing": "it must be a number",
    "float_type": "it must be a number",
    "finite_number": "it must be a finite number",
    "bool_parsing": "it must be true or false",
    "bool_type": "it must be true or false",
    "string_type": "it must be text",
    "path_type": "it must be the name of a file",
    "greater_than_equal": "it must be at least {ge:g}",
    "greater_than": "it must be more than {gt:g}",
    "less_than_equal": "it must be at most {le:.16g}",
    "less_than": "it must be less than {lt:.16g}",
    "literal_error": "it must be {expected}",
    "missing": "it is missing",
}


def must_be(error: Mapping[str, Any]) -> str:
    """What one of pydantic's errors asks for, as the rest of a sentence."""
    told = _MUST.get(error["type"])
    if told is not None:
        return told.format(**error.get("ctx", {}))
    return str(error["msg"]).removeprefix("Value error, ")


def objection(error: msgspec.ValidationError) -> tuple[str, str]:
    """The field that msgspec objects to, empty if it is the whole, and a sentence about it."""
    what, _, place = str(error).partition(" - at `$")
    field = place.rstrip("`").lstrip(".")
    named = re.search(r"(required|unknown) field `([^`]*)`", what)
    if named:
        inner = f"{field}.{named[2]}" if field else named[2]
        if named[1] == "unknown":
            return inner, f"There is no field {inner}."
        return inner, f"The field {inner} is missing."
    subject = f"The field {field}" if field else "The body"
    expected = _EXPECTED.match(what)
    if expected is None:
        return field, f"{subject} cannot be used: {what.replace('`', '')}."
    wanted = _kinds(expected[1])
    if expected[3]:
        return field, f"{subject} must be {wanted}, {_BOUNDS[expected[3]]} {expected[4]}."
    got = f", not {_kinds(expected[2])}" if expected[2] else ""
    return field, f"{subject} must be {wanted}{got}."


def _kinds(names: str) -> str:
    *most, last = (_KINDS.get(name, name) for name in names.split(" | "))
    return f"{', '.join(most)} or {last}" if most else last
