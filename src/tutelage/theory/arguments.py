"""Check the arguments of theory, measurement and planning: numbers, weights, lists and types.

The bounds keep every number that is computed from them within floats.  Each check raises ``InputError``.
"""

import functools
from collections.abc import Iterable
from types import UnionType
from typing import Any, TypeVar

import numpy as np

from tutelage.errors import InputError
from tutelage.instances.base import check_weights
from tutelage.text import format_value
from tutelage.validation import check_number, check_whole

_Each = TypeVar("_Each")
MOST_COUNT = 2**53  # of arms or clients
MOST_ROUNDS = 10**100  # far above the horizon that a lead of LEAST_GAP needs
LEAST_GAP = 1e-30
MOST_EPOCH = 100  # which separates LEAST_GAP


def whole(name: str, value: Any, least: int, most: int = MOST_COUNT) -> int:
    """Return a whole number within bounds."""
    number = check_whole(name, value, least)
    return number if number <= most else check_whole(name, value, least, most)


def rounds(name: str, value: Any, least: int = 1) -> int:
    """Return a number of rounds or pulls."""
    return whole(name, value, least, MOST_ROUNDS)


def pulls(value: Any) -> int:
    """Return a number of pulls, 0 or more."""
    return rounds("number of pulls", value, 0)


def workers(value: Any) -> int | None:
    """Return a number of workers, which the simulator checks further, or None for all cores."""
    return None if value is None else whole("number of workers", value, -MOST_COUNT)


def real(name: str, value: Any, least: float = 0.0, most: float = 1.0) -> float:
    """Return a number in [``least``, ``most``]."""
    number = check_number(name, value, least, None if most > 2.0 else most)
    return number if number <= most else check_number(name, value, least, most)


def listed(name: str, values: Any) -> tuple[Any, ...]:
    """Return the elements of a list, array or other iterable, but not of a text."""
    if not isinstance(values, str | bytes) and isinstance(values, Iterable):
        try:
            return tuple(values)
        except TypeError:  # an array without dimensions
            pass
    raise InputError(f"Invalid {name} {format_value(values)}: use a list.")


def one_each(
    name: str,
    values: Any,
    num_clients: int,
    kind: type[_Each] = object,  # type: ignore[assignment]
) -> tuple[_Each, ...]:
    """Return the elements of a list that has one of this class for each client."""
    found = listed(name, values)
    if len(found) != num_clients:
        raise InputError(f"There are {len(found)} {name} for {num_clients} clients: use one for each.")
    for each in found:
        instance_of(kind, name, each)
    return found


def weights_of(values: Any) -> tuple[float, ...]:
    """Return weights [M] above 0 that sum to 1."""
    weights = listed("weights", values)
    try:
        hash(weights)
    except TypeError:
        raise InputError(f"Invalid weights {format_value(weights)}: use one number for each client.") from None
    return _weights(weights)


@functools.lru_cache(maxsize=64)
def _weights(values: tuple[Any, ...]) -> tuple[float, ...]:
    """Cached, because every epoch of every arm needs the same weights."""
    if not values:
        raise InputError("The weights are empty: use one number for each client.")
    weights = tuple(check_number("weight", each) for each in values)
    check_weights(np.array(weights), len(weights))
    return weights


def instance_of(kind: type | UnionType, name: str, value: Any) -> None:
    """Raise ``InputError`` unless the value is of this class."""
    if not isinstance(value, kind):
        wanted = kind.__name__ if isinstance(kind, type) else str(kind)
        raise InputError(f"Invalid {name} {format_value(value)}: use an object of the class {wanted}.")


def function(name: str, value: Any) -> None:
    """Raise ``InputError`` unless the value can be called."""
    if not callable(value):
        raise InputError(f"Invalid {name} {format_value(value)}: use a function.")
