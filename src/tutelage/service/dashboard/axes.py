"""SVG elements and axes as text; their colours are in static/style.css.

Every name from outside passes through :func:`text`.  Coordinates are pixels from the upper left.
"""

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from tutelage.text import format_name

Array = NDArray[np.float64]
# The width of characters in pixels, at the size in static/style.css, of which wide fonts need no more.
_WIDTHS = dict.fromkeys("iljtfrI.,:;'|!()[] -", 5.0) | dict.fromkeys("mwMW@%…—", 12.0)
_USUAL_WIDTH, _WIDTH_OF_IDEOGRAPHS = 8.0, 12.0
_LABEL_WIDTH = 75.0  # with its margins
_STEPS = (1.0, 2.0, 5.0, 10.0)
_TIMES = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400)


@dataclass(frozen=True)
class Axis:
    """Maps the values ``low`` .. ``high`` to the pixels ``start`` .. ``end``."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Return the pixel of a value."""
        width = self.high - self.low or 1.0
        return self.start + (value - self.low) / width * (self.end - self.start)


def svg(width: float, height: float, parts: Sequence[str], label: str, times: Sequence[float] | Array = ()) -> str:
    """An image; ``label`` is its description for screen readers.

    ``times`` (seconds since 1970) are those of the points of its lines, for tooltips.
    """
    at = f' data-times="{" ".join(f"{time:.0f}" for time in times)}"' if len(times) else ""
    start = f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{html.escape(label)}"{at}>'
    return f"{start}{''.join(parts)}</svg>"


def text(x: float, y: float, content: str, kind: str = "", anchor: str = "start") -> str:
    """A label; ``kind`` is a class of the style sheet."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}">{html.escape(content)}</text>'


def name_label(x: float, y: float, name: str, short: str, most: float, kind: str, anchor: str = "start") -> str:
    """A name at most ``most`` pixels wide; its tooltip, and what a reader copies, is the whole name."""
    whole = html.escape(format_name(name))
    default = {True: _WIDTH_OF_IDEOGRAPHS, False: _USUAL_WIDTH}
    width = sum(_WIDTHS.get(character, default[character > "\u1100"]) for character in short)
    fit = f' textLength="{most:.0f}" lengthAdjust="spacingAndGlyphs"' if width > most else ""
    copied = f' data-name="{whole}"' if short != format_name(name) else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}"{fit}{copied}>'
        f"<title>{whole}</title>{html.escape(short)}</text>"
    )


def line(x: float, y: float, to_x: float, to_y: float, kind: str) -> str:
    """A straight line."""
    return f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}" class="{kind}"/>'


def path(x: Sequence[float], y: Sequence[float], kind: str, name: str = "", values: Sequence[str] = ()) -> str:
    """A line through points; ``name`` and the ``values`` of its points are for tooltips."""
    points = "L".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
    read = f' data-line="{html.escape(name)}" data-values="{html.escape("|".join(values))}"' if name else ""
    return f'<path d="M{points}" class="{kind}"{read}/>'


def band(x: Sequence[float], lower: Sequence[float], upper: Sequence[float], kind: str) -> str:
    """The area between two lines."""
    forth = [f"{a:.1f},{b:.1f}" for a, b in zip(x, upper, strict=True)]
    back = [f"{a:.1f},{b:.1f}" for a, b in zip(x, lower, strict=True)][::-1]
    return f'<path d="M{"L".join(forth + back)}Z" class="{kind}"/>'


def ticks(low: float, high: float, maximum: int = 4) -> list[float]:
    """At most ``maximum`` + 1 round numbers from low to high."""
    if not high > low:
        return [low]
    size = 10.0 ** math.floor(math.log10((high - low) / maximum))
    step = next(size * each for each in _STEPS if size * each * maximum >= (high - low) * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(number * step, 12) for number in range(first, last + 1)]


def draw_left_axis(axis: Axis, x: float, to_x: float, at: Sequence[float], labels: Sequence[str]) -> list[str]:
    """Draw horizontal grid lines and their labels."""
    return [
        part
        for value, label in zip(at, labels, strict=True)
        for part in (
            line(x, axis(value), to_x, axis(value), "grid"),
            text(x - 5, axis(value) + 4, label, "tick", "end"),
        )
    ]


def draw_time_axis(axis: Axis, y: float) -> list[str]:
    """Label times before now, which is 0 and stands at the end; ``axis`` is in seconds."""
    span, maximum = axis.high - axis.low, min((axis.end - axis.start) / _LABEL_WIDTH, 4.2)
    step = next((each for each in _TIMES if span / each <= maximum), math.ceil(span / maximum / 86400) * 86400)
    unit, size = ("d", 86400) if step >= 86400 else ("h", 3600) if step >= 3600 else ("min", 60)
    if step < 60:
        unit, size = "s", 1
    parts = [text(axis(0), y, "now", "tick", "end")]
    for number in range(1, int(span / step + 0.05) + 1):
        seconds = -step * number
        anchor = "start" if axis(seconds) < axis.start + 20 else "middle"
        parts.append(
            text(max(axis(seconds), axis.start), y, f"\N{MINUS SIGN}{-seconds / size:g} {unit}", "tick", anchor)
        )
    return parts


def draw_clock_times(axis: Axis, y: float, now: float) -> list[str]:
    """Label both ends of an axis in seconds before ``now`` with the time of day and, beyond a day, the date."""
    form = "%H:%M:%S" if axis.high - axis.low < 86_400 else "%Y-%m-%d %H:%M"
    times = (datetime.fromtimestamp(now + seconds, UTC).strftime(form) for seconds in (axis.low, axis.high))
    first, last = times
    return [text(axis.start, y, first, "tick"), text(axis.end, y, f"{last} UTC", "tick", "end")]


def thin_out(count: int, maximum: int) -> NDArray[np.int64]:
    """At most ``maximum`` + 1 of the indices 0 .. count - 1, including the last."""
    step = max(1, -(-count // maximum))
    labelled: NDArray[np.int64] = np.arange((count - 1) % step, count, step)
    return labelled


def spread_labels(places: Sequence[float], distance: float, low: float, high: float) -> list[float]:
    """Move labels at ``places`` (ascending) so that they are ``distance`` apart and within low .. high."""
    moved = list(places)
    for number, place in enumerate(moved):
        moved[number] = max(place, low + distance * number, moved[number - 1] + distance if number else place)
    for number in range(len(moved) - 1, -1, -1):
        moved[number] = min(moved[number], high - distance * (len(moved) - 1 - number))
    return moved


def pad_range(low: float, high: float, minimum: float) -> tuple[float, float]:
    """The ends of an axis with low .. high in its middle, at least ``minimum`` wide."""
    more = max(minimum - (high - low), 0.0) / 2
    width = high - low + 2 * more
    return low - more - 0.03 * width, high + more + 0.03 * width
