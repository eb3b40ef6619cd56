"""What the functions of theory and planning take: whole numbers, numbers and weights, each with its bounds.

The bounds keep every number that follows within floats.
"""

import functools
import math
import numbers
import operator
from collections.abc import Iterable
from types import UnionType
from typing import Any

import numpy as np

from tutelage.errors import InputError
from tutelage.instances.base import check_weights

MOST_COUNT = 2**53  # of arms or clients
MOST_ROUNDS = 10**100  # far above the horizon that a lead of LEAST_GAP takes
LEAST_GAP = 1e-30
MOST_EPOCH = 100  # which tells LEAST_GAP
_LONGEST = 60  # letters of a value that is shown


def whole(name: str, value: Any, least: int, most: int = MOST_COUNT) -> int:
    """A whole number within bounds; else ``InputError``."""
    try:
        number = operator.index(value)
    except TypeError:
        raise InputError(f"The {name} {shown(value)} is not a whole number.") from None
    if isinstance(value, bool | np.bool_):
        raise InputError(f"The {name} {shown(value)} is not a whole number.")
    if number < least:
        raise InputError(f"The {name} {shown(number)} is below {least}: give {least} or more.")
    if number > most:
        limit = f"{float(most):g}" if most > MOST_COUNT else str(most)
        raise InputError(f"The {name} {shown(number)} is above {limit}, the largest that can be used.")
    return number


def rounds(name: str, value: Any, least: int = 1) -> int:
    """A whole number of rounds, or of pulls; else ``InputError``."""
    return whole(name, value, least, MOST_ROUNDS)


def pulls(value: Any) -> int:
    """A number of pulls, 0 or more; else ``InputError``."""
    return rounds("number of pulls", value, 0)


def workers(value: Any) -> int | None:
    """A number of workers, which the lab checks further, or None for all cores; else ``InputError``."""
    return None if value is None else whole("number of workers", value, -MOST_COUNT)


def real(name: str, value: Any, least: float = 0.0, most: float = 1.0) -> float:
    """A number in [``least``, ``most``]; else ``InputError``."""
    given = number(name, value)
    if not least <= given <= most:
        raise InputError(f"The {name} {given:g} lies outside [{least:g}, {most:g}].")
    return given


def number(name: str, value: Any) -> float:
    """A number as a float, infinite where it is too large for one; else ``InputError``."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        raise InputError(f"The {name} {shown(value)} is not a number.")
    try:
        return float(value)
    except OverflowError:
        return -math.inf if value < 0 else math.inf


def listed(name: str, values: Any) -> tuple[Any, ...]:
    """What can be gone through, a word not counted as such; else ``InputError``."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InputError(f"The {name} {shown(values)} are not a list: give one.")
    try:
        return tuple(values)
    except TypeError:  # an array without dimensions
        raise InputError(f"The {name} {shown(values)} are not a list: give one.") from None


def weights_of(values: Any) -> tuple[float, ...]:
    """Weights [M] above 0 that sum to 1; else ``InputError``."""
    given = listed("weights", values)
    try:
        hash(given)
    except TypeError:
        raise InputError(f"The weights {shown(given)} are not numbers: give one for each client.") from None
    return _weights(given)


@functools.lru_cache(maxsize=64)
def _weights(given: tuple[Any, ...]) -> tuple[float, ...]:
    """Kept, as every epoch of every arm asks for the same ones."""
    if not given:
        raise InputError("There are no weights: give one for each client.")
    weights = tuple(number("weight", each) for each in given)
    check_weights(np.array(weights), len(weights))
    return weights


def instance_of(kind: type | UnionType, name: str, value: Any) -> None:
    """Raise ``InputError`` unless the value is of this class."""
    if not isinstance(value, kind):
        wanted = kind.__name__ if isinstance(kind, type) else str(kind)
        raise InputError(f"The {name} {shown(value)} is not of the class {wanted}: give one that is.")


def function(name: str, value: Any) -> None:
    """Raise ``InputError`` unless the value can be called."""
    if not callable(value):
        raise InputError(f"The {name} {shown(value)} is not a function: give one.")


def shown(value: Any) -> str:
    """The value in a sentence, in one line and shortened."""
    if isinstance(value, int) and value.bit_length() > 200:
        return f"of {value.bit_length()} bits"
    text = " ".join(repr(value).split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
