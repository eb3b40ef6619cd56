"""Whole figures and how they are saved.

Vector files and PNG are the same bytes on every run: no dates, no random names.
"""

import io
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matplotlib import rcParams
from matplotlib.figure import Figure

from tutelage.atomic_files import write_whole
from tutelage.errors import InputError
from tutelage.plots import samples
from tutelage.plots.checks import check_drawable
from tutelage.plots.drawing import curves, legend_entries, per_client, pull_map, scatter
from tutelage.plots.styles import style_sheet, wrapped

if TYPE_CHECKING:
    import xarray as xr

FORMATS = (".pdf", ".png", ".svg")
KINDS = ("curves", "scatter", "pulls", "clients")

_ONE_COLUMN, _TWO_COLUMNS = 3.5, 7.16  # inches
_TITLES = {"regret": "Regret", "cost": "Cost", "regret-cost": "Regret against cost"}
_TITLE_WIDTH = 52  # letters in a line above one column
_LINE = 0.135  # inches that a line of a legend takes


def panel(dataset: "xr.Dataset", quantity: str, title: str = "") -> Figure:
    """One panel for one column: ``regret`` or ``cost`` against time, or ``regret-cost`` against each other.

    The legend stands below; without a title the quantity is one.
    """
    with style_sheet():
        is_scatter = quantity == "regret-cost"
        lines = not is_scatter and dataset.sizes["checkpoint"] > 1
        entries = legend_entries(dataset, lines=lines, band=not is_scatter, width=20)
        columns = _legend_columns(entries, _ONE_COLUMN)
        figure = Figure(figsize=(_ONE_COLUMN, 2.2 + _legend_height(entries, columns)))
        axes = figure.add_subplot()
        if is_scatter:
            scatter(dataset, axes, legend=False)
        else:
            curves(dataset, axes, quantity, legend=False)
        axes.set_title(_broken(title) or _TITLES[quantity], parse_math=False)
        _put_legend(figure, entries, columns, lines=lines)
        return _laid_out(figure)


def picture(dataset: "xr.Dataset", kind: str, *, log: str = "none") -> Figure:
    """Everything of one kind in one figure of two columns' width.

    ``curves`` (regret and cost against time), ``scatter`` (one against the other), ``pulls`` (a map for each
    teacher) or ``clients`` (regret and cost of each client).  ``log`` is for :func:`curves`.  Raises
    ``InputError`` for another kind, and for what the dataset cannot show.
    """
    if kind not in KINDS:
        raise InputError(f"There is no kind of picture {kind!r}: use {', '.join(KINDS)}.")
    check_drawable(dataset, (kind,))
    if kind == "scatter":
        return panel(dataset, "regret-cost")
    with style_sheet():
        return _laid_out(_pull_maps(dataset) if kind == "pulls" else _pair(dataset, kind, log))


def kinds_of(dataset: "xr.Dataset") -> tuple[str, ...]:
    """The kinds of picture that this dataset can show."""
    return tuple(kind for kind in KINDS if kind != "pulls" or not samples.is_set(dataset))


def save_figure(figure: Figure, path: str | Path) -> None:
    """Save as PDF, PNG or SVG, by the path's ending; an earlier file stays until the new one is complete.

    Raises ``InputError`` for another ending, ``OSError`` if the file cannot be written.
    """
    path = Path(path)
    ending = path.suffix.lower()
    if ending not in FORMATS:
        raise InputError(f"{path.name!r} is no picture that can be made: end it in {', '.join(FORMATS)}.")
    write_whole(path, rendered(figure, ending))


def rendered(figure: Figure, ending: str) -> bytes:
    """What a file of that ending, one of ``FORMATS``, holds."""
    undated: dict[str, Any] = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}}.get(ending, {})
    content = io.BytesIO()
    with style_sheet():
        figure.savefig(content, format=ending[1:], metadata=undated)
    return content.getvalue()


def _broken(title: str) -> str:
    """The title on lines that one column holds; a title's own lines do not stay."""
    return wrapped(" ".join(title.split()), _TITLE_WIDTH)


def _laid_out(figure: Figure) -> Figure:
    """The figure with everything at its final place.

    The layout would otherwise be found anew at each saving, from the one before, and a PNG after a PDF would
    not be the PNG alone.
    """
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    return figure


def _pair(dataset: "xr.Dataset", kind: str, log: str) -> Figure:
    """Regret on the left, cost on the right, one legend below."""
    lines = kind == "curves" and dataset.sizes["checkpoint"] > 1
    entries = legend_entries(dataset, lines=lines)
    columns = _legend_columns(entries, _TWO_COLUMNS)
    figure = Figure(figsize=(_TWO_COLUMNS, 2.5 + _legend_height(entries, columns)))
    for axes, quantity in zip(figure.subplots(1, 2), ("regret", "cost"), strict=True):
        if kind == "curves":
            curves(dataset, axes, quantity, log=log, legend=False)
            axes.set_title(_TITLES[quantity])
        else:
            per_client(dataset, axes, quantity, legend=False)
            axes.set_title(f"{_TITLES[quantity]} by client")
    _put_legend(figure, entries, columns, lines=lines)
    return figure


def _pull_maps(dataset: "xr.Dataset") -> Figure:
    """A map for each teacher, with one scale of colours."""
    specs = samples.teacher_specs(dataset)
    columns = min(4, len(specs)) if dataset.sizes["arm"] <= 8 else min(2, len(specs))
    rows = math.ceil(len(specs) / columns)
    height = min(3.0, max(1.3, 0.8 + 0.13 * dataset.sizes["client"]))
    width = _TWO_COLUMNS if columns > 1 else _ONE_COLUMN
    figure = Figure(figsize=(width, 0.5 + height * rows))
    figure.suptitle("How each client's pulls were spread over the arms", x=0.01, ha="left")
    grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    for axes, spec in zip(grid.flat, specs, strict=False):
        pull_map(dataset, axes, spec)
        axes.label_outer()
    for axes in list(grid.flat)[len(specs) :]:
        axes.set_axis_off()
    shown = grid[0, 0].images[0]
    bar = figure.colorbar(shown, ax=list(grid.flat), fraction=0.03, pad=0.01, aspect=30)
    bar.set_ticks([0, 1, 5, 20, 50, 100])
    bar.set_label("share of the client's pulls, %")
    bar.outline.set_visible(False)
    return figure


def _put_legend(figure: Figure, entries: list[Any], columns: int, *, lines: bool) -> None:
    """The legend below all axes."""
    length = rcParams["legend.handlelength"] if lines else 1.2
    figure.legend(handles=entries, loc="outside lower center", ncols=columns, handlelength=length)


def _legend_columns(entries: list[Any], width: float) -> int:
    """As many columns as the longest label leaves room for, less those that the last row would not fill."""
    longest = max(len(line) for entry in entries for line in str(entry.get_label()).split("\n"))
    most = max(1, int(width / (0.5 + 0.055 * longest)))
    return math.ceil(len(entries) / math.ceil(len(entries) / most))


def _legend_height(entries: list[Any], columns: int) -> float:
    """Inches that the legend takes; a row is as high as its highest label."""
    heights = [str(entry.get_label()).count("\n") + 1 for entry in entries]
    rows = math.ceil(len(heights) / columns)
    # matplotlib fills column by column
    return 0.1 + _LINE * max(sum(heights[start : start + rows]) for start in range(0, len(heights), rows))
