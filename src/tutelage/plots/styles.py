"""The style of each teacher: one palette and one set of markers for paper and for the screen.

Teachers differ not only in colour but also in marker and dash, so that a print in grey can be read.  Teachers
that declare a style have the colours of Okabe and Ito, "Color Universal Design" (2008), the lightest of them
darkened; tests/plots/test_styles.py measures how different they look to a colour-blind reader.
"""

import contextlib
import itertools
import re
import textwrap
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING

import numpy as np

from tutelage.plots.matplotlib_import import quiet_matplotlib

if TYPE_CHECKING:
    import xarray as xr

BAND_ALPHA = 0.16

# Bokeh's names, and matplotlib's for the same shapes.
MARKERS = {
    "circle": "o",
    "square": "s",
    "triangle": "^",
    "diamond": "D",
    "inverted_triangle": "v",
    "plus": "P",
    "x": "X",
    "hex": "h",
    "star": "*",
}


@dataclass(frozen=True)
class TeacherStyle:
    """The look of one teacher.

    ``colour`` is #rrggbb, ``marker`` a key of ``MARKERS``, ``dash`` the lengths of strokes and spaces in
    points, empty for a solid line.
    """

    label: str
    colour: str
    marker: str
    dash: tuple[float, ...]


_BREAK = "\u200b"  # where a line may end although there is no space
_OTHER_COLOURS = ("#332288", "#882255", "#117733", "#8c510a", "#2a8c82", "#aa4499")
_DASHES: tuple[tuple[float, ...], ...] = ((), (4.0, 1.5), (5.0, 1.5, 1.0, 1.5))
_OTHERS = tuple(itertools.product(_OTHER_COLOURS, ("star", "diamond", "square", "circle"), _DASHES))


def teacher_styles(dataset: "xr.Dataset") -> list[TeacherStyle]:
    """Return the styles of the teachers of a dataset, in their order.

    A teacher that declared a style when it was simulated has that one.  Any other has one chosen by its SPEC, or
    the next free one where an earlier teacher of the same dataset has that already.
    """
    used: set[int] = set()
    styles = []
    columns = (np.atleast_1d(dataset[name].values).tolist() for name in ("teacher", "spec", "style"))
    for label, spec, declared in zip(*columns, strict=True):
        if declared:
            colour, marker, *dash = declared.split(" ")
            styles.append(TeacherStyle(label, colour, marker, tuple(map(float, dash[0].split(","))) if dash else ()))
            continue
        first = zlib.crc32(spec.encode("utf-8", "backslashreplace")) % len(_OTHERS)
        tried = [(first + step) % len(_OTHERS) for step in range(len(_OTHERS))]
        chosen = next((place for place in tried if place not in used), first)
        used.add(chosen)
        styles.append(TeacherStyle(label, *_OTHERS[chosen]))
    return styles


def wrap_label(label: str, width: int) -> str:
    """Break the label into lines of at most ``width`` letters, at spaces and after commas."""
    lines = textwrap.wrap(re.sub(r",(?! )", f",{_BREAK} ", label), width)
    return "\n".join(line.replace(f"{_BREAK} ", "").rstrip(_BREAK) for line in lines) or label


@contextlib.contextmanager
def style_sheet() -> Iterator[None]:
    """Let matplotlib use the style sheet of this package instead of the user's settings."""
    import matplotlib as mpl

    style = resources.files("tutelage.plots") / "tutelage.mplstyle"
    with resources.as_file(style) as path, quiet_matplotlib(), mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(mpl.rc_params_from_file(path, use_default_template=False))
        yield
