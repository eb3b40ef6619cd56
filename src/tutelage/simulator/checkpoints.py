"""The rounds after which a simulation records pulls, regret and cost."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tutelage.errors import InputError
from tutelage.registry import split_call
from tutelage.text import shorten
from tutelage.validation import check_whole, read_whole

Checkpoints = str | int | Sequence[int] | NDArray[np.integer[Any]]

_DEFAULT_COUNT = 200
_MOST = 10_000_000
LARGEST_HORIZON = 2**53  # above it a count of pulls is no longer exact as a float
_NUMBER = re.compile(r"[+-]*[0-9][0-9.e+_]*", re.IGNORECASE)
_ALLOWED = f"use linear(count={_DEFAULT_COUNT}), logarithmic(count={_DEFAULT_COUNT}), a number"


def checkpoint_rounds(checkpoints: Checkpoints, horizon: int) -> NDArray[np.int64]:
    """Return the checkpoints as rounds [C]: increasing, within 1 .. T, the last one T.

    ``linear`` or ``linear(count=200)``: evenly spaced, the first in round T / count.  ``logarithmic`` or
    ``logarithmic(count=200)``: from round 1 on with equal ratios.  A number n is ``linear(count=n)``.  A
    sequence of rounds is used as it is, with T added.  There are fewer than ``count`` where the horizon has
    no room for as many.
    """
    if isinstance(checkpoints, str):
        kind, count = _parse(checkpoints)
        count = min(count, horizon)
        if count > _MOST:
            raise InputError(f"{count} checkpoints are too many: use at most {_MOST}.")
        if kind == "logarithmic":
            spaced = np.rint(np.geomspace(1, horizon, count))
        else:
            spaced = np.array([horizon * (position + 1) // count for position in range(count)])
        return np.unique(np.append(spaced.astype(np.int64), horizon))
    if hasattr(checkpoints, "__index__") and not getattr(checkpoints, "ndim", 0):
        count = check_whole("number of checkpoints", checkpoints, 1, LARGEST_HORIZON)
        return checkpoint_rounds(f"linear(count={count})", horizon)
    if isinstance(checkpoints, bytes) or not isinstance(checkpoints, Iterable):
        raise InputError(f"Invalid checkpoints {checkpoints!r}: {_ALLOWED}, or a list of rounds.")
    rounds = [check_whole("checkpoint", round, 1, horizon) for round in checkpoints]
    return np.unique(np.array([*rounds, horizon], dtype=np.int64))


def _parse(spec: str) -> tuple[str, int]:
    spec = f"linear(count={spec.strip()})" if _NUMBER.fullmatch(spec.strip()) else spec
    name, arguments = split_call(spec, "choice of checkpoints")
    if name not in ("linear", "logarithmic"):
        raise InputError(f"Invalid checkpoints {name!r}: {_ALLOWED}, or in Python a list of rounds.")
    if [key for key, _ in arguments] not in ([], ["count"]):
        raise InputError(
            f"Invalid checkpoints {spec!r}: the only argument is count, as in {name}(count={_DEFAULT_COUNT})."
        )
    text = arguments[0][1] if arguments else str(_DEFAULT_COUNT)
    count = read_whole(text)
    if count is None or count < 1:
        raise InputError(
            f"Invalid count={shorten(text)} in the checkpoints {shorten(spec)!r}: use a whole number, 1 or more."
        )
    return name, parse_count(str(count), "checkpoints")


def parse_count(digits: str, noun: str) -> int:
    """Parse a number of things; Python reads at most 4300 digits, and no number of things needs 20."""
    significant = digits.lstrip("0")
    if len(significant) > 19:
        raise InputError(
            f"Invalid number of {noun} {significant[:10]}... with {len(significant)} digits: use a smaller one."
        )
    return int(significant or "0")
