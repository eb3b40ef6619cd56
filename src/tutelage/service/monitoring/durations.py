"""Durations and percentages, formatted for people."""

import math
from collections.abc import Sequence

UNKNOWN = "\N{EN DASH}"
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def format_percent(share: float) -> str:
    """Format a share as ``94 %``, rounded down, so that 100 % means all."""
    return f"{math.floor(100 * share + 1e-9)} %"


def round_percents(shares: Sequence[float]) -> list[int]:
    """Round shares of a whole to percentages that add up to 100, by the largest-remainder method.

    All are 0 if the shares are.
    """
    total = sum(shares)
    if not total > 0:
        return [0] * len(shares)
    exact = [100 * share / total for share in shares]
    rounded = [math.floor(each + 1e-9) for each in exact]
    order = sorted(range(len(exact)), key=lambda place: rounded[place] - exact[place])
    for place in order[: 100 - sum(rounded)]:
        rounded[place] += 1
    return rounded


def format_minutes(seconds: float) -> str:
    """Format a duration, in whole minutes from two minutes on."""
    return format_duration(60 * round(seconds / 60) if seconds >= 120 else seconds)


def format_duration(seconds: float) -> str:
    """Format the two largest units: ``0.4 s``, ``5 min 46 s``, ``3 h 12 min``, ``2 d``; a dash for NaN."""
    if not seconds < float("inf"):
        return UNKNOWN
    if seconds < 9.95:
        return f"{seconds:.2g} s" if seconds >= 0.0995 else f"{seconds * 1000:.2g} ms"
    left = round(seconds)
    parts: list[tuple[int, str]] = []
    for size, unit in _UNITS:
        count, left = divmod(left, size)
        if count or parts:
            parts.append((count, unit))
    return " ".join(f"{count} {unit}" for count, unit in parts[:2] if count)
