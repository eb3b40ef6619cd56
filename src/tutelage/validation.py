"""Checks of values that people hand in, each with one sentence for its failure.

A check returns the value that it checked, so that it can stand where the value is used.  It raises
:class:`~tutelage.errors.InputError` with the value, what is allowed and, where it helps, what to do.
"""

import decimal
import math
import numbers
import operator
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tutelage.errors import InputError
from tutelage.text import format_value

_WHOLE = re.compile(r"[+-]?[0-9]+(_[0-9]+)*|[+-]?[0-9]+(\.[0-9]+)?[eE]\+?[0-9]+")
_MOST_DIGITS = 100


@dataclass(frozen=True)
class Bounds:
    """A range of numbers: ``minimum`` and ``maximum`` belong to it, ``above`` and ``below`` do not.

    A number must be finite, unless ``maximum`` is infinite.
    """

    minimum: float | None = None
    maximum: float | None = None
    above: float | None = None
    below: float | None = None

    def contains(self, number: float) -> bool:
        """Whether the number lies in the range; NaN never does."""
        return (
            (number < math.inf or self.maximum == math.inf)
            and number > -math.inf
            and (self.minimum is None or number >= self.minimum)
            and (self.maximum is None or number <= self.maximum)
            and (self.above is None or number > self.above)
            and (self.below is None or number < self.below)
        )

    def describe(self) -> str:
        """The range in words: ``at least 1``, ``above 0``, ``in [0, 1)``; empty for any finite number."""
        low = self.minimum if self.above is None else self.above
        high = self.maximum if self.below is None else self.below
        if low is not None and high is not None and high != math.inf:
            opening, closing = "[" if self.above is None else "(", "]" if self.below is None else ")"
            return f"in {opening}{_write_bound(low)}, {_write_bound(high)}{closing}"
        if low is not None:
            return f"{'at least' if self.above is None else 'above'} {_write_bound(low)}"
        if high is not None and high != math.inf:
            return f"{'at most' if self.below is None else 'below'} {_write_bound(high)}"
        return ""

    def describe_allowed(self, noun: str) -> str:
        """What is allowed: ``a whole number of at least 1``, ``a number in [0, 1)``."""
        words = self.describe()
        return f"{noun} {'of ' if words.startswith('at') else ''}{words}".rstrip()


def _write_bound(bound: float) -> str:
    """All digits of a whole number, and 16 of any other."""
    return str(bound) if isinstance(bound, int) else f"{bound:.16g}"


def is_whole(value: Any) -> bool:
    """Whether the value is a whole number, of Python or numpy; a truth value is not."""
    try:
        operator.index(value)
    except TypeError:
        return False
    return not isinstance(value, bool) and type(value).__name__ not in ("bool", "bool_")


def read_whole(text: str) -> int | None:
    """A whole number as people write it, ``50_000`` or ``2e4``; None for any other text.

    Digits may be grouped; a number with an exponent must be whole: ``1.5e3`` is, ``1.5e0`` is not.
    """
    stripped = text.strip()
    if not _WHOLE.fullmatch(stripped):
        return None
    try:
        if "e" not in stripped.lower():
            return int(stripped)
        number = decimal.Decimal(stripped)
        return int(number) if number.adjusted() < _MOST_DIGITS and number == int(number) else None
    except (ValueError, decimal.DecimalException):  # more than 4300 digits, or an endless exponent
        return None


def read_toml_number(text: str) -> float:
    """A number of a TOML file that is not written as a whole one; ``2e4`` is a whole number all the same."""
    whole = read_whole(text)
    return float(text) if whole is None else whole


def is_number(value: Any) -> bool:
    """Whether the value is a real number, of Python or numpy; a truth value is not."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def check_whole(name: str, value: Any, minimum: int | None = None, maximum: int | None = None) -> int:
    """Return a whole number from ``minimum`` to ``maximum`` as an ``int``."""
    bounds = Bounds(minimum, maximum)
    if not is_whole(value) or not _is_between(operator.index(value), minimum, maximum):
        raise InputError(f"Invalid {name} {format_value(value)}: use {bounds.describe_allowed('a whole number')}.")
    return operator.index(value)


def _is_between(number: int, minimum: int | None, maximum: int | None) -> bool:
    """Compared as whole numbers: one of thousands of digits is not a float."""
    return (minimum is None or number >= minimum) and (maximum is None or number <= maximum)


def check_number(
    name: str,
    value: Any,
    minimum: float | None = None,
    maximum: float | None = None,
    *,
    above: float | None = None,
    below: float | None = None,
) -> float:
    """Return a finite number within bounds as a ``float``."""
    bounds = Bounds(minimum, maximum, above, below)
    number = _to_float(value)
    if not bounds.contains(number):
        raise InputError(f"Invalid {name} {format_value(value)}: use {bounds.describe_allowed('a number')}.")
    return number


def _to_float(value: Any) -> float:
    """The number as a float; NaN for what is not a number, infinite where it is too large."""
    if not is_number(value):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return -math.inf if value < 0 else math.inf


def check_names(what: str, names: Any, count: int | None = None) -> tuple[str, ...]:
    """Return names of clients or arms as a tuple: texts that can be written to any file, each once.

    ``what`` is the plural that messages use ("clients"); ``count`` is how many there must be.
    """
    if isinstance(names, str | bytes) or not isinstance(names, Iterable):
        raise InputError(f"Invalid names of {what} {format_value(names)}: give a list of texts.")
    listed = tuple(names)
    for name in listed:
        if not isinstance(name, str):
            raise InputError(f"Invalid name {format_value(name)} among the {what}: use a text.")
        if "\0" in name or not _can_be_written(name):
            raise InputError(
                f"The name {name!r} among the {what} has a character that cannot be written to a file: remove it."
            )
    if count is not None and len(listed) != count:
        raise InputError(f"There are {len(listed)} names for {count} {what}: give one for each.")
    if len(set(listed)) < len(listed):
        repeated = next(name for name in listed if listed.count(name) > 1)
        raise InputError(f"The name {repeated!r} appears twice among the {what}: use different names.")
    return listed


def _can_be_written(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return True


def describe_error(error: BaseException) -> str:
    """Another library's exception as part of a sentence, in one line and without a full stop.

    ``ValueError`` and ``TypeError`` say what is wrong in their text; other classes are named before it.
    A fault that msgspec found begins with its place, as in ``clients[2].name``.
    """
    text = " ".join(str(error).split()).rstrip(".")
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if type(error).__module__.startswith("msgspec"):
        fault, _, place = text.partition(" - at ")
        place = place.strip("`").removeprefix("$").removeprefix(".")
        return f"{place}: {fault}" if place else fault
    if isinstance(error, ValueError | TypeError) and text:
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
