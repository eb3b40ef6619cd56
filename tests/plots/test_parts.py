"""Figures of several results and of some teachers."""

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.text import Text

import tutelage
from tutelage.errors import InputError
from tutelage.plots import KINDS, draw_picture, render_figure, samples, style_sheet, teacher_styles
from tutelage.plots.parts import select_parts

OWN = """
from dataclasses import dataclass
from tutelage.teachers.families.fixed_teacher import FixedTeacher

@dataclass(frozen=True)
class Patient(FixedTeacher):
    \"\"\"Reveals every reward as it is.\"\"\"

    sentence = "waiting"
    decides = False
"""


@pytest.fixture(scope="module")
def other():
    """A result with a teacher of the other result and one more."""
    return tutelage.simulate("paper", ["blt", "tal(gamma1=0)"], horizon=300, runs=3, checkpoints=5)


def legend_of(figure):
    """Return the labels of the figure's legend."""
    return [text.get_text() for text in figure.legends[0].get_texts()]


@pytest.mark.parametrize("kind", KINDS)
def test_several_results_share_a_figure(result, other, kind):
    """Each result has its own panels, named after it, and a teacher looks the same in all of them."""
    figure = draw_picture({"one": result, "two": other}, kind, teachers=["blt", "tal(gamma1=0,gamma2=0)"], log="none")
    titles = [axes.get_title(loc="left") for axes in figure.axes if axes.get_title(loc="left")]
    if kind == "pulls":
        assert titles == ["one: blt", "two: blt", "two: tal(gamma1=0)"]
        return
    what = {"scatter": ["regret against cost"], "curves": ["regret", "cost"]}.get(
        kind, ["regret by client", "cost by client"]
    )
    assert titles == [f"{name}: {each}" for name in ("one", "two") for each in what]
    named = [label for label in legend_of(figure) if "%" not in label]
    assert named == ["blt", "tal(gamma1=0)"]
    blt = {to_hex(axes.lines[0].get_color()) for axes in figure.axes}
    assert blt == {teacher_styles(result.sel(teacher=["blt"]))[0].colour}


def test_labels_and_titles(result):
    """The figure calls a teacher, given by its label or a SPEC, what the label says; its title is above the panels."""
    figure = draw_picture(result, "curves", title="My $5 study", labels={"blt": "our own", "tal(gamma1=1)": "TAL(1,0)"})
    assert figure.get_suptitle() == "My $5 study"
    assert legend_of(figure)[:3] == ["TAL(1,0)", "twl", "our own"]
    assert teacher_styles(result)[2].colour in {to_hex(line.get_color()) for line in figure.axes[0].lines}


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"teachers": ["jun"]}, "Unknown teacher 'jun': the result has tal, twl, blt, ng, none"),
        ({"labels": {"bit": "x"}}, "Cannot label 'bit': use the label or SPEC of a teacher"),
        ({"labels": {"blt": "x", "tal": "x"}}, "Two teachers would be called 'x'"),
        ({"width": "wide"}, "Invalid width 'wide': use column or page"),
        ({"log": "tim"}, "Invalid logarithmic axis 'tim': use auto, none, time"),
    ],
)
def test_invalid_choices(result, options, sentence):
    """One sentence says what is allowed."""
    with pytest.raises(InputError, match=sentence.split(":")[0]) as caught:
        draw_picture(result, "curves", **options)
    assert sentence in str(caught.value)


def test_a_result_without_the_chosen_teachers(result, other):
    """It is named, with the teachers that it has."""
    with pytest.raises(InputError, match=r"'two' has none of the teachers none: use some of blt, tal\(gamma1=0\)"):
        draw_picture({"one": result, "two": other}, "curves", teachers=["none"])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("width", "inches"), [("column", 3.5), ("page", 7.16)])
def test_widths_and_letters(result, kind, width, inches):
    """A figure has the width of a column or a page, and no text is smaller than 7 points."""
    teachers = [] if kind != "pulls" else ["tal", "twl", "blt"]
    figure = draw_picture(result, kind, width=width, teachers=teachers)
    assert figure.get_size_inches()[0] == inches
    with style_sheet():
        texts = [text for text in figure.findobj(Text) if text.get_text()]
    assert len(texts) > 10
    assert min(text.get_fontsize() for text in texts) >= 7


def test_the_colour_bar_of_one_map_is_not_cut(result):
    """Its label lies within the figure."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = draw_picture(result, "pulls", teachers=["blt"])
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    label = figure.axes[-1].yaxis.label.get_window_extent(canvas.get_renderer())
    assert label.y0 >= 0
    assert label.y1 <= figure.bbox.height


def test_a_teacher_is_found_by_the_name_of_its_arm():
    """Its label has the arm's number; a name that no arm has is refused."""
    instance = tutelage.instance([[0.1, 0.9], [0.5, 0.2]], arms=["red", "blue"])
    data = tutelage.simulate(instance, ["known(target=blue)", "none"], horizon=20, runs=2, seed=1, checkpoints=2)
    assert list(select_parts({"": data}, "curves", ["known(target=blue)"], {})[""].teacher.values) == [
        "known(target=1)"
    ]
    with pytest.raises(InputError, match=r"Unknown teacher 'known\(target=green\)'"):
        select_parts({"": data}, "curves", ["known(target=green)"], {})


def test_low_curves_get_a_logarithmic_axis(result):
    """Curves that lie on a linear axis together are drawn on a logarithmic one unless it is refused."""
    low = result.copy(deep=True)
    low["regret"][{"teacher": [1, 2]}] /= 1e4
    scales = {log: draw_picture(low, "curves", log=log).axes[0].get_yscale() for log in ("auto", "none")}
    assert scales == {"auto": "log", "none": "linear"}
    assert draw_picture(low, "clients").axes[0].get_yscale() == "log"
    assert not samples.lies_on_axis(np.array([100.0, 3.0, 0.0]))  # one low curve, and one that is 0
    assert samples.lies_on_axis(np.array([100.0, 3.0, 0.3]))


def test_a_file_is_drawn_the_same_where_its_teacher_cannot_be_imported(tmp_path, monkeypatch):
    """The file holds what is needed: label, style and whether the teacher decides."""
    import sys

    from tutelage.report.summary import make_rows
    from tutelage.teachers import TEACHERS

    (tmp_path / "own_patience.py").write_text(OWN, encoding="utf-8")
    with monkeypatch.context() as context:
        context.syspath_prepend(tmp_path)
        data = tutelage.simulate("paper", ["own_patience:Patient", "blt"], horizon=50, runs=2, checkpoints=3)
        tutelage.save(data, tmp_path / "x.nc")
        before = [render_figure(draw_picture(data, kind), ".png") for kind in KINDS]
    del sys.modules["own_patience"]
    with pytest.raises(InputError, match="cannot be imported"):
        TEACHERS.parse("own_patience:Patient")
    loaded = tutelage.load(tmp_path / "x.nc")
    assert [render_figure(draw_picture(loaded, kind), ".png") for kind in KINDS] == before
    assert [row.write_counts()[0] for row in make_rows(loaded)] == ["-", make_rows(data)[1].write_counts()[0]]
