"""Reading an experiment from its TOML file: every fault is one sentence with file, section, key and value."""

import difflib
import json
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from tutelage.errors import InputError
from tutelage.experiments.claims import CLAIM_KINDS, ClaimSection
from tutelage.experiments.definition import ClientsEntry, Experiment, InstanceEntry, Panel, check_sections
from tutelage.experiments.section import Section, invalid_value
from tutelage.instances.readers.files import read_text
from tutelage.paths import expand_path
from tutelage.struct_errors import describe_type, find_fault
from tutelage.text import shorten
from tutelage.validation import read_toml_number

_SECTIONS: dict[str, type[Section]] = {
    "instances": InstanceEntry,
    "clients": ClientsEntry,
    "panels": Panel,
    "claims": ClaimSection,
}


def read_experiment(path: str | Path) -> Experiment:
    """Read the experiment in a TOML file.

    Raises ``InputError`` naming section, key and value: an unknown or missing key, a value of another type, a
    SPEC that names nothing, sections that do not fit each other.
    """
    expand_path(path)  # raises where it is not a path at all
    return parse_experiment(read_text(str(path), "an experiment"), str(path))


def parse_experiment(text: str, file: str) -> Experiment:
    """Read an experiment from the text of a TOML file; ``file`` is its name in messages."""
    content = _parse_toml(text, file)
    try:
        experiment = msgspec.convert(content, Experiment)
    except msgspec.ValidationError as error:
        raise InputError(f"{file}: {_describe_fault(error, content)}") from None
    check_sections(experiment, file)
    return experiment


def _parse_toml(text: str, file: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text, parse_float=read_toml_number)
    except tomllib.TOMLDecodeError as error:
        reason = str(error).rstrip(".")
        if "Cannot overwrite" in reason or "Cannot declare" in reason:
            reason += "; a key appears twice, or a [[section]] stands after one of its parts"
        raise InputError(f"{file}: invalid TOML: {reason}.") from None
    except RecursionError:
        raise InputError(f"{file}: lists are nested too deeply: no key takes a list of lists.") from None
    except ValueError:
        raise InputError(f"{file}: a whole number has too many digits: shorten it.") from None


class _Place(NamedTuple):
    """Where a fault is: what its section is called, its class and content, and the key in it, if any."""

    title: str
    cls: type[Section]
    content: Any
    key: str


def _describe_fault(error: msgspec.ValidationError, content: dict[str, Any]) -> str:
    fault = find_fault(error)
    title, cls, section, key = _find_place(fault.path, content)
    if fault.problem == "check":
        return f"{title}: {fault.reason.removeprefix(f'{cls.__name__}: ')}"
    allowed = {field.name: describe_type(field.type) for field in msgspec.structs.fields(cls)}
    if issubclass(cls, ClaimSection):
        allowed = {"kind": f"one of {', '.join(CLAIM_KINDS)}", **allowed}
    if fault.problem == "unknown":
        near = difflib.get_close_matches(fault.field, allowed, n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        return f"{title}: unknown key {fault.field!r}{hint}: the keys are {', '.join(allowed)}."
    if fault.problem == "missing":
        return f"{title}: missing key {fault.field!r}: use {allowed[fault.field]}."
    if not key:
        return f"{title}: {json.dumps(section, default=str)} is not a section: write keys and values."
    written = json.dumps(section[key], ensure_ascii=False, default=str)
    return f"{title}: {invalid_value(key, written, allowed[key])}"


def _find_place(path: tuple[str | int, ...], content: dict[str, Any]) -> _Place:
    title, section = "top level", content
    cls: type[Section] = Experiment
    names: list[str] = []
    while len(path) > 1 and path[0] in _SECTIONS and isinstance(path[1], int):
        name, position, path = str(path[0]), path[1], path[2:]
        names.append(name)
        section = section[name][position]
        is_table = isinstance(section, dict)
        label = section.get("label", section.get("name")) if is_table else None
        called = f" ({shorten(label, 40)!r})" if isinstance(label, str) else ""
        outer = f" of {title}" if len(names) > 1 else ""
        title = f"[[{'.'.join(names)}]] number {position + 1}{called}{outer}"
        cls = _SECTIONS[name]
        if name == "claims" and is_table:
            cls = CLAIM_KINDS.get(str(section.get("kind")), ClaimSection)
    return _Place(title, cls, section, str(path[0]) if path else "")
