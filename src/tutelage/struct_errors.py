"""msgspec's validation errors in plain English: where the fault is, and which values are allowed there.

Experiment files and HTTP bodies are read by msgspec.  Experiment files word their own sentences around
:func:`find_fault` and :func:`describe_type`; HTTP uses those of :func:`explain_error`.
"""

import re
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
from msgspec import inspect

from tutelage.text import join_words
from tutelage.validation import Bounds

_LOCATION = re.compile(r" - at `\$(?P<path>.*)`\Z", re.DOTALL)
_STEP = re.compile(r"\.(?P<key>[^.\[]+)|\[(?P<position>[0-9]+)\]")
_FIELD = re.compile(r"(?P<problem>required|unknown) field `(?P<name>[^`]*)`")
_EXPECTED = re.compile(r"Expected `([^`]*)`(?:, got `([^`]*)`| (of length )?([<>]=?) (\S+))?")
_KINDS: Mapping[str, str] = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
_BOUNDS = {">=": "of at least", "<=": "of at most", ">": "greater than", "<": "less than"}
_NOUNS: dict[type, str] = {inspect.BoolType: "true or false", inspect.NoneType: "null", inspect.StrType: "text"}


@dataclass(frozen=True)
class StructFault:
    """What msgspec objects to.

    ``path`` leads from the whole value to the faulty part: keys and positions.  ``field`` is the name of the
    field that is unknown or missing there.  ``reason`` is the message of an error that a struct's own
    ``__post_init__`` raised.
    """

    path: tuple[str | int, ...]
    problem: Literal["unknown", "missing", "value", "check"]
    field: str = ""
    reason: str = ""


def find_fault(error: msgspec.ValidationError) -> StructFault:
    """Return the place and the kind of a validation error."""
    message = str(error)
    located = _LOCATION.search(message)
    steps = _STEP.finditer(located["path"]) if located else ()
    path = tuple(int(step["position"]) if step["position"] else step["key"] for step in steps)
    if error.__cause__ is not None:
        return StructFault(path, "check", reason=str(error.__cause__))
    named = _FIELD.search(message)
    if named is None:
        return StructFault(path, "value")
    return StructFault(path, "missing" if named["problem"] == "required" else "unknown", named["name"])


def describe_type(wanted: Any) -> str:
    """Describe the values that a type allows: ``a whole number in [1, 100]``, ``regret or cost``.

    A description in the type's ``msgspec.Meta`` comes before everything else.
    """
    return _describe(inspect.type_info(wanted))


def _describe(node: inspect.Type) -> str:
    if isinstance(node, inspect.Metadata):
        described = (node.extra_json_schema or {}).get("description")
        return str(described) if described else _describe(node.type)
    if isinstance(node, inspect.UnionType):
        return join_words([_describe(each) for each in node.types if not isinstance(each, inspect.NoneType)])
    if isinstance(node, inspect.LiteralType):
        return join_words([str(value) for value in node.values])
    if isinstance(node, inspect.IntType | inspect.FloatType):
        noun = "a whole number" if isinstance(node, inspect.IntType) else "a number"
        return _find_bounds(node).describe_allowed(noun)
    if isinstance(node, inspect.ListType | inspect.VarTupleType):
        size = f" of at least {node.min_length}" if node.min_length else ""
        return f"a list{size}, each {_describe(node.item_type)}"
    return _NOUNS.get(type(node), "an object")


def _find_bounds(node: inspect.IntType | inspect.FloatType) -> Bounds:
    if isinstance(node, inspect.FloatType):
        return Bounds(node.ge, node.le, node.gt, node.lt)
    minimum = node.ge if node.gt is None else node.gt + 1
    maximum = node.le if node.lt is None else node.lt - 1
    return Bounds(minimum, maximum)


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


def explain_error(error: msgspec.ValidationError, wanted: type[msgspec.Struct]) -> FieldFault:
    """Say in plain English what is wrong with a value that was decoded as ``wanted``."""
    message, fault = str(error), find_fault(error)
    located = _LOCATION.search(message)
    field = located["path"].lstrip(".") if located else ""
    if fault.problem in {"missing", "unknown"}:
        inner = f"{field}.{fault.field}" if field else fault.field
        if fault.problem == "missing":
            return FieldFault(inner, "is missing")
        names = "" if field else ", ".join(one.encode_name for one in msgspec.structs.fields(wanted))
        return FieldFault(inner, f"is unknown; the fields are {names}" if names else "is unknown")
    if message.startswith("Invalid enum value"):
        return FieldFault(field, f"must be {_list_values(wanted, field)}")
    if expected := _EXPECTED.match(message):
        found = _KINDS.get(expected[2], expected[2]) if expected[2] else ""
        return FieldFault(field, f"must be {_describe_expected(expected)}", found)
    what = fault.reason or message[: located.start() if located else None].replace("`", "")
    return FieldFault(field, f"is invalid: {what.rstrip('.')}")


def _describe_expected(expected: re.Match[str]) -> str:
    kind = join_words(_KINDS.get(name, name) for name in expected[1].split(" | "))
    if not expected[4]:
        return kind
    unit = "" if not expected[3] else " characters" if expected[1] == "str" else " items"
    return f"{kind} {_BOUNDS[expected[4]]} {expected[5].removesuffix('.0')}{unit}"


def _list_values(wanted: type[msgspec.Struct], field: str) -> str:
    """The words that a field allows."""
    for one in msgspec.structs.fields(wanted):
        kind = typing.get_args(one.type)[0] if typing.get_origin(one.type) is typing.Annotated else one.type
        if one.encode_name == field and typing.get_origin(kind) is Literal:
            return join_words(map(str, typing.get_args(kind)))
    return "one of the allowed values"
