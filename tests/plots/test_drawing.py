"""What is drawn is what the dataset holds."""

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from tutelage.plots import curves, per_client, pull_map, samples, scatter, teacher_style


@pytest.fixture
def axes():
    """Empty axes."""
    return Figure().add_subplot()


def names(axes):
    """What the legend names."""
    return [text.get_text() for text in axes.get_legend().get_texts()]


@pytest.mark.parametrize("quantity", ["regret", "cost"])
def test_curves(result, axes, quantity):
    """Means from (0, 0) on, bands from the 10th to the 90th percentile, and a legend that names the band."""
    assert curves(result, axes, quantity) is axes
    values = result[quantity].sum("client")
    for n, line in enumerate(axes.lines):
        assert line.get_xdata().tolist() == [0, *result.checkpoint.values]
        assert line.get_ydata() == pytest.approx([0, *values[n].mean("run").values])
        assert to_hex(line.get_color()) == teacher_style(str(result.teacher.values[n])).colour
        low, high = np.quantile(values[n, :, -1], [0.1, 0.9])
        edge = axes.collections[n].get_paths()[0].vertices
        at_end = edge[edge[:, 0] == 400, 1]
        assert (at_end.min(), at_end.max()) == pytest.approx((low, high))
    assert names(axes) == ["TAL(1,0)", "TWL(1,0)", "BLT", "NG", "no teaching", "80 % of runs"]


def test_one_run_has_no_band(result, axes):
    """Neither drawn nor named."""
    curves(result.isel(run=[2]), axes)
    assert not axes.collections
    assert "80 % of runs" not in names(axes)


def test_one_checkpoint_is_a_dot_and_a_bar(result, axes):
    """No line suggests what happened before."""
    curves(result.isel(checkpoint=[-1]), axes, "cost")
    assert [len(line.get_xdata()) for line in axes.lines] == [1] * 5
    assert {line.get_linestyle() for line in axes.lines} == {"None"}
    assert len(axes.collections) == 5
    assert [text.get_text() for text in axes.get_xticklabels()] == ["round 400"]


def test_curves_are_whole_at_the_edges(result, axes):
    """The axes begin at 0 and end at the horizon, and nothing lies above."""
    curves(result, axes)
    assert axes.get_xlim() == (0, 400)
    low, high = axes.get_ylim()
    assert low == 0
    assert high > max(line.get_ydata().max() for line in axes.lines)


def test_nothing_but_zeros(one_run, axes):
    """Without teaching the cost is 0 throughout; the axis still has a height."""
    curves(one_run.sel(teacher=["none"]), axes, "cost")
    assert axes.get_ylim() == (0, 1)


def test_scatter(result, axes):
    """A dot a run where both are above 0; a cost of 0 stands at the axis, where 0 is written."""
    assert scatter(result, axes) is axes
    regret, cost = (result[quantity].sum("client")[:, :, -1].values for quantity in ("regret", "cost"))
    assert axes.lines[2].get_xdata() == pytest.approx(regret[2])
    assert axes.lines[2].get_ydata() == pytest.approx(cost[2])
    floor = samples.log_scale(cost).floor
    assert (cost[4] == 0).all()
    assert axes.lines[4].get_ydata().tolist() == [floor] * 4
    written = dict(
        zip(axes.get_yticks(), axes.yaxis.get_major_formatter().format_ticks(axes.get_yticks()), strict=True)
    )
    assert written[floor] == "0"
    assert axes.get_xscale() == axes.get_yscale() == "log"
    assert "80 % of runs" not in names(axes)


def test_scatter_of_a_set(instances, axes):
    """A dot an instance."""
    scatter(instances, axes)
    assert [len(line.get_xdata()) for line in axes.lines] == [3, 3]


def test_pull_map(result, axes):
    """Percent of each client's pulls; the best arm is marked."""
    assert pull_map(result, axes, "none") is axes
    shown = np.asarray(axes.images[0].get_array())
    assert shown == pytest.approx(100 * samples.pull_shares(result, "none"))
    assert axes.lines[0].get_xdata().tolist() == [4]
    assert axes.get_title(loc="center") == "no teaching"
    written = {tuple(text.get_position()): text.get_text() for text in axes.texts}
    assert written[2, 1] == f"{shown[1, 2]:.0f}"


def test_names_of_clients_and_arms(axes):
    """They stand at the map; long ones are cut."""
    import tutelage

    data = tutelage.simulate("grenoble:clients=3", ["none"], horizon=50, runs=1)
    pull_map(data, axes, "none")
    assert [text.get_text() for text in axes.get_yticklabels()] == data.client_name.values.tolist()
    assert [text.get_text() for text in axes.get_xticklabels()] == data.arm_name.values.tolist()


@pytest.mark.parametrize("quantity", ["regret", "cost"])
def test_per_client(result, axes, quantity):
    """The mean of every client, beside each other for the teachers, with a bar of 80 % of the runs."""
    assert per_client(result, axes, quantity) is axes
    last = result[quantity][..., -1]
    for n, line in enumerate(axes.lines):
        assert line.get_ydata() == pytest.approx(last[n].mean("run").values)
        assert np.rint(line.get_xdata()).tolist() == [0, 1, 2, 3, 4]
        first = axes.collections[n].get_segments()[0][:, 1]
        assert first == pytest.approx(np.quantile(last[n, :, 0], [0.1, 0.9]))
    assert names(axes)[-1] == "80 % of runs"


def test_many_clients_are_not_all_named(axes):
    """Labels would lie on each other."""
    import tutelage

    data = tutelage.simulate("uniform:clients=60,arms=3,seed=1", ["none"], horizon=20, runs=1)
    per_client(data, axes)
    assert len(axes.get_xticklabels()) <= 24
