"""Lines, dots and labels show the numbers of the dataset."""

import io
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from tutelage.errors import InputError
from tutelage.plots import (
    draw_curves,
    draw_per_client,
    draw_pull_map,
    draw_scatter,
    samples,
    style_sheet,
    teacher_styles,
)
from tutelage.plots.matplotlib_import import quiet_matplotlib


@pytest.fixture
def axes():
    """Empty axes."""
    return Figure().add_subplot()


def legend_labels(axes):
    """Return the labels of the legend."""
    return [text.get_text() for text in axes.get_legend().get_texts()]


@pytest.mark.parametrize("quantity", ["regret", "cost"])
def test_curves(result, axes, quantity):
    """Curves are means from (0, 0) on, bands go from the 10th to the 90th percentile, and the legend has both."""
    assert draw_curves(result, axes, quantity) is axes
    values = result[quantity].sum("client")
    for n, line in enumerate(axes.lines):
        assert line.get_xdata().tolist() == [0, *result.checkpoint.values]
        assert line.get_ydata() == pytest.approx([0, *values[n].mean("run").values])
        assert to_hex(line.get_color()) == teacher_styles(result)[n].colour
        low, high = np.quantile(values[n, :, -1], [0.1, 0.9])
        edge = axes.collections[n].get_paths()[0].vertices
        at_end = edge[edge[:, 0] == 400, 1]
        assert (at_end.min(), at_end.max()) == pytest.approx((low, high))
    assert legend_labels(axes) == ["tal", "twl", "blt", "ng", "none", "80 % of runs"]


def test_one_run_has_no_band(result, axes):
    """A band is neither drawn nor in the legend."""
    draw_curves(result.isel(run=[2]), axes)
    assert not axes.collections
    assert "80 % of runs" not in legend_labels(axes)


def test_one_checkpoint_is_a_dot_and_a_bar(result, axes):
    """No line suggests a course of time."""
    draw_curves(result.isel(checkpoint=[-1]), axes, "cost")
    assert [len(line.get_xdata()) for line in axes.lines] == [1] * 5
    assert {line.get_linestyle() for line in axes.lines} == {"None"}
    assert len(axes.collections) == 5
    assert [text.get_text() for text in axes.get_xticklabels()] == ["round 400"]


def test_axes_of_curves_enclose_everything(result, axes):
    """The axes begin at 0 and end at the horizon, and nothing lies above."""
    draw_curves(result, axes)
    assert axes.get_xlim() == (0, 400)
    low, high = axes.get_ylim()
    assert low == 0
    assert high > max(line.get_ydata().max() for line in axes.lines)


def test_a_cost_of_zero_throughout(one_run, axes):
    """Without teaching the cost is 0, and the axis still has a height."""
    draw_curves(one_run.sel(teacher=["none"]), axes, "cost")
    assert axes.get_ylim() == (0, 1)


def test_scatter(result, axes):
    """There is one dot per run, and a cost of 0 lies at the tick labelled 0."""
    assert draw_scatter(result, axes) is axes
    regret, cost = (result[quantity].sum("client")[:, :, -1].values for quantity in ("regret", "cost"))
    assert axes.lines[2].get_xdata() == pytest.approx(regret[2])
    assert axes.lines[2].get_ydata() == pytest.approx(cost[2])
    floor = samples.make_log_scale(cost).floor
    assert (cost[4] == 0).all()
    assert axes.lines[4].get_ydata().tolist() == [floor] * 4
    written = dict(
        zip(axes.get_yticks(), axes.yaxis.get_major_formatter().format_ticks(axes.get_yticks()), strict=True)
    )
    assert written[floor] == "0"
    assert axes.get_xscale() == axes.get_yscale() == "log"
    assert "80 % of runs" not in legend_labels(axes)


def test_scatter_of_a_set(instances, axes):
    """There is one dot per instance."""
    draw_scatter(instances, axes)
    assert [len(line.get_xdata()) for line in axes.lines] == [3, 3]


def test_pull_map(result, axes):
    """The map shows percentages of each client's pulls and marks the best arm."""
    assert draw_pull_map(result, axes, "none") is axes
    shown = np.asarray(axes.images[0].get_array())
    assert shown == pytest.approx(100 * samples.compute_pull_shares(result, "none"))
    assert axes.lines[0].get_xdata().tolist() == [4]
    assert axes.get_title(loc="center") == "none"
    written = {tuple(text.get_position()): text.get_text() for text in axes.texts}
    assert written[2, 1] == f"{shown[1, 2]:.0f}"


def test_names_of_clients_and_arms(axes):
    """They label the map; long names are cut."""
    import tutelage

    data = tutelage.simulate("grenoble:clients=3", ["none"], horizon=50, runs=1)
    draw_pull_map(data, axes, "none")
    assert [text.get_text() for text in axes.get_yticklabels()] == data.client_name.values.tolist()
    assert [text.get_text() for text in axes.get_xticklabels()] == data.arm_name.values.tolist()


@pytest.mark.parametrize("quantity", ["regret", "cost"])
def test_per_client(result, axes, quantity):
    """Each client has a mean per teacher, side by side, with a bar of 80 % of the runs."""
    assert draw_per_client(result, axes, quantity) is axes
    last = result[quantity][..., -1]
    for n, line in enumerate(axes.lines):
        assert line.get_ydata() == pytest.approx(last[n].mean("run").values)
        assert np.rint(line.get_xdata()).tolist() == [0, 1, 2, 3, 4]
        band: Any = axes.collections[n]
        first = band.get_segments()[0][:, 1]
        assert first == pytest.approx(np.quantile(last[n, :, 0], [0.1, 0.9]))
    assert legend_labels(axes)[-1] == "80 % of runs"


def test_many_clients_are_not_all_named(axes):
    """Only some of many clients are named, since labels would overlap."""
    import tutelage

    data = tutelage.simulate("uniform:clients=60,arms=3,seed=1", ["none"], horizon=20, runs=1)
    draw_per_client(data, axes)
    assert len(axes.get_xticklabels()) <= 24


@pytest.mark.parametrize("log", ["time", "quantity", "both"])
def test_logarithmic_axes(result, axes, log):
    """Curves begin at the first checkpoint, and a cost of 0 lies at the tick labelled 0."""
    draw_curves(result, axes, "cost", log=log)
    assert axes.get_xscale() == ("linear" if log == "quantity" else "log")
    assert axes.get_yscale() == ("linear" if log == "time" else "log")
    values = result.cost.sum("client").mean("run").values
    for n, line in enumerate(axes.lines):
        placed = line.get_ydata()
        assert placed[values[n] > 0] == pytest.approx(values[n][values[n] > 0])
        assert np.isfinite(placed).all()
        if log != "quantity":
            assert line.get_xdata().tolist() == result.checkpoint.values.tolist()
    if log != "time":
        none = axes.lines[4].get_ydata()
        assert len(set(none)) == 1
        labels = axes.yaxis.get_major_formatter().format_ticks(axes.get_yticks())
        assert dict(zip(axes.get_yticks(), labels, strict=True))[none[0]] == "0"


def test_logarithmic_time_has_ticks_within(result, axes):
    """Ticks lie between the first checkpoint and the horizon."""
    draw_curves(result, axes, log="time")
    assert axes.get_xlim() == (20, 400)
    assert [tick for tick in axes.get_xticks() if 20 <= tick <= 400] == axes.get_xticks().tolist()
    assert len(axes.get_xticks()) >= 2


def test_other_logarithmic_axes_are_refused(result, axes):
    """The message lists the allowed ones."""
    with pytest.raises(InputError, match=r"'x'.*none, time, quantity, both"):
        draw_curves(result, axes, log="x")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("inside", [True, False])
def test_dollar_signs_are_printed_as_they_are(result, inside):
    """This is so also in pairs, in names and legends, with and without the style sheet."""
    names = ["$x^$", "c_{", "$5", "a$b$c", "日本 🙂"]
    data = result.isel(teacher=[0, 4]).assign_coords(
        client_name=("client", names), arm_name=("arm", names), teacher=["$\\frac$", "$5 $6"]
    )
    figure = Figure(figsize=(6, 8))
    with style_sheet() if inside else quiet_matplotlib():
        one, two, three = figure.subplots(3)
        draw_curves(data, one)
        draw_per_client(data, two)
        draw_pull_map(data, three, "$5 $6")
        figure.savefig(io.BytesIO(), format="png")
    shown = [text.get_text() for text in two.get_xticklabels()]
    assert all(name in text for name, text in zip(names, shown, strict=True))
    assert three.get_title() == "$5 $6" or three.get_title(loc="left") == "$5 $6"


def test_a_mean_above_its_band_is_inside_the_axes(result, axes):
    """The axes reach up to a mean that outliers move out of the band."""
    skewed = result.isel(run=[0] * 20).copy(deep=True)
    skewed.regret[:, 0] *= 1000
    draw_curves(skewed, axes)
    assert axes.get_ylim()[1] > max(line.get_ydata().max() for line in axes.lines)


@pytest.mark.parametrize(("kind", "chosen", "ticks"), [
    ("mixed", slice(None), ["0\nucb1", "1\nucb1", "2\neps-greedy", "3\neps-greedy", "4\nts"]),
    ("same", [0, 1], ["0", "1"]),
])  # fmt: skip
def test_clients_are_named_with_their_policies(result, axes, kind, chosen, ticks):
    """Each client has its policy below it, unless all have the same: then the axis names it."""
    draw_per_client(result.isel(client=chosen), axes)
    assert [text.get_text() for text in axes.get_xticklabels()] == ticks
    assert axes.get_xlabel() == {"mixed": "client and policy", "same": "client (policy ucb1)"}[kind]


def test_logarithmic_clients(result, axes):
    """The quantity is logarithmic, and a cost of 0 has a place of its own."""
    draw_per_client(result, axes, "cost", log="quantity")
    assert axes.get_yscale() == "log"
    values = result.cost[..., -1].mean("run").values
    assert axes.lines[1].get_ydata() == pytest.approx(values[1])
    assert len(set(axes.lines[4].get_ydata())) == 1
    assert axes.lines[4].get_ydata()[0] > 0


def _first_client(data):
    return data.sel(client=0)


SELECTIONS = {  # what is selected: how the axis of curves, the band and the map of arms say so
    "run": (lambda data: data.isel(run=2), "regret of all clients, run 2", None, "arm"),
    "runs": (lambda data: data.isel(run=[0, 3]), "regret of all clients", "80 % of 2 of 4 runs", "arm"),
    "client": (_first_client, "regret of client 0", "80 % of runs", "arm"),
    "clients": (lambda data: data.isel(client=[0, 2]), "regret of 2 of 5 clients", "80 % of runs", "arm"),
    "teacher": (lambda data: data.sel(teacher="blt"), "regret of all clients", "80 % of runs", "arm"),
    "arms": (lambda data: data.isel(arm=[1, 4]), "regret of all clients", "80 % of runs", "2 of 5 arms"),
    "checkpoint": (lambda data: data.isel(checkpoint=5), "regret of all clients", "80 % of runs", "arm"),
    "all at once": (
        lambda data: data.isel(run=0, client=1, teacher=2, checkpoint=-1, arm=4),
        "regret of client 1, run 0",
        None,
        "1 of 5 arms",
    ),
    "one without attributes": (
        lambda data: data.isel(client=[3, 4]).drop_attrs(),
        "regret of 2 clients",
        "80 % of 4 runs",
        "5 arms",
    ),
}


@pytest.mark.parametrize("selected", SELECTIONS)
def test_selections_are_drawn_and_named(result, selected):
    """Any selection by number or label is drawn by every function, and the axes say what it is of."""
    select, quantity, band, arms = SELECTIONS[selected]
    data = select(result)
    figure = Figure()
    curves, clients, scatter, pulls = figure.subplots(4)
    draw_curves(data, curves)
    draw_per_client(data, clients)
    draw_scatter(data, scatter)
    draw_pull_map(data, pulls, "blt")
    assert curves.get_ylabel() == quantity
    assert scatter.get_xlabel() == f"{quantity} at round {int(data.checkpoint.values.max()):,}"
    assert pulls.get_xlabel() == f"{arms} (▾ best arm)"
    assert (legend_labels(curves)[-1] if len(legend_labels(curves)) > len(curves.lines) else None) == band
    whole = result.regret.sel(teacher="blt")
    part = whole.sel({name: data[name] for name in ("run", "client", "checkpoint") if name in data.coords})
    line = curves.lines[legend_labels(curves).index("blt")]
    total = part.sum("client") if "client" in part.dims else part
    last = total.isel(checkpoint=-1) if "checkpoint" in total.dims else total
    assert line.get_ydata()[-1] == pytest.approx(float(last.mean()))


def test_a_part_that_is_not_a_selection_is_refused(result, axes):
    """A mean over runs and a single variable are no results; the sentence says what is wrong."""
    with pytest.raises(InputError, match=r"contains regret\[teacher, client, checkpoint\] instead of"):
        draw_curves(result.mean("run"), axes)
    with pytest.raises(InputError, match=r"it is a DataArray, not an xarray\.Dataset"):
        draw_curves(result.regret, axes)
