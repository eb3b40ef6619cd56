"""Campaigns that another server leads: made from the ledger once, then read on, and only a few are kept."""

import asyncio
import dataclasses
import itertools

import numpy as np
import pytest
from tests.service.monitoring.test_figures import on_store, play, settings

from tutelage.service.api.handoff import Readers
from tutelage.service.campaigns.jobs import ActionJob, CreateJob, PullJob
from tutelage.service.campaigns.messages import NotLeader, PullRequest, Refusal
from tutelage.service.dashboard import following
from tutelage.service.dashboard.following import Follower, Following
from tutelage.service.monitoring.figures import Server
from tutelage.stores.base import CampaignNotFound

NOW = 2_000_000_000.0
THEM = Server(leads=False, leader="http://them")


class Recording:
    """Readers that note from which positions ledgers are read, and for which looks they were asked."""

    def __init__(self, store):
        self.readers, self.store, self.after, self.looks = Readers(store), store, [], 0
        self.asked = asyncio.Event()

    async def read(self, look):
        self.looks += 1
        self.asked.set()
        return await self.readers.read(lambda reader: look(self.noting(reader)))

    def noting(self, reader):
        class Noting:
            load, entries = reader.load, reader.entries

            @staticmethod
            def read(name, after, limit):
                self.after.append((name, after))
                return reader.read(name, after, limit)

        return Noting


def following_on(tmp_path, act):
    """Run ``act(bridge, followers, recording)`` beside a leader of the campaign ``c``."""

    async def run(store, handoff, monitor):
        ticks = itertools.count(int(NOW * 1e6), 700_000)
        handoff.engine.now = lambda: clock.append(next(ticks)) or clock[-1]
        recording, clock = Recording(store), [int(NOW * 1e6)]
        try:
            return await act(handoff, Following(recording, lambda: clock[-1] / 1e6), recording)
        finally:
            recording.readers.close()

    return on_store(tmp_path, run)


def values(thing):
    """All that is in figures, to be compared."""
    if dataclasses.is_dataclass(thing):
        return {each.name: values(getattr(thing, each.name)) for each in dataclasses.fields(thing)}
    if isinstance(thing, np.ndarray):
        return thing.shape, [repr(value) for value in thing.ravel().tolist()]  # NaN is NaN
    if isinstance(thing, tuple):
        return [values(each) for each in thing]
    return repr(thing)


def made_anew(recording, now, name="c"):
    """The same campaign as a follower shows it that has seen nothing before."""
    reader = recording.store.reader()
    try:
        stored, snapshot = reader.load(name)
        return Follower(reader, stored, snapshot, now).figures(THEM, now)
    finally:
        reader.close()


async def happenings(handoff):
    """One after the other: pulls with decisions, a bypass report, a stop, a start, a exclusion."""
    clients = ("a", "b")
    yield await play(handoff, 7)
    yield await play(handoff, 250, start=7)
    late = [PullRequest("3-a", "a", "y", 0.9, bypassed=True)]
    yield await handoff.ask(PullJob("c", pulls=late))
    yield await handoff.ask(ActionJob("c", act="stop"))
    yield await handoff.ask(ActionJob("c", act="start"))
    yield await handoff.ask(ActionJob("c", act="exclude", client="b"))
    yield await play(handoff, 350, start=257, clients=clients)
    yield await play(handoff, 1, start=607, clients=("a",))


def test_reading_on_shows_what_making_anew_does(tmp_path):
    """Every number of the campaign, its charts and its events, whatever happens between two looks.

    Counters of late begin at a mark; those are 15 seconds apart, which is some 11 pulls of each pair.
    """

    async def act(handoff, followers, recording):
        seen = []
        async for _ in happenings(handoff):
            figures = await followers.figures("c", THEM)
            seen.append((figures, made_anew(recording, figures.now)))
        return seen

    seen = following_on(tmp_path, act)
    assert seen[-1][0].taken.target == 1
    assert seen[-1][0].taken.counted.tolist() == [True, False]
    assert "1 adjustment reported as bypassed" in {event.sentence for event in seen[-1][0].told.events}
    for ours, theirs in seen:
        for part in ("taken", "told", "server", "time", "now"):
            assert values(getattr(ours, part)) == values(getattr(theirs, part)), part
        for part in ("times", "arm_pulls", "costs"):
            assert values(getattr(ours.recent, part)) == values(getattr(theirs.recent, part)), part
        for part, within in (("silent", 1), ("usual_gap", 0.5), ("window", 25), ("span", 16), ("minute", 25)):
            ours_now, theirs_now = getattr(ours.recent, part), getattr(theirs.recent, part)
            assert ours_now == pytest.approx(theirs_now, abs=within, nan_ok=True), part


def test_only_what_is_new_is_read(tmp_path):
    """A second look begins where the first one ended; one that finds nothing new reads nothing."""

    async def act(handoff, followers, recording):
        await play(handoff, 200)
        first = await followers.figures("c", THEM)
        recording.after.clear()
        await followers.figures("c", THEM)
        unread = list(recording.after)
        await play(handoff, 3, start=200)
        second = await followers.figures("c", THEM)
        return first, unread, recording.after, second

    first, unread, after, second = following_on(tmp_path, act)
    assert unread == []
    assert second.taken.round == first.taken.round + 3
    assert min(position for _, position in after) == first.taken.position


def test_what_is_far_behind_is_made_anew(tmp_path, monkeypatch):
    """From the newest snapshot, which is nearer than where the look before ended."""
    monkeypatch.setattr(following, "SEEDED_ROWS", 50)

    async def act(handoff, followers, recording):
        await play(handoff, 10)
        await followers.figures("c", THEM)
        recording.after.clear()
        await play(handoff, 300, start=10)
        figures = await followers.figures("c", THEM)
        return figures, made_anew(recording, figures.now), recording.after

    ours, theirs, after = following_on(tmp_path, act)
    assert ("c", 21) not in after
    assert values(ours) == values(theirs)


def test_clients_that_register_between_two_looks(tmp_path):
    """Before the start there are no pulls; the first ones may come with the last clients."""

    async def act(handoff, followers, recording):
        await handoff.ask(
            CreateJob("open", settings=settings(name="open", clients=(), open_registration=True))
        )
        shown = [await followers.figures("open", THEM)]
        await handoff.ask(ActionJob("open", act="register", client="a"))
        shown.append(await followers.figures("open", THEM))
        await handoff.ask(ActionJob("open", act="register", client="b"))
        await handoff.ask(ActionJob("open", act="start"))
        await play(handoff, 5, name="open")
        shown.append(await followers.figures("open", THEM))
        return shown

    shown = following_on(tmp_path, act)
    assert [figures.taken.clients for figures in shown] == [(), ("a",), ("a", "b")]
    assert [figures.taken.pulls.tolist() for figures in shown] == [[], [[0, 0]], [[3, 2], [3, 2]]]
    assert shown[-1].recent.window.shape == (2, 2)


def test_a_name_that_is_used_again(tmp_path):
    """The new campaign is shown, and nothing of the old one; one that is gone is missed, and not kept."""

    async def act(handoff, followers, recording):
        await play(handoff, 30)
        first = await followers.figures("c", THEM)
        for each in ("stop", "exported", "delete"):
            await handoff.ask(ActionJob("c", act=each))
        with pytest.raises((CampaignNotFound, Refusal)):
            await followers.figures("c", THEM)
        kept = dict(followers._kept)
        await handoff.ask(CreateJob("c", settings=settings(arms=("x", "y", "z")), start=True))
        await followers.figures("c", THEM)
        for each in ("stop", "exported", "delete"):
            await handoff.ask(ActionJob("c", act=each))
        await handoff.ask(CreateJob("c", settings=settings(), start=True))
        await play(handoff, 40)
        return first, kept, await followers.figures("c", THEM)

    first, kept, last = following_on(tmp_path, act)
    assert (first.taken.round, last.taken.round) == (30, 40)
    assert kept == {}
    assert [event.sentence for event in last.told.events] == ["Started"]


def test_few_are_kept(tmp_path, monkeypatch):
    """Those that are looked at, in bounded number; whoever is no longer looked at makes room."""
    monkeypatch.setattr(following, "MOST_KEPT", 2)

    async def act(handoff, followers, recording):
        for name in ("d", "e"):
            await handoff.ask(CreateJob(name, settings=settings(name=name), start=True))
        time = [NOW]
        followers._clock = lambda: time[0]
        kept = []
        for later, name in ((0, "c"), (0, "d"), (1, "e"), (1, "c"), (following.KEPT_SECONDS, "e")):
            time[0] += later
            await followers.figures(name, THEM)
            kept.append(sorted(followers._kept))
        followers.forget("e")
        return kept, sorted(followers._kept)

    kept, left = following_on(tmp_path, act)
    assert kept == [["c"], ["c", "d"], ["c", "d"], ["c", "d"], ["c", "e"]]
    assert left == ["c"]


def test_a_look_that_nobody_waited_for_is_the_next_ones(tmp_path):
    """However long a ledger takes, it is gone through once, not once for each look."""

    async def act(handoff, followers, recording):
        await play(handoff, 20)
        first = asyncio.ensure_future(followers.figures("c", THEM))
        await recording.asked.wait()
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        figures = await followers.figures("c", THEM)
        return figures, recording.looks, list(followers._kept)

    figures, looks, kept = following_on(tmp_path, act)
    assert figures.taken.round == 20
    assert (looks, kept) == (1, ["c"])


def test_nothing_is_kept_for_replays(tmp_path):
    """A follower answers no sender: it remembers no pull."""

    async def act(handoff, followers, recording):
        for rounds in (0, 30):
            await play(handoff, 30, start=rounds)
            await followers.figures("c", THEM)
        return followers._kept["c"][0]._session

    assert len(following_on(tmp_path, act).remembered) == 0


def test_a_server_that_is_overtaken_follows_and_leads_again(tmp_path):
    """Its page says who leads; once it leads again it follows no more."""

    async def act(store, handoff, monitor):
        await play(handoff, 10)
        ask, clock = handoff.ask, itertools.count(int(NOW), 2)
        monitor._clock = lambda: float(next(clock))

        async def refused(job):
            raise NotLeader("c", "http://them")

        handoff.ask = refused
        follower = await monitor.figures("c")
        followed = list(monitor._following._kept)
        handoff.ask = ask
        return follower, followed, await monitor.figures("c"), list(monitor._following._kept)

    follower, followed, leader, left = on_store(tmp_path, act)
    assert (follower.server.leads, follower.server.leader) == (False, "http://them")
    assert leader.server.leads
    assert follower.taken.pulls.tolist() == leader.taken.pulls.tolist()
    assert (followed, left) == (["c"], [])
