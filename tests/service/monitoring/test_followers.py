"""Campaigns that another server leads: rebuilt once, then kept up to date, and only a few in memory."""

import asyncio
import dataclasses
import itertools

import numpy as np
import pytest
from tests.service.monitoring.monitored_store import make_settings, pull_rounds, run_on_store

from tutelage.service.campaigns.handoff import Readers
from tutelage.service.campaigns.messages import NotLeader, PullRequest, Refusal
from tutelage.service.campaigns.writer import ActionJob, CreateJob, PullJob
from tutelage.service.monitoring import followers as module
from tutelage.service.monitoring.campaign_view import ServerHealth
from tutelage.service.monitoring.followers import Follower, Followers
from tutelage.stores.base import CampaignNotFound

NOW = 2_000_000_000.0
THEM = ServerHealth(leads=False, leader="http://them")


class RecordingReaders:
    """Readers that record the positions from which ledgers are read, and count the requests."""

    def __init__(self, store):
        self.readers, self.store, self.after, self.requests = Readers(store), store, [], 0
        self.asked = asyncio.Event()

    async def read(self, look):
        self.requests += 1
        self.asked.set()
        return await self.readers.read(lambda reader: look(self.recorder(reader)))

    def recorder(self, reader):
        class Recorder:
            load, entries = reader.load, reader.entries

            @staticmethod
            def read(name, after, limit):
                self.after.append((name, after))
                return reader.read(name, after, limit)

        return Recorder


def run_followers(tmp_path, act):
    """Run ``act(handoff, followers, recording)`` next to a leader of the campaign ``c``."""

    async def run(store, handoff, monitor):
        ticks = itertools.count(int(NOW * 1e6), 700_000)
        handoff.writer.now = lambda: clock.append(next(ticks)) or clock[-1]
        recording, clock = RecordingReaders(store), [int(NOW * 1e6)]
        try:
            return await act(handoff, Followers(recording, lambda: clock[-1] / 1e6), recording)
        finally:
            recording.readers.close()

    return run_on_store(tmp_path, run)


def values(thing):
    """Return all values of a view, to be compared."""
    if dataclasses.is_dataclass(thing):
        return {each.name: values(getattr(thing, each.name)) for each in dataclasses.fields(thing)}
    if isinstance(thing, np.ndarray):
        return thing.shape, [repr(value) for value in thing.ravel().tolist()]  # NaN is NaN
    if isinstance(thing, tuple):
        return [values(each) for each in thing]
    return repr(thing)


def new_follower_view(recording, now, name="c"):
    """Return the view of a new follower of the campaign."""
    reader = recording.store.reader()
    try:
        stored, snapshot = reader.load(name)
        return Follower(reader, stored, snapshot, now).view(THEM, now)
    finally:
        reader.close()


async def changes(handoff):
    """Make changes in turn: pulls with decisions, a bypass report, a stop, a start, an exclusion."""
    clients = ("a", "b")
    yield await pull_rounds(handoff, 7)
    yield await pull_rounds(handoff, 250, start=7)
    late = [PullRequest("3-a", "a", "y", 0.9, bypassed=True)]
    yield await handoff.ask(PullJob("c", pulls=late))
    yield await handoff.ask(ActionJob("c", act="stop"))
    yield await handoff.ask(ActionJob("c", act="start"))
    yield await handoff.ask(ActionJob("c", act="exclude", client="b"))
    yield await pull_rounds(handoff, 350, start=257, clients=clients)
    yield await pull_rounds(handoff, 1, start=607, clients=("a",))


def test_catching_up_equals_rebuilding(tmp_path):
    """Every number of the campaign, its charts and its events are equal after every change.

    Recent counters start at marks 15 seconds apart, in which each pair has about 11 pulls.
    """

    async def act(handoff, followers, recording):
        seen = []
        async for _ in changes(handoff):
            view = await followers.view("c", THEM)
            seen.append((view, new_follower_view(recording, view.now)))
        return seen

    seen = run_followers(tmp_path, act)
    assert seen[-1][0].metrics.target == 1
    assert seen[-1][0].metrics.is_evidence.tolist() == [True, False]
    assert "1 adjustment reported as bypassed" in {event.sentence for event in seen[-1][0].ledger.events}
    for ours, theirs in seen:
        for part in ("metrics", "ledger", "server", "measured", "now"):
            assert values(getattr(ours, part)) == values(getattr(theirs, part)), part
        for part in ("times", "arm_pulls", "costs"):
            assert values(getattr(ours.activity.points, part)) == values(getattr(theirs.activity.points, part)), part
        for part, within in (
            ("silence", 1),
            ("usual_interval", 0.5),
            ("window_pulls", 25),
            ("window_seconds", 16),
            ("minute_pulls", 25),
        ):
            ours_now, theirs_now = getattr(ours.activity, part), getattr(theirs.activity, part)
            assert ours_now == pytest.approx(theirs_now, abs=within, nan_ok=True), part


def test_only_new_rows_are_read(tmp_path):
    """A second request starts where the first one ended; without new rows it reads nothing."""

    async def act(handoff, followers, recording):
        await pull_rounds(handoff, 200)
        first = await followers.view("c", THEM)
        recording.after.clear()
        await followers.view("c", THEM)
        unread = list(recording.after)
        await pull_rounds(handoff, 3, start=200)
        second = await followers.view("c", THEM)
        return first, unread, recording.after, second

    first, unread, after, second = run_followers(tmp_path, act)
    assert unread == []
    assert second.metrics.round == first.metrics.round + 3
    assert min(position for _, position in after) == first.metrics.position


def test_a_follower_far_behind_is_rebuilt(tmp_path, monkeypatch):
    """From the newest snapshot, which is nearer than the end of the last request."""
    monkeypatch.setattr(module, "HISTORY_ROWS", 50)

    async def act(handoff, followers, recording):
        await pull_rounds(handoff, 10)
        await followers.view("c", THEM)
        recording.after.clear()
        await pull_rounds(handoff, 300, start=10)
        view = await followers.view("c", THEM)
        return view, new_follower_view(recording, view.now), recording.after

    ours, theirs, after = run_followers(tmp_path, act)
    assert ("c", 21) not in after
    assert values(ours) == values(theirs)


def test_clients_that_register_between_two_requests(tmp_path):
    """Before the start there are no pulls; the first ones may come with the last clients."""

    async def act(handoff, followers, recording):
        await handoff.ask(CreateJob("open", settings=make_settings(name="open", clients=(), open_registration=True)))
        views = [await followers.view("open", THEM)]
        await handoff.ask(ActionJob("open", act="register", client="a"))
        views.append(await followers.view("open", THEM))
        await handoff.ask(ActionJob("open", act="register", client="b"))
        await handoff.ask(ActionJob("open", act="start"))
        await pull_rounds(handoff, 5, name="open")
        views.append(await followers.view("open", THEM))
        return views

    views = run_followers(tmp_path, act)
    assert [view.metrics.clients for view in views] == [(), ("a",), ("a", "b")]
    assert [view.metrics.pulls.tolist() for view in views] == [[], [[0, 0]], [[3, 2], [3, 2]]]
    assert views[-1].activity.window_pulls.shape == (2, 2)


def test_a_reused_name(tmp_path):
    """The new campaign is shown without anything of the old one; a deleted one does not stay in memory."""

    async def act(handoff, followers, recording):
        await pull_rounds(handoff, 30)
        first = await followers.view("c", THEM)
        for each in ("stop", "exported", "delete"):
            await handoff.ask(ActionJob("c", act=each))
        with pytest.raises((CampaignNotFound, Refusal)):
            await followers.view("c", THEM)
        followers_before = dict(followers._kept)
        await handoff.ask(CreateJob("c", settings=make_settings(arms=("x", "y", "z")), start=True))
        await followers.view("c", THEM)
        for each in ("stop", "exported", "delete"):
            await handoff.ask(ActionJob("c", act=each))
        await handoff.ask(CreateJob("c", settings=make_settings(), start=True))
        await pull_rounds(handoff, 40)
        return first, followers_before, await followers.view("c", THEM)

    first, followers_before, last = run_followers(tmp_path, act)
    assert (first.metrics.round, last.metrics.round) == (30, 40)
    assert followers_before == {}
    assert [event.sentence for event in last.ledger.events] == ["Started"]


def test_few_followers_are_kept(tmp_path, monkeypatch):
    """Those in use keep their places; one that is not requested any more makes room."""
    monkeypatch.setattr(module, "MAX_FOLLOWERS", 2)

    async def act(handoff, followers, recording):
        for name in ("d", "e"):
            await handoff.ask(CreateJob(name, settings=make_settings(name=name), start=True))
        time = [NOW]
        followers._clock = lambda: time[0]
        in_memory = []
        for later, name in ((0, "c"), (0, "d"), (1, "e"), (1, "c"), (module.IDLE_SECONDS, "e")):
            time[0] += later
            await followers.view(name, THEM)
            in_memory.append(sorted(followers._kept))
        followers.forget("e")
        return in_memory, sorted(followers._kept)

    in_memory, left = run_followers(tmp_path, act)
    assert in_memory == [["c"], ["c", "d"], ["c", "d"], ["c", "d"], ["c", "e"]]
    assert left == ["c"]


def test_a_cancelled_request_serves_the_next_one(tmp_path):
    """However long a ledger takes, it is read once, not once per request."""

    async def act(handoff, followers, recording):
        await pull_rounds(handoff, 20)
        first = asyncio.ensure_future(followers.view("c", THEM))
        await recording.asked.wait()
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        view = await followers.view("c", THEM)
        return view, recording.requests, list(followers._kept)

    view, requests, in_memory = run_followers(tmp_path, act)
    assert view.metrics.round == 20
    assert (requests, in_memory) == (1, ["c"])


def test_a_follower_keeps_no_pulls_for_replays(tmp_path):
    """It does not answer senders."""

    async def act(handoff, followers, recording):
        for rounds in (0, 30):
            await pull_rounds(handoff, 30, start=rounds)
            await followers.view("c", THEM)
        return followers._kept["c"][0]._session

    assert len(run_followers(tmp_path, act).cache) == 0


def test_a_server_that_loses_its_lead_and_regains_it(tmp_path):
    """Meanwhile its page says who leads; then it drops its follower."""

    async def act(store, handoff, monitor):
        await pull_rounds(handoff, 10)
        ask, clock = handoff.ask, itertools.count(int(NOW), 2)
        monitor._clock = lambda: float(next(clock))

        async def refused(job):
            raise NotLeader("c", "http://them")

        handoff.ask = refused
        follower = await monitor.view("c")
        followed = list(monitor._followers._kept)
        handoff.ask = ask
        return follower, followed, await monitor.view("c"), list(monitor._followers._kept)

    follower, followed, leader, left = run_on_store(tmp_path, act)
    assert (follower.server.leads, follower.server.leader) == (False, "http://them")
    assert leader.server.leads
    assert follower.metrics.pulls.tolist() == leader.metrics.pulls.tolist()
    assert (followed, left) == (["c"], [])
