"""The charts: axes, lines, colours and captions."""

import itertools
import re
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.service import factories
from tests.service.factories import NOW

from tutelage.service.dashboard.axes import Axis, draw_clock_times, draw_time_axis
from tutelage.service.dashboard.charts import RANGES, CounterLine, choose_window, colour_of, draw_counter, draw_shares
from tutelage.service.dashboard.panels import render_panels


@given(st.floats(1, 40 * 86_400), st.sampled_from([(44.0, 260.0), (52.0, 330.0), (52.0, 510.0)]))
def test_times_below_a_chart_never_overlap(span, ends):
    """Not on the narrowest chart either, for any span, with letters up to 8 pixels wide."""
    metrics = []
    for part in draw_time_axis(Axis(-span, 0, *ends), 0):
        x, anchor, words = re.fullmatch(r'<text x="(.+)" y=".+" text-anchor="(\w+)" .*>(.*)</text>', part).groups()
        width = 8 * len(words)
        start = float(x) - {"start": 0, "middle": width / 2, "end": width}[anchor]
        metrics.append((start, start + width))
    metrics.sort()
    assert len(metrics) > 1
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(metrics))


def test_charts_and_events_have_clock_times():
    """Both ends of a chart's axis, in UTC, with the date beyond a day; and each event."""
    view = factories.learning_view()
    (first, last), window = ((NOW - 60, NOW), choose_window(view))
    clock = [datetime.fromtimestamp(each, UTC) for each in (first, last)]
    labels = re.findall(">([^<]+)<", "".join(draw_clock_times(Axis(-60, 0, 44, 500), 0, NOW)))
    assert labels == [f"{clock[0]:%H:%M:%S}", f"{clock[1]:%H:%M:%S} UTC"]
    days = "".join(draw_clock_times(Axis(-86_400 * 3, 0, 44, 500), 0, NOW))
    assert f"{datetime.fromtimestamp(NOW - 86_400 * 3, UTC):%Y-%m-%d %H:%M}" in days
    assert f"{clock[1]:%H:%M:%S} UTC" in draw_shares(view, window)[0]
    panel = render_panels(view).panels["events"]
    assert all(f"{datetime.fromtimestamp(event.time, UTC):%Y-%m-%d %H:%M:%S}" in panel for event in view.ledger.events)


def test_a_time_range_is_drawn_up_to_the_age_of_the_campaign():
    """Without one it is the shortest with enough pulls; a range without pulls says so; points have their values."""
    view = factories.learning_view()
    old = factories.with_activity(view, times=NOW - np.geomspace(40 * 86_400, 700, view.activity.points.times.size))
    spans = {name: choose_window(old, name).span for name in RANGES}
    assert spans == RANGES | {"all": 40 * 86_400}
    assert choose_window(view, "30d").span == choose_window(view, "all").span == NOW - view.activity.points.times[0]
    window = choose_window(old, "1d")
    assert window.ago[0] == -86_400
    svg = draw_counter(window, CounterLine("Cost", old.activity.points.costs[window.points]))
    times, values = (re.search(f'{name}="([^"]*)"', svg).group(1) for name in ("data-times", "data-values"))
    points = re.search(r'<path d="M([^"]*)"', svg).group(1).split("L")
    assert len(times.split(" ")) == len(values.split("|")) == len(points)
    assert times.split(" ")[-1] == f"{NOW:.0f}"
    assert draw_shares(old, choose_window(old, "10m"))[1] == "No pulls in this time."


@pytest.mark.parametrize("value", [0.0, 1e-15, 0.3, 7.0, 6_890.0, 1_234_567.0])
def test_the_axis_of_a_constant_counter(value):
    """Its labels differ, and none is negative."""
    view = factories.learning_view()
    window = choose_window(view)
    drawn = draw_counter(window, CounterLine("Cost", np.full(window.points.size, value)))
    labels = re.findall(r'class="tick">([^<]*)<', drawn)
    numbers = [label for label in labels if label != "now" and "\N{MINUS SIGN}" not in label]
    assert len(numbers) >= 2
    assert len(set(numbers)) == len(numbers)
    assert not any(number.startswith("-") for number in numbers)


def test_an_arm_keeps_its_colour():
    """It does not depend on the other active arms; arms of one colour have different dashes."""
    assert [colour_of(arm) for arm in (0, 6, 7, 13, 14)] == [
        "arm0", "arm6", "arm0 dash1", "arm6 dash1", "arm0 dash2",
    ]  # fmt: skip
    assert len({colour_of(arm) for arm in range(21)}) == 21
    for active in (range(9), (2, 5, 8), (5, 8)):
        view = factories.learning_view(4, 9, active=active)
        chart, _ = draw_shares(view, choose_window(view))
        labels = re.findall(r'class="end ([^"]*)"><title>arm 0(\d)<', chart)
        assert len(labels) == min(len(active), 7)
        assert all(colour_of(int(arm)) == kind for kind, arm in labels)


def test_on_a_phone_only_active_arms_have_lines():
    """The caption of each chart says what it shows."""
    view = factories.learning_view(4, 9, active=(2, 5))
    window = choose_window(view)
    wide, caption = draw_shares(view, window)
    narrow, narrow_caption = draw_shares(view, window, is_narrow=True)
    assert (wide.count('class="line ruled-out"'), narrow.count('class="line ruled-out"')) == (7, 0)
    assert (caption, narrow_caption) == ("Coloured: active arms. Grey: other arms.", "Coloured: active arms.")


def test_shares_after_a_burst_are_lines():
    """Pulls that all came at once are a flat line up to now, not a dot next to an empty chart."""
    view = factories.learning_view()
    times, pulls = view.activity.points.times[-60:], view.metrics.pulls.sum(axis=0)
    view = factories.with_activity(
        view, times=times, costs=view.activity.points.costs[-60:], arm_pulls=np.vstack([pulls * 0] + [pulls] * 59)
    )
    chart, _ = draw_shares(view, choose_window(view))
    lines = re.findall(r'<path d="M([^"]*)" class="line', chart)
    assert len(lines) == 5
    for line in lines:
        places = [float(point.split(",")[0]) for point in line.split("L")]
        assert places[-1] == 620.0
        assert places[0] < 60.0


def test_a_few_last_pulls_do_not_change_the_share():
    """When traffic ends, the line continues at the share before the last few pulls."""
    view = factories.learning_view()
    made = np.zeros((60, view.metrics.pulls.shape[1]), dtype=np.int64)
    made[1:40] = 100  # of each arm, then a few of one, then nothing
    made[40, 0] = 3
    view = factories.with_activity(
        view,
        times=view.activity.points.times[-60:],
        costs=view.activity.points.costs[-60:],
        arm_pulls=made.cumsum(axis=0),
    )
    chart, _ = draw_shares(view, choose_window(view))
    for line in re.findall(r'<path d="M([^"]*)" class="line', chart):
        heights = [float(point.split(",")[1]) for point in line.split("L")]
        assert max(heights) - min(heights) < 10  # theirs would be all of one arm
