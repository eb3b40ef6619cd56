"""The page's interactive panels: Bokeh documents as JSON, styled like the pictures.

Long curves and large scatter plots are thinned to what can be seen, so that the page stays small.
"""

import itertools
import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
from bokeh.core.types import ID
from bokeh.embed import json_item
from bokeh.models import ColumnDataSource, FixedTicker, HoverTool, NumeralTickFormatter, PrintfTickFormatter, Range1d
from bokeh.models.annotations import Legend, LegendItem
from bokeh.plotting import figure

from tutelage.plots import BAND_ALPHA, TeacherStyle, samples, teacher_styles
from tutelage.plots.samples import LogScale
from tutelage.report.page_assets import HEIGHTS

if TYPE_CHECKING:
    import xarray as xr

_MOST_POINTS = 250  # of a curve
_MOST_DOTS = 1000  # of a teacher in a scatter plot
_MARKS = 7
_TOOLS = "pan,box_zoom,wheel_zoom,reset,save"
_FONT, _INK = "system-ui, sans-serif", "#1c1c1c"


def write_panel_json(dataset: "xr.Dataset", quantity: str, target: str) -> str:
    """Return the JSON from which ``Bokeh.embed.embed_item`` draws the panel into the element ``target``."""
    plot = _plot_scatter(dataset) if quantity == "regret-cost" else _plot_curves(dataset, quantity)
    _apply_style(plot)
    return json.dumps(_renumber_models(json_item(plot, ID(target))), separators=(",", ":"), allow_nan=False)


def _plot_curves(dataset: "xr.Dataset", quantity: str) -> Any:
    dataset = samples.thin(dataset, _MOST_POINTS)
    values = samples.totals(dataset, quantity)
    over = samples.compute_band(values)
    rounds = np.concatenate([[0], dataset["checkpoint"].to_numpy()])
    most = float(over.high.max()) or 1.0
    plot = figure(
        x_range=Range1d(start=0, end=1.01 * int(rounds[-1])),
        y_range=Range1d(start=-0.01 * most, end=1.05 * most),
        tools=_TOOLS,
        height=HEIGHTS[quantity],
    )
    items: list[tuple[str, list[Any]]] = []
    hover_targets: list[Any] = []
    for n, style in enumerate(teacher_styles(dataset)):
        columns = {"round": rounds} | {
            name: np.concatenate([[0.0], line[n]])
            for name, line in (("mean", over.mean), ("q10", over.low), ("q90", over.high))
        }
        source = ColumnDataSource({name: column.astype(np.float32) for name, column in columns.items()})
        parts: list[Any] = []
        if samples.has_band(dataset):
            parts.append(plot.varea("round", "q10", "q90", source=source, color=style.colour, alpha=BAND_ALPHA))
        line = plot.line(
            "round",
            "mean",
            source=source,
            color=style.colour,
            line_width=2,
            line_dash=[round(2 * length) for length in style.dash],
            name=style.label,
        )
        marked = _pick_evenly(rounds.size - 1, _MARKS, n / values.shape[0]) + 1
        marks = ColumnDataSource({name: column[marked].astype(np.float32) for name, column in columns.items()})
        parts += [line, _add_markers(plot, "round", "mean", marks, style)]
        items.append((style.label, parts))
        hover_targets.append(line)
    if samples.has_band(dataset):
        empty = [math.nan, math.nan]  # for the legend only
        band = plot.varea(empty, empty, empty, color="#777777", alpha=0.35)
        items.append((samples.band_name(dataset), [band]))
    tips = [("", "$name"), ("round", "@round{0,0}"), ("mean", "@mean{0,0.[00]}")]
    if samples.has_band(dataset):
        tips.append((samples.band_name(dataset), "@q10{0,0.[00]} to @q90{0,0.[00]}"))
    plot.add_tools(HoverTool(renderers=hover_targets, tooltips=tips, line_policy="nearest"))
    plot.xaxis.formatter = NumeralTickFormatter(format="0.[00]a")
    plot.yaxis.formatter = NumeralTickFormatter(format="0.[00]a")
    plot.xaxis.axis_label, plot.yaxis.axis_label = "round", samples.name_quantity(dataset, quantity)
    _add_legend(plot, items)
    return plot


def _plot_scatter(dataset: "xr.Dataset") -> Any:
    regret, cost = (samples.totals(dataset, quantity)[:, :, -1] for quantity in ("regret", "cost"))
    across, up = samples.make_log_scale(regret), samples.make_log_scale(cost)
    numbers = dataset["instance" if samples.is_set(dataset) else "run"].to_numpy()
    shown = _pick_evenly(numbers.size, _MOST_DOTS, 0.0)
    plot = figure(
        x_axis_type="log",
        y_axis_type="log",
        x_range=Range1d(start=across.low, end=across.high),
        y_range=Range1d(start=up.low, end=up.high),
        tools=_TOOLS,
        height=HEIGHTS["regret-cost"],
    )
    items: list[tuple[str, list[Any]]] = []
    hover_targets: list[Any] = []
    for n, style in enumerate(teacher_styles(dataset)):
        source = ColumnDataSource(
            {
                "across": across.place(regret[n])[shown],
                "up": up.place(cost[n])[shown],
                "regret": regret[n][shown],
                "cost": cost[n][shown],
                "number": numbers[shown],
            }
        )
        dots = _add_markers(plot, "across", "up", source, style)
        hover_targets.append(dots)
        items.append((style.label, [dots]))
    word = samples.sample_word(dataset).removesuffix("s")
    tips = [("", "$name"), (word, "@number"), ("regret", "@regret{0,0.[00]}"), ("cost", "@cost{0,0.[00]}")]
    plot.add_tools(HoverTool(renderers=hover_targets, tooltips=tips))
    _set_ticks(plot.xaxis, across)
    _set_ticks(plot.yaxis, up)
    horizon = f"round {samples.horizon(dataset):,}"
    plot.xaxis.axis_label, plot.yaxis.axis_label = f"regret at {horizon}", f"cost at {horizon}"
    _add_legend(plot, items)
    return plot


def _add_markers(plot: Any, across: str, up: str, source: ColumnDataSource, style: TeacherStyle) -> Any:
    return plot.scatter(
        across,
        up,
        source=source,
        marker=style.marker,
        size=9 if style.marker in ("plus", "x", "star") else 8,
        fill_color=style.colour,
        line_color=style.colour if style.marker == "x" else "white",
        line_width=2 if style.marker == "x" else 0.7,
        fill_alpha=0.9,
        name=style.label,
    )


def _add_legend(plot: Any, items: list[tuple[str, list[Any]]]) -> None:
    """Add a legend below the plot, in which a click on a teacher hides it."""
    longest = max(len(label) for label, _ in items)
    legend: Any = Legend(
        background_fill_color=None,
        label_text_color=_INK,
        items=[LegendItem(label=label, renderers=drawn) for label, drawn in items],
        click_policy="hide",
        ncols=max(1, min(len(items), int(560 / (60 + 7 * longest)))),
        border_line_color=None,
        label_text_font=_FONT,
        label_text_font_size="12px",
        label_width=7 * longest,
        location="center",
        spacing=2,
    )
    legend.padding = legend.margin = 4
    plot.add_layout(legend, "below")


def _set_ticks(axis: Any, scale: LogScale) -> None:
    """Use the ticks of the pictures, with one for zero where zero has a place."""
    labels = dict(scale.ticks)
    axis.ticker = FixedTicker(ticks=list(labels))
    axis.major_label_overrides = dict(labels)
    axis.formatter = PrintfTickFormatter(format="")


def _apply_style(plot: Any) -> None:
    plot.sizing_mode = "stretch_width"
    plot.toolbar.logo = None
    plot.toolbar.autohide = True
    plot.outline_line_color = None
    plot.background_fill_color = plot.border_fill_color = None
    plot.grid.grid_line_color = "#e4e4e4"
    plot.axis.axis_label_text_color = plot.axis.major_label_text_color = _INK
    plot.axis.axis_label_text_font = plot.axis.major_label_text_font = _FONT
    plot.axis.axis_label_text_font_style = "normal"
    plot.axis.axis_label_text_font_size = "13px"
    plot.axis.major_label_text_font_size = "12px"
    plot.axis.axis_line_color = plot.axis.major_tick_line_color = "#444444"
    plot.axis.minor_tick_line_color = None


def _pick_evenly(count: int, most: int, shift: float) -> Any:
    """Return at most ``most`` of ``count`` positions, evenly spaced and shifted by a part of a step."""
    if count <= most:
        return np.arange(count)
    return np.unique(((np.arange(most) + 0.15 + 0.7 * shift) * count / most).astype(np.int64))


def _renumber_models(item: Any) -> Any:
    """Number the models from 1: Bokeh counts through the whole process, so equal panels would differ."""
    numbers: dict[str, str] = {}
    fresh = itertools.count(1)

    def walk(part: Any) -> Any:
        if isinstance(part, dict):
            return {key: rename(value) if key in _IDS else walk(value) for key, value in part.items()}
        return [walk(each) for each in part] if isinstance(part, list | tuple) else part

    def rename(value: Any) -> Any:
        if isinstance(value, list):
            return [rename(each) for each in value]
        if not isinstance(value, str):
            return walk(value)
        if value not in numbers:
            numbers[value] = f"m{next(fresh)}"
        return numbers[value]

    return walk(item)


_IDS = frozenset({"id", "root_id", "root_ids"})
