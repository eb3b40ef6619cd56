"""Watches the campaigns that this server leads, and renders each at most once a second for all viewers.

Counters are taken every second, between two groups of the writer; all else happens in threads of readers and
in one thread that renders.  Nothing of it is on the way of a pull.
"""

import asyncio
import contextlib
import itertools
import logging
import time
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

import numpy as np

from tutelage.service.bridge import Bridge
from tutelage.service.dashboard.pages import Rendered, render
from tutelage.service.engine import Look
from tutelage.service.figures import Figures, Sample, Server, Taken, sample, take
from tutelage.service.history import History, from_ledger, pulls_since
from tutelage.service.live import Live
from tutelage.service.messages import NotLeading, Refused
from tutelage.service.problems import Problem
from tutelage.service.rebuilding import rebuilt, repeat
from tutelage.service.story import Story, with_pulls
from tutelage.service.thresholds import Thresholds
from tutelage.stores.base import EntryRow, PullRow, Reader, StoreError, pages

LOG = logging.getLogger("tutelage.pages")
LARGE_CELLS, HUGE_CELLS = 5_000, 500_000
SEEDED_ROWS = 20_000  # of the ledger, for what was before this server led
MOST_REPEATED = 1_000_000  # positions that a page of the past goes through
DISK_SECONDS = 30.0
PAGE = 5_000
Found = TypeVar("Found")


class Reading(Protocol):
    """Runs a function with a reader of the store, in a thread of its own."""

    def read(self, look: Callable[[Reader], Found]) -> Awaitable[Found]: ...


@dataclass(eq=False)
class _Watched:
    """What is kept of a campaign."""

    history: History | None = None
    story: Story | None = None
    sampled: float = 0.0
    figures: Figures | None = None
    rendered: Rendered | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Watcher:
    """Figures and pages of every campaign.  ``name`` is how this server is called on its pages."""

    def __init__(
        self,
        bridge: Bridge,
        readers: Reading,
        *,
        name: str = "",
        thresholds: Thresholds | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.thresholds = thresholds or Thresholds()
        self._bridge, self._readers, self._name, self._clock = bridge, readers, name, clock
        self._watched: dict[str, _Watched] = {}
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="tutelage-pages")

    async def run(self) -> None:
        """Take the counters of every campaign that is led, until cancelled."""
        while True:
            for name in list(self._bridge.engine.lives):
                watched = self._watched.setdefault(name, _Watched())
                if self._clock() - watched.sampled >= _interval(watched):
                    try:
                        await self._sample(name, watched)
                    except (
                        NotLeading,
                        Refused,
                        StoreError,
                        Problem,
                    ):  # a page will tell; there is another try
                        watched.sampled = self._clock()
                    except Exception:  # whatever it is, the other campaigns are watched
                        LOG.exception("counters", extra={"campaign": name})
            await asyncio.sleep(1.0)

    def close(self) -> None:
        """End the thread that renders."""
        self._thread.shutdown()

    async def names(self) -> list[str]:
        """Every campaign."""
        return await self._readers.read(lambda reader: [stored.name for stored in reader.campaigns()])

    async def all_figures(self) -> list[Figures]:
        """The figures of every campaign."""
        found = []
        for name in await self.names():
            with contextlib.suppress(Refused, Problem):  # deleted a moment ago, or not to be loaded
                found.append(await self.figures(name))
        return found

    async def led_figures(self) -> list[Figures]:
        """The figures of the campaigns that this server leads."""
        found = []
        for name in list(self._bridge.engine.lives):
            with contextlib.suppress(Refused, Problem):
                found.append(await self.figures(name))
        return [figures for figures in found if figures.server.leads]

    async def figures(self, name: str) -> Figures:
        """A campaign's figures, at most a second old.  Raises :class:`Refused` if there is no such one.

        If the server does not get to it, they are older, and say so.
        """
        watched = self._watched.setdefault(name, _Watched())
        async with watched.lock:
            old, now = watched.figures, self._clock()
            if old is None or now - old.time >= _interval(watched):
                try:
                    async with asyncio.timeout(self.thresholds.cut_off_seconds):
                        watched.figures = await self._fresh(name, watched)
                except (TimeoutError, Refused, Problem) as error:
                    if old is None or (isinstance(error, Refused) and error.reason == "unknown-campaign"):
                        del self._watched[name]
                        if not isinstance(error, TimeoutError):
                            raise
                        raise _unavailable(name) from error
                    watched.figures = replace(old, now=now, server=self.server())
                watched.rendered = None
            assert watched.figures is not None  # noqa: S101 - it was just put there
            return watched.figures

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
        """A campaign after its first pull of a round, from the ledger alone."""
        return await self._readers.read(lambda reader: past_figures(reader, name, round, Server(self._name)))

    async def _sample(self, name: str, watched: _Watched) -> None:
        taken: Sample = await self._bridge.ask(Look(name, look=sample))
        watched.sampled = self._clock()
        if watched.history is not None:
            watched.history.add(watched.sampled, taken)
            return
        stored = await self._readers.read(lambda reader: reader.load(name)[0])
        width = Live(stored, 0).settings
        watched.history = await self._readers.read(
            lambda reader: _seeded(reader, name, taken, width.high - width.low)
        ) or History(watched.sampled, taken)

    async def _fresh(self, name: str, watched: _Watched) -> Figures:
        try:
            taken: Taken = await self._bridge.ask(Look(name, look=take))
        except NotLeading as error:
            watched.history = None
            figures = await self._readers.read(lambda reader: follower_figures(reader, name, self.server()))
            server = replace(figures.server, leads=False, leader=error.address)
            return replace(figures, server=server, now=self._clock(), time=self._clock())
        if watched.figures is not None and taken.position < watched.figures.taken.position:
            watched.history = watched.story = None  # another campaign has this name now
        now = self._clock()
        counters = Sample(taken.position, taken.pulls, taken.cost, taken.replays, taken.conflicts)
        if watched.history is None:
            await self._sample(name, watched)
        assert watched.history is not None  # noqa: S101 - it was just put there
        watched.history.add(now, counters)
        story = watched.story = watched.story or Story(taken.arms)
        await self._readers.read(lambda reader: _go_on(reader, name, story))
        told = story.told()
        if told.settled is not None:
            told = with_pulls(told, pulls_since(taken, told.settled.time))
        return Figures(taken, watched.history.recent(now, taken), told, self.server(), now, self._clock())

    def server(self) -> Server:
        """This server at work."""
        engine, now = self._bridge.engine, time.monotonic()
        took = [seconds for ended, seconds in list(engine.commits) if now - ended <= DISK_SECONDS]
        disk = float(np.quantile(took, 0.99)) if took else None
        return Server(self._name, disk=disk, waiting=self._bridge.waiting, failure=engine.failure)


def _unavailable(name: str) -> Refused:
    return Refused("unavailable", f"The server did not get to the campaign {name} in time.")


def _interval(watched: _Watched) -> float:
    """Seconds between two looks: large campaigns are looked at less often."""
    cells = watched.figures.taken.pulls.size if watched.figures else 0
    return 10.0 if cells > HUGE_CELLS else 2.0 if cells > LARGE_CELLS else 0.95


def _seeded(reader: Reader, name: str, taken: Sample, width: float) -> History | None:
    after = max(0, taken.position - SEEDED_ROWS)
    return from_ledger(taken, pages(reader, name, after), width)


def _go_on(reader: Reader, name: str, story: Story) -> None:
    while entries := reader.entries(name, story.position, PAGE):
        story.take(entries)


def _told(reader: Reader, name: str, taken: Taken) -> Story:
    """What the ledger tells up to the position of ``taken``."""
    story = Story(taken.arms)
    while entries := reader.entries(name, story.position, PAGE):
        story.take(entry for entry in entries if entry.position <= taken.position)
        if entries[-1].position > taken.position:
            break
    return story


def follower_figures(reader: Reader, name: str, server: Server) -> Figures:
    """A campaign as it was committed last, by whomever."""
    stored, snapshot = reader.load(name)
    end = stored.head.position
    rows = itertools.takewhile(
        lambda row: row.position <= end, pages(reader, name, snapshot.position if snapshot else 0)
    )
    return _from_ledger(reader, rebuilt(stored, 0, snapshot, rows), server, time.time())


def past_figures(reader: Reader, name: str, round: int, server: Server) -> Figures:
    """The same up to the first pull that some client makes in a round; all of it if none does.

    Raises :class:`Refused` for a ledger that would take too long.
    """
    stored, _ = reader.load(name)
    if stored.head.position > MOST_REPEATED:
        raise Refused(
            "invalid",
            f"The ledger of {name} has {stored.head.position:,} positions, too many for a page of its past: "
            "export it instead.",
        )
    live, last = Live(stored, 0), [0.0]
    repeat(live, _until(pages(reader, name), round, last))
    if live.campaign is not None and live.status == "enrolling":
        live.status = "running"
    return replace(_from_ledger(reader, live, server, last[0] or stored.created / 1e6), at=round)


def _until(rows: Iterable[PullRow | EntryRow], round: int, last: list[float]) -> Iterable[PullRow | EntryRow]:
    """The rows up to the end of the step in which a client makes its pull number ``round``."""
    made: dict[int, int] = {}
    step = None
    for row in rows:
        if step is not None and row.step != step:
            return
        last[0] = row.time / 1e6
        if isinstance(row, PullRow):
            made[row.client] = made.get(row.client, 0) + 1
            if made[row.client] >= round:
                step = row.step
        yield row


def _from_ledger(reader: Reader, live: Live, server: Server, now: float) -> Figures:
    taken, counters, settings = take(live), sample(live), live.settings
    history = _seeded(reader, live.name, counters, settings.high - settings.low) or History(now, counters)
    told = _told(reader, live.name, taken).told()
    if told.settled is not None:
        told = with_pulls(told, pulls_since(taken, told.settled.time))
    return Figures(taken, history.recent(now, taken), told, server, now, now)
