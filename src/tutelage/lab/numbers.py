"""Whole numbers within bounds."""

import operator
from typing import Any

from tutelage.errors import InputError

LARGEST_COUNT = 2**53  # above it a count of pulls is no longer exact as a float


def parse_count(digits: str, what: str) -> int:
    """Parse a count as people write it; Python reads at most 4300 digits, and no count needs 20."""
    significant = digits.lstrip("0")
    if len(significant) > 19:
        raise InputError(
            f"The number of {what} {significant[:10]}... has {len(significant)} digits: give a smaller one."
        )
    return int(significant or "0")


def check_whole(name: str, value: Any, least: int, most: int) -> int:
    """Return a whole number within bounds; else raise ``InputError``."""
    try:
        number = operator.index(value)
    except TypeError:
        raise InputError(f"The {name} {value!r} is not a whole number.") from None
    if isinstance(value, bool):
        raise InputError(f"The {name} {value!r} is not a whole number.")
    # Python writes no number of more than 4300 digits, and nobody reads one.
    shown = str(number) if number.bit_length() < 200 else f"of {number.bit_length()} bits"
    if number < least:
        raise InputError(f"The {name} {shown} is below {least}: give {least} or more.")
    if number > most:
        raise InputError(f"The {name} {shown} is above {most}, the largest that can be used.")
    return number
