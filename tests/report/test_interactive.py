"""The interactive panels: styled like the pictures, small, and silent."""

import json

import numpy as np
import pytest
from bokeh.document import Document
from bokeh.models import HoverTool, Line, Scatter

from tutelage.plots import samples, teacher_styles
from tutelage.report.interactive import write_panel_json


def test_interactive_panels_look_like_the_pictures(result, parsed):
    """They have the same colours, markers and labels."""
    content = {given["id"]: data for given, data in parsed.scripts if "id" in given}
    for data in result.panels:
        shown = content[f"data-{data.panel.name}"]
        json.loads(shown)
        for style in teacher_styles(data.dataset):
            assert style.colour in shown
            assert f'"{style.marker}"' in shown
            assert f'"{style.label}"' in shown


def test_long_results_are_thinned(result):
    """The size of a panel does not grow with checkpoints and runs."""
    import tutelage

    long = tutelage.simulate("paper", ["none"], horizon=3000, runs=2, checkpoints=3000)
    short = tutelage.simulate("paper", ["none"], horizon=3000, runs=2, checkpoints=250)
    assert len(write_panel_json(long, "cost", "x")) < 1.1 * len(write_panel_json(short, "cost", "x"))
    many = tutelage.simulate("paper", ["ng"], horizon=5, runs=2000, checkpoints=1)
    assert len(write_panel_json(many, "regret-cost", "x")) < 75_000


def read_by_bokeh(content):
    """Return the document that Bokeh makes of a panel, which must be a valid one."""
    document = Document.from_json(json.loads(content)["doc"])
    document.validate()
    return document


@pytest.mark.parametrize(
    ("teachers", "options"),
    [(["none"], {"runs": 3}), (["none", "known"], {"runs": 1}), (["twl"], {"runs": 2, "checkpoints": 1})],
)
@pytest.mark.parametrize("quantity", ["regret", "cost", "regret-cost"])
def test_unusual_results_cause_no_warning(caplog, teachers, options, quantity):
    """With costs of 0, one run or one checkpoint, Bokeh logs nothing."""
    import tutelage

    data = tutelage.simulate("uniform:clients=1,arms=2,seed=1", teachers, horizon=3, **options)
    content = write_panel_json(data, quantity, "here")
    assert json.loads(content)["target_id"] == "here"
    read_by_bokeh(content)
    assert not caplog.records


def test_bokeh_reads_every_model(result):
    """Bokeh knows all models and attributes, and reads the numbers that were written."""
    for data in result.panels:
        document = read_by_bokeh(write_panel_json(data.dataset, data.panel.quantity, "here"))
        (plot,) = document.roots
        styles = teacher_styles(data.dataset)
        scatter = data.panel.quantity == "regret-cost"
        drawn = [each for each in plot.renderers if isinstance(each.glyph, Scatter if scatter else Line)]
        assert [each.name for each in drawn] == [style.label for style in styles]
        assert [each.name for each in plot.select_one(HoverTool).renderers] == [style.label for style in styles]
        assert [each.label.value for each in plot.legend.items][: len(styles)] == [style.label for style in styles]
        totals = samples.totals(data.dataset, data.panel.quantity.split("-")[0])
        expected = totals[:, :, -1] if scatter else totals.mean(axis=1)[:, -1:]
        columns = [each.data_source.data["regret"] if scatter else each.data_source.data["mean"][-1:] for each in drawn]
        np.testing.assert_allclose(columns, expected, rtol=1e-6)


def test_a_model_is_written_once(result):
    """What several models refer to, as the axes of the grids, is one model for Bokeh."""
    for data in result.panels:
        (plot,) = read_by_bokeh(write_panel_json(data.dataset, data.panel.quantity, "here")).roots
        assert [grid.axis for grid in plot.grid] == [plot.xaxis[0], plot.yaxis[0]]
        assert {each for item in plot.legend.items for each in item.renderers} == set(plot.renderers)
