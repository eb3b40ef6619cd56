"""The page's interactive panels: Bokeh documents as JSON, styled like the pictures.

Long curves and large scatter plots are thinned to what can be seen, so that the page stays small.  The models are
written as BokehJS reads them, without what is its default: Bokeh's own Python models take thirty times as long, and
as long again to import.  Tests let Bokeh read and check every panel.
"""

import base64
import gzip
import itertools
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tutelage.plots import BAND_ALPHA, TeacherStyle, samples, teacher_styles
from tutelage.plots.samples import LogScale
from tutelage.report.page_assets import HEIGHTS
from tutelage.versions import package_version

if TYPE_CHECKING:
    import xarray as xr

Model = dict[str, Any]  # of Bokeh: its name, its attributes and, once numbered, its id

_MOST_POINTS = 250  # of a curve
_MOST_DOTS = 1000  # of a teacher in a scatter plot
_MARKS = 7
_FONT, _INK = "system-ui, sans-serif", "#1c1c1c"


def write_panel_json(dataset: "xr.Dataset", quantity: str, target: str) -> str:
    """Return the JSON from which ``Bokeh.embed.embed_item`` draws the panel into the element ``target``."""
    plot = _plot_scatter(dataset) if quantity == "regret-cost" else _plot_curves(dataset, quantity)
    root = _number_models(plot)
    document = {"version": package_version("bokeh"), "title": "", "config": None, "roots": [root]}
    item = {"target_id": target, "root_id": root["id"], "doc": document}
    return json.dumps(item, separators=(",", ":"), allow_nan=False)


def _plot_curves(dataset: "xr.Dataset", quantity: str) -> Model:
    dataset = samples.thin(dataset, _MOST_POINTS)
    values = samples.totals(dataset, quantity)
    over = samples.compute_band(values)
    rounds = np.concatenate([[0], dataset["checkpoint"].to_numpy()])
    most = float(over.high.max()) or 1.0
    items: list[tuple[str, list[Model]]] = []
    lines: list[Model] = []
    for n, style in enumerate(teacher_styles(dataset)):
        columns = {"round": rounds} | {
            name: np.concatenate([[0.0], line[n]])
            for name, line in (("mean", over.mean), ("q10", over.low), ("q90", over.high))
        }
        columns = {name: column.astype(np.float32) for name, column in columns.items()}
        source = _make_source(columns)
        parts = [_make_band(source, style.colour, BAND_ALPHA)] if samples.has_band(dataset) else []
        line = _make_line(source, style)
        marked = _pick_evenly(rounds.size - 1, _MARKS, n / values.shape[0]) + 1
        marks = _make_source({name: column[marked] for name, column in columns.items()})
        parts += [line, _make_markers(marks, "round", "mean", style)]
        items.append((style.label, parts))
        lines.append(line)
    if samples.has_band(dataset):
        empty = _make_source({name: np.full(2, np.nan) for name in ("round", "q10", "q90")})  # for the legend only
        items.append((samples.band_name(dataset), [_make_band(empty, "#777777", 0.35)]))
    tips = [("", "$name"), ("round", "@round{0,0}"), ("mean", "@mean{0,0.[00]}")]
    if samples.has_band(dataset):
        tips.append((samples.band_name(dataset), "@q10{0,0.[00]} to @q90{0,0.[00]}"))
    short = _make_model("NumeralTickFormatter", format="0.[00]a")
    return _make_figure(
        quantity,
        items,
        x_range=_make_model("Range1d", start=0, end=1.01 * int(rounds[-1])),
        y_range=_make_model("Range1d", start=-0.01 * most, end=1.05 * most),
        across=_make_axis("LinearAxis", "round", formatter=short),
        up=_make_axis("LinearAxis", samples.name_quantity(dataset, quantity), formatter=short),
        hover=_make_model("HoverTool", renderers=lines, tooltips=tips, line_policy="nearest"),
    )


def _plot_scatter(dataset: "xr.Dataset") -> Model:
    regret, cost = (samples.totals(dataset, quantity)[:, :, -1] for quantity in ("regret", "cost"))
    across, up = samples.make_log_scale(regret), samples.make_log_scale(cost)
    numbers = dataset["instance" if samples.is_set(dataset) else "run"].to_numpy()
    shown = _pick_evenly(numbers.size, _MOST_DOTS, 0.0)
    items: list[tuple[str, list[Model]]] = []
    for n, style in enumerate(teacher_styles(dataset)):
        columns = {
            "across": across.place(regret[n]),
            "up": up.place(cost[n]),
            "regret": regret[n],
            "cost": cost[n],
            "number": numbers.astype(np.int32),
        }
        source = _make_source({name: column[shown] for name, column in columns.items()})
        items.append((style.label, [_make_markers(source, "across", "up", style)]))
    word = samples.sample_word(dataset).removesuffix("s")
    tips = [("", "$name"), (word, "@number"), ("regret", "@regret{0,0.[00]}"), ("cost", "@cost{0,0.[00]}")]
    dots = [each for _, parts in items for each in parts]
    horizon = f"round {samples.horizon(dataset):,}"
    return _make_figure(
        "regret-cost",
        items,
        x_range=_make_model("Range1d", start=across.low, end=across.high),
        y_range=_make_model("Range1d", start=up.low, end=up.high),
        x_scale=_make_model("LogScale"),
        y_scale=_make_model("LogScale"),
        across=_make_log_axis(f"regret at {horizon}", across),
        up=_make_log_axis(f"cost at {horizon}", up),
        hover=_make_model("HoverTool", renderers=dots, tooltips=tips),
    )


def _make_figure(
    quantity: str, items: Sequence[tuple[str, list[Model]]], *, across: Model, up: Model, hover: Model, **ranges: Model
) -> Model:
    """Return a plot of what ``items`` name, with a legend below it, in which a click on a teacher hides it."""
    tools = [_make_model(name) for name in ("PanTool", "BoxZoomTool", "WheelZoomTool", "ResetTool", "SaveTool")]
    grids = [
        _make_model("Grid", dimension=n, axis=axis, grid_line_color="#e4e4e4") for n, axis in enumerate([across, up])
    ]
    return _make_model(
        "Figure",
        **ranges,
        height=HEIGHTS[quantity],
        sizing_mode="stretch_width",
        outline_line_color=None,
        background_fill_color=None,
        border_fill_color=None,
        renderers=[each for _, parts in items for each in parts],
        toolbar=_make_model("Toolbar", tools=[*tools, hover], logo=None, autohide=True),
        left=[up],
        below=[across, _make_legend(items)],
        center=grids,
    )


def _make_legend(items: Sequence[tuple[str, list[Model]]]) -> Model:
    longest = max(len(label) for label, _ in items)
    return _make_model(
        "Legend",
        items=[_make_model("LegendItem", label=_value(label), renderers=drawn) for label, drawn in items],
        click_policy="hide",
        ncols=max(1, min(len(items), int(560 / (60 + 7 * longest)))),
        background_fill_color=None,
        border_line_color=None,
        label_text_color=_INK,
        label_text_font=_FONT,
        label_text_font_size="12px",
        label_width=7 * longest,
        location="center",
        spacing=2,
        padding=4,
        margin=4,
    )


def _make_line(source: Model, style: TeacherStyle) -> Model:
    dash = [round(2 * length) for length in style.dash]
    line = _make_model(
        "Line", x=_field("round"), y=_field("mean"), line_color=style.colour, line_width=2, line_dash=dash
    )
    return _make_model("GlyphRenderer", name=style.label, data_source=source, glyph=line)


def _make_band(source: Model, colour: str, alpha: float) -> Model:
    area = _make_model(
        "VArea", x=_field("round"), y1=_field("q10"), y2=_field("q90"), fill_color=colour, fill_alpha=alpha
    )
    return _make_model("GlyphRenderer", data_source=source, glyph=area)


def _make_markers(source: Model, across: str, up: str, style: TeacherStyle) -> Model:
    is_cross = style.marker == "x"
    markers = _make_model(
        "Scatter",
        x=_field(across),
        y=_field(up),
        marker=_value(style.marker),
        size=_value(9 if style.marker in ("plus", "x", "star") else 8),
        fill_color=_value(style.colour),
        fill_alpha=_value(0.9),
        line_color=_value(style.colour if is_cross else "white"),
        line_width=_value(2 if is_cross else 0.7),
    )
    return _make_model("GlyphRenderer", name=style.label, data_source=source, glyph=markers)


def _make_axis(name: str, label: str, /, **attributes: Any) -> Model:
    return _make_model(
        name,
        axis_label=label,
        axis_label_text_color=_INK,
        axis_label_text_font=_FONT,
        axis_label_text_font_style="normal",
        axis_label_text_font_size="13px",
        axis_line_color="#444444",
        major_label_text_color=_INK,
        major_label_text_font=_FONT,
        major_label_text_font_size="12px",
        major_tick_line_color="#444444",
        minor_tick_line_color=None,
        **attributes,
    )


def _make_log_axis(label: str, scale: LogScale) -> Model:
    """Return an axis with the ticks of the pictures, one for zero among them where zero has a place."""
    return _make_axis(
        "LogAxis",
        label,
        ticker=_make_model("FixedTicker", ticks=[place for place, _ in scale.ticks]),
        major_label_overrides={"type": "map", "entries": scale.ticks},
        formatter=_make_model("PrintfTickFormatter", format=""),
    )


def _make_model(name: str, /, **attributes: Any) -> Model:
    return {"type": "object", "name": name, "attributes": attributes}


def _make_source(columns: Mapping[str, Any]) -> Model:
    entries = [(name, _encode_array(column)) for name, column in columns.items()]
    return _make_model("ColumnDataSource", data={"type": "map", "entries": entries})


def _encode_array(array: Any) -> dict[str, Any]:
    content = array.astype(array.dtype.newbyteorder("<")).tobytes()
    packed = gzip.compress(content, compresslevel=6, mtime=1)  # with 0 Python writes the operating system's number
    return {
        "type": "ndarray",
        "array": {"type": "bytes", "data": base64.b64encode(packed).decode()},
        "shape": array.shape,
        "dtype": array.dtype.name,
        "order": "little",
    }


def _field(name: str) -> dict[str, str]:
    return {"type": "field", "field": name}


def _value(value: Any) -> dict[str, Any]:
    return {"type": "value", "value": value}


def _pick_evenly(count: int, most: int, shift: float) -> Any:
    """Return at most ``most`` of ``count`` positions, evenly spaced and shifted by a part of a step."""
    if count <= most:
        return np.arange(count)
    return np.unique(((np.arange(most) + 0.15 + 0.7 * shift) * count / most).astype(np.int64))


def _number_models(root: Model) -> Model:
    """Return the model and all that it refers to with ids, each whole where it is first and by its id elsewhere."""
    numbers: dict[int, str] = {}
    fresh = itertools.count(1)

    def walk(part: Any) -> Any:
        if isinstance(part, list):
            return [walk(each) for each in part]
        if not isinstance(part, dict) or part["type"] != "object":
            return part
        if id(part) in numbers:
            return {"id": numbers[id(part)]}
        numbers[id(part)] = f"m{next(fresh)}"
        attributes = {name: walk(value) for name, value in part["attributes"].items()}
        return {**part, "id": numbers[id(part)], "attributes": attributes}

    numbered: Model = walk(root)
    return numbered
