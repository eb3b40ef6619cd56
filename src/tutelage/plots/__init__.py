"""Figures of saved results.  Nothing here simulates.

    from matplotlib.figure import Figure
    from tutelage import load, plots

    axes = plots.draw_curves(load("result.nc"), Figure().add_subplot(), "regret")
    plots.save_figure(axes.figure, "regret.pdf")

Within ``with plots.style_sheet():`` text and lines have the sizes of a journal's column.
"""

from tutelage.plots.matplotlib_import import load_matplotlib

load_matplotlib()

from tutelage.plots.checks import check_drawable  # noqa: E402
from tutelage.plots.drawing import LOGS, draw_curves, draw_per_client, draw_pull_map, draw_scatter  # noqa: E402
from tutelage.plots.layout import (  # noqa: E402
    FORMATS,
    KINDS,
    WIDTHS,
    draw_panel,
    draw_picture,
    drawable_kinds,
    render_figure,
    save_figure,
)
from tutelage.plots.samples import BANDS, warn_of_few_samples  # noqa: E402
from tutelage.plots.styles import BAND_ALPHA, MARKERS, TeacherStyle, style_sheet, teacher_styles  # noqa: E402

__all__ = [
    "BANDS",
    "BAND_ALPHA",
    "FORMATS",
    "KINDS",
    "LOGS",
    "MARKERS",
    "WIDTHS",
    "TeacherStyle",
    "check_drawable",
    "draw_curves",
    "draw_panel",
    "draw_per_client",
    "draw_picture",
    "draw_pull_map",
    "draw_scatter",
    "drawable_kinds",
    "render_figure",
    "save_figure",
    "style_sheet",
    "teacher_styles",
    "warn_of_few_samples",
]
