"""Draw a dataset into a matplotlib ``Axes``: each function returns the ``Axes``.

A dataset is what ``tutelage.simulate`` returns and ``tutelage.load`` reads, or a set of instances with
``instance`` as its first dimension.  Nothing here simulates, and nothing here makes a figure: the caller sets
style and size, see :mod:`tutelage.plots.layout`.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.colors import PowerNorm
from matplotlib.lines import Line2D
from matplotlib.markers import CARETDOWN
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator
from numpy.typing import NDArray

from tutelage.errors import InputError
from tutelage.plots import samples
from tutelage.plots.checks import check_drawable
from tutelage.plots.samples import LogScale
from tutelage.plots.styles import BAND_ALPHA, MARKERS, TeacherStyle, teacher_styles, wrap_label
from tutelage.text import format_axis_number

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.artist import Artist
    from matplotlib.text import Text

LOGS = ("none", "time", "quantity", "both")  # choices of logarithmic axes
_BAND_COLOUR = "#777777"  # of the band in a legend; no teacher has it
_MOST_DRAWN = 1000  # checkpoints of a curve: more than a column of print can show
_MOST_NUMBERED, _MOST_NUMBERED_ARMS = 100, 8  # cells and arms of a map of pulls that shows numbers
_MOST_NAMED = 24  # clients or arms with a tick of their own


def draw_curves(
    dataset: "xr.Dataset",
    axes: Axes,
    quantity: str = "regret",
    *,
    log: str = "none",
    legend: bool = True,
    band: str = "runs",
) -> Axes:
    """Draw regret or cost of all clients over time: the mean of the samples and the band of 80 % of them.

    With ``band="mean"`` it is a 95 % confidence band of the means that holds for all curves and rounds together.
    ``log`` is the logarithmic axis: ``none``, ``time`` (what grows like log T is then a straight line),
    ``quantity`` or ``both``.  On a logarithmic axis curves begin at the first checkpoint, and zero has
    a place of its own.  A result with the horizon as its only checkpoint has a dot and a bar instead of curve
    and band.  A single run has no band.  Raises ``InputError`` for another quantity, ``log`` or ``band``.
    """
    _check_log(log)
    if band not in samples.BANDS:
        raise InputError(f"Invalid band {band!r}: use {' or '.join(samples.BANDS)}.")
    dataset = samples.thin(check_drawable(dataset, ("curves",)), _MOST_DRAWN, logarithmic=log in ("time", "both"))
    values = samples.totals(dataset, quantity)
    over, rounds = samples.compute_band(values, band), dataset["checkpoint"].to_numpy()
    has_band = samples.has_band(dataset)
    shown = [over.mean, over.low, over.high] if has_band else [over.mean]
    scale = samples.make_log_scale(np.stack(shown)) if log in ("quantity", "both") else None
    lines = [each if scale is None else scale.place(each) for each in (over.mean, over.low, over.high)]
    if log == "none" and rounds.size > 1:
        rounds = np.concatenate([[0], rounds])
        lines = [np.concatenate([np.zeros((each.shape[0], 1)), each], axis=1) for each in lines]
    for n, style in enumerate(teacher_styles(dataset)):
        mean, low, high = (each[n] for each in lines)
        properties = _line_properties(style)
        if rounds.size == 1:
            shift = _dodge(n, values.shape[0])
            axes.plot([shift], mean, linestyle="none", **properties)
            if has_band:
                axes.vlines(shift, low, high, color=style.colour, alpha=0.6)
            continue
        places = _marker_positions(rounds, 6, n / values.shape[0], logarithmic=log in ("time", "both"))
        axes.plot(rounds, mean, linestyle=_line_style(style), markevery=places, **properties)
        if has_band:
            axes.fill_between(rounds, low, high, color=style.colour, alpha=BAND_ALPHA, linewidth=0)
    _set_time_axis(axes, rounds, logarithmic=log in ("time", "both"))
    if scale is None:
        _set_linear_axis(axes, max(float(each.max()) for each in shown))
    else:
        _set_log_axis(axes, "y", scale)
    axes.set_ylabel(samples.name_quantity(dataset, quantity), parse_math=False)
    return _add_legend(axes, dataset, legend=legend, band=band)


def draw_scatter(dataset: "xr.Dataset", axes: Axes, *, legend: bool = True) -> Axes:
    """Draw regret against cost at the horizon, log-log, one dot per sample; zero has a tick of its own."""
    dataset = check_drawable(dataset, ("scatter",))
    regret = samples.totals(dataset, "regret")[:, :, -1]
    cost = samples.totals(dataset, "cost")[:, :, -1]
    across, up = samples.make_log_scale(regret), samples.make_log_scale(cost)
    for n, style in enumerate(teacher_styles(dataset)):
        axes.plot(
            across.place(regret[n]),
            up.place(cost[n]),
            linestyle="none",
            alpha=0.8,
            **_line_properties(style, 1.0 if regret.shape[1] <= 50 else 0.8),
        )
    _set_log_axis(axes, "x", across)
    _set_log_axis(axes, "y", up)
    at = f"at round {samples.horizon(dataset):,}"
    axes.set_xlabel(f"{samples.name_quantity(dataset, 'regret')} {at}", parse_math=False)
    axes.set_ylabel(f"{samples.name_quantity(dataset, 'cost')} {at}", parse_math=False)
    return _add_legend(axes, dataset, legend=legend, band="")


def draw_pull_map(dataset: "xr.Dataset", axes: Axes, teacher: str) -> Axes:
    """Draw the share of each client's pulls that each arm received under one teacher, as a heat map.

    The numbers are percentages at the horizon, means over the runs; a mark above the map shows the best arms.
    ``teacher`` is a label in the dataset.  Raises ``InputError`` for another one and for a set of instances.
    """
    dataset = check_drawable(dataset, ("pulls",))
    shares = 100 * samples.compute_pull_shares(dataset, teacher)
    num_arms = shares.shape[1]
    norm = PowerNorm(0.5, vmin=0, vmax=100)  # one percent still differs visibly from zero
    axes.imshow(shares, norm=norm, aspect="auto", interpolation="nearest")
    axes.grid(visible=False)
    if shares.size <= _MOST_NUMBERED and num_arms <= _MOST_NUMBERED_ARMS:
        for client, arm in np.argwhere(shares >= 0.5):
            share = shares[client, arm]
            colour = "black" if norm(share) > 0.55 else "white"
            axes.text(arm, client, f"{share:.0f}", ha="center", va="center", color=colour)
    best = np.flatnonzero(dataset["gap"].to_numpy() == 0)
    axes.plot(
        best,
        np.full(best.size, 1.0),
        linestyle="none",
        marker=CARETDOWN,
        color="black",
        markersize=4,
        transform=axes.get_xaxis_transform(),
        clip_on=False,
    )
    _set_ticks(axes, "x", samples.list_names(dataset, "arm"))
    _set_ticks(axes, "y", samples.list_names(dataset, "client"))
    axes.set_xlabel(f"{samples.name_arms(dataset)} (▾ best arm)")
    axes.set_ylabel("client")
    axes.set_title(wrap_label(teacher, 24), pad=6, parse_math=False)
    return axes


def draw_per_client(
    dataset: "xr.Dataset", axes: Axes, quantity: str = "regret", *, log: str = "none", legend: bool = True
) -> Axes:
    """Draw each client's regret or cost at the horizon: the mean and the band of 80 % of the samples.

    The quantity is logarithmic if ``log`` is ``quantity`` or ``both``.  Each client is named with its policy.
    Raises ``InputError`` for another quantity or ``log``.
    """
    _check_log(log)
    dataset = check_drawable(dataset, ("clients",))
    values = samples.per_client_samples(dataset, quantity)[..., -1]
    over = samples.compute_band(values)
    num_teachers, num_clients = over.mean.shape
    clients = np.arange(num_clients)
    shown = [over.mean, over.low, over.high] if samples.has_band(dataset) else [over.mean]
    scale = samples.make_log_scale(np.stack(shown)) if log in ("quantity", "both") else None
    mean, low, high = (each if scale is None else scale.place(each) for each in (over.mean, over.low, over.high))
    for n, style in enumerate(teacher_styles(dataset)):
        places = clients + _dodge(n, num_teachers)
        if samples.has_band(dataset):
            axes.vlines(places, low[n], high[n], color=style.colour, alpha=0.5, linewidth=1.2)
        axes.plot(
            places,
            mean[n],
            linestyle="none",
            **_line_properties(style, 1.0 if num_clients * num_teachers <= 60 else 0.7),
        )
    axes.set_xlim(-0.5, num_clients - 0.5)
    policies = samples.list_policies(dataset)
    several = len(set(policies)) > 1
    _set_ticks(axes, "x", samples.list_names(dataset, "client"), policies if several else None)
    axes.grid(visible=False, axis="x")
    same = f"client (policy {policies[0]})" if policies else "client"
    axes.set_xlabel("client and policy" if several else same, parse_math=False)
    axes.set_ylabel(f"{quantity} of each client")
    if scale is None:
        _set_linear_axis(axes, max(float(each.max()) for each in shown))
    else:
        _set_log_axis(axes, "y", scale)
    return _add_legend(axes, dataset, legend=legend)


def _check_log(log: str) -> None:
    if log not in LOGS:
        raise InputError(f"Invalid logarithmic axis {log!r}: use {', '.join(LOGS)}.")


def legend_entries(dataset: "xr.Dataset", *, lines: bool = True, band: str = "runs", width: int = 34) -> "list[Artist]":
    """Return a legend's handles, one per teacher and one for the band, if any; ``width`` is the letters in a line."""
    styles = teacher_styles(dataset)
    handles: list[Artist] = [
        Line2D([], [], linestyle=_line_style(style) if lines else "none", **_line_properties(style, width=width))
        for style in styles
    ]
    if band and samples.has_band(dataset):
        handles.append(Patch(color=_BAND_COLOUR, alpha=0.35, linewidth=0, label=samples.band_name(dataset, band)))
    return handles


def _line_properties(style: TeacherStyle, size: float = 1.0, width: int = 34) -> dict[str, Any]:
    """Return the properties of a teacher's lines; markers at the edge of the axes are not clipped."""
    thin = style.marker in ("plus", "x", "star")
    return {
        "color": style.colour,
        "label": wrap_label(style.label, width),
        "marker": MARKERS[style.marker],
        "markersize": rcParams["lines.markersize"] * size * (1.35 if thin else 1.0),
        "markeredgecolor": "white",
        "clip_on": False,
        "zorder": 3,
    }


def _line_style(style: TeacherStyle) -> Any:
    return (0, style.dash) if style.dash else "-"


def _add_legend(axes: Axes, dataset: "xr.Dataset", *, legend: bool, band: str = "runs") -> Axes:
    """Add the legend at the upper left of the axes, where curves that begin at 0 leave room."""
    if legend:
        lines = any(line.get_linestyle() != "None" for line in axes.lines)
        handles = legend_entries(dataset, lines=lines, band=band)
        _disable_math(axes.legend(handles=handles, ncols=1 + (len(handles) > 10), loc="upper left").get_texts())
    return axes


def _set_time_axis(axes: Axes, rounds: NDArray[np.int64], *, logarithmic: bool) -> None:
    if rounds.size == 1:
        axes.set_xlim(-0.6, 0.6)
        axes.set_xticks([0], [f"round {rounds[0]:,}"])
        return
    axes.set_xlabel("round")
    if logarithmic:
        first, last = float(rounds[0]), float(rounds[-1])
        scale = samples.make_log_scale(rounds.astype(np.float64))
        ticks = tuple((place, label) for place, label in scale.ticks if first <= place <= last)
        _set_log_axis(axes, "x", replace(scale, low=first, high=last, ticks=ticks))
        return
    axes.set_xlim(rounds[0], rounds[-1])
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: format_axis_number(value)))


def _disable_math(texts: "Iterable[Text]") -> None:
    """Print a dollar sign as it is, although the user's settings may let it begin a formula."""
    for text in texts:
        text.set_parse_math(False)


def _marker_positions(rounds: NDArray[np.int64], count: int, shift: float, *, logarithmic: bool) -> list[int]:
    """Return the positions of ``count`` markers, evenly spaced on the axis and shifted by part of a step.

    The shift keeps the markers of curves that coincide apart.
    """
    parts = (np.arange(count) + 0.15 + 0.7 * shift) / count
    wanted = rounds[0] * (rounds[-1] / rounds[0]) ** parts if logarithmic else rounds[-1] * parts
    return sorted(set(np.searchsorted(rounds, wanted).clip(1, rounds.size - 1).tolist()))


def _dodge(n: int, count: int) -> float:
    """Return the offset of the n-th of ``count`` things that share a place, within 0.35 of it."""
    return 0.0 if count == 1 else 0.7 * (n / (count - 1) - 0.5)


def _set_linear_axis(axes: Axes, most: float) -> None:
    axes.set_ylim(0, 1.05 * most if most > 0 else 1.0)
    axes.yaxis.set_major_locator(MaxNLocator(6))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: format_axis_number(value)))


def _set_log_axis(axes: Axes, which: str, scale: LogScale) -> None:
    axis = axes.xaxis if which == "x" else axes.yaxis
    (axes.set_xscale if which == "x" else axes.set_yscale)("log")
    (axes.set_xlim if which == "x" else axes.set_ylim)(scale.low, scale.high)
    labels = dict(scale.ticks)
    axis.set_major_locator(FixedLocator(list(labels)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: labels.get(value, "")))
    axis.set_minor_locator(NullLocator())


def _cut(name: str) -> str:
    return name if len(name) <= 16 else f"{name[:15]}…"


def _set_ticks(axes: Axes, which: str, names: list[str], below: list[str] | None = None) -> None:
    """Put one tick at each name, with a second name ``below`` it; of many names only some, evenly spaced."""
    step = -(-len(names) // _MOST_NAMED)
    places = list(range(0, len(names), step))
    shown = [_cut(names[place]) for place in places]
    longest = [_cut(below[place]) for place in places] if below else shown
    crowded = which == "x" and sum(max(len(one), len(two)) + 1 for one, two in zip(shown, longest, strict=True)) > 46
    if below:
        separator = ", " if crowded else "\n"
        shown = [f"{one}{separator}{two}" for one, two in zip(shown, longest, strict=True)]
    set_ticks = axes.set_xticks if which == "x" else axes.set_yticks
    set_ticks(places, shown, rotation=90 if crowded else 0, parse_math=False)
