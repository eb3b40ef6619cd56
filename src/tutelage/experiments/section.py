"""Sections of an experiment file: structs that check their values, in files and in Python."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from tutelage.errors import InputError
from tutelage.registry import parameters_of
from tutelage.struct_errors import describe_type, find_fault
from tutelage.teachers import TEACHERS
from tutelage.text import shorten

_LABEL = r"\A[A-Za-z0-9][A-Za-z0-9._-]*\Z"


def _name_type(most: int) -> Meta:
    return Meta(
        pattern=_LABEL,
        max_length=most,
        description=(
            f"at most {most} letters, digits, points, hyphens and underscores, beginning with a letter or a "
            "digit, since it names files"
        ),
    )


Label = Annotated[str, _name_type(100)]
# Two labels, a horizon and a quantity; its files end in .pdf, and file systems allow 255 letters.
PanelName = Annotated[str, _name_type(240)]
Positive = Annotated[int, Meta(ge=1, lt=2**53)]
TeacherSpecs = Annotated[tuple[str, ...], Meta(min_length=1, description="a list of at least one teacher")]


class Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A section of an experiment file.

    Values that a key does not allow raise ``InputError``, also where a section is made or replaced in Python.
    """

    def __post_init__(self) -> None:
        for field in msgspec.structs.fields(type(self)):
            value = getattr(self, field.name)
            try:
                msgspec.structs.force_setattr(self, field.name, msgspec.convert(value, field.type))
            except msgspec.ValidationError as error:
                fault = find_fault(error)
                reason = fault.reason or invalid_value(field.name, repr(value), describe_type(field.type))
                raise InputError(f"{type(self).__name__}: {reason}") from None
        try:
            self.check()
        except InputError as error:
            raise InputError(f"{type(self).__name__}: {error}") from None

    def check(self) -> None:
        """Raise ``InputError`` where values of allowed types do not fit each other or name nothing."""


def invalid_value(key: str, written: str, allowed: str) -> str:
    """Return ``invalid runs 0: use a whole number from 1 to 100.``, for example."""
    return f"invalid {key} {shorten(written)}: use {allowed}."


def label_teachers(section: Any, key: str) -> None:
    """Replace the teachers in ``key`` by their labels; raise ``InputError`` for an unknown one."""
    try:
        teachers = [TEACHERS.parse(spec) for spec in getattr(section, key)]
    except InputError as error:
        raise InputError(f"invalid {key}: {error}") from None
    for teacher in teachers:
        for item in parameters_of(type(teacher)):
            if item.names_arm and isinstance(getattr(teacher, item.name), str):
                raise InputError(
                    f"invalid {key}: {item.name}={getattr(teacher, item.name)} in {TEACHERS.spec(teacher)!r}: use the "
                    "number of the arm, since the instances of an experiment differ in their names."
                )
    msgspec.structs.force_setattr(section, key, tuple(map(TEACHERS.label, teachers)))
