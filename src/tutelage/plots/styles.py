"""How each teacher is drawn: one palette and one set of markers for paper and for the screen.

Colour never stands alone: teachers also differ in marker and dash, so that a print in grey can be read.
The known teachers' colours are those of Okabe and Ito, "Color Universal Design" (2008), the lightest
darkened; tests/plots/test_styles.py measures how far apart they stay for a colour-blind reader.
"""

import contextlib
import itertools
import textwrap
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources

from tutelage.errors import InputError
from tutelage.plots.loading import quiet
from tutelage.registry import parameters_of, split_call, write_value
from tutelage.teachers import TEACHERS

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

_NAMES = {"known": "known target", "none": "no teaching", "jun": "Jun", "change-detector": "change-detector"}
_BY_POSITION = ("tal", "twl")  # the paper writes TAL(1,0)


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


_SOLID, _DASHED, _DOTTED, _MIXED, _LONG = (), (4.0, 1.5), (1.0, 1.5), (5.0, 1.5, 1.0, 1.5), (8.0, 2.0)

_FIXED = {
    "TAL(1,0)": ("#0072b2", "circle", _SOLID),
    "TAL(0,0)": ("#3fa2dc", "square", _DASHED),
    "TWL(1,0)": ("#d55e00", "triangle", _SOLID),
    "BLT": ("#009e73", "diamond", _SOLID),
    "NG": ("#b8860b", "inverted_triangle", _DASHED),
    "NA": ("#cc79a7", "plus", _MIXED),
    "known target": ("#000000", "x", _DOTTED),
    "no teaching": ("#7f7f7f", "hex", _LONG),
}
_OTHER_COLOURS = ("#332288", "#882255", "#117733", "#8c510a", "#2a8c82", "#aa4499")
_OTHERS = tuple(
    itertools.product(_OTHER_COLOURS, ("star", "diamond", "square", "circle"), (_SOLID, _DASHED, _MIXED))
)


def teacher_style(spec: str) -> TeacherStyle:
    """The style of a teacher by its SPEC, the same in every figure."""
    return teacher_styles([spec])[0]


def teacher_styles(specs: Sequence[str]) -> list[TeacherStyle]:
    """The styles of the teachers of one figure.

    Those that the paper compares, BLT and the two ends have their own.  Any other takes one by its SPEC, or
    the next free one where an earlier teacher of the same figure has taken it.
    """
    taken: set[int] = set()
    styles = []
    for spec in specs:
        label = teacher_label(spec)
        if label in _FIXED:
            styles.append(TeacherStyle(label, *_FIXED[label]))
            continue
        first = zlib.crc32(spec.encode("utf-8", "backslashreplace")) % len(_OTHERS)
        tried = [(first + step) % len(_OTHERS) for step in range(len(_OTHERS))]
        chosen = next((place for place in tried if place not in taken), first)
        taken.add(chosen)
        styles.append(TeacherStyle(label, *_OTHERS[chosen]))
    return styles


def teacher_label(spec: str) -> str:
    """A teacher's name in legends and tables: ``TAL(1,0)`` as in the paper, ``BLT``, ``known target``.

    Parameters at their defaults are left out, except for TAL and TWL.  A SPEC that cannot be read, as that of
    a package which is not installed here, is its own label.
    """
    try:
        teacher = TEACHERS.parse(spec)
    except InputError:
        return spec
    name, _ = split_call(spec, "teacher")
    items = [(item, getattr(teacher, item.name)) for item in parameters_of(type(teacher))]
    if name in _BY_POSITION:
        return f"{name.upper()}({','.join(write_value(value) for _, value in items)})"
    shown = _NAMES.get(name, name if ":" in name else name.upper())
    differing = [f"{item.name}={write_value(value)}" for item, value in items if value != item.default]
    return f"{shown}({', '.join(differing)})" if differing else shown


def wrapped(label: str, width: int) -> str:
    """The label on lines of so many letters."""
    return "\n".join(textwrap.wrap(label, width)) or label


@contextlib.contextmanager
def style_sheet() -> Iterator[None]:
    """Within, matplotlib draws by the style sheet of this package, whatever the user's own settings are."""
    import matplotlib as mpl

    style = resources.files("tutelage.plots") / "tutelage.mplstyle"
    with resources.as_file(style) as path, quiet(), mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(mpl.rc_params_from_file(path, use_default_template=False))
        yield
