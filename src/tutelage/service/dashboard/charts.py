"""The charts of a campaign's page: shares of pulls, cost, regret, and the overview of large campaigns.

The chart of arms is in :mod:`tutelage.service.dashboard.arms`.

Shapes: M clients, K arms, B points in time.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tutelage.service.dashboard import axes
from tutelage.service.dashboard.arms import ArmEstimates
from tutelage.service.dashboard.axes import Axis
from tutelage.service.monitoring.campaign_view import Array, CampaignView
from tutelage.text import format_axis_number, format_name, format_number, round_percents, shorten_names

MAX_COLOURED = 7
MAX_GREY, MAX_GREY_NARROW = 20, 5
NUM_DASHES = 3  # a solid line and two kinds of dashes
MAX_POINTS = 160
LEFT_WIDTH, RIGHT_WIDTH = 760.0, 526.0  # of a chart in each column of the page
MAX_OVERVIEW_ROWS = 100
#: The time ranges of the charts, by their names in an address, in seconds before now.
RANGES = {"10m": 600.0, "1h": 3_600.0, "1d": 86_400.0, "30d": 30 * 86_400.0, "all": math.inf}
_SMOOTH_PULLS = 1_000  # behind each share, if there are enough
_LABEL_WIDTH = 50.0
_ZERO = 1e-9  # rounding errors of sums
_MINIMUM_WIDTH = 0.002  # of a counter's value, so that the labels of its axis differ
ENOUGH_PULLS = 200  # in the span that is drawn, if there are as many


@dataclass(frozen=True, eq=False)
class ChartWindow:
    """The part of the past that is drawn: its points, their times (negative seconds), its length, its end."""

    points: NDArray[np.int64]
    ago: Array
    span: float
    now: float


def choose_window(view: CampaignView, range_name: str = "") -> ChartWindow | None:
    """Return the time range of this name, up to the campaign's age; None before there are two points.

    Without a name it is the shortest one with enough pulls.
    """
    times, now = view.activity.points.times, view.now
    if times.size < 2:
        return None
    totals = view.activity.points.arm_pulls.sum(axis=1)
    age = now - times[0]
    span = age
    for each in [RANGES[range_name]] if range_name else RANGES.values():
        first = int(np.searchsorted(times, now - each))
        has_enough = first < totals.size and totals[-1] - totals[first] >= min(ENOUGH_PULLS, totals[-1] - totals[0])
        if range_name or has_enough:
            span = min(each, age)
            break
    first = max(0, int(np.searchsorted(times, now - span)) - 1)
    points = first + axes.thin_out(times.size - first, MAX_POINTS)
    return ChartWindow(points, np.maximum(times[points] - now, -span), max(span, 1.0), now)


def draw_shares(
    view: CampaignView, window: ChartWindow | None, width: float = LEFT_WIDTH, *, is_narrow: bool = False
) -> tuple[str, str]:
    """Draw each arm's share of the pulls, the most pulled in colour; also return its caption."""
    metrics = view.metrics
    if window is None:
        return "", "No data yet."
    shares, ago = _compute_shares(view, window)
    if not shares.size:
        return "", "No pulls in this time." if view.activity.points.arm_pulls[-1].any() else "No pulls yet."
    size = len(metrics.arms)
    made = view.activity.points.arm_pulls[-1]
    active = sorted(metrics.active_arms, key=lambda arm: -int(made[arm]))
    coloured = sorted(active[:MAX_COLOURED])
    others = [arm for arm in (active if is_narrow else range(size)) if arm not in coloured]
    grey = sorted(others, key=lambda arm: -int(made[arm]))[: MAX_GREY_NARROW if is_narrow else MAX_GREY]
    margin = 100.0 if is_narrow else 140.0
    left, right, top = 44.0, (360.0 if is_narrow else width) - margin, 12.0
    bottom = 330.0 if width == LEFT_WIDTH and not is_narrow else 240.0
    x = Axis(-window.span, 0, left, right)
    highest = max(float(shares.max()), 0.02) * 1.05
    y = Axis(0, highest, bottom, top)
    at = axes.ticks(0, highest, 5)
    parts = axes.draw_left_axis(y, left, right, at, [f"{100 * tick:g} %" for tick in at])
    across = [x(seconds) for seconds in ago]
    parts += [axes.path(across, [y(v) for v in shares[:, arm]], "line ruled-out") for arm in grey]
    ends = sorted((y(float(shares[-1, arm])), arm) for arm in coloured)
    short = shorten_names(metrics.arms, 11 if is_narrow else 17)
    places = axes.spread_labels([place for place, _ in ends], 14, top, bottom)
    for (_, arm), place in zip(ends, places, strict=True):
        kind = colour_of(arm)
        name, words = metrics.arms[arm], [f"{100 * share:.1f} %" for share in shares[:, arm]]
        parts.append(axes.path(across, [y(v) for v in shares[:, arm]], f"line {kind}", format_name(name), words))
        parts.append(axes.name_label(right + 6, place + 4, name, short[name], margin - 8, f"end {kind}"))
    parts += axes.draw_time_axis(x, bottom + 20) + axes.draw_clock_times(x, bottom + 36, window.now)
    percents = round_percents(shares[-1])
    label = "Share of pulls over time: " + ", ".join(
        f"{format_name(metrics.arms[arm])} {percents[arm]} %" for arm in coloured
    )
    caption = "Coloured: active arms."
    if len(active) > len(coloured):
        caption = f"Coloured: the {len(coloured)} most pulled active arms."
    if grey:
        caption += f" Grey: {len(grey)} of the other arms." if len(grey) < len(others) else " Grey: other arms."
    return axes.svg(right + margin, bottom + 44, parts, label, window.now + ago), caption


def colour_of(arm: int) -> str:
    """The CSS classes of an arm's line, which do not depend on the other arms drawn."""
    dashes = arm // MAX_COLOURED % NUM_DASHES
    return f"arm{arm % MAX_COLOURED}" + (f" dash{dashes}" if dashes else "")


def _compute_shares(view: CampaignView, window: ChartWindow) -> tuple[Array, Array]:
    """Shares [points, K] of the pulls between points far enough apart for a smooth line, and their times.

    A silence is a flat line, up to now, at the share before it: the last pulls may be too few to compute
    a share from.
    """
    pulls = view.activity.points.arm_pulls[window.points]
    steps = len(window.points) - 1
    enough = _SMOOTH_PULLS * steps / max(int((pulls[-1] - pulls[0]).sum()), 1)
    reach = max(1, steps // 60, min(math.ceil(enough), steps // 10))
    made = pulls[reach:] - pulls[:-reach]
    totals = made.sum(axis=1)
    drawn = totals > 0
    *_, before, last = (-1, -1, *np.flatnonzero(drawn))
    if before >= 0 and 4 * totals[last] < totals[before]:
        drawn[last] = False
    shares: Array = made[drawn] / totals[drawn, None]
    ago = window.ago[reach:][drawn]
    if ago.size == 1:
        shares, ago = np.repeat(shares, 2, axis=0), np.array([-window.span, ago[0]])
    if ago.size and ago[-1] < 0.0:
        shares, ago = np.append(shares, shares[-1:], axis=0), np.append(ago, 0.0)
    return shares, ago


@dataclass(frozen=True, eq=False)
class CounterLine:
    """A counter at the window's points, a band around it, and a mark (in seconds before now)."""

    label: str
    values: Array
    lower: Array | None = None
    upper: Array | None = None
    mark: float | None = None


def draw_counter(window: ChartWindow | None, counter: CounterLine, *, is_narrow: bool = False) -> str:
    """Draw a counter over time up to now."""
    if window is None:
        return ""
    left, right, top, bottom = 52.0, (330.0 if is_narrow else RIGHT_WIDTH - 16), 12.0, 170.0
    ago, values = np.append(window.ago, 0.0), np.append(counter.values, counter.values[-1])
    bounds = [values]
    if counter.lower is not None and counter.upper is not None:
        bounds += [np.append(counter.lower, counter.lower[-1]), np.append(counter.upper, counter.upper[-1])]
    lowest, highest = min(float(v.min()) for v in bounds), max(float(v.max()) for v in bounds)
    is_zero = max(abs(lowest), abs(highest)) < _ZERO
    low, high = (0.0, 1.0) if is_zero else axes.pad_range(lowest, highest, _MINIMUM_WIDTH * abs(highest))
    x, y = Axis(-window.span, 0, left, right), Axis(low, high, bottom, top)
    at = axes.ticks(max(low, 0.0), high, 4)
    parts = axes.draw_left_axis(y, left, right, at, [format_axis_number(tick) for tick in at])
    across, words = [x(seconds) for seconds in ago], list(map(format_number, values))
    if len(bounds) > 1:
        parts.append(axes.band(across, [y(v) for v in bounds[1]], [y(v) for v in bounds[2]], "band"))
        ends = [f"{format_number(low)} to {format_number(high)}" for low, high in zip(*bounds[1:], strict=True)]
        words = [f"{word} ({between})" for word, between in zip(words, ends, strict=True)]
    parts.append(axes.path(across, [y(v) for v in values], "line counter", counter.label, words))
    if counter.mark is not None and -window.span < counter.mark < 0:
        parts.append(axes.line(x(counter.mark), top, x(counter.mark), bottom, "bound"))
        label_ends = counter.mark + _LABEL_WIDTH * window.span / (right - left)
        is_high = float(np.interp(label_ends, ago, values)) > (low + high) / 2  # away from the line
        parts.append(axes.text(x(counter.mark) + 4, bottom - 6 if is_high else top + 8, "decided", "tick"))
    parts += axes.draw_time_axis(x, bottom + 20) + axes.draw_clock_times(x, bottom + 36, window.now)
    return axes.svg(right + 16, bottom + 44, parts, f"{counter.label}: {values[-1]:,.0f} now", window.now + ago)


def estimate_regret(
    estimates: ArmEstimates, arm_pulls: NDArray[np.int64], target: int | None
) -> tuple[Array, Array, Array]:
    """Estimate the regret of pulls [B, K], with a band from the arms' intervals, [B] each.

    sum_k N_k (middle of the best arm - middle of arm k); the best arm is the target, or else the highest.
    The band uses the smallest and largest gaps that the intervals allow; if they hold, it has the regret.
    """
    known = np.isfinite(estimates.middle)
    if not known.any():
        nothing = np.zeros(len(arm_pulls))
        return nothing, nothing, nothing
    highest = int(np.where(known, estimates.middle, -1).argmax())
    best = target if target is not None and known[target] else highest
    radius = np.where(np.isfinite(estimates.lower), (estimates.upper - estimates.lower) / 2, 0.0)
    gaps = np.where(known, np.maximum(estimates.middle[best] - estimates.middle, 0.0), 0.0)
    reach = np.where(np.arange(len(gaps)) == best, 0.0, radius + radius[best])
    pulls = arm_pulls.astype(np.float64)
    middle: Array = pulls @ gaps
    lower: Array = pulls @ np.maximum(gaps - reach, 0.0)
    upper: Array = pulls @ np.minimum(gaps + reach, 1.0)
    return middle, lower, upper


def draw_overview(levels: NDArray[np.int64], active: frozenset[int]) -> str:
    """Draw levels [clients, K]: one path for each colour level, apart for arms that are ruled out."""
    clients, size = levels.shape
    together = -(-clients // MAX_OVERVIEW_ROWS)  # clients per row, which shows the lowest level of them
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
    return axes.svg(width, height, parts, f"Overview of {clients} clients and {size} arms: darker is further behind")
