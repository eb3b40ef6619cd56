"""Watches campaigns, and renders each at most once a second for all viewers.

Of campaigns that this server leads counters are taken every second, between two groups of the writer; all
else happens in threads of readers and in one thread that renders.  Nothing of it is on the way of a pull.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from tutelage.service.api.handoff import Handoff
from tutelage.service.api.problems import Problem
from tutelage.service.campaigns.jobs import ReadJob
from tutelage.service.campaigns.messages import NotLeader, Refusal
from tutelage.service.campaigns.rebuilding import Disagreement
from tutelage.service.dashboard.following import Following
from tutelage.service.dashboard.pages import Rendered, render
from tutelage.service.dashboard.reading import Reading, past_figures, seeded, take_entries
from tutelage.service.dashboard.unserved import CannotBeServed, Unserved, Verdicts, out_of_sight
from tutelage.service.monitoring.event_log import EventLog, with_pulls
from tutelage.service.monitoring.figures import Figures, Sample, Server, Taken, sample, take
from tutelage.service.monitoring.history import History, pulls_since
from tutelage.service.monitoring.status import CANNOT_BE_SERVED
from tutelage.service.monitoring.thresholds import Thresholds
from tutelage.stores.base import CampaignNotFound, StoreError

LOG = logging.getLogger("tutelage.pages")
LARGE_CELLS, HUGE_CELLS = 5_000, 500_000
DISK_SECONDS = 30.0
TAKE_UP_SECONDS = 3.0
MOST_PASTS = 4  # pages of the past that are made or wait for it
_FAILURES = (TimeoutError, NotLeader, Refusal, Problem, StoreError, Disagreement, CampaignNotFound)
Found = TypeVar("Found")


@dataclass(eq=False)
class _Watched:
    """What is kept of a campaign."""

    history: History | None = None
    event_log: EventLog | None = None
    sampled: float = 0.0
    figures: Figures | None = None
    rendered: Rendered | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Monitor:
    """Figures and pages of every campaign.  ``name`` is how this server is called on its pages."""

    def __init__(
        self,
        handoff: Handoff,
        readers: Reading,
        *,
        name: str = "",
        thresholds: Thresholds | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.thresholds = thresholds or Thresholds()
        self._handoff, self._readers, self._name, self._clock = handoff, readers, name, clock
        self._watched: dict[str, _Watched] = {}
        self._following = Following(readers, clock)
        self._verdicts = Verdicts(readers, self._now)
        self._elsewhere: dict[str, str] = {}  # campaigns that another server leads, and its address
        self._taken_up = 0.0
        self._past, self._pasts = asyncio.Lock(), 0
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="tutelage-pages")

    async def run(self) -> None:
        """Take up what nobody leads, and the counters of every campaign that is led, until cancelled."""
        while True:
            await self.watch()
            await asyncio.sleep(1.0)

    async def watch(self) -> None:
        """One round of that."""
        if self._clock() - self._taken_up >= TAKE_UP_SECONDS:
            self._taken_up = self._clock()
            await self._guarded("*", self._take_up)
        for name in list(self._handoff.engine.sessions):
            watched = self._watched.setdefault(name, _Watched())
            if watched.figures is None:  # there are some from now on, whatever fails
                await self._guarded(name, partial(self.figures, name))
            elif self._clock() - watched.sampled >= _interval(watched):
                watched.sampled = self._clock()
                await self._guarded(name, partial(self._sample, name, watched))

    async def _guarded(self, name: str, act: Callable[[], Awaitable[object]]) -> None:
        """Whatever fails, the other campaigns are watched; a page will tell, and there is another try."""
        try:
            await act()
        except _FAILURES:
            pass
        except Exception:
            LOG.exception("counters", extra={"campaign": name})

    async def _take_up(self) -> None:
        """Lead every running campaign that nobody leads: its alerts are due though nobody asks for it."""
        engine, known = self._handoff.engine, self._verdicts.known()
        listed = await self._readers.read(lambda reader: reader.campaigns())
        free = (None, engine.address)
        self._elsewhere = {one.name: one.leader for one in listed if one.leader not in free and one.leader}
        for one in listed:
            is_ours = one.leader in free and one.name not in known and one.name not in engine.sessions
            if is_ours and one.status == "running":
                await self._guarded(one.name, partial(self._lead, one.name))

    async def _lead(self, name: str) -> None:
        try:
            await self._handoff.ask(ReadJob(name, look=lambda session: None))
        except Refusal:  # its figures say why
            await self.figures(name)

    def close(self) -> None:
        """End the thread that renders."""
        self._thread.shutdown()

    async def all_figures(self) -> list[Figures | Unserved]:
        """Every campaign; never fails for the sake of one."""
        listed = await self._readers.read(lambda reader: reader.campaigns())
        found = [await self._figures_or_why(one.name) for one in listed]
        return [one for one in found if one is not None]

    async def led_figures(self) -> list[Figures | Unserved]:
        """The campaigns that this server leads, those too that are not in memory now."""
        engine, unserved = self._handoff.engine, self._verdicts.known()
        elsewhere = self._elsewhere.keys() - engine.sessions.keys()
        names = {*engine.sessions, *engine.led, *unserved} - elsewhere
        found = [await self._figures_or_why(name) for name in sorted(names)]
        return [
            one
            for one in found
            if (isinstance(one, Figures) and one.server.leads)
            or (isinstance(one, Unserved) and one.state.kind == CANNOT_BE_SERVED)
        ]

    async def _figures_or_why(self, name: str) -> Figures | Unserved | None:
        """None if it was deleted a moment ago."""
        try:
            return await self.figures(name)
        except CannotBeServed as error:
            return error.unserved
        except _FAILURES as error:
            return None if _is_gone(error) else out_of_sight(name, str(error))

    async def figures(self, name: str) -> Figures:
        """A campaign's figures, at most a second old.  Raises :class:`Refusal` if there is no such one.

        If the server does not get to it, they are older, and say so.  If the campaign cannot be served,
        :class:`CannotBeServed` says why.
        """
        if name in self._handoff.engine.sessions:
            self._verdicts.forget(name)
        if why := self._verdicts.known().get(name):
            raise CannotBeServed(name, why)
        watched = self._watched.setdefault(name, _Watched())
        async with watched.lock:
            old, now = watched.figures, self._clock()
            if old is None or now - old.time >= _interval(watched):
                try:
                    async with asyncio.timeout(self.thresholds.cut_off_seconds):
                        watched.figures = await self._fresh(name, watched)
                except _FAILURES as error:
                    await self._give_reason(name, error, is_known=old is not None)
                    assert old is not None  # noqa: S101 - or a reason was given
                    watched.figures = replace(old, now=now, server=self._server_of(name, old))
                watched.rendered = None
            assert watched.figures is not None  # noqa: S101 - it was just put there
            return watched.figures

    async def _give_reason(self, name: str, error: Exception, *, is_known: bool) -> None:
        """Raise what whoever asked is told, unless there are figures from before and they may be shown."""
        if _is_gone(error):
            self._watched.pop(name, None)
            self._verdicts.forget(name)
            raise error
        if not isinstance(error, TimeoutError) and self._handoff.engine.failure is None:
            why = None
            with contextlib.suppress(*_FAILURES):
                async with asyncio.timeout(self.thresholds.cut_off_seconds):
                    why = await self._verdicts.judge(name)
            if why is not None:
                self._watched.pop(name, None)
                LOG.warning("cannot be served", extra={"campaign": name, "reason": why})
                raise CannotBeServed(name, why) from error
        if not is_known:
            self._watched.pop(name, None)
            raise _unavailable(name) if isinstance(error, TimeoutError) else error

    async def rendered(self, name: str) -> tuple[Figures, Rendered]:
        """The same with its page's panels, rendered once for all viewers."""
        figures = await self.figures(name)
        watched = self._watched[name]
        async with watched.lock:
            rendered = watched.rendered
            if rendered is None or watched.figures is not figures:
                rendered = await self.in_thread(render, figures, self.thresholds)
                watched.rendered = rendered if watched.figures is figures else None
        return figures, rendered

    async def in_thread(self, act: Callable[..., Found], *arguments: Any) -> Found:
        """Call a function where pages are rendered."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, act, *arguments)

    async def past(self, name: str, round: int) -> Figures:
        """A campaign after its first pull of a round, from the ledger alone.

        One such page is made at a time, so that the other readers are left to everything else; few wait.
        """
        if self._pasts >= MOST_PASTS:
            raise Problem("busy", "Other pages of the past are being made: try again.")
        self._pasts += 1
        made = asyncio.ensure_future(self._make_past(name, round))
        made.add_done_callback(lambda done: done.cancelled() or done.exception())
        return await asyncio.shield(made)  # its thread goes on though nobody waits any more

    async def _make_past(self, name: str, round: int) -> Figures:
        try:
            async with self._past:
                return await self._readers.read(
                    lambda reader: past_figures(reader, name, round, Server(self._name))
                )
        finally:
            self._pasts -= 1

    async def _sample(self, name: str, watched: _Watched) -> None:
        taken: Sample = await self._handoff.ask(ReadJob(name, look=sample))
        watched.sampled = self._clock()
        if watched.history is not None:
            watched.history.add(watched.sampled, taken)
            return
        settings = await self._handoff.ask(ReadJob(name, look=lambda session: session.settings))
        watched.history = await self._readers.read(
            lambda reader: seeded(reader, name, taken, settings.high - settings.low, watched.sampled)
        )

    async def _fresh(self, name: str, watched: _Watched) -> Figures:
        try:
            taken: Taken = await self._handoff.ask(ReadJob(name, look=take))
        except NotLeader as error:
            watched.history = None
            server = replace(self.server(), leads=False, leader=error.address)
            return await self._following.figures(name, server)
        self._following.forget(name)
        if watched.figures is not None and taken.position < watched.figures.taken.position:
            watched.history = watched.event_log = None  # another campaign has this name now
        now = self._clock()
        counters = Sample(taken.position, taken.pulls, taken.cost, taken.replays, taken.conflicts)
        if watched.history is None:
            await self._sample(name, watched)
        assert watched.history is not None  # noqa: S101 - it was just put there
        watched.history.add(now, counters)
        event_log = watched.event_log = watched.event_log or EventLog(taken.arms)
        await self._readers.read(lambda reader: take_entries(reader, name, event_log))
        told = event_log.told()
        if told.settled is not None:
            told = with_pulls(told, pulls_since(taken, told.settled.time))
        recent = watched.history.recent(now, taken, told.resumed)
        return Figures(taken, recent, told, self.server(), now, self._clock())

    def _now(self) -> float:
        return self._clock()

    def server(self) -> Server:
        """This server at work."""
        engine, now = self._handoff.engine, time.monotonic()
        took = [seconds for ended, seconds in list(engine.commits) if now - ended <= DISK_SECONDS]
        disk = float(np.quantile(took, 0.99)) if took else None
        return Server(self._name, disk=disk, waiting=self._handoff.waiting, failure=engine.failure)

    def _server_of(self, name: str, old: Figures) -> Server:
        """This server, that had these figures when it last got to the campaign."""
        leader = self._elsewhere.get(name)
        if leader is not None or not old.server.leads:
            return replace(self.server(), leads=False, leader=leader)
        return self.server()


def _is_gone(error: Exception) -> bool:
    return isinstance(error, CampaignNotFound) or (
        isinstance(error, Refusal) and error.reason == "unknown-campaign"
    )


def _unavailable(name: str) -> Refusal:
    return Refusal("unavailable", f"The server did not get to the campaign {name} in time.")


def _interval(watched: _Watched) -> float:
    """Seconds between two looks: large campaigns are looked at less often."""
    cells = watched.figures.taken.pulls.size if watched.figures else 0
    return 10.0 if cells > HUGE_CELLS else 2.0 if cells > LARGE_CELLS else 0.95
