"""Repeated measurements and their targets, compared with those of rivals, as one table and as JSON."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Samples:
    """One quantity measured several times, in one unit."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    def format(self, unit: "Unit") -> str:
        """Return ``1.23 s (1.20 to 1.31)``, or ``1.23 s`` if measured once."""
        if len(self.values) == 1:
            return f"{unit.format(self.median)}{unit.name}"
        span = f"{unit.format(min(self.values))} to {unit.format(max(self.values))}"
        return f"{unit.format(self.median)}{unit.name} ({span})"

    def as_json(self) -> dict[str, Any]:
        """Return median, extremes and all values."""
        return {"median": self.median, "min": min(self.values), "max": max(self.values), "values": list(self.values)}


@dataclass(frozen=True)
class Unit:
    """A unit: how its numbers are written, and whether larger ones are better."""

    name: str
    format: Callable[[float], str]
    more_is_better: bool


def _format_rate(value: float) -> str:
    """Format with about three digits, k for thousands and M for millions: ``63.2 M``."""
    scale, letter = (1e6, "M") if value >= 1e6 else (1e3, "k")
    return f"{_format_digits(value / scale)} {letter}"


def _format_seconds(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"


def _format_digits(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


RATE = Unit("/s", _format_rate, more_is_better=True)
SECONDS = Unit(" s", _format_seconds, more_is_better=False)
MEBIBYTES = Unit(" MiB", lambda value: f"{value:.0f}", more_is_better=False)
SPEEDUP = Unit(" x", lambda value: f"{value:.2f}", more_is_better=True)
GROWTH = Unit(" x", lambda value: f"{value:.3g}", more_is_better=False)


@dataclass(frozen=True)
class RivalResult:
    """A rival measured in the same run; ``note`` says why if there are no samples."""

    name: str
    samples: Samples | None
    note: str = ""

    def as_json(self) -> dict[str, Any]:
        return {"name": self.name, "note": self.note, "measured": self.samples.as_json() if self.samples else None}


@dataclass(frozen=True)
class Measurement:
    """A measured quantity.  ``target`` is the smallest good value, or the largest if less is better.

    ``note`` says why if there are no samples.
    """

    what: str
    unit: Unit
    samples: Samples | None
    target: float
    rivals: tuple[RivalResult, ...] = ()
    note: str = ""

    @property
    def is_reached(self) -> bool | None:
        """Whether the median reaches the target; None if nothing was measured."""
        if self.samples is None:
            return None
        if self.unit.more_is_better:
            return self.samples.median >= self.target
        return self.samples.median < self.target

    def times_better(self, rival: RivalResult) -> float | None:
        """Return the ratio of the two medians, above 1 if Tutelage is better."""
        if self.samples is None or rival.samples is None:
            return None
        ratio = self.samples.median / rival.samples.median
        return ratio if self.unit.more_is_better else 1.0 / ratio

    def as_json(self) -> dict[str, Any]:
        return {
            "what": self.what,
            "unit": self.unit.name.strip(),
            "measured": self.samples.as_json() if self.samples else None,
            "target": self.target,
            "reached": self.is_reached,
            "note": self.note,
            "rivals": [{**rival.as_json(), "times_better": self.times_better(rival)} for rival in self.rivals],
        }

    def rows(self) -> list[tuple[str, ...]]:
        """Return a row for the measurement and one for each rival."""
        sign = ">=" if self.unit.more_is_better else "<"
        own = (
            self.what,
            self.samples.format(self.unit) if self.samples else f"not measured: {self.note}",
            f"{sign} {self.unit.format(self.target)}{self.unit.name}",
            _yes_or_no(self.is_reached),
            "",
        )
        return [own, *(self._rival_row(rival) for rival in self.rivals)]

    def _rival_row(self, rival: RivalResult) -> tuple[str, ...]:
        ratio = self.times_better(rival)
        measured = [rival.samples.format(self.unit)] if rival.samples else []
        text = "; ".join([*measured, *filter(None, [rival.note])])
        return f"    {rival.name}", text, "", "", "" if ratio is None else f"{_format_digits(ratio)} x"


@dataclass(frozen=True)
class Requirement:
    """A statement that should hold; ``holds`` is None if that could not be determined."""

    what: str
    holds: bool | None
    note: str = ""

    def as_json(self) -> dict[str, Any]:
        return {"what": self.what, "reached": self.holds, "note": self.note}

    def rows(self) -> list[tuple[str, ...]]:
        return [(self.what, self.note, "yes", _yes_or_no(self.holds), "")]


def _yes_or_no(answer: bool | None) -> str:
    return "?" if answer is None else "yes" if answer else "NO"


HEADINGS = ("measurement, and its rivals", "median (min to max)", "target", "reached", "x better")


def format_table(results: Sequence[Measurement | Requirement]) -> str:
    """Return all results as one table, with a rule above every measurement and every group of requirements."""
    blocks: list[list[tuple[str, ...]]] = [[HEADINGS]]
    for before, result in zip((None, *results), results, strict=False):
        if isinstance(before, Requirement) and isinstance(result, Requirement):
            blocks[-1] += result.rows()
        else:
            blocks.append(result.rows())
    widths = [max(len(row[column]) for block in blocks for row in block) for column in range(len(HEADINGS))]

    def line(row: Sequence[str]) -> str:
        return "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()

    rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
    return f"\n{rule}\n".join("\n".join(line(row) for row in block) for block in blocks)
