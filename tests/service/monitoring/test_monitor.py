"""Which campaigns a server monitors without being asked, and what it shows of those it cannot serve."""

import asyncio
import contextlib
import itertools
import time
from types import SimpleNamespace

import pytest
from tests.service.monitoring.monitored_store import make_settings, pull_rounds, run_monitor, run_on_store, update
from tests.stores import cluster

from tutelage.service.campaigns.messages import Refusal
from tutelage.service.campaigns.settings import RULES_VERSION
from tutelage.service.campaigns.writer import ActionJob, CreateJob, ReadJob
from tutelage.service.monitoring import ledger_views
from tutelage.service.monitoring.campaign_view import sample_counters
from tutelage.service.monitoring.load_checks import UnservableCampaign
from tutelage.service.monitoring.monitor import MAX_PAST_VIEWS, Monitor
from tutelage.service.monitoring.prometheus import render_metrics
from tutelage.service.monitoring.status import status_of
from tutelage.stores import open_store
from tutelage.stores.base import Change, EntryRow, Head, StoreBroken, StoreError, StoreFull

LONG_AGO = 1_500_000_000.0
SENTENCE = "The disk is full."


async def led_kinds(monitor):
    """Return the campaigns of ``/metrics`` with the kinds of their status items."""
    found = await monitor.led_views()
    return {
        one.name if isinstance(one, UnservableCampaign) else one.metrics.name: [one.item.kind]
        if isinstance(one, UnservableCampaign)
        else [item.kind for item in status_of(one, monitor.thresholds)]
        for one in found
    }


def advance_clock(monitor, seconds):
    """Advance the monitor's clock."""
    now = monitor._clock() + seconds
    monitor._clock = lambda: now
    later = monitor._failover.clock() + seconds
    monitor._failover.clock = lambda: later


def failing(error):
    """Return a function that raises an error."""

    def act(*arguments, **options):
        raise error

    return act


@pytest.mark.parametrize("error", [StoreFull(SENTENCE), StoreBroken(SENTENCE)], ids=["full", "broken"])
def test_a_store_that_fails_is_an_alert_of_every_campaign(tmp_path, error):
    """Even after the writer has dropped them from memory; what cannot be read again stays as it was."""

    async def act(store, handoff, monitor):
        await pull_rounds(handoff, 10)
        await update(monitor)
        advance_clock(monitor, 1)
        store.append = failing(error)
        with pytest.raises(Refusal, match=SENTENCE):
            await pull_rounds(handoff, 1, start=10)
        assert not handoff.writer.sessions
        text = render_metrics(await monitor.led_views(), monitor.server_health()).decode()
        return text, await led_kinds(monitor)

    text, found = run_on_store(tmp_path, act)
    assert 'tutelage_store_lagging{campaign="c"} 1.0' in text
    assert 'tutelage_pulls_total{campaign="c"} 20.0' in text
    assert found["c"][0] == "store lagging"


def test_a_store_that_cannot_even_be_read(tmp_path):
    """Neither a page nor a metric fails: the last view is shown."""

    async def act(store, handoff, monitor):
        await pull_rounds(handoff, 10)
        await update(monitor)
        advance_clock(monitor, 30)
        store.load = store.lead = failing(StoreError("No connection."))
        handoff.writer.sessions.clear()
        handoff.writer.failure = "No connection."
        return await led_kinds(monitor), (await monitor.all_views())[0].server.failure

    found, failure = run_on_store(tmp_path, act)
    assert found["c"][:2] == ["store lagging", "outdated"]
    assert failure == "No connection."


def test_after_a_restart_every_running_campaign_is_monitored(tmp_path):
    """Without being asked; silence counts from the last pull, or from the start if there was none."""

    async def run():
        url = f"sqlite:///{tmp_path / 'view.db'}"
        store = open_store(url)
        async with run_monitor(store) as (handoff, _):
            handoff.writer.now = itertools.count(int(LONG_AGO * 1e6)).__next__
            for name in ("pulled", "never", "stopped"):
                await handoff.ask(CreateJob(name, settings=make_settings(name=name), start=True))
            await pull_rounds(handoff, 10, name="pulled")
            await handoff.ask(ActionJob("stopped", act="stop"))
            await handoff.ask(CreateJob("registering", settings=make_settings(name="registering")))
        store.close()
        store = open_store(url)
        async with run_monitor(store) as (_, monitor):
            monitor._clock = lambda: LONG_AGO + 1_000.0
            await update(monitor)
            found = await monitor.led_views()
            kinds = await led_kinds(monitor)
        store.close()
        return {one.metrics.name: one.activity.silence.tolist() for one in found}, kinds

    silent, kinds = asyncio.run(run())
    assert silent == {"never": pytest.approx([1_000.0] * 2, abs=1), "pulled": pytest.approx([1_000.0] * 2, abs=1)}
    assert [each[0] for each in kinds.values()] == ["no data", "no data"]


def test_a_list_of_many_campaigns_does_not_wait_for_all(tmp_path, monkeypatch):
    """Campaigns whose view is not made in time are shown as last seen, or as not loaded."""
    monkeypatch.setattr("tutelage.service.monitoring.monitor.LIST_SECONDS", 0.0)

    async def act(store, handoff, monitor):
        await pull_rounds(handoff, 10)
        before = await monitor.all_views()
        seen = await monitor.view("c")
        again = await monitor.all_views()
        advance_clock(monitor, 1_000)
        return before, seen, again, await monitor.all_views()

    before, seen, again, later = run_on_store(tmp_path, act)
    assert [(one.name, one.item.kind) for one in before] == [("c", "outdated")]
    assert again == [seen]
    assert [one.metrics for one in later] == [seen.metrics]
    assert [item.kind for item in status_of(later[0])][:1] == ["outdated"]


def test_a_quiet_campaign_costs_no_query_and_no_job(tmp_path):
    """Neither a list nor a sample asks for what has not changed; both show the next pull."""

    async def act(store, handoff, monitor):
        async def count(step):
            asked.clear()
            advance_clock(monitor, 2)
            found = await step()
            return len(asked), found

        await pull_rounds(handoff, 10)
        await update(monitor)
        advance_clock(monitor, 2)
        await monitor.update()
        asked = []
        ask, read = handoff.ask, monitor._readers.read
        handoff.ask = lambda job: (asked.append(job), ask(job))[1]
        monitor._readers.read = lambda query: (asked.append(query), read(query))[1]
        quiet = await count(monitor.update), await count(monitor.all_views)
        await pull_rounds(handoff, 1, start=10)
        return quiet, await count(monitor.update), await count(monitor.all_views)

    quiet, (num_sampled, _), (num_listed, found) = run_on_store(tmp_path, act)
    ((num_idle, _), (num_idle_listed, (old,))) = quiet
    assert (num_idle, num_idle_listed) == (0, 1)  # the names of all campaigns
    assert num_sampled > num_idle
    assert num_listed > num_idle_listed
    assert int(found[0].metrics.pulls.sum()) == int(old.metrics.pulls.sum()) + 2
    assert old.now - old.measured < 1


def test_only_recent_rows_are_read_after_a_restart(tmp_path, monkeypatch):
    """Back to the last minutes and to some pulls of every client, or to the limit."""
    monkeypatch.setattr(ledger_views, "HISTORY_PAGE", 10)

    async def act(store, handoff, monitor):
        await pull_rounds(handoff, 100)
        counters = await handoff.ask(ReadJob("c", look=sample_counters))
        found = []
        for seconds in (0.0, 1_000.0):
            sizes, read = [], store.reader().read
            reader = SimpleNamespace(read=lambda *given: (sizes.append(given[-1]), read(*given))[1])  # noqa: B023
            ledger_views.load_history(reader, "c", counters, 1.0, time.time() + seconds)
            found.append(sizes)
        return counters.position, found

    position, (busy, quiet) = run_on_store(tmp_path, act)
    assert sum(busy) == position
    assert quiet == [10, 20]


def test_no_client_is_silent_while_a_campaign_is_stopped(tmp_path):
    """A campaign that is continued in the morning does not begin with an alert."""

    async def act(store, handoff, monitor):
        handoff.writer.now = lambda: int(LONG_AGO * 1e6)
        await pull_rounds(handoff, 30)
        await handoff.ask(ActionJob("c", act="stop"))
        handoff.writer.now = lambda: int((LONG_AGO + 10_000) * 1e6)
        await handoff.ask(ActionJob("c", act="start"))
        monitor._clock = lambda: LONG_AGO + 10_005
        return await monitor.view("c")

    assert run_on_store(tmp_path, act).activity.silence.tolist() == [5.0, 5.0]


def test_a_dead_leaders_campaigns_are_taken_up(new_database):
    """On PostgreSQL, once its lease has ended; until then the other server shows nothing."""
    url = new_database()

    async def run():
        async with contextlib.AsyncExitStack() as stack:
            stores = [open_store(url) for _ in range(2)]
            for store in stores:
                stack.callback(store.close)
            first, one = await stack.enter_async_context(run_monitor(stores[0], address="http://one"))
            _, two = await stack.enter_async_context(run_monitor(stores[1], address="http://two"))
            await first.ask(CreateJob("c", settings=make_settings(), start=True))
            await update(one)
            await update(two)
            before = await led_kinds(one), await led_kinds(two)
            first.writer.give_up = lambda: None
            await first.stop()  # as if it had been killed
            await update(two)
            meanwhile = await led_kinds(two)
            cluster.end_leases(url)
            await update(two)
            return before, meanwhile, await led_kinds(two)

    before, meanwhile, after = asyncio.run(run())
    assert before == ({"c": ["learning"]}, {})
    assert meanwhile == {}
    assert after == {"c": ["learning"]}


def create_unservable(store):
    """Create three campaigns that cannot be served: other rules, unreadable settings, a damaged ledger."""
    store.create("older", make_settings(name="older").encode(), 99, 1, "")
    store.create("unreadable", "{}", RULES_VERSION, 1, "")
    store.create("damaged", make_settings(name="damaged").encode(), RULES_VERSION, 1, "")
    head = Head(1, 1, "running", "{}", "not its digest")
    started = EntryRow(1, 1, "started", 1, "{}")
    store.append([Change("damaged", store.lead("damaged", ""), 0, head, entries=[started])])


def test_an_unservable_campaign_is_shown_everywhere(server):
    """A critical row in the list, a page with the reason, a gauge; other campaigns are not affected."""
    server.create()
    create_unservable(server.store)
    page = server.call("GET", "/")
    assert page.status_code == 200
    assert page.text.count('<span class="pill red">cannot be served</span>') == 3
    assert "older uses version 99 of the rules, but this release" in page.text
    assert page.text.index("c/older/") < page.text.index("c/c/")
    assert "<title>cannot be served · Tutelage" in page.text
    listed = {one["name"]: one["items"] for one in server.call("GET", "/v1/status").json()["campaigns"]}
    assert listed["c"] == server.call("GET", "/v1/campaigns/c/status").json()["items"]
    assert [listed[name][0]["kind"] for name in ("older", "unreadable", "damaged")] == ["cannot be served"] * 3
    for name in ("older", "unreadable", "damaged"):
        own = server.call("GET", f"/c/{name}/")
        assert own.status_code == 503
        assert "This campaign cannot be served." in own.text
        assert f"tutelage ledger verify {name}" in own.text
        assert server.call("GET", f"/v1/campaigns/{name}/status").status_code == 503
    metrics = server.call("GET", "/metrics").text
    for name, value in (("older", 1), ("unreadable", 1), ("damaged", 1), ("c", 0)):
        assert f'tutelage_cannot_be_served{{campaign="{name}"}} {value}.0' in metrics
    assert server.call("GET", "/c/c/").status_code == 200


def test_running_campaigns_are_checked_without_being_asked(tmp_path):
    """One that cannot be served is tried again once a minute."""

    async def act(store, handoff, monitor):
        create_unservable(store)
        loads, load = [], store.load
        store.load = lambda name: loads.append(name) or load(name)
        await update(monitor)
        found, tries = await led_kinds(monitor), loads.count("damaged")
        for _ in range(5):
            advance_clock(monitor, 5)
            await update(monitor)
            await led_kinds(monitor)
        again = loads.count("damaged")
        advance_clock(monitor, 60)
        await update(monitor)
        return found, tries, again, loads.count("damaged")

    found, tries, again, at_last = run_on_store(tmp_path, act)
    assert found == {"c": ["learning"], "damaged": ["cannot be served"]}
    assert again == tries
    assert at_last > again


def test_a_campaign_without_an_answer_is_in_the_list(tmp_path):
    """Its row gives the reason."""

    async def act(store, handoff, monitor):
        ask = handoff.ask

        async def busy(job):
            if job.name == "c":
                raise Refusal("busy", "Too much waits.")
            return await ask(job)

        await handoff.ask(CreateJob("d", settings=make_settings(name="d"), start=True))
        handoff.ask = busy
        return await monitor.all_views()

    first, second = run_on_store(tmp_path, act)
    assert (first.name, first.item.kind, first.item.details) == ("c", "outdated", "Too much waits.")
    assert second.metrics.name == "d"


class PausedReaders:
    """Readers that finish when ``end`` is set, and count how many read at the same time."""

    def __init__(self):
        self.end, self.now, self.most = asyncio.Event(), 0, 0

    async def read(self, look):
        self.now += 1
        self.most = max(self.most, self.now)
        await self.end.wait()
        self.now -= 1
        return look


def test_past_views_are_made_one_at_a_time():
    """Cancelled requests for many of them do not occupy the readers; beyond a few the answer is 429."""

    async def run():
        readers = PausedReaders()
        monitor = Monitor(None, readers, None)
        asked = [asyncio.ensure_future(monitor.past_view("c", round)) for round in range(1, MAX_PAST_VIEWS + 1)]
        await asyncio.sleep(0)
        beyond = asyncio.ensure_future(monitor.past_view("c", 9))
        await asyncio.sleep(0)
        assert beyond.done()
        asked[0].cancel()
        await asyncio.sleep(0)
        readers.end.set()
        await asyncio.gather(*asked, return_exceptions=True)
        await monitor.past_view("c", 1)
        return readers.most, beyond.exception().reason

    assert asyncio.run(run()) == (1, "busy")
