"""What the sections of an experiment's file are made of: checked dataclasses and the types of their keys."""

import functools
import re
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, ConfigDict, Field, ValidationError

from tutelage import lab
from tutelage.errors import InputError
from tutelage.teachers import TEACHERS

STRICT = ConfigDict(extra="forbid", strict=True)
_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_LONGEST = 100  # letters of a label
_LONGEST_NAME = (
    240  # of a panel: two labels, a horizon, a quantity; its files end in .pdf, and disks take 255
)
_MOST_SHOWN = 60
Section = TypeVar("Section", bound=type)


def in_one_sentence(cls: Section) -> Section:
    """Where a section is made in Python from values that cannot be, that is an ``InputError`` as well."""
    checked: Any = vars(cls)["__init__"]

    @functools.wraps(checked)
    def init(self: Any, *arguments: Any, **values: Any) -> None:
        try:
            checked(self, *arguments, **values)
        except ValidationError as error:
            raise InputError(_sentence(cls.__name__, error)) from None

    cls.__init__ = init  # type: ignore[misc]
    return cls


def _sentence(section: str, error: ValidationError) -> str:
    """The first fault of a section, unknown keys before all others: a misspelt key is also missing."""
    faults = error.errors(include_url=False)
    fault = min(faults, key=lambda each: each["type"] != "unexpected_keyword_argument")
    keys = [part for part in fault["loc"] if isinstance(part, str) and part not in ("str", "int")]
    key = keys[0] if keys else ""
    if "error" in fault.get("ctx", {}):
        told = str(fault["ctx"]["error"])
        key += ":" if key and told[:1].isupper() else ""
    elif fault["type"] in ("missing", "missing_argument"):
        told = "is missing"
    elif fault["type"] == "unexpected_keyword_argument":
        told = "is no key of it"
    else:
        value = repr(fault["input"])
        shown = value if len(value) <= _MOST_SHOWN else f"{value[: _MOST_SHOWN - 3]}..."
        told = f"= {shown} cannot be used ({fault['msg']})"
    return f"{section}: {f'{key} ' if key else ''}{told.rstrip('.')}."


def _label(text: str, most: int = _LONGEST) -> str:
    if not _LABEL.fullmatch(text):
        raise InputError("must be letters, digits, points, hyphens and underscores, since it names files")
    if len(text) > most:
        raise InputError(f"has {len(text)} letters, but it names files: {most} are the most")
    return text


def _panel_name(text: str) -> str:
    return _label(text, _LONGEST_NAME)


def _teacher(spec: str) -> str:
    return TEACHERS.spec(TEACHERS.parse(spec))


def _checkpoints(spec: str | int | tuple[int, ...]) -> str | int | tuple[int, ...]:
    if not isinstance(spec, tuple):
        lab.checkpoint_rounds(spec, 1)
    return spec


def _not_empty(entries: tuple[Any, ...]) -> tuple[Any, ...]:
    if not entries:
        raise InputError("is empty: give at least one")
    return entries


Label = Annotated[str, AfterValidator(_label)]
PanelName = Annotated[str, AfterValidator(_panel_name)]
TeacherSpec = Annotated[str, AfterValidator(_teacher)]
Checkpoints = Annotated[str | int | tuple[int, ...], AfterValidator(_checkpoints)]
Positive = Annotated[int, Field(ge=1, lt=2**53)]
Share = Annotated[float, Field(ge=0, le=1)]
Factor = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Quantity = Literal["regret", "cost"]
Some = AfterValidator(_not_empty)
