"""The interactive panels: styled like the pictures, small, and silent."""

import json

import pytest

from tutelage.plots import teacher_styles
from tutelage.report.interactive import write_panel_json


def test_interactive_panels_look_like_the_pictures(result, parsed):
    """They have the same colours, markers and labels."""
    content = {given["id"]: data for given, data in parsed.scripts if "id" in given}
    for data in result.panels:
        shown = content[f"data-{data.panel.name}"]
        json.loads(shown)
        for style in teacher_styles(data.dataset):
            assert style.colour in shown
            assert f'"{style.marker}"' in shown or style.marker == "circle"  # Bokeh's default is not written
            assert f'"{style.label}"' in shown


def test_long_results_are_thinned(result):
    """The size of a panel does not grow with checkpoints and runs."""
    import tutelage

    long = tutelage.simulate("paper", ["none"], horizon=3000, runs=2, checkpoints=3000)
    short = tutelage.simulate("paper", ["none"], horizon=3000, runs=2, checkpoints=250)
    assert len(write_panel_json(long, "cost", "x")) < 1.1 * len(write_panel_json(short, "cost", "x"))
    many = tutelage.simulate("paper", ["ng"], horizon=5, runs=2000, checkpoints=1)
    assert len(write_panel_json(many, "regret-cost", "x")) < 75_000


@pytest.mark.parametrize(
    ("teachers", "options"),
    [(["none"], {"runs": 3}), (["none", "known"], {"runs": 1}), (["twl"], {"runs": 2, "checkpoints": 1})],
)
@pytest.mark.parametrize("quantity", ["regret", "cost", "regret-cost"])
def test_unusual_results_cause_no_warning(caplog, teachers, options, quantity):
    """With costs of 0, one run or one checkpoint, Bokeh logs nothing."""
    import tutelage

    data = tutelage.simulate("uniform:clients=1,arms=2,seed=1", teachers, horizon=3, **options)
    assert json.loads(write_panel_json(data, quantity, "here"))["target_id"] == "here"
    assert not caplog.records
