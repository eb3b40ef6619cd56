"""An experiment from its TOML file, read strictly: a fault is one sentence with the key and its section."""

import dataclasses
import difflib
import json
import tomllib
from collections.abc import Iterator
from datetime import date, time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json

from tutelage.errors import InputError
from tutelage.experiments import definition
from tutelage.experiments.claim_kinds import KINDS
from tutelage.experiments.definition import Experiment, check
from tutelage.instances.files import expanded, read_text

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_SECTIONS: dict[tuple[str, ...], type] = {
    (): Experiment,
    ("instances",): definition.InstanceEntry,
    ("clients",): definition.ClientsEntry,
    ("panels",): definition.Panel,
}
_WORDS = {
    "string_type": "is not a text",
    "bool_type": "is not true or false",
    "int_type": "is not a whole number",
    "float_type": "is not a number",
    "tuple_type": "is not a list",
    "dataclass_type": "is not a section of keys",
    "finite_number": "is not finite",
}


def read(path: str | Path) -> Experiment:
    """The experiment in a TOML file.

    Raises ``InputError`` naming the key and the section where it stands: a key that does not exist, one that
    is missing, a value of another type, a SPEC that names nothing, sections that do not fit each other.
    """
    expanded(path)  # what is no path at all is told as such
    return parse(read_text(str(path), "an experiment"), str(path))


def parse(text: str, where: str) -> Experiment:
    """The same from the text of a file; ``where`` names it in messages."""
    content, told = _content(text, where)
    for location, value in _dates(content):
        names, place, _ = _place(location, content)
        raise InputError(
            f"{where}: {names[-1]} = {value} in {place} is a date or time, and no key takes one."
        )
    try:
        experiment = TypeAdapter(Experiment).validate_json(told)
    except ValidationError as error:
        raise InputError(f"{where}: {_sentence(error, content)}") from None
    check(experiment, where)
    return experiment


def _content(text: str, where: str) -> tuple[dict[str, Any], bytes]:
    """What TOML holds, and the same as JSON, dates as texts."""
    try:
        content = tomllib.loads(text)
        as_json = json.dumps(content, default=str).encode()
        from_json(as_json)
    except tomllib.TOMLDecodeError as error:
        told = str(error).rstrip(".")
        if "Cannot overwrite" in told or "Cannot declare" in told:
            told += ": a key given twice, or a [[section]] that stands after one of its parts"
        raise InputError(f"{where} is not TOML: {told}.") from None
    except (RecursionError, ValueError) as error:
        if isinstance(error, RecursionError) or "recursion" in str(error):
            raise InputError(f"{where} is nested too deeply: no key takes lists in lists.") from None
        raise InputError(f"{where} holds a whole number of too many digits: shorten it.") from None
    return content, as_json


def _dates(value: Any, location: tuple[int | str, ...] = ()) -> Iterator[tuple[tuple[int | str, ...], Any]]:
    """What TOML has and JSON has not, with where it stands.

    The content is validated as JSON, in which pydantic takes a list for a tuple and nothing else for it.
    """
    if isinstance(value, dict | list):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _dates(each, (*location, key))
    elif isinstance(value, date | time):
        yield location, value


def _sentence(error: ValidationError, content: dict[str, Any]) -> str:
    """The first fault, unknown keys before all others: a misspelt key is also missing."""
    faults = error.errors(include_url=False)
    fault = min(faults, key=lambda each: each["type"] != "unexpected_keyword_argument")
    names, place, cls = _place(fault["loc"], content)
    key = names[-1] if names else ""
    kind = fault["type"]
    if kind == "unexpected_keyword_argument":
        keys = [field.name for field in dataclasses.fields(cls)]
        near = difflib.get_close_matches(key, keys, n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        return f"there is no key {key!r} in {place}{hint}; its keys are {', '.join(keys)}."
    if kind in ("missing", "missing_argument"):
        return f"{place} lacks the key {key!r}."
    if kind == "union_tag_not_found":
        return f"{place} lacks the key 'kind': one of {', '.join(KINDS)}."
    if kind == "union_tag_invalid":
        tag = fault["ctx"]["tag"]
        return f"kind = {tag!r} in {place} is none of {', '.join(KINDS)}."
    if kind == "value_error":
        told = str(fault["ctx"]["error"]).rstrip(".")
        about, colon = (f"{key} in {place}", told[0].isupper()) if names else (place, True)
        return f"{about}{':' if colon else ''} {told}."
    return f"{key} = {_shown(fault['input'])} in {place} {_told(fault, key)}."


def _told(fault: "ErrorDetails", key: str) -> str:
    """What is wrong with a value, as the end of a sentence."""
    kind, context = fault["type"], fault.get("ctx", {})
    if kind == "tuple_type" and (key,) in _SECTIONS:
        return f"is not a list: write [[{key}]]"
    if key == "checkpoints":
        return "is none of linear(count=200), logarithmic(count=200), a whole number and a list of rounds"
    if kind == "literal_error":
        return f"is none of {context['expected']}"
    for bound, words in (
        ("ge", "is below"),
        ("gt", "is not above"),
        ("lt", "is not below"),
        ("le", "is above"),
    ):
        if bound in context:
            return f"{words} {context[bound]}"
    return _WORDS.get(kind, f"cannot be used ({fault['msg']})")


def _place(location: tuple[int | str, ...], content: dict[str, Any]) -> tuple[list[str], str, type]:
    """The keys that lead to a fault within its section, what to call the section, and its class."""
    parts = list(location)
    place, at = "the head of the file", content
    cls: type = Experiment
    path: tuple[str, ...] = ()
    while (
        len(parts) > 1
        and isinstance(parts[1], int)
        and (*path, parts[0]) in (*_SECTIONS, ("panels", "claims"))
    ):
        section, number = str(parts[0]), int(parts[1])
        path, parts = (*path, section), parts[2:]
        at = at[section][number]
        label = at.get("label", at.get("name")) if isinstance(at, dict) else None
        called = f" ({_cut(label, 40)!r})" if isinstance(label, str) else ""
        outer = "" if len(path) == 1 else f" of {place}"
        place = f"[[{'.'.join(path)}]] number {number + 1}{called}{outer}"
        if path == ("panels", "claims"):
            kind = str(parts.pop(0)) if parts else ""
            cls = KINDS.get(kind, definition.Panel)
        else:
            cls = _SECTIONS[path]
    unions = ("str", "int")  # how pydantic tells the members of one apart
    names = [part for part in parts if isinstance(part, str) and "[" not in part and part not in unions]
    return names, place, cls


def _shown(value: Any) -> str:
    return _cut(json.dumps(value, ensure_ascii=False), 60)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."
