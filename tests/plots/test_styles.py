"""One look a teacher, which a colour-blind reader can tell from every other."""

import itertools

import matplotlib as mpl
import numpy as np
import pytest
from bokeh.core.enums import MarkerType
from matplotlib.colors import to_rgb

import tutelage
from tutelage.plots import MARKERS, style_sheet, teacher_styles
from tutelage.teachers import TEACHERS, side_by_side

# Machado, Oliveira and Fernandes, "A Physiologically-based Model for Simulation of Color Vision Deficiency"
# (2009), severity 1.0, for linear RGB.
BLINDNESS = {
    "none": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
SIDE_BY_SIDE = [TEACHERS.spec(teacher) for teacher in side_by_side()]
TO_XYZ = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]  # sRGB, IEC 61966-2-1
MANY = [
    *SIDE_BY_SIDE,
    *("tal(gamma1=0.5,gamma2=0)", "twl(gamma1=0.3,gamma2=0.1)", "twl(gamma1=0,gamma2=0)", "blt(rho=4)"),
    *(
        "blt(lift=false)",
        "jun",
        "jun(margin=0.2)",
        "ace",
        "known(target=2)",
        "change-detector",
        "change-detector(teacher=blt)",
    ),
]


def styles_of(specs):
    """The styles of teachers that are simulated together."""
    return teacher_styles(tutelage.simulate("paper", specs, horizon=2, runs=1, checkpoints=1))


def linear(colour):
    """sRGB as light."""
    return np.array([part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour])


def lab(colour, blindness):
    """A colour as CIELAB (D65), as someone with this kind of vision sees it."""
    seen = np.clip(np.array(BLINDNESS[blindness]) @ linear(colour), 0, 1)
    x, y, z = np.array(TO_XYZ) @ seen / [0.9505, 1, 1.089]
    a, b, c = (np.cbrt(part) if part > 0.008856 else 7.787 * part + 16 / 116 for part in (x, y, z))
    return np.array([116 * b - 16, 500 * (a - b), 200 * (b - c)])


@pytest.mark.parametrize("blindness", BLINDNESS)
def test_default_teachers_look_different(blindness):
    """Two of the teachers that are put side by side differ visibly in colour, or else in marker and dash.

    A CIE 1976 difference of 2.3 is just noticeable; thin lines want several times as much.
    """
    for one, other in itertools.combinations(styles_of(SIDE_BY_SIDE), 2):
        apart = np.linalg.norm(lab(to_rgb(one.colour), blindness) - lab(to_rgb(other.colour), blindness))
        assert apart > 10 or (one.marker != other.marker and one.dash != other.dash), (one, other, apart)


def test_every_colour_stands_out_from_paper():
    """A contrast of 2.5 against white at the least, as of WCAG's relative luminance."""
    for style in styles_of(MANY):
        luminance = float(np.array(TO_XYZ[1]) @ linear(to_rgb(style.colour)))
        assert 1.05 / (luminance + 0.05) > 2.5, style


def test_many_teachers_of_one_figure_all_look_different():
    """Also those that have no look of their own."""
    styles = styles_of(MANY)
    assert len({(style.colour, style.marker, style.dash) for style in styles}) == len(MANY)
    assert len({style.label for style in styles}) == len(MANY)


def test_a_look_does_not_depend_on_the_figure():
    """A single teacher looks as it does among those that the paper compares."""
    specs = [*SIDE_BY_SIDE, "change-detector"]
    assert [styles_of([spec])[0] for spec in specs] == styles_of(specs)


def test_the_same_in_every_process(python):
    """No look hangs on Python's random hashes."""
    code = (
        "import tutelage; from tutelage.plots import teacher_styles; "
        f"print(teacher_styles(tutelage.simulate('paper', {MANY!r}, horizon=2, runs=1, checkpoints=1)))"
    )
    shown = {python("-c", code).stdout for _ in range(2)}
    assert shown == {f"{styles_of(MANY)}\n"}


def test_marker_names_are_bokehs():
    """Every marker can be drawn by both libraries, and every style's marker is one of them."""
    assert set(MARKERS) <= set(MarkerType)
    assert {style.marker for style in styles_of(MANY)} <= set(MARKERS)


def test_the_style_sheet_overrides_the_users_settings_and_leaves_them():
    """Figures look the same whatever stands in a matplotlibrc."""
    with mpl.rc_context({"font.size": 31, "axes.facecolor": "red"}):
        with style_sheet():
            assert mpl.rcParams["font.size"] == 7
            assert mpl.rcParams["axes.facecolor"] == mpl.rcParamsDefault["axes.facecolor"]
        assert mpl.rcParams["font.size"] == 31
