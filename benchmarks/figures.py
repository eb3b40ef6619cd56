"""What a benchmark gives: repeated measurements beside those of rivals, as one table and as JSON."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Samples:
    """The same thing measured several times, in one unit."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    def show(self, unit: "Unit") -> str:
        """``1.23 s (1.20 to 1.31)``, or without brackets if measured once."""
        if len(self.values) == 1:
            return f"{unit.show(self.median)}{unit.name}"
        span = f"{unit.show(min(self.values))} to {unit.show(max(self.values))}"
        return f"{unit.show(self.median)}{unit.name} ({span})"

    def as_json(self) -> dict[str, Any]:
        """Median, extremes and every value."""
        return {
            "median": self.median,
            "min": min(self.values),
            "max": max(self.values),
            "values": list(self.values),
        }


@dataclass(frozen=True)
class Unit:
    """How a number is written, and whether more of it is better."""

    name: str
    show: Callable[[float], str]
    more_is_better: bool


def _rate(value: float) -> str:
    """Three digits or so, with k for thousands and M for millions: ``63.2 M``."""
    scale, letter = (1e6, "M") if value >= 1e6 else (1e3, "k")
    return f"{_digits(value / scale)} {letter}"


def _seconds(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"


def _digits(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


RATE = Unit("/s", _rate, more_is_better=True)
SECONDS = Unit(" s", _seconds, more_is_better=False)
MEBIBYTES = Unit(" MiB", lambda value: f"{value:.0f}", more_is_better=False)


@dataclass(frozen=True)
class Beside:
    """Who was measured in the same run: a rival's figure; where there is none, ``note`` says why."""

    name: str
    samples: Samples | None
    note: str = ""

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "note": self.note,
            "figure": self.samples.as_json() if self.samples else None,
        }


@dataclass(frozen=True)
class Figure:
    """One row of the table.  ``wanted`` is the figure to reach: at least, or at most if less is better."""

    what: str
    unit: Unit
    samples: Samples | None
    wanted: float
    beside: tuple[Beside, ...] = ()
    note: str = ""  # why there are no samples

    @property
    def reached(self) -> bool | None:
        """Whether the median reaches what is wanted; None where nothing was measured."""
        if self.samples is None:
            return None
        if self.unit.more_is_better:
            return self.samples.median >= self.wanted
        return self.samples.median < self.wanted

    def times_better(self, rival: Beside) -> float | None:
        """The ratio of the two medians, above 1 where Tutelage is better."""
        if self.samples is None or rival.samples is None:
            return None
        ratio = self.samples.median / rival.samples.median
        return ratio if self.unit.more_is_better else 1.0 / ratio

    def as_json(self) -> dict[str, Any]:
        return {
            "what": self.what,
            "unit": self.unit.name.strip(),
            "figure": self.samples.as_json() if self.samples else None,
            "wanted": self.wanted,
            "reached": self.reached,
            "note": self.note,
            "beside": [
                {**rival.as_json(), "times_better": self.times_better(rival)} for rival in self.beside
            ],
        }

    def rows(self) -> list[tuple[str, ...]]:
        """The figure in the first row, a row for each who stands beside it below."""
        sign = ">=" if self.unit.more_is_better else "<"
        own = (
            self.what,
            self.samples.show(self.unit) if self.samples else f"not measured: {self.note}",
            f"{sign} {self.unit.show(self.wanted)}{self.unit.name}",
            _yes_or_no(self.reached),
            "",
        )
        return [own, *(self._rival_row(rival) for rival in self.beside)]

    def _rival_row(self, rival: Beside) -> tuple[str, ...]:
        ratio = self.times_better(rival)
        shown = [rival.samples.show(self.unit)] if rival.samples else []
        told = "; ".join([*shown, *filter(None, [rival.note])])
        return f"    {rival.name}", told, "", "", "" if ratio is None else f"{_digits(ratio)} x"


@dataclass(frozen=True)
class Claim:
    """Something that is so or is not; ``holds`` is None where it could not be found out."""

    what: str
    holds: bool | None
    note: str = ""

    def as_json(self) -> dict[str, Any]:
        return {"what": self.what, "reached": self.holds, "note": self.note}

    def rows(self) -> list[tuple[str, ...]]:
        return [(self.what, self.note, "yes", _yes_or_no(self.holds), "")]


def _yes_or_no(answer: bool | None) -> str:
    return "?" if answer is None else "yes" if answer else "NO"


HEADINGS = ("what, and who beside it", "median (min to max)", "wanted", "reached", "x better")


def table(results: Sequence[Figure | Claim]) -> str:
    """All results under each other, a line before every figure and before the first of several claims."""
    blocks: list[list[tuple[str, ...]]] = [[HEADINGS]]
    for before, result in zip((None, *results), results, strict=False):
        if isinstance(before, Claim) and isinstance(result, Claim):
            blocks[-1] += result.rows()
        else:
            blocks.append(result.rows())
    widths = [max(len(row[column]) for block in blocks for row in block) for column in range(len(HEADINGS))]

    def line(row: Sequence[str]) -> str:
        return "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()

    rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
    return f"\n{rule}\n".join("\n".join(line(row) for row in block) for block in blocks)
