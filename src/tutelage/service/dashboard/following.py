"""Campaigns that another server leads: each is made from its ledger once, and then reads on.

A few are kept; of any others the ledger is gone through at every look.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace

from tutelage.service.campaigns.pull_cache import PullCache
from tutelage.service.campaigns.rebuilding import as_committed, repeat, rows_between, settle
from tutelage.service.campaigns.session import Session
from tutelage.service.dashboard.reading import SEEDED_ROWS, Reading, begun, take_entries, told
from tutelage.service.monitoring.event_log import EventLog
from tutelage.service.monitoring.figures import Figures, Server, sample
from tutelage.stores.base import EntryRow, PullRow, Reader, Snapshot, StoredCampaign

MOST_KEPT = 8
KEPT_SECONDS = 60.0  # without a look, before another may take its place


class Follower:
    """A campaign as it was committed last, by whomever; ``now`` is when it was asked for."""

    def __init__(self, reader: Reader, stored: StoredCampaign, snapshot: Snapshot | None, now: float) -> None:
        self._made_of = stored.created, stored.settings
        self._session = as_committed(reader, stored, snapshot)
        self._history = begun(reader, self._session, now)
        self._story = EventLog(self._session.settings.arms)
        take_entries(reader, stored.name, self._story, self._session.position)
        _answer_nobody(self._session)

    def can_go_on(self, stored: StoredCampaign) -> bool:
        """Whether this is the same campaign, and not so much is new that it is quicker made anew."""
        new = stored.head.position - self._session.position
        return (stored.created, stored.settings) == self._made_of and 0 <= new <= SEEDED_ROWS

    def go_on(self, reader: Reader, stored: StoredCampaign) -> None:
        """Read what has been committed since.  After an error this follower is good for nothing."""
        session, settings = self._session, self._session.settings
        if stored.head.position == session.position:
            return
        rows = list(rows_between(reader, stored.name, session.position, stored.head.position))
        repeat(session, rows)
        settle(session, stored.head)
        _answer_nobody(session)
        pulled = (row for row in rows if isinstance(row, PullRow))
        self._history.read(pulled, sample(session), settings.high - settings.low)
        self._story.take(row for row in rows if isinstance(row, EntryRow))

    def figures(self, server: Server, now: float) -> Figures:
        """Its figures, as of now."""
        self._history.add(now, sample(self._session))
        return told(self._session, self._history, self._story, server, now)


class Following:
    """The followers that are kept.  Each is in one thread at a time: it is taken out while it reads."""

    def __init__(self, readers: Reading, clock: Callable[[], float]) -> None:
        self._readers, self._clock = readers, clock
        self._kept: dict[str, tuple[Follower, float]] = {}  # with the time of the last look
        self._looks: dict[str, asyncio.Task[Figures]] = {}

    async def figures(self, name: str, server: Server) -> Figures:
        """The figures of a campaign.  Whoever stops waiting for them leaves the work to whoever asks next."""
        look = self._looks.get(name)
        if look is None:
            look = self._looks[name] = asyncio.ensure_future(self._look(name, server))
            look.add_done_callback(lambda done: self._end(name, done))
        return await asyncio.shield(look)

    def _end(self, name: str, look: asyncio.Task[Figures]) -> None:
        del self._looks[name]
        if not look.cancelled():
            look.exception()  # whoever waits has it; if nobody does, there is another look

    def forget(self, name: str) -> None:
        """This server leads the campaign now."""
        self._kept.pop(name, None)

    async def _look(self, name: str, server: Server) -> Figures:
        kept, _ = self._kept.pop(name, (None, 0.0))
        now = self._clock()
        follower, figures = await self._readers.read(lambda reader: _found(reader, name, kept, server, now))
        figures = replace(figures, now=self._clock())
        if len(self._kept) >= MOST_KEPT:
            oldest = min(self._kept, key=lambda each: self._kept[each][1])
            if now - self._kept[oldest][1] < KEPT_SECONDS:  # who is looked at stays, or none would
                return figures
            del self._kept[oldest]
        self._kept[name] = follower, now
        return figures


def _found(
    reader: Reader, name: str, kept: Follower | None, server: Server, now: float
) -> tuple[Follower, Figures]:
    stored, snapshot = reader.load(name)
    if kept is not None and kept.can_go_on(stored):
        kept.go_on(reader, stored)
    else:
        kept = Follower(reader, stored, snapshot, now)
    return kept, kept.figures(server, now)


def _answer_nobody(session: Session) -> None:
    """A follower needs no answers for replays: they are most of a campaign's memory."""
    session.remembered = PullCache()
