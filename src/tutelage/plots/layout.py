"""Whole figures, and how they are saved.

PDF, PNG and SVG files have the same bytes on every run: they contain no dates and no random names.
"""

import contextlib
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fontTools import subset  # type: ignore[import-untyped]  # matplotlib requires it
from matplotlib import rcParams
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from tutelage.atomic_files import write_atomically
from tutelage.errors import InputError
from tutelage.plots import samples
from tutelage.plots.drawing import LOGS, draw_curves, draw_per_client, draw_pull_map, draw_scatter, legend_entries
from tutelage.plots.parts import select_parts
from tutelage.plots.styles import style_sheet, wrap_label
from tutelage.results.dataset import has_sums_only

if TYPE_CHECKING:
    import xarray as xr

_CANVASES: dict[str, Any] = {".pdf": FigureCanvasPdf, ".png": FigureCanvasAgg, ".svg": FigureCanvasSVG}
FORMATS = tuple(_CANVASES)
KINDS = ("curves", "scatter", "pulls", "clients")

WIDTHS = {"column": 3.5, "page": 7.16}  # inches
_ONE_COLUMN = WIDTHS["column"]
_TITLES = {"regret": "Regret", "cost": "Cost", "regret-cost": "Regret against cost"}
_TITLE_WIDTH = 52  # letters in a line of a title above one column
_LEFT_OUT = "_drop_tables_default"  # of fontTools' options; where a version has no such list, this changes nothing
_LINE_HEIGHT = 0.135  # of a line of a legend, in inches


def draw_panel(dataset: "xr.Dataset", quantity: str, title: str = "") -> Figure:
    """Draw one panel for one column: ``regret`` or ``cost`` over time, or ``regret-cost`` as a scatter plot.

    The legend is below the axes.  Without a title the quantity is the title.
    """
    with style_sheet():
        is_scatter = quantity == "regret-cost"
        lines = not is_scatter and dataset.sizes["checkpoint"] > 1
        entries = legend_entries(dataset, lines=lines, band="" if is_scatter else "runs", width=20)
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


def draw_picture(
    results: "xr.Dataset | Mapping[str, xr.Dataset]",
    kind: str,
    *,
    log: str = "auto",
    teachers: Sequence[str] = (),
    width: str | None = None,
    title: str = "",
    labels: Mapping[str, str] | None = None,
    band: str = "runs",
) -> Figure:
    """Draw a figure of one kind from one result, or from several by name, each in panels of its own.

    ``curves`` (regret and cost over time), ``scatter`` (regret against cost), ``pulls`` (a map for each
    teacher) or ``clients`` (regret and cost of each client).  ``log`` is for :func:`draw_curves` and
    :func:`draw_per_client`; ``auto`` is ``quantity`` where a linear axis hides the difference of two teachers,
    and ``none`` elsewhere.  ``teachers`` are the labels or SPECs of those that are drawn, by default all.
    ``width`` is ``column`` (3.5 in) or ``page`` (7.16 in), by default what suits the kind.  ``title`` stands above
    all panels.  ``labels`` maps labels or SPECs of teachers and names of results to what the figure calls them.
    ``band`` is for :func:`draw_curves`.  Raises ``InputError`` for anything else, and for a kind that a result lacks
    the data for.
    """
    if kind not in KINDS:
        raise InputError(f"Unknown kind of picture {kind!r}: use {', '.join(KINDS)}.")
    if log != "auto" and log not in LOGS:
        raise InputError(f"Invalid logarithmic axis {log!r}: use auto, {', '.join(LOGS)}.")
    if width is not None and width not in WIDTHS:
        raise InputError(f"Invalid width {width!r}: use {' or '.join(WIDTHS)}.")
    import xarray as xr

    parts = select_parts({"": results} if isinstance(results, xr.Dataset) else results, kind, teachers, labels or {})
    if width is None:
        width = "column" if kind == "scatter" and len(parts) == 1 else "page"
    with style_sheet():
        if kind == "pulls":
            figure = _draw_pull_maps(parts, WIDTHS[width], title)
        else:
            chosen = _choose_log(parts, kind) if log == "auto" else log
            figure = _draw_panels(parts, kind, chosen, WIDTHS[width], title, band)
        return _fix_layout(figure)


def _choose_log(parts: "Mapping[str, xr.Dataset]", kind: str) -> str:
    """Return ``quantity`` if curves or clients' bars would lie on a linear axis together, else ``none``."""
    hidden = (
        samples.lies_on_axis(samples.compute_band(samples.per_client_samples(each, quantity)[..., -1]).mean)
        if kind == "clients"
        else samples.lies_on_axis(samples.compute_band(samples.totals(each, quantity)[..., -1]).mean)
        for each in parts.values()
        for quantity in samples.QUANTITIES
    )
    return "quantity" if kind != "scatter" and any(hidden) else "none"


def drawable_kinds(dataset: "xr.Dataset") -> tuple[str, ...]:
    """Return the kinds of picture that can be drawn from this dataset."""
    drawable = ("curves", "scatter") if has_sums_only(dataset) else KINDS
    return tuple(kind for kind in drawable if kind != "pulls" or not samples.is_set(dataset))


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
    """Return the content of a file of that ending, one of ``FORMATS``.

    The file is that of ``figure.savefig`` within ``fonts_without_layout``, which would first draw everything once more
    to find a layout.
    """
    undated: dict[str, Any] = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}}.get(ending, {})
    content, canvas, dpi = io.BytesIO(), figure.canvas, figure.dpi
    with style_sheet(), fonts_without_layout():
        try:
            write = getattr(_CANVASES[ending](figure), f"print_{ending[1:]}")
            figure.dpi = rcParams["savefig.dpi"]
            write(content, metadata=undated)
        finally:
            figure.dpi = dpi
            figure.set_canvas(canvas)
    return content.getvalue()


@contextlib.contextmanager
def fonts_without_layout() -> Iterator[None]:
    """Let matplotlib embed fonts without the tables by which programs replace and place glyphs.

    In a PDF each glyph has its place, so no viewer reads them, and to reduce them to the glyphs of a picture takes
    longer than to draw it.  matplotlib has no option for this, fontTools only its list of what is left out by default.
    """
    options: Any = subset.Options
    before = getattr(options, _LEFT_OUT, ())
    setattr(options, _LEFT_OUT, [*before, "GDEF", "GPOS", "GSUB", "kern"])
    try:
        yield
    finally:
        setattr(options, _LEFT_OUT, before)


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


def _draw_panels(parts: "Mapping[str, xr.Dataset]", kind: str, log: str, width: float, title: str, band: str) -> Figure:
    """Draw regret and cost of each result, or one against the other, with one legend below."""
    quantities = ("regret-cost",) if kind == "scatter" else samples.QUANTITIES
    panels = [(name, dataset, quantity) for name, dataset in parts.items() for quantity in quantities]
    lines = kind == "curves" and any(dataset.sizes["checkpoint"] > 1 for dataset in parts.values())
    entries = _join_entries(parts.values(), lines=lines, band={"scatter": "", "curves": band}.get(kind, "runs"))
    columns = min(2 if width > _ONE_COLUMN else 1, len(panels))
    legend_columns = _count_legend_columns(entries, width)
    rows = math.ceil(len(panels) / columns)
    top = 0.2 * bool(title)
    figure = Figure(figsize=(width, top + 2.4 * rows + _measure_legend(entries, legend_columns)))
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes, (name, dataset, quantity) in zip(grid.flat, panels, strict=False):
        if kind == "scatter":
            draw_scatter(dataset, axes, legend=False)
        elif kind == "curves":
            draw_curves(dataset, axes, quantity, log=log, legend=False, band=band)
        else:
            draw_per_client(dataset, axes, quantity, log=log, legend=False)
        what = _TITLES[quantity] + (" by client" if kind == "clients" else "")
        axes.set_title(_break_title(f"{name}: {what.lower()}" if name else what), parse_math=False)
    for axes in list(grid.flat)[len(panels) :]:
        axes.set_axis_off()
    _add_title(figure, title)
    _add_legend(figure, entries, legend_columns, lines=lines)
    return figure


def _join_entries(datasets: "Iterable[xr.Dataset]", *, lines: bool, band: str) -> list[Any]:
    """Return the handles of one legend for several datasets."""
    entries: dict[str, Any] = {}
    for dataset in datasets:
        for entry in legend_entries(dataset, lines=lines, band=band):
            entries.setdefault(str(entry.get_label()), entry)
    bands = [label for label, entry in entries.items() if isinstance(entry, Patch)]
    return list(({label: entry for label, entry in entries.items() if label not in bands}).values()) + [
        entries[label] for label in bands
    ]


def _add_title(figure: Figure, title: str) -> None:
    if title:
        figure.suptitle(wrap_label(" ".join(title.split()), int(15 * figure.get_figwidth())), x=0.01, ha="left")


def _draw_pull_maps(parts: "Mapping[str, xr.Dataset]", width: float, title: str) -> Figure:
    """Draw one map for each teacher of each result, with one colour scale."""
    maps = [(name, dataset, label) for name, dataset in parts.items() for label in samples.teacher_labels(dataset)]
    num_arms = max(dataset.sizes["arm"] for dataset in parts.values())
    most = max(1, int((width - 0.8) / max(0.45 + 0.2 * min(num_arms, 8), 1.2)))
    columns = min(4, most, len(maps))
    rows = math.ceil(len(maps) / columns)
    num_clients = max(dataset.sizes["client"] for dataset in parts.values())
    height = min(3.0, max(1.3, 0.8 + 0.13 * num_clients))
    figure = Figure(figsize=(width if columns > 1 else min(width, _ONE_COLUMN), max(2.2, 0.5 + height * rows)))
    _add_title(figure, title or "Share of each client's pulls by arm")
    same = len(parts) == 1
    grid = figure.subplots(rows, columns, squeeze=False, sharex=same, sharey=same)
    for number, (axes, (name, dataset, label)) in enumerate(zip(grid.flat, maps, strict=False)):
        draw_pull_map(dataset, axes, label)
        if name:
            axes.set_title(wrap_label(f"{name}: {label}", 24), pad=6, parse_math=False)
        if same:
            axes.label_outer()
            if number + columns >= len(maps):  # nothing is drawn below it
                axes.tick_params(labelbottom=True)
                axes.set_xlabel(f"{samples.name_arms(dataset)} (▾ best arm)")
    for axes in list(grid.flat)[len(maps) :]:
        axes.set_axis_off()
    bar = figure.colorbar(grid[0, 0].images[0], ax=list(grid.flat), fraction=0.03, pad=0.01, aspect=30)
    bar.set_ticks([0, 1, 5, 20, 50, 100])
    whole = all(samples.name_arms(dataset) == "arm" for dataset in parts.values())
    bar.set_label("share of the client's pulls, %" if whole else "share of the pulls of these arms, %")
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
