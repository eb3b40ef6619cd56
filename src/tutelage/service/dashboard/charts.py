"""The pictures of a campaign's page: shares of pulls, cost, regret, the overview.

Shapes: M clients, K arms, B points in time.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tutelage.service.dashboard.arms import ArmView
from tutelage.service.dashboard.axes import (
    Scale,
    band,
    left_axis,
    line,
    path,
    room,
    spread,
    svg,
    text,
    thin,
    tick_label,
    ticks,
    time_axis,
)
from tutelage.service.display import short
from tutelage.service.monitoring.durations import whole_percents
from tutelage.service.monitoring.figures import Array, Figures

MOST_COLOURED = 7
MOST_GREY, MOST_GREY_NARROW = 20, 5
NUM_DASHES = 3  # a solid line and two kinds of dashes
MOST_DRAWN_POINTS = 160
MOST_OVERVIEW_ROWS = 100
SPANS = (600.0, 3_600.0, 86_400.0, 30 * 86_400.0, math.inf)
_SMOOTH_PULLS = 1_000  # in each stretch over which a share is taken, if there are so many
_LABEL_WIDTH = 50.0
_ZERO = 1e-9  # what sums of floats leave of it
_LEAST_WIDTH = 0.002  # of a counter's value, so that labels of its axis differ
LEAST_PULLS = 200  # in the span that is drawn, if there are so many


@dataclass(frozen=True, eq=False)
class Window:
    """The part of the past that is drawn: which points, how many seconds ago (negative), the span."""

    points: NDArray[np.int64]
    ago: Array
    span: float


def window_of(figures: Figures) -> Window | None:
    """The shortest span that holds enough pulls; None before there are two points."""
    recent, now = figures.recent, figures.now
    if recent.times.size < 2:
        return None
    totals = recent.arm_pulls.sum(axis=1)
    age = now - recent.times[0]
    span = age
    for each in SPANS:
        first = int(np.searchsorted(recent.times, now - each))
        if first < totals.size and totals[-1] - totals[first] >= min(LEAST_PULLS, totals[-1] - totals[0]):
            span = min(each, age)
            break
    first = max(0, int(np.searchsorted(recent.times, now - span)) - 1)
    points = first + thin(recent.times.size - first, MOST_DRAWN_POINTS)
    return Window(points, np.maximum(recent.times[points] - now, -span), max(span, 1.0))


def share_chart(figures: Figures, window: Window | None, *, is_narrow: bool = False) -> tuple[str, str]:
    """Each arm's share of the pulls, the leading ones in colour; and the words below it."""
    taken = figures.taken
    if window is None:
        return "", "Nothing yet."
    shares, ago = _shares(figures, window)
    if not shares.size:
        return "", "No pulls yet."
    size = len(taken.arms)
    made = figures.recent.arm_pulls[-1]
    active = sorted(taken.active_arms, key=lambda arm: -int(made[arm]))
    coloured = sorted(active[:MOST_COLOURED])
    others = [arm for arm in (active if is_narrow else range(size)) if arm not in coloured]
    grey = sorted(others, key=lambda arm: -int(made[arm]))[: MOST_GREY_NARROW if is_narrow else MOST_GREY]
    left, right, top, bottom = (44.0, 260.0, 12.0, 240.0) if is_narrow else (44.0, 500.0, 12.0, 330.0)
    x = Scale(-window.span, 0, left, right)
    highest = max(float(shares.max()), 0.02) * 1.05
    y = Scale(0, highest, bottom, top)
    at = ticks(0, highest, 5)
    parts = left_axis(y, left, right, at, [f"{100 * tick:g} %" for tick in at])
    across = [x(seconds) for seconds in ago]
    parts += [path(across, [y(v) for v in shares[:, arm]], "line gone") for arm in grey]
    ends = sorted((y(float(shares[-1, arm])), arm) for arm in coloured)
    places = spread([place for place, _ in ends], 14, top, bottom)
    for (_, arm), place in zip(ends, places, strict=True):
        kind = colour_of(arm)
        parts.append(path(across, [y(v) for v in shares[:, arm]], f"line {kind}"))
        parts.append(
            text(right + 6, place + 4, short(taken.arms[arm], 11 if is_narrow else 18), f"end {kind}")
        )
    parts += time_axis(x, bottom + 20)
    percents = whole_percents(shares[-1])
    label = "Share of pulls over time: " + ", ".join(
        f"{short(taken.arms[arm], 40)} {percents[arm]} %" for arm in coloured
    )
    words = "Coloured: in play."
    if len(active) > len(coloured):
        words = f"Coloured: the {len(coloured)} in play that are pulled most."
    if grey:
        words += " Grey: others." if len(grey) < len(others) else " Grey: the others."
    return svg(right + (100 if is_narrow else 140), bottom + 28, parts, label), words


def colour_of(arm: int) -> str:
    """The classes of an arm's line: they are the arm's own, whichever others are drawn."""
    dashes = arm // MOST_COLOURED % NUM_DASHES
    return f"arm{arm % MOST_COLOURED}" + (f" dash{dashes}" if dashes else "")


def _shares(figures: Figures, window: Window) -> tuple[Array, Array]:
    """Shares [points, K] between neighbouring points, over stretches long enough for a smooth line.

    A silence is a flat line, up to now, at the share that was before: of the last pulls there may be too few
    in their stretch to tell one.
    """
    pulls = figures.recent.arm_pulls[window.points]
    steps = len(window.points) - 1
    enough = _SMOOTH_PULLS * steps / max(int((pulls[-1] - pulls[0]).sum()), 1)
    reach = max(1, steps // 60, min(math.ceil(enough), steps // 10))
    made = pulls[reach:] - pulls[:-reach]
    totals = made.sum(axis=1)
    kept = totals > 0
    *_, before, last = (-1, -1, *np.flatnonzero(kept))
    if before >= 0 and 4 * totals[last] < totals[before]:
        kept[last] = False
    shares: Array = made[kept] / totals[kept, None]
    ago = window.ago[reach:][kept]
    if ago.size == 1:
        shares, ago = np.repeat(shares, 2, axis=0), np.array([-window.span, ago[0]])
    if ago.size and ago[-1] < 0.0:
        shares, ago = np.append(shares, shares[-1:], axis=0), np.append(ago, 0.0)
    return shares, ago


@dataclass(frozen=True, eq=False)
class Curve:
    """What :func:`curve` draws: values at the window's points, a band around, a mark (seconds ago)."""

    label: str
    values: Array
    lower: Array | None = None
    upper: Array | None = None
    mark: float | None = None


def curve(figures: Figures, window: Window | None, lines: Curve) -> str:
    """A counter over time up to now."""
    if window is None:
        return ""
    left, right, top, bottom = 52.0, 400.0, 12.0, 170.0
    ago, values = np.append(window.ago, 0.0), np.append(lines.values, lines.values[-1])
    around = [values]
    if lines.lower is not None and lines.upper is not None:
        around += [np.append(lines.lower, lines.lower[-1]), np.append(lines.upper, lines.upper[-1])]
    lowest, highest = min(float(v.min()) for v in around), max(float(v.max()) for v in around)
    is_zero = max(abs(lowest), abs(highest)) < _ZERO
    low, high = (0.0, 1.0) if is_zero else room(lowest, highest, _LEAST_WIDTH * abs(highest))
    x, y = Scale(-window.span, 0, left, right), Scale(low, high, bottom, top)
    at = ticks(max(low, 0.0), high, 4)
    parts = left_axis(y, left, right, at, [tick_label(tick) for tick in at])
    across = [x(seconds) for seconds in ago]
    if len(around) > 1:
        parts.append(band(across, [y(v) for v in around[1]], [y(v) for v in around[2]], "band"))
    parts.append(path(across, [y(v) for v in values], "line counter"))
    if lines.mark is not None and -window.span < lines.mark < 0:
        parts.append(line(x(lines.mark), top, x(lines.mark), bottom, "bound"))
        label_ends = lines.mark + _LABEL_WIDTH * window.span / (right - left)
        is_high = float(np.interp(label_ends, ago, values)) > (low + high) / 2  # it keeps off the line
        parts.append(text(x(lines.mark) + 4, bottom - 6 if is_high else top + 8, "decided", "tick"))
    parts += time_axis(x, bottom + 20)
    return svg(416, bottom + 28, parts, f"{lines.label}: {values[-1]:,.0f} now")


def regret_of(view: ArmView, arm_pulls: NDArray[np.int64], target: int | None) -> tuple[Array, Array, Array]:
    """The regret of pulls [B, K] as it is now estimated, and a band from the arms' intervals, [B] each.

    sum_k N_k (middle of the best arm - middle of arm k); best is the target, else the highest.  The band
    takes each gap at its least and most: as far as both intervals hold, the regret lies within.
    """
    known = np.isfinite(view.middle)
    if not known.any():
        nothing = np.zeros(len(arm_pulls))
        return nothing, nothing, nothing
    best = target if target is not None and known[target] else int(np.where(known, view.middle, -1).argmax())
    radius = np.where(np.isfinite(view.lower), (view.upper - view.lower) / 2, 0.0)
    gaps = np.where(known, np.maximum(view.middle[best] - view.middle, 0.0), 0.0)
    reach = np.where(np.arange(len(gaps)) == best, 0.0, radius + radius[best])
    pulls = arm_pulls.astype(np.float64)
    middle: Array = pulls @ gaps
    lower: Array = pulls @ np.maximum(gaps - reach, 0.0)
    upper: Array = pulls @ np.minimum(gaps + reach, 1.0)
    return middle, lower, upper


def overview(levels: NDArray[np.int64], active: frozenset[int]) -> str:
    """Levels [clients, K] as one path a colour level and whether the arm is in play."""
    clients, size = levels.shape
    together = -(-clients // MOST_OVERVIEW_ROWS)  # clients in one row, which is the worst of them
    levels = np.minimum.reduceat(levels, np.arange(0, clients, together), axis=0)
    rows = len(levels)
    width, height = 700.0, float(min(max(2 * clients, 60), 200))
    across, down = width / size, height / rows
    paths: dict[str, list[str]] = {}
    for arm in range(size):
        faint = "" if arm in active else " faint"
        column = levels[:, arm]
        starts = np.flatnonzero(np.diff(column, prepend=column[0] - 1))
        for start, end in zip(starts, [*starts[1:], rows], strict=True):
            x, y = arm * across, start * down
            paths.setdefault(f"h{column[start]}{faint}", []).append(
                f"M{x:.1f},{y:.1f}h{across:.1f}v{(end - start) * down:.1f}h-{across:.1f}z"
            )
    parts = [f'<path d="{"".join(pieces)}" class="{kind}"/>' for kind, pieces in sorted(paths.items())]
    return svg(
        width, height, parts, f"Overview of {clients} clients and {size} arms: darker is further behind"
    )
