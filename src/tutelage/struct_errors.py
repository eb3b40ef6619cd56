"""msgspec's validation errors in plain English: where the fault is, and which values are allowed there.

Experiment files, settings and HTTP bodies are all read by msgspec; each words its own sentences around these.
"""

import re
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
from msgspec import inspect

from tutelage.text import join_words
from tutelage.validation import Bounds

_LOCATION = re.compile(r" - at `\$(?P<path>.*)`\Z", re.DOTALL)
_STEP = re.compile(r"\.(?P<key>[^.\[]+)|\[(?P<position>[0-9]+)\]")
_FIELD = re.compile(r"(?P<problem>required|unknown) field `(?P<name>[^`]*)`")
_NOUNS: dict[type, str] = {
    inspect.BoolType: "true or false",
    inspect.NoneType: "null",
    inspect.StrType: "text",
}


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
        return join_words(
            [_describe(each) for each in node.types if not isinstance(each, inspect.NoneType)]
        )
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
