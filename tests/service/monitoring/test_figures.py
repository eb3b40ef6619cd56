"""Figures of a campaign: what is taken, kept over time, read from the ledger, and told to Prometheus."""

import asyncio
import contextlib
import itertools
from pathlib import Path

import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.service import factories

from tutelage.service.api.handoff import Handoff, Readers
from tutelage.service.campaigns.jobs import ActionJob, CreateJob, PullJob
from tutelage.service.campaigns.messages import PullRequest, Refusal
from tutelage.service.campaigns.settings import Settings
from tutelage.service.dashboard import Monitor
from tutelage.service.dashboard.arms import arm_view
from tutelage.service.dashboard.charts import regret_of, window_of
from tutelage.service.dashboard.following import Follower
from tutelage.service.dashboard.pages import client_page, render
from tutelage.service.dashboard.reading import past_figures
from tutelage.service.monitoring.figures import Sample, Server
from tutelage.service.monitoring.history import History, from_ledger
from tutelage.service.monitoring.metrics import metrics_text
from tutelage.service.monitoring.status import ALERTS, CANNOT_BE_SERVED, states_of
from tutelage.stores import open_store
from tutelage.stores.base import pages

ROOT = Path(__file__).parents[3]
MEANS = (0.1, 0.9)


def settings(**changes):
    """A campaign that decides after some hundred pulls."""
    given = {"name": "c", "arms": ("x", "y"), "clients": ("a", "b"), "horizon": 2000, "teacher": "twl"}
    return Settings(**given | changes)


@contextlib.asynccontextmanager
async def watched(store, address=""):
    """A bridge and a watcher at work."""
    handoff, readers = Handoff(store, address=address), Readers(store)
    handoff.start()
    monitor = Monitor(handoff, readers, name="here")
    yield handoff, monitor
    await handoff.stop()
    monitor.close()
    readers.close()


async def play(handoff, rounds, *, start=0, name="c", clients=("a", "b"), arms=("x", "y"), means=MEANS):
    """Every client pulls the arms in turn, one request a round."""
    for round in range(start, start + rounds):
        arm = round % len(arms)
        sent = [PullRequest(f"{round}-{client}", client, arms[arm], means[arm]) for client in clients]
        await handoff.ask(PullJob(name, pulls=sent))


def followed(store, name):
    """A campaign as a server shows it that does not lead it."""
    return Follower(store, *store.load(name), 0.0).figures(Server(leads=False), 0.0)


def on_store(tmp_path, act):
    """Run ``act(store, bridge, watcher)`` on a new store with a campaign that has started."""

    async def run():
        store = open_store(f"sqlite:///{tmp_path / 'figures.db'}")
        try:
            async with watched(store) as (handoff, monitor):
                await handoff.ask(CreateJob("c", settings=settings(), start=True))
                return await act(store, handoff, monitor)
        finally:
            store.close()

    return asyncio.run(run())


def test_figures_are_the_campaigns(tmp_path):
    """Pulls, quota and estimates are those of what was sent; later pulls do not change them."""

    async def act(store, handoff, monitor):
        await play(handoff, 21)
        figures = await monitor.figures("c")
        await play(handoff, 10, start=21)
        return figures

    taken = on_store(tmp_path, act).taken
    assert taken.pulls.tolist() == [[11, 10], [11, 10]]
    assert taken.round == 21
    assert (taken.quota - taken.missing[0]).tolist() == [11, 10]
    assert taken.filled == pytest.approx(42 / (4 * taken.quota[0]))
    assert taken.estimates == pytest.approx(MEANS)
    assert taken.status == "running"


def test_a_decision_is_told_with_its_bounds_and_its_place(tmp_path):
    """Bounds, directive and position are the ledger's; cost before and after it are apart."""

    async def act(store, handoff, monitor):
        await play(handoff, 600)
        figures = await monitor.figures("c")
        entries = [entry for entry in store.entries("c", 0, 1000) if entry.kind == "decided"]
        return figures, entries, past_figures(store, "c", 200, Server())

    figures, entries, past = on_store(tmp_path, act)
    taken, told = figures.taken, figures.told
    assert taken.target == 1
    assert told.settled.position == entries[-1].position
    assert told.settled.directive == len(entries)
    assert told.lower[1] > told.upper[0]
    assert 0 < told.settled.cost < taken.cost
    assert told.events[0].sentence.endswith("decided for y")
    assert told.events[-1].sentence == "Started"
    assert past.taken.target is None
    assert past.taken.rounds.tolist() == [200, 200]
    assert past.at == 200


def test_another_servers_campaign_is_read_from_the_ledger(tmp_path):
    """What a follower shows equals what the leader shows."""

    async def act(store, handoff, monitor):
        await play(handoff, 300)
        return await monitor.figures("c"), followed(store, "c")

    ours, theirs = on_store(tmp_path, act)
    assert (ours.taken.pulls == theirs.taken.pulls).all()
    assert ours.taken.estimates.tolist() == theirs.taken.estimates.tolist()
    assert ours.taken.position == theirs.taken.position
    assert ours.told.events == theirs.told.events


def test_a_teacher_whose_rules_remember_is_read_back(tmp_path):
    """BLT's levels survive a snapshot: a campaign of its is loaded anew from what a decision stored."""

    async def act(store, handoff, monitor):
        await handoff.ask(CreateJob("blt", settings=settings(name="blt", teacher="blt"), start=True))
        await play(handoff, 120, name="blt")
        return await monitor.figures("blt"), followed(store, "blt")

    ours, theirs = on_store(tmp_path, act)
    assert ours.taken.directive > 1
    assert ours.taken.cost == theirs.taken.cost


def test_what_a_teacher_gives_up_is_told_everywhere(tmp_path):
    """BLT at a tie leads to an arm that is no target: the leader, a follower and Prometheus say so."""

    async def act(store, handoff, monitor):
        tie = settings(name="tie", teacher="blt(hope=0)", horizon=400)
        await handoff.ask(CreateJob("tie", settings=tie, start=True))
        before = await monitor.figures("tie")
        await play(handoff, 60, name="tie", means=(0.5, 0.5))
        monitor._clock = lambda: before.now + 2
        return before, await monitor.figures("tie"), followed(store, "tie")

    before, ours, theirs = on_store(tmp_path, act)
    assert before.taken.provisional is None
    for figures in (ours, theirs):
        assert (figures.taken.provisional, figures.taken.target, figures.taken.led_to) == (0, None, 0)
        assert "given up" in {state.kind for state in states_of(figures)}
    assert b'tutelage_given_up{campaign="tie"} 1.0' in metrics_text([ours], Server())
    assert b'tutelage_cannot_end{campaign="tie"} 0.0' in metrics_text([ours], Server())


def test_a_campaign_that_is_not_there(tmp_path):
    """It is refused, and nothing is kept of its name."""

    async def act(store, handoff, monitor):
        with pytest.raises(Refusal, match="nothing") as caught:
            await monitor.figures("nothing")
        return caught.value.reason, dict(monitor._watched)

    assert on_store(tmp_path, act) == ("unknown-campaign", {})


def test_an_old_answer_says_so(tmp_path):
    """If the writer does not get to a look in time, the page shows the last figures with their age."""

    async def act(store, handoff, monitor):
        first = await monitor.figures("c")
        times = itertools.count(first.now + 100)
        monitor._clock = lambda: next(times)

        async def never(job):
            raise Refusal("unavailable", "The store has failed.")

        handoff.ask = never
        return first, await monitor.figures("c")

    first, second = on_store(tmp_path, act)
    assert second.taken is first.taken
    assert second.now - second.time >= 100


def test_a_name_that_is_used_again(tmp_path):
    """A deleted campaign's history and events are not shown for a new one of its name."""

    async def act(store, handoff, monitor):
        await play(handoff, 30)
        first = await monitor.figures("c")
        for act in ("stop", "exported", "delete"):
            await handoff.ask(ActionJob("c", act=act))
        await handoff.ask(CreateJob("c", settings=settings(arms=("x", "y", "z")), start=True))
        monitor._clock = lambda: first.now + 2
        return first, await monitor.figures("c")

    first, second = on_store(tmp_path, act)
    assert first.taken.round == 30
    assert second.recent.arm_pulls[-1].tolist() == [0, 0, 0]
    assert [event.sentence for event in second.told.events] == ["Started"]


def test_one_rendering_serves_all(tmp_path):
    """Two viewers within a second get the same text, and the writer is asked once."""

    async def act(store, handoff, monitor):
        pairs = await asyncio.gather(*(monitor.rendered("c") for _ in range(20)))
        return {id(rendered) for _, rendered in pairs}

    assert len(on_store(tmp_path, act)) == 1


def samples(times, rate):
    """Client 0 pulls arm 0 ``rate`` times a second, client 1 once in ten seconds."""
    for time in times:
        pulls = np.array([[int(rate * time), 0], [0, int(time // 10)]])
        yield float(time), Sample(0, pulls, time / 2, 0, 0)


def test_rates_gaps_and_silences():
    """Ten minutes of steady pulls, then client 1 falls silent: its usual gap stays what it was."""
    times = samples(range(601), 5)
    history = History(*next(times))
    for time, taken in times:
        history.add(time, taken)
    last = taken
    for second in range(601, 701):
        pulls = np.array([[5 * second, 0], last.pulls[1]])
        history.add(float(second), Sample(0, pulls, second / 2, 0, 0))
    recent = history.recent(700.0, factories.learning(2, 2).taken)
    assert recent.silent.tolist() == [0.0, 100.0]
    assert recent.usual_interval == pytest.approx([0.2, 10.0], rel=0.02)
    assert 300 <= recent.span <= 315
    assert recent.window[0, 0] == 5 * recent.span
    assert recent.minute_cost == pytest.approx(recent.minute_span / 2)


def test_a_usual_gap_is_between_two_pulls():
    """What was before the first one is none, and ten make it usual: rare or quick, whoever pulls."""
    history = History(0.0, Sample(0, np.zeros((2, 1), dtype=np.int64), 0.0, 0, 0))
    seen = []
    for pulls in range(1, 13):
        history.add(500.0 + 60 * pulls, Sample(pulls, np.array([[pulls], [0]]), 0.0, 0, 0))
        recent = history.recent(500.0 + 60 * pulls, factories.learning(2, 1).taken)
        seen.append((recent.usual_interval[0], recent.is_usual.tolist()))
    assert np.isnan(seen[0][0])
    assert [gap for gap, _ in seen[1:]] == pytest.approx([60.0] * 11)
    assert [usual for _, usual in seen] == [[False, False]] * 10 + [[True, False]] * 2


def test_pulls_beyond_the_horizon_are_counted_apart(tmp_path):
    """Rounds end at it; the page and Prometheus tell what came behind."""

    async def act(store, handoff, monitor):
        await handoff.ask(CreateJob("d", settings=settings(name="d", horizon=30), start=True))
        await play(handoff, 32, name="d")
        return await monitor.figures("d")

    figures = on_store(tmp_path, act)
    assert (figures.taken.round, figures.taken.beyond_horizon) == (30, 4)
    text = metrics_text([figures], Server()).decode()
    assert 'tutelage_beyond_horizon_pulls_total{campaign="d"} 4.0' in text
    assert 'tutelage_round{campaign="d"} 30.0' in text
    numbers = render(figures).panels["numbers"]
    assert "<b>60</b><span>pulls" in numbers
    assert "and 4 beyond the horizon" in numbers
    assert "30 of 30 rounds, and 2 beyond the horizon" in client_page(figures, 0)


def test_a_history_from_the_ledger(tmp_path):
    """After a restart the last pulls of the ledger say who was seen when, and what it cost."""

    async def act(store, handoff, monitor):
        await play(handoff, 50)
        taken = (await monitor.figures("c")).taken
        last = Sample(taken.position, taken.pulls, taken.cost, 0, 0)
        return taken, last, list(pages(store, "c", 60)), from_ledger(last, [], 1.0)

    taken, last, rows, nothing = on_store(tmp_path, act)
    assert nothing is None
    recent = from_ledger(last, rows, 1.0).recent(rows[-1].time / 1e6 + 7, taken)
    assert recent.silent == pytest.approx([7.0, 7.0], abs=0.5)
    assert int(recent.window.sum()) == len(rows)
    assert recent.arm_pulls[-1].tolist() == last.pulls.sum(axis=0).tolist()
    assert recent.costs[-1] == pytest.approx(last.cost)


def test_charts_survive_a_restart(tmp_path):
    """Another server on the same store draws what the first one drew, from the first pull on."""
    day = 86_400 * 1_000_000

    async def run():
        drawn = []
        for restart in range(2):
            store = open_store(f"sqlite:///{tmp_path / 'figures.db'}")
            async with watched(store) as (handoff, monitor):
                if not restart:
                    handoff.engine.now = itertools.count(20_000 * day, 700_000).__next__
                    await handoff.ask(CreateJob("c", settings=settings(), start=True))
                    await play(handoff, 150)
                    handoff.engine.now = itertools.count(20_001 * day, 700_000).__next__
                    await play(handoff, 30, start=150)
                monitor._clock = lambda: 20_002 * 86_400.0
                drawn.append((await monitor.figures("c")).recent)
            store.close()
        return drawn

    first, second = asyncio.run(run())
    assert first.times[0] == pytest.approx(20_000 * 86_400, abs=5)
    assert first.times.size > 90
    assert first.times.tolist() == second.times.tolist()
    assert first.costs.tolist() == second.costs.tolist()
    assert first.arm_pulls.tolist() == second.arm_pulls.tolist()


def test_the_regret_lies_within_its_band():
    """Known means within their intervals: their regret lies within the band, the estimate too."""
    figures = factories.learning(4, 6)
    view = arm_view(figures)
    pulls = figures.taken.pulls.sum(axis=0, keepdims=True)
    middle, lower, upper = regret_of(view, pulls, None)
    random = np.random.default_rng(1)
    for _ in range(100):
        means = random.uniform(view.lower, view.upper)
        true = float((pulls[0] * (means[0] - means)).sum())
        assert true <= upper[0]
    assert lower[0] <= middle[0] <= upper[0]


def test_charts_end_now():
    """A campaign that is silent since a minute has a flat minute at its end."""
    figures = factories.learning()
    later = factories.with_recent(figures, times=figures.recent.times - 60)
    window = window_of(later)
    assert window.ago[-1] == -60.0
    assert window.span >= 300


def test_metrics_are_read_by_prometheus():
    """Every alert is a gauge of its name; a campaign's name is its label."""
    states = factories.every_state()
    figures = [factories.with_taken(made, name=name.replace(" ", "-")) for name, made in states.items()]
    found = list(text_string_to_metric_families(metrics_text(figures, Server(disk=0.01)).decode()))
    families = {family.name: family for family in found}
    assert len(families) == len(found)
    page = (ROOT / "docs" / "dashboard.md").read_text(encoding="utf-8")
    assert [name for name in families if f"`{name}`" not in page and f"`{name}_total`" not in page] == []
    for alert in set(ALERTS) - {CANNOT_BE_SERVED}:
        family = families["tutelage_" + alert.replace(" ", "_")]
        values = {sample.labels["campaign"]: sample.value for sample in family.samples}
        assert values[alert.replace(" ", "-")] == 1.0, alert
        assert values["decided"] == 0.0
    pulls = {sample.labels["campaign"]: sample.value for sample in families["tutelage_pulls"].samples}
    assert pulls["learning"] == states["learning"].taken.pulls.sum()
