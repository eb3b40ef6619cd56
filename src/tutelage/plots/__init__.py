"""Figures from results on disk.  Nothing here simulates.

    from matplotlib.figure import Figure
    from tutelage import load, plots

    axes = plots.curves(load("result.nc"), Figure().add_subplot(), "regret")
    plots.save_figure(axes.figure, "regret.pdf")

``with plots.style_sheet():`` around it gives the size and look of a journal's column.
"""

from tutelage.plots.loading import load_matplotlib

load_matplotlib()

from tutelage.plots.checks import check_drawable  # noqa: E402
from tutelage.plots.drawing import LOGS, curves, per_client, pull_map, scatter  # noqa: E402
from tutelage.plots.figures import FORMATS, KINDS, kinds_of, panel, picture, rendered, save_figure  # noqa: E402
from tutelage.plots.styles import (  # noqa: E402
    BAND_ALPHA,
    MARKERS,
    TeacherStyle,
    style_sheet,
    teacher_label,
    teacher_style,
    teacher_styles,
)

__all__ = [
    "BAND_ALPHA",
    "FORMATS",
    "KINDS",
    "LOGS",
    "MARKERS",
    "TeacherStyle",
    "check_drawable",
    "curves",
    "kinds_of",
    "panel",
    "per_client",
    "picture",
    "pull_map",
    "rendered",
    "save_figure",
    "scatter",
    "style_sheet",
    "teacher_label",
    "teacher_style",
    "teacher_styles",
]
