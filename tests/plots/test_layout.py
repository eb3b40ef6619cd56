"""Whole figures: their content, that nothing overlaps, and the bytes of their files."""

import hashlib
import io
import os

import pytest
from fontTools import subset  # type: ignore[import-untyped]

from tutelage import save
from tutelage.errors import InputError
from tutelage.plots import (
    FORMATS,
    KINDS,
    draw_panel,
    draw_picture,
    drawable_kinds,
    render_figure,
    save_figure,
    style_sheet,
)
from tutelage.plots.layout import fonts_without_layout

MANY = [
    *("tal", "tal(gamma1=0,gamma2=0)", "tal(gamma1=0.5,gamma2=0)", "twl", "twl(gamma1=0.3,gamma2=0.1)", "blt"),
    *("blt(lift=false,tolerance=0.05)", "ng", "na", "known", "known(target=2)", "jun", "ace", "none"),
    *("change-detector", "change-detector(teacher=blt,restart=false)"),
]


@pytest.fixture(scope="module")
def many():
    """A result of many teachers."""
    import tutelage

    return tutelage.simulate("paper", MANY, horizon=100, runs=2, checkpoints=5)


def measure_boxes(figure):
    """Return the boxes of axes and legends, in inches from the lower left."""
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    drawn = [*figure.axes, *figure.legends]
    return [each.get_tightbbox(renderer).transformed(figure.dpi_scale_trans.inverted()) for each in drawn]


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_overlaps_or_is_cut_off(many, kind):
    """This is so also with many teachers with long names."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.transforms import Bbox

    from tutelage.plots import style_sheet

    figure = draw_picture(many, kind)
    FigureCanvasAgg(figure)
    width, height = figure.get_size_inches()
    with style_sheet():
        found = measure_boxes(figure)
    for number, box in enumerate(found):
        assert box.x0 >= -0.02
        assert box.y0 >= -0.02
        assert box.x1 <= width + 0.02
        assert box.y1 <= height + 0.02
        for other in found[number + 1 :]:
            shared = Bbox.intersection(box, other)
            assert shared is None or min(shared.width, shared.height) < 0.03, (kind, box, other)


@pytest.mark.parametrize("quantity", ["regret", "cost", "regret-cost"])
def test_a_panel_fits_a_column(result, quantity):
    """A panel is 3.5 inches wide, with one title, and curves have their band in the legend."""
    figure = draw_panel(result, quantity, "UCB1 clients")
    assert figure.get_size_inches()[0] == 3.5
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["UCB1 clients"]
    named = [text.get_text() for text in figure.legends[0].get_texts()]
    assert ("80 % of runs" in named) == (quantity != "regret-cost")


@pytest.mark.parametrize("quantity", ["regret", "cost", "regret-cost"])
def test_every_panel_has_a_title(result, quantity):
    """The quantity is the default title; a long title is broken, and its dollar signs stay."""
    (axes,) = draw_panel(result, quantity).axes
    assert axes.get_title(loc="left") in ("Regret", "Cost", "Regret against cost")
    long = "what $5 and $6 a pull come to, " * 4
    (axes,) = draw_panel(result, quantity, long).axes
    assert axes.get_title(loc="left").split() == long.split()
    assert axes.get_title(loc="left").count("\n") > 0


@pytest.mark.parametrize("kind", KINDS)
def test_pictures_have_titles(result, kind):
    """The figure or each of its axes has a title."""
    figure = draw_picture(result, kind)
    titled = [axes for axes in figure.axes if axes.get_title(loc="left")]
    assert figure.get_suptitle() or len(titled) == len(figure.axes)


def test_drawable_kinds(result, instances):
    """A set of instances has no map of pulls, and an unknown kind is refused."""
    assert drawable_kinds(result) == KINDS
    assert drawable_kinds(instances) == ("curves", "scatter", "clients")
    with pytest.raises(InputError, match=r"'curve'.*curves, scatter"):
        draw_picture(result, "curve")


@pytest.mark.parametrize("dataset", ["one_run", "instances"])
def test_every_kind_can_be_saved(request, dataset, tmp_path):
    """This is so with one run, one checkpoint, and a set of instances."""
    data = request.getfixturevalue(dataset)
    for kind in drawable_kinds(data):
        save_figure(draw_picture(data, kind), tmp_path / f"{kind}.pdf")
        assert (tmp_path / f"{kind}.pdf").read_bytes().startswith(b"%PDF")


_DRAW = """
import hashlib, sys
from pathlib import Path
from tutelage import load, plots
folder = Path(sys.argv[1])
data = load(folder / "r.nc")
for kind in sys.argv[2:]:
    figure = plots.draw_picture(data, kind)
    for ending in plots.FORMATS:
        plots.save_figure(figure, folder / f"x{ending}")
        print(kind, ending, hashlib.sha256((folder / f"x{ending}").read_bytes()).hexdigest())
"""


def test_files_have_the_same_bytes_on_every_run(result, tmp_path, python):
    """They do not depend on the process, hash seed, time or user settings."""
    data = result.isel(teacher=[2, 4])
    save(data, tmp_path / "r.nc")
    settings = tmp_path / "settings"
    settings.write_text("font.size: 20\nsvg.fonttype: none\nsavefig.dpi: 50\n")
    lines = [
        python("-c", _DRAW, tmp_path, "curves", "pulls", env=os.environ | variables).stdout.splitlines()
        for variables in (
            {"PYTHONHASHSEED": "1", "SOURCE_DATE_EPOCH": "0"},
            {"PYTHONHASHSEED": "2", "TZ": "Asia/Tokyo", "MATPLOTLIBRC": str(settings)},
        )
    ]
    assert len(lines[0]) == 2 * len(FORMATS)
    assert lines[0] == lines[1]
    for line in lines[0][: len(FORMATS)]:  # each ending by itself, without those that were saved before it
        ending = line.split()[1]
        save_figure(draw_picture(data, "curves"), tmp_path / f"y{ending}")
        assert line.split()[2] == hashlib.sha256((tmp_path / f"y{ending}").read_bytes()).hexdigest()


@pytest.mark.parametrize("kind", ["curves", "pulls"])
def test_files_are_those_of_savefig(result, kind):
    """Drawing once instead of twice does not change a byte, nor the figure."""
    undated = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}}
    figure = draw_picture(result, kind)
    canvas, dpi = figure.canvas, figure.dpi
    for ending in FORMATS:
        theirs = io.BytesIO()
        with style_sheet(), fonts_without_layout():
            figure.savefig(theirs, format=ending[1:], metadata=undated.get(ending, {}))
        assert render_figure(figure, ending) == theirs.getvalue()
    assert (figure.canvas, figure.dpi) == (canvas, dpi)


def test_embedded_fonts_have_no_layout(result):
    """A PDF is smaller than matplotlib's, and the settings of fontTools are left as they were."""
    before = list(subset.Options().drop_tables)
    figure = draw_picture(result, "curves")
    theirs = io.BytesIO()
    with style_sheet():
        figure.savefig(theirs, format="pdf", metadata={"CreationDate": None})
    assert len(render_figure(figure, ".pdf")) < len(theirs.getvalue()) - 500
    assert subset.Options().drop_tables == before


def test_unknown_endings_are_refused(result, tmp_path):
    """The message lists the allowed ones."""
    with pytest.raises(InputError, match=r"'x.jpg'.*\.pdf, \.png, \.svg"):
        save_figure(draw_panel(result, "regret"), tmp_path / "x.jpg")


def test_a_failure_leaves_the_existing_picture(result, tmp_path):
    """It also leaves no partial file."""
    path = tmp_path / "x.png"
    path.mkdir()
    with pytest.raises(OSError, match="cannot be written"):
        save_figure(draw_panel(result, "regret"), path)
    assert [each.name for each in tmp_path.iterdir()] == ["x.png"]
