"""Which campaigns a server watches, whether somebody asks or not, and what it says of those it cannot."""

import asyncio
import contextlib
import itertools

import pytest
from tests.service.monitoring.test_figures import on_store, play, settings, watched
from tests.stores import cluster

from tutelage.service.api.problems import Problem
from tutelage.service.campaigns.engine import ActionJob, CreateJob
from tutelage.service.campaigns.messages import Refusal
from tutelage.service.campaigns.settings import RULES_VERSION
from tutelage.service.dashboard import Monitor
from tutelage.service.dashboard.unserved import Unserved
from tutelage.service.monitoring.metrics import metrics_text
from tutelage.service.monitoring.monitor import MOST_PASTS, TAKE_UP_SECONDS
from tutelage.service.monitoring.status import states_of
from tutelage.stores import open_store
from tutelage.stores.base import Change, EntryRow, Head, StoreBroken, StoreError, StoreFull

LONG_AGO = 1_500_000_000.0
SENTENCE = "The disk is full."


async def led(monitor):
    """Campaigns as ``/metrics`` has them, with the kinds of their states."""
    found = await monitor.led_figures()
    return {
        one.name if isinstance(one, Unserved) else one.taken.name: [one.state.kind]
        if isinstance(one, Unserved)
        else [state.kind for state in states_of(one, monitor.thresholds)]
        for one in found
    }


def later(monitor, seconds):
    """The watcher's clock stands so much later."""
    now = monitor._clock() + seconds
    monitor._clock = lambda: now


def fails(error):
    """Something that does."""

    def act(*arguments, **options):
        raise error

    return act


@pytest.mark.parametrize("error", [StoreFull(SENTENCE), StoreBroken(SENTENCE)], ids=["full", "broken"])
def test_a_store_that_fails_is_an_alert_of_every_campaign(tmp_path, error):
    """Though the engine has dropped them from memory; whatever cannot be read anew stands as it was."""

    async def act(store, handoff, monitor):
        await play(handoff, 10)
        await monitor.watch()
        later(monitor, 1)
        store.append = fails(error)
        with pytest.raises(Refusal, match=SENTENCE):
            await play(handoff, 1, start=10)
        assert not handoff.engine.sessions
        text = metrics_text(await monitor.led_figures(), monitor.server()).decode()
        return text, await led(monitor)

    text, found = on_store(tmp_path, act)
    assert 'tutelage_store_lagging{campaign="c"} 1.0' in text
    assert 'tutelage_pulls_total{campaign="c"} 20.0' in text
    assert found["c"][0] == "store lagging"


def test_a_store_that_cannot_even_be_read(tmp_path):
    """Neither a page nor a metric fails: the last figures stand."""

    async def act(store, handoff, monitor):
        await play(handoff, 10)
        await monitor.watch()
        later(monitor, 30)
        store.load = store.lead = fails(StoreError("No connection."))
        handoff.engine.sessions.clear()
        handoff.engine.failure = "No connection."
        return await led(monitor), (await monitor.all_figures())[0].server.failure

    found, failure = on_store(tmp_path, act)
    assert found["c"][:2] == ["store lagging", "cut off"]
    assert failure == "No connection."


def test_after_a_restart_every_running_campaign_is_watched(tmp_path):
    """Without anybody asking; silence counts from the last pull, or from the start if there was none."""

    async def run():
        url = f"sqlite:///{tmp_path / 'figures.db'}"
        store = open_store(url)
        async with watched(store) as (handoff, _):
            handoff.engine.now = itertools.count(int(LONG_AGO * 1e6)).__next__
            for name in ("pulled", "never", "stopped"):
                await handoff.ask(CreateJob(name, settings=settings(name=name), start=True))
            await play(handoff, 10, name="pulled")
            await handoff.ask(ActionJob("stopped", act="stop"))
            await handoff.ask(CreateJob("registering", settings=settings(name="registering")))
        store.close()
        store = open_store(url)
        async with watched(store) as (_, monitor):
            monitor._clock = lambda: LONG_AGO + 1_000.0
            await monitor.watch()
            found = await monitor.led_figures()
            kinds = await led(monitor)
        store.close()
        return {one.taken.name: one.recent.silent.tolist() for one in found}, kinds

    silent, kinds = asyncio.run(run())
    assert silent == {
        "never": pytest.approx([1_000.0] * 2, abs=1),
        "pulled": pytest.approx([1_000.0] * 2, abs=1),
    }
    assert [each[0] for each in kinds.values()] == ["no data", "no data"]


def test_nobody_is_silent_while_a_campaign_is_stopped(tmp_path):
    """A campaign that is started again in the morning does not begin with a red banner."""

    async def act(store, handoff, monitor):
        handoff.engine.now = lambda: int(LONG_AGO * 1e6)
        await play(handoff, 30)
        await handoff.ask(ActionJob("c", act="stop"))
        handoff.engine.now = lambda: int((LONG_AGO + 10_000) * 1e6)
        await handoff.ask(ActionJob("c", act="start"))
        monitor._clock = lambda: LONG_AGO + 10_005
        return await monitor.figures("c")

    assert on_store(tmp_path, act).recent.silent.tolist() == [5.0, 5.0]


def test_a_dead_leaders_campaigns_are_taken_up(new_database):
    """On PostgreSQL, once its lease has ended; before that the other server leads and shows nothing."""
    url = new_database()

    async def run():
        async with contextlib.AsyncExitStack() as stack:
            stores = [open_store(url) for _ in range(2)]
            for store in stores:
                stack.callback(store.close)
            first, one = await stack.enter_async_context(watched(stores[0], address="http://one"))
            _, two = await stack.enter_async_context(watched(stores[1], address="http://two"))
            await first.ask(CreateJob("c", settings=settings(), start=True))
            await one.watch()
            await two.watch()
            before = await led(one), await led(two)
            first.engine.give_up = lambda: None
            await first.stop()  # as if it had been killed
            later(two, TAKE_UP_SECONDS)
            await two.watch()
            meanwhile = await led(two)
            cluster.end_leases(url)
            later(two, TAKE_UP_SECONDS)
            await two.watch()
            return before, meanwhile, await led(two)

    before, meanwhile, after = asyncio.run(run())
    assert before == ({"c": ["learning"]}, {})
    assert meanwhile == {}
    assert after == {"c": ["learning"]}


def unservable(store):
    """Three campaigns that cannot be served: of other rules, without settings, of a damaged ledger."""
    store.create("older", settings(name="older").encode(), 99, 1, "")
    store.create("unreadable", "{}", RULES_VERSION, 1, "")
    store.create("damaged", settings(name="damaged").encode(), RULES_VERSION, 1, "")
    head = Head(1, 1, "running", "{}", "not its digest")
    started = EntryRow(1, 1, "started", 1, "{}")
    store.append([Change("damaged", store.lead("damaged", ""), 0, head, entries=[started])])


def test_what_cannot_be_served_is_said_everywhere(server):
    """A red row in the list, a page with the sentence, a gauge; the other campaigns are as they were."""
    server.create()
    unservable(server.store)
    page = server.call("GET", "/")
    assert page.status_code == 200
    assert page.text.count('<span class="pill red">cannot be served</span>') == 3
    assert "older began under rules 99, which this release lacks" in page.text
    assert page.text.index("c/older/") < page.text.index("c/c/")
    assert "<title>cannot be served · Tutelage" in page.text
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


def test_what_runs_and_cannot_be_served_is_found_out(tmp_path):
    """Though nobody asks for it; it is tried once a minute, and forgotten once it has been served."""

    async def act(store, handoff, monitor):
        unservable(store)
        loads, load = [], store.load
        store.load = lambda name: loads.append(name) or load(name)
        await monitor.watch()
        found, tries = await led(monitor), loads.count("damaged")
        for _ in range(5):
            later(monitor, 5)
            await monitor.watch()
            await led(monitor)
        again = loads.count("damaged")
        later(monitor, 60)
        await monitor.watch()
        return found, tries, again, loads.count("damaged")

    found, tries, again, at_last = on_store(tmp_path, act)
    assert found == {"c": ["learning"], "damaged": ["cannot be served"]}
    assert again == tries
    assert at_last > again


def test_a_campaign_that_there_is_no_answer_for_is_in_the_list(tmp_path):
    """The list says so in its row."""

    async def act(store, handoff, monitor):
        ask = handoff.ask

        async def busy(job):
            if job.name == "c":
                raise Problem("busy", "Too much waits.")
            return await ask(job)

        await handoff.ask(CreateJob("d", settings=settings(name="d"), start=True))
        handoff.ask = busy
        return await monitor.all_figures()

    first, second = on_store(tmp_path, act)
    assert (first.name, first.state.kind, first.state.sentence) == ("c", "cut off", "Too much waits.")
    assert second.taken.name == "d"


class Slow:
    """Readers that finish when they are told to, and count how many read at once."""

    def __init__(self):
        self.end, self.now, self.most = asyncio.Event(), 0, 0

    async def read(self, look):
        self.now += 1
        self.most = max(self.most, self.now)
        await self.end.wait()
        self.now -= 1
        return look


def test_pages_of_the_past_are_made_one_at_a_time():
    """Whoever asks for many, and goes away, does not occupy the readers; beyond a few it is 429."""

    async def run():
        readers = Slow()
        monitor = Monitor(None, readers)
        asked = [asyncio.ensure_future(monitor.past("c", round)) for round in range(1, MOST_PASTS + 1)]
        await asyncio.sleep(0)
        beyond = asyncio.ensure_future(monitor.past("c", 9))
        await asyncio.sleep(0)
        assert beyond.done()
        asked[0].cancel()
        await asyncio.sleep(0)
        readers.end.set()
        await asyncio.gather(*asked, return_exceptions=True)
        await monitor.past("c", 1)
        monitor.close()
        return readers.most, beyond.exception().kind

    assert asyncio.run(run()) == (1, "busy")
