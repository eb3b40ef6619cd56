"""Whole figures, and how they are saved.

PDF, PNG and SVG files have the same bytes on every run: they contain no dates and no random names.
"""

import io
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matplotlib import rcParams
from matplotlib.figure import Figure

from tutelage.atomic_files import write_atomically
from tutelage.errors import InputError
from tutelage.plots import samples
from tutelage.plots.checks import check_drawable
from tutelage.plots.drawing import draw_curves, draw_per_client, draw_pull_map, draw_scatter, legend_entries
from tutelage.plots.styles import style_sheet, wrap_label

if TYPE_CHECKING:
    import xarray as xr

FORMATS = (".pdf", ".png", ".svg")
KINDS = ("curves", "scatter", "pulls", "clients")

_ONE_COLUMN, _TWO_COLUMNS = 3.5, 7.16  # inches
_TITLES = {"regret": "Regret", "cost": "Cost", "regret-cost": "Regret against cost"}
_TITLE_WIDTH = 52  # letters in a line of a title above one column
_LINE_HEIGHT = 0.135  # of a line of a legend, in inches


def draw_panel(dataset: "xr.Dataset", quantity: str, title: str = "") -> Figure:
    """Draw one panel for one column: ``regret`` or ``cost`` over time, or ``regret-cost`` as a scatter plot.

    The legend is below the axes.  Without a title the quantity is the title.
    """
    with style_sheet():
        is_scatter = quantity == "regret-cost"
        lines = not is_scatter and dataset.sizes["checkpoint"] > 1
        entries = legend_entries(dataset, lines=lines, band=not is_scatter, width=20)
        columns = _count_legend_columns(entries, _ONE_COLUMN)
        figure = Figure(figsize=(_ONE_COLUMN, 2.2 + _measure_legend(entries, columns)))
        axes = figure.add_subplot()
        if is_scatter:
            draw_scatter(dataset, axes, legend=False)
        else:
            draw_curves(dataset, axes, quantity, legend=False)
        axes.set_title(_break_title(title) or _TITLES[quantity], parse_math=False)
        _add_legend(figure, entries, columns, lines=lines)
        return _fix_layout(figure)


def draw_picture(dataset: "xr.Dataset", kind: str, *, log: str = "none") -> Figure:
    """Draw a figure of one kind, two columns wide (``scatter`` is one column wide).

    ``curves`` (regret and cost over time), ``scatter`` (regret against cost), ``pulls`` (a map for each
    teacher) or ``clients`` (regret and cost of each client).  ``log`` is for :func:`draw_curves`.  Raises
    ``InputError`` for another kind, and for a kind that the dataset lacks the data for.
    """
    if kind not in KINDS:
        raise InputError(f"Unknown kind of picture {kind!r}: use {', '.join(KINDS)}.")
    check_drawable(dataset, (kind,))
    if kind == "scatter":
        return draw_panel(dataset, "regret-cost")
    with style_sheet():
        return _fix_layout(_draw_pull_maps(dataset) if kind == "pulls" else _draw_pair(dataset, kind, log))


def drawable_kinds(dataset: "xr.Dataset") -> tuple[str, ...]:
    """Return the kinds of picture that can be drawn from this dataset."""
    return tuple(kind for kind in KINDS if kind != "pulls" or not samples.is_set(dataset))


def save_figure(figure: Figure, path: str | Path) -> None:
    """Save as PDF, PNG or SVG, by the path's ending; an existing file stays until the new one is complete.

    Raises ``InputError`` for another ending, ``OSError`` if the file cannot be written.
    """
    path = Path(path)
    ending = path.suffix.lower()
    if ending not in FORMATS:
        raise InputError(f"Unknown picture format {path.name!r}: end the name in {', '.join(FORMATS)}.")
    write_atomically(path, render_figure(figure, ending))


def render_figure(figure: Figure, ending: str) -> bytes:
    """Return the content of a file of that ending, one of ``FORMATS``."""
    undated: dict[str, Any] = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}}.get(ending, {})
    content = io.BytesIO()
    with style_sheet():
        figure.savefig(content, format=ending[1:], metadata=undated)
    return content.getvalue()


def _break_title(title: str) -> str:
    """Return the title broken into lines that fit one column."""
    return wrap_label(" ".join(title.split()), _TITLE_WIDTH)


def _fix_layout(figure: Figure) -> Figure:
    """Fix everything at its final place and return the figure.

    Otherwise each saving would compute the layout again, starting from the one before, and a PNG saved after
    a PDF would differ from the same PNG saved first.
    """
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    return figure


def _draw_pair(dataset: "xr.Dataset", kind: str, log: str) -> Figure:
    """Draw regret on the left and cost on the right, with one legend below."""
    lines = kind == "curves" and dataset.sizes["checkpoint"] > 1
    entries = legend_entries(dataset, lines=lines)
    columns = _count_legend_columns(entries, _TWO_COLUMNS)
    figure = Figure(figsize=(_TWO_COLUMNS, 2.5 + _measure_legend(entries, columns)))
    for axes, quantity in zip(figure.subplots(1, 2), ("regret", "cost"), strict=True):
        if kind == "curves":
            draw_curves(dataset, axes, quantity, log=log, legend=False)
            axes.set_title(_TITLES[quantity])
        else:
            draw_per_client(dataset, axes, quantity, legend=False)
            axes.set_title(f"{_TITLES[quantity]} by client")
    _add_legend(figure, entries, columns, lines=lines)
    return figure


def _draw_pull_maps(dataset: "xr.Dataset") -> Figure:
    """Draw one map for each teacher, with one colour scale."""
    labels = samples.teacher_labels(dataset)
    columns = min(4, len(labels)) if dataset.sizes["arm"] <= 8 else min(2, len(labels))
    rows = math.ceil(len(labels) / columns)
    height = min(3.0, max(1.3, 0.8 + 0.13 * dataset.sizes["client"]))
    width = _TWO_COLUMNS if columns > 1 else _ONE_COLUMN
    figure = Figure(figsize=(width, 0.5 + height * rows))
    figure.suptitle("Share of each client's pulls by arm", x=0.01, ha="left")
    grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    for axes, label in zip(grid.flat, labels, strict=False):
        draw_pull_map(dataset, axes, label)
        axes.label_outer()
    for axes in list(grid.flat)[len(labels) :]:
        axes.set_axis_off()
    shown = grid[0, 0].images[0]
    bar = figure.colorbar(shown, ax=list(grid.flat), fraction=0.03, pad=0.01, aspect=30)
    bar.set_ticks([0, 1, 5, 20, 50, 100])
    bar.set_label("share of the client's pulls, %")
    bar.outline.set_visible(False)
    return figure


def _add_legend(figure: Figure, entries: list[Any], columns: int, *, lines: bool) -> None:
    """Add the legend below all axes."""
    length = rcParams["legend.handlelength"] if lines else 1.2
    figure.legend(handles=entries, loc="outside lower center", ncols=columns, handlelength=length)


def _count_legend_columns(entries: list[Any], width: float) -> int:
    """Return as many columns as the longest label allows, without columns that would stay empty."""
    longest = max(len(line) for entry in entries for line in str(entry.get_label()).split("\n"))
    most = max(1, int(width / (0.5 + 0.055 * longest)))
    return math.ceil(len(entries) / math.ceil(len(entries) / most))


def _measure_legend(entries: list[Any], columns: int) -> float:
    """Return the height of the legend in inches; a row is as high as its highest label."""
    heights = [str(entry.get_label()).count("\n") + 1 for entry in entries]
    rows = math.ceil(len(heights) / columns)
    # matplotlib fills column by column
    return 0.1 + _LINE_HEIGHT * max(sum(heights[start : start + rows]) for start in range(0, len(heights), rows))
