"""Views of a campaign: metrics, recent activity, what is read from the ledger, and Prometheus metrics."""

import asyncio
import itertools
import re

import numpy as np
import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector
from tests.service import factories
from tests.service.monitoring.monitored_store import (
    MEANS,
    follow,
    make_settings,
    pull_rounds,
    run_monitor,
    run_on_store,
)

from tutelage.cli import campaign
from tutelage.cli.app import execute
from tutelage.service.campaigns.messages import Refusal
from tutelage.service.campaigns.writer import ActionJob, CreateJob
from tutelage.service.dashboard.arms import estimate_arms
from tutelage.service.dashboard.charts import choose_window, estimate_regret
from tutelage.service.dashboard.pages import ROWS_PER_PAGE, render_client_page, render_index_page
from tutelage.service.dashboard.panels import render_panels
from tutelage.service.dashboard.renderer import PageRenderer
from tutelage.service.monitoring.activity import ActivityHistory, read_history
from tutelage.service.monitoring.campaign_view import CounterSample, ServerHealth
from tutelage.service.monitoring.ledger_views import view_at_round
from tutelage.service.monitoring.prometheus import CAMPAIGN_METRICS, TIMED_METRICS, render_metrics
from tutelage.service.monitoring.status import DEFAULTS, KINDS, find_worst, status_of
from tutelage.stores import open_store
from tutelage.stores.base import pages


def test_metrics_are_those_of_the_pulls(tmp_path):
    """Pulls, quota and estimates follow from what was sent; later pulls do not change a view."""

    async def act(store, handoff, monitor):
        await pull_rounds(handoff, 21)
        view = await monitor.view("c")
        await pull_rounds(handoff, 10, start=21)
        return view

    metrics = run_on_store(tmp_path, act).metrics
    assert metrics.pulls.tolist() == [[11, 10], [11, 10]]
    assert metrics.round == 21
    assert (metrics.quota - metrics.missing[0]).tolist() == [11, 10]
    assert metrics.quota_share == pytest.approx(10 / metrics.quota[1])
    assert metrics.estimates == pytest.approx(MEANS)
    assert metrics.status == "running"


def test_a_decision_has_its_bounds_and_its_position(tmp_path):
    """Bounds, directive and position are the ledger's; the costs before and after it are separate."""

    async def act(store, handoff, monitor):
        await pull_rounds(handoff, 600)
        view = await monitor.view("c")
        entries = [entry for entry in store.entries("c", 0, 1000) if entry.kind == "decided"]
        return view, entries, view_at_round(store, "c", 200, ServerHealth())

    view, entries, past = run_on_store(tmp_path, act)
    metrics, ledger = view.metrics, view.ledger
    assert metrics.target == 1
    assert ledger.decision.position == entries[-1].position
    assert ledger.decision.directive == len(entries)
    assert ledger.lower[1] > ledger.upper[0]
    assert 0 < ledger.decision.cost < metrics.cost
    assert ledger.events[0].sentence.endswith("decided on y")
    assert ledger.events[-1].sentence == "Started"
    assert past.metrics.target is None
    assert past.metrics.rounds.tolist() == [200, 200]
    assert past.at_round == 200


def test_another_servers_campaign_is_read_from_the_ledger(tmp_path):
    """What a follower shows equals what the leader shows."""

    async def act(store, handoff, monitor):
        await pull_rounds(handoff, 300)
        return await monitor.view("c"), follow(store, "c")

    ours, theirs = run_on_store(tmp_path, act)
    assert (ours.metrics.pulls == theirs.metrics.pulls).all()
    assert ours.metrics.estimates.tolist() == theirs.metrics.estimates.tolist()
    assert ours.metrics.position == theirs.metrics.position
    assert ours.ledger.events == theirs.ledger.events


def test_a_teacher_with_a_state_is_loaded_from_a_snapshot(tmp_path):
    """BLT's levels survive: its campaign is loaded again from what a decision stored."""

    async def act(store, handoff, monitor):
        await handoff.ask(CreateJob("blt", settings=make_settings(name="blt", teacher="blt"), start=True))
        await pull_rounds(handoff, 120, name="blt")
        return await monitor.view("blt"), follow(store, "blt")

    ours, theirs = run_on_store(tmp_path, act)
    assert ours.metrics.directive > 1
    assert ours.metrics.cost == theirs.metrics.cost


def test_an_undecidable_campaign_is_shown_everywhere(tmp_path):
    """BLT at a tie leads to an arm that is not a target: leader, follower and Prometheus agree."""

    async def act(store, handoff, monitor):
        tie = make_settings(name="tie", teacher="blt(hope=0)", horizon=400)
        await handoff.ask(CreateJob("tie", settings=tie, start=True))
        before = await monitor.view("tie")
        await pull_rounds(handoff, 60, name="tie", means=(0.5, 0.5))
        monitor._clock = lambda: before.now + 2
        return before, await monitor.view("tie"), follow(store, "tie")

    before, ours, theirs = run_on_store(tmp_path, act)
    assert before.metrics.provisional_arm is None
    for view in (ours, theirs):
        assert (view.metrics.provisional_arm, view.metrics.target, view.metrics.taught_arm) == (0, None, 0)
        assert "undecidable" in {item.kind for item in status_of(view)}
    assert b'tutelage_undecidable{campaign="tie"} 1.0' in render_metrics([ours], ServerHealth())
    assert b'tutelage_horizon_too_short{campaign="tie"} 0.0' in render_metrics([ours], ServerHealth())


def test_an_unknown_campaign(tmp_path):
    """It is refused, and the monitor remembers nothing of its name."""

    async def act(store, handoff, monitor):
        with pytest.raises(Refusal, match="nothing") as caught:
            await monitor.view("nothing")
        return caught.value.reason, dict(monitor._campaigns)

    assert run_on_store(tmp_path, act) == ("unknown-campaign", {})


def test_an_old_view_has_its_age(tmp_path):
    """If the writer does not answer in time, the last view is returned with its age."""

    async def act(store, handoff, monitor):
        first = await monitor.view("c")
        times = itertools.count(first.now + 100)
        monitor._clock = lambda: next(times)

        async def never(job):
            raise Refusal("unavailable", "The store has failed.")

        handoff.ask = never
        return first, await monitor.view("c")

    first, second = run_on_store(tmp_path, act)
    assert second.metrics is first.metrics
    assert second.now - second.measured >= 100


def test_a_reused_name(tmp_path):
    """A deleted campaign's history and events are not shown for a new one of its name."""

    async def act(store, handoff, monitor):
        await pull_rounds(handoff, 30)
        first = await monitor.view("c")
        for act in ("stop", "exported", "delete"):
            await handoff.ask(ActionJob("c", act=act))
        await handoff.ask(CreateJob("c", settings=make_settings(arms=("x", "y", "z")), start=True))
        monitor._clock = lambda: first.now + 2
        return first, await monitor.view("c")

    first, second = run_on_store(tmp_path, act)
    assert first.metrics.round == 30
    assert second.activity.points.arm_pulls[-1].tolist() == [0, 0, 0]
    assert [event.sentence for event in second.ledger.events] == ["Started"]


def test_panels_are_rendered_once_for_all_viewers(tmp_path):
    """Viewers within a second get the same panels."""

    async def act(store, handoff, monitor):
        renderer = PageRenderer(DEFAULTS)

        async def render():
            return await renderer.panels(await monitor.view("c"))

        panels = await asyncio.gather(*(render() for _ in range(20)))
        renderer.close()
        return {id(one) for one in panels}

    assert len(run_on_store(tmp_path, act)) == 1


def samples(times, rate):
    """Client 0 pulls arm 0 ``rate`` times a second, client 1 once in ten seconds."""
    for time in times:
        pulls = np.array([[int(rate * time), 0], [0, int(time // 10)]])
        yield float(time), CounterSample(0, pulls, time / 2, 0, 0)


def test_rates_intervals_and_silences():
    """Ten minutes of steady pulls, then client 1 falls silent: its usual interval does not change."""
    times = samples(range(601), 5)
    history = ActivityHistory(*next(times))
    for time, metrics in times:
        history.add(time, metrics)
    last = metrics
    for second in range(601, 701):
        pulls = np.array([[5 * second, 0], last.pulls[1]])
        history.add(float(second), CounterSample(0, pulls, second / 2, 0, 0))
    activity = history.summarize(700.0, factories.learning_view(2, 2).metrics)
    assert activity.silence.tolist() == [0.0, 100.0]
    assert activity.usual_interval == pytest.approx([0.2, 10.0], rel=0.02)
    assert 300 <= activity.window_seconds <= 315
    assert activity.window_pulls[0, 0] == 5 * activity.window_seconds
    assert activity.minute_cost == pytest.approx(activity.minute_seconds / 2)


def test_rates_after_an_outage_are_over_their_windows():
    """Ten minutes without a sample, or without one since, do not stretch the five minutes or the minute."""
    metrics = factories.learning_view(2, 2).metrics
    times = samples(range(301), 5)
    history = ActivityHistory(*next(times))
    for time, sample in times:
        history.add(time, sample)
    for now in (900.0, 930.0):
        activity = history.summarize(now, metrics)
        assert (activity.window_seconds, activity.minute_seconds) == (300.0, 60.0)
        assert not activity.window_pulls.any()
    for second in range(901, 931):
        history.add(float(second), CounterSample(0, sample.pulls + 7 * (second - 900), sample.cost, 0, 0))
    activity = history.summarize(930.0, metrics)
    assert 300 <= activity.window_seconds <= 315
    assert 60 <= activity.minute_seconds <= 75
    assert activity.window_pulls.tolist() == activity.minute_pulls.tolist() == [[210, 210], [210, 210]]


def test_strays_are_counted_from_the_decision_on():
    """Pulls of other arms before it are not straying; those of the last minute before it still are a rate."""
    view = factories.make_decided(factories.learning_view(2, 2), 0)
    nothing = np.zeros((2, 2), dtype=np.int64)
    history = ActivityHistory(0.0, CounterSample(0, nothing, 0.0, 0, 0))
    before, after = np.array([0, 1]), np.array([2, 0])
    for second in range(1, 121):
        pulls = nothing + before * min(second, 100) + after * max(second - 100, 0)
        history.add(float(second), CounterSample(0, pulls, 0.0, 0, 0))
    activity = history.summarize(120.0, view.metrics, decided=100.0)
    assert activity.minute_pulls[:, 1].all()
    assert 0 < activity.taught_seconds <= 20
    assert activity.taught_pulls.tolist() == [[2 * activity.taught_seconds, 0]] * 2
    page = render_panels(factories.with_activity(view, **vars(activity))).panels
    assert "None in the last 15 s, since the decision." in page["behind"]
    assert history.summarize(120.0, view.metrics, decided=119.5).taught_pulls.tolist() == nothing.tolist()


def test_an_act_is_seen_at_once(tmp_path):
    """The view of a moment ago is not shown after a stop."""

    async def act(store, handoff, monitor):
        now = monitor._clock()
        monitor._clock = lambda: now
        await pull_rounds(handoff, 10)
        before = await monitor.view("c")
        await handoff.ask(ActionJob("c", act="stop"))
        return before, await monitor.view("c"), await monitor.view("c")

    before, after, again = run_on_store(tmp_path, act)
    assert [before.metrics.status, after.metrics.status] == ["running", "stopped"]
    assert again is after


def test_a_clients_page_names_the_arm_that_takes_longest():
    """All missing pulls and the time of the slowest arm are not set against each other."""
    view = factories.learning_view(2, 3)
    window, missing = np.array([[40, 400, 400], [60, 60, 60]]), np.array([[12, 100, 30], [1, 1, 1]])
    view = factories.with_activity(factories.with_metrics(view, missing=missing), window_pulls=window)
    page = render_client_page(view, 0)
    assert "142 pulls missing for consultation 3; the slowest arm, “arm 00”, lacks 12, which take 1 min 30 s" in page
    window[0, 1] = 0
    page = render_client_page(factories.with_activity(view, window_pulls=window), 0)
    assert "“arm 01” has not been pulled in the last 5 min" in page


def test_a_usual_interval_is_between_two_pulls():
    """The time before the first pull does not count, and ten intervals make it known, long or short."""
    history = ActivityHistory(0.0, CounterSample(0, np.zeros((2, 1), dtype=np.int64), 0.0, 0, 0))
    seen = []
    for pulls in range(1, 13):
        history.add(500.0 + 60 * pulls, CounterSample(pulls, np.array([[pulls], [0]]), 0.0, 0, 0))
        activity = history.summarize(500.0 + 60 * pulls, factories.learning_view(2, 1).metrics)
        seen.append((activity.usual_interval[0], activity.is_interval_known.tolist()))
    assert np.isnan(seen[0][0])
    assert [interval for interval, _ in seen[1:]] == pytest.approx([60.0] * 11)
    assert [known for _, known in seen] == [[False, False]] * 10 + [[True, False]] * 2


def test_pulls_beyond_the_horizon_are_counted_separately(tmp_path):
    """Rounds end at the horizon; the page and Prometheus show later pulls as such."""

    async def act(store, handoff, monitor):
        await handoff.ask(CreateJob("d", settings=make_settings(name="d", horizon=30), start=True))
        await pull_rounds(handoff, 32, name="d")
        return await monitor.view("d")

    view = run_on_store(tmp_path, act)
    assert (view.metrics.round, view.metrics.beyond_horizon) == (30, 4)
    text = render_metrics([view], ServerHealth()).decode()
    assert 'tutelage_beyond_horizon_pulls_total{campaign="d"} 4.0' in text
    assert 'tutelage_round{campaign="d"} 30.0' in text
    numbers = render_panels(view).panels["numbers"]
    assert "<b>60</b><span>pulls" in numbers
    assert "and 4 beyond the horizon" in numbers
    assert "30 of 30 rounds, and 2 beyond the horizon" in render_client_page(view, 0)


def test_a_history_from_the_ledger(tmp_path):
    """After a restart the last pulls of the ledger give the silences, the pulls and the cost."""

    async def act(store, handoff, monitor):
        await pull_rounds(handoff, 50)
        metrics = (await monitor.view("c")).metrics
        last = CounterSample(metrics.position, metrics.pulls, metrics.cost, 0, 0)
        return metrics, last, list(pages(store, "c", 60)), read_history(last, [], 1.0)

    metrics, last, rows, nothing = run_on_store(tmp_path, act)
    assert nothing is None
    activity = read_history(last, rows, 1.0).summarize(rows[-1].time / 1e6 + 7, metrics)
    assert activity.silence == pytest.approx([7.0, 7.0], abs=0.5)
    assert int(activity.window_pulls.sum()) == len(rows)
    assert activity.points.arm_pulls[-1].tolist() == last.pulls.sum(axis=0).tolist()
    assert activity.points.costs[-1] == pytest.approx(last.cost)


def test_charts_survive_a_restart(tmp_path):
    """Another server on the same store draws the same points, from the first pull on."""
    day = 86_400 * 1_000_000

    async def run():
        drawn = []
        for restart in range(2):
            store = open_store(f"sqlite:///{tmp_path / 'view.db'}")
            async with run_monitor(store) as (handoff, monitor):
                if not restart:
                    handoff.writer.now = itertools.count(20_000 * day, 700_000).__next__
                    await handoff.ask(CreateJob("c", settings=make_settings(), start=True))
                    await pull_rounds(handoff, 150)
                    handoff.writer.now = itertools.count(20_001 * day, 700_000).__next__
                    await pull_rounds(handoff, 30, start=150)
                monitor._clock = lambda: 20_002 * 86_400.0
                drawn.append((await monitor.view("c")).activity.points)
            store.close()
        return drawn

    first, second = asyncio.run(run())
    assert first.times[0] == pytest.approx(20_000 * 86_400, abs=5)
    assert first.times.size > 90
    assert first.times.tolist() == second.times.tolist()
    assert first.costs.tolist() == second.costs.tolist()
    assert first.arm_pulls.tolist() == second.arm_pulls.tolist()


def test_the_regret_lies_within_its_band():
    """So do the regret of any means within the intervals, and the estimate."""
    view = factories.learning_view(4, 6)
    estimates = estimate_arms(view)
    pulls = view.metrics.pulls.sum(axis=0, keepdims=True)
    middle, lower, upper = estimate_regret(estimates, pulls, None)
    random = np.random.default_rng(1)
    for _ in range(100):
        means = random.uniform(estimates.lower, estimates.upper)
        true = float((pulls[0] * (means[0] - means)).sum())
        assert true <= upper[0]
    assert lower[0] <= middle[0] <= upper[0]


def test_charts_end_now():
    """A campaign that has been silent for a minute has a flat minute at its end."""
    view = factories.learning_view()
    later = factories.with_activity(view, times=view.activity.points.times - 60)
    window = choose_window(later)
    assert window.ago[-1] == -60.0
    assert window.span >= 300


def test_metrics_are_read_by_prometheus():
    """Every alert is a gauge of its kind; a campaign's name is its label."""
    examples = factories.every_status()
    views = [factories.with_metrics(view, name=name.replace(" ", "-")) for name, view in examples.items()]
    text = render_metrics(views, ServerHealth(commit_seconds=0.01)).decode()
    found = list(text_string_to_metric_families(text))
    families = {family.name: family for family in found}
    assert len(families) == len(found)
    assert {metric.name.removesuffix("_total") for metric in (*CAMPAIGN_METRICS, *TIMED_METRICS)} <= families.keys()
    assert all(family.documentation.endswith(".") for family in found)
    for kind in KINDS:
        if kind.is_alert and kind.name in examples:
            values = {each.labels["campaign"]: each.value for each in families[kind.metric].samples}
            assert values[kind.name.replace(" ", "-")] == 1.0, kind.name
            assert values["decided"] == 0.0
    pulls = {each.labels["campaign"]: each.value for each in families["tutelage_pulls"].samples}
    assert pulls["learning"] == examples["learning"].metrics.pulls.sum()


def test_metrics_are_written_as_the_library_writes_them():
    """Names with quotes, backslashes and line ends are escaped, and numbers have its form."""
    view = factories.learning_view()
    names = ('a "b"', "c\\d", "e\nf", *view.metrics.clients[3:])
    view = factories.with_metrics(view, clients=names, cost=0.1 + 0.2, horizon=10**9)
    text = render_metrics([view], ServerHealth(), leads={view.metrics.name: True, "other": False})

    class Read(Collector):
        def collect(self):
            return text_string_to_metric_families(text.decode())

    registry = CollectorRegistry()
    registry.register(Read())
    assert len(text.splitlines()) > 100
    assert text == generate_latest(registry)
    assert render_metrics([view], ServerHealth(), leads={view.metrics.name: True, "other": False}) == text


def test_the_worst_status_is_the_first():
    """Found without the other items, it is the same."""
    for name, view in factories.every_status().items():
        assert find_worst(view) == status_of(view)[0], name


def test_a_long_list_has_pages():
    """Each campaign is on one page, the most severe first; a number after the last page shows the last."""
    views = [factories.with_metrics(factories.learning_view(), name=f"c{n:04}") for n in range(2 * ROWS_PER_PAGE + 1)]
    stopped = factories.with_metrics(factories.learning_view(), name="stopped", reachable=False)
    pages = [render_index_page([*views, stopped], number) for number in (1, 2, 3, 4)]
    found = [re.findall('href="c/(.*?)/"', page) for page in pages]
    assert found[0] + found[1] + found[2] == ["stopped", *(view.metrics.name for view in views)]
    assert len(found[0]) == ROWS_PER_PAGE
    assert found[3] == found[2]
    assert 'rel="prev"' not in pages[0]
    assert ('href="?page=2"' in pages[0], 'href="?page=1"' in pages[1], 'href="?page=3"' in pages[1]) == (True,) * 3
    assert 'rel="next"' not in pages[2]
    assert "Campaigns 201 to 202 of 202" in pages[2]
    assert "?page=" not in render_index_page(views[:ROWS_PER_PAGE])


def test_a_stalled_campaign_is_listed_as_stalled(serve, capsys, monkeypatch):
    """`campaign list` has the most severe status item, and does not say of a stalled campaign that it is learning."""
    server = serve(stalled_seconds=0.0, stalled_intervals=0.001, idle_seconds=1e9)
    server.create(horizon=10**6)
    monkeypatch.setattr(campaign, "request", lambda place, method, path: server.call(method, path).json())

    def list_campaigns():
        assert execute(["campaign", "list"]) == 0
        return capsys.readouterr().out

    assert list_campaigns() == "c: running, stalled, twl, 2 clients, 2 arms, 0 pulls, epoch 1, 2 arms active\n"
    server.call("POST", "/v1/campaigns/c/stop")
    assert list_campaigns().startswith("c: stopped, twl, ")
