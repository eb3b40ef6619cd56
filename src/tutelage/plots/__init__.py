"""Figures from results on disk.  Nothing here simulates.

    from matplotlib.figure import Figure
    from tutelage import load, plots

    axes = plots.curves(load("result.nc"), Figure().add_subplot(), "regret")
    plots.save_figure(axes.figure, "regret.pdf")

``with plots.style_sheet():`` around it gives the size and look of a journal's column.
"""

from tutelage.plots.drawing import curves, per_client, pull_map, scatter
from tutelage.plots.figures import FORMATS, KINDS, kinds_of, panel, picture, save_figure
from tutelage.plots.styles import (
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
    "MARKERS",
    "TeacherStyle",
    "curves",
    "kinds_of",
    "panel",
    "per_client",
    "picture",
    "pull_map",
    "save_figure",
    "scatter",
    "style_sheet",
    "teacher_label",
    "teacher_style",
    "teacher_styles",
]
