"""msgspec's validation errors in plain English: where the fault is, and which values are allowed there.

Experiment files, settings and HTTP bodies are all read by msgspec; each words its own sentences around these.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
from msgspec import inspect

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
    """Describe the values that a type allows: ``a whole number from 1 to 100``, ``regret or cost``.

    A description in the type's ``msgspec.Meta`` comes before everything else.
    """
    return _describe(inspect.type_info(wanted))


def _describe(node: inspect.Type) -> str:
    if isinstance(node, inspect.Metadata):
        described = (node.extra_json_schema or {}).get("description")
        return str(described) if described else _describe(node.type)
    if isinstance(node, inspect.UnionType):
        return join_alternatives(
            [_describe(each) for each in node.types if not isinstance(each, inspect.NoneType)]
        )
    if isinstance(node, inspect.LiteralType):
        return join_alternatives([str(value) for value in node.values])
    if isinstance(node, inspect.IntType | inspect.FloatType):
        return _describe_number(node)
    if isinstance(node, inspect.ListType | inspect.VarTupleType):
        size = f" of at least {node.min_length}" if node.min_length else ""
        return f"a list{size}, each {_describe(node.item_type)}"
    return _NOUNS.get(type(node), "an object")


def _describe_number(node: inspect.IntType | inspect.FloatType) -> str:
    lowest, highest = node.ge, node.le
    if isinstance(node, inspect.IntType):
        noun, bounds = "a whole number", ""
        lowest = lowest if node.gt is None else node.gt + 1
        highest = highest if node.lt is None else node.lt - 1
    else:
        noun = "a number"
        bounds = "" if node.gt is None else f" greater than {node.gt:g}"
        bounds += "" if node.lt is None else f" less than {node.lt:g}"
    if lowest is not None and highest is not None:
        return f"{noun} from {lowest} to {highest}{bounds}"
    lower = "" if lowest is None else f" of at least {lowest}"
    upper = "" if highest is None else f" of at most {highest}"
    return f"{noun}{lower}{upper}{bounds}"


def join_alternatives(words: Sequence[str]) -> str:
    """``a, b or c``."""
    *most, last = words
    return f"{', '.join(most)} or {last}" if most else last
