"""Campaigns that another server leads: each is rebuilt from its ledger once, then updated from it.

A few stay in memory; for all others the ledger is read again at every request.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace

from tutelage.service.campaigns.handoff import Readers
from tutelage.service.campaigns.pull_cache import PullCache
from tutelage.service.campaigns.rebuilding import check_head, read_rows_between, rebuild_committed, replay_rows
from tutelage.service.campaigns.session import Session
from tutelage.service.monitoring.campaign_view import CampaignView, ServerHealth, read_metrics, sample_counters
from tutelage.service.monitoring.event_log import EventLog
from tutelage.service.monitoring.ledger_views import HISTORY_ROWS, build_view, read_entries, start_history
from tutelage.stores.base import EntryRow, PullRow, Reader, Snapshot, StoredCampaign

MAX_FOLLOWERS = 8
IDLE_SECONDS = 60.0  # without a request, before another follower may take its place


class Follower:
    """A campaign as last committed, by any server; ``now`` is when it was requested."""

    def __init__(self, reader: Reader, stored: StoredCampaign, snapshot: Snapshot | None, now: float) -> None:
        self._identity = stored.created, stored.settings
        self._session = rebuild_committed(reader, stored, snapshot)
        self._history = start_history(reader, self._session, now)
        self._event_log = EventLog(self._session.settings.arms)
        read_entries(reader, stored.name, self._event_log, self._session.position)
        _drop_pull_cache(self._session)

    def can_catch_up(self, stored: StoredCampaign) -> bool:
        """Whether this is the same campaign, with few enough new rows that reading them is quicker."""
        new = stored.head.position - self._session.position
        return (stored.created, stored.settings) == self._identity and 0 <= new <= HISTORY_ROWS

    def catch_up(self, reader: Reader, stored: StoredCampaign) -> None:
        """Read what has been committed since.  After an error this follower must be discarded."""
        session, settings = self._session, self._session.settings
        if stored.head.position == session.position:
            return
        rows = list(read_rows_between(reader, stored.name, session.position, stored.head.position))
        replay_rows(session, rows)
        check_head(session, stored.head)
        _drop_pull_cache(session)
        pulled = (row for row in rows if isinstance(row, PullRow))
        self._history.read(pulled, sample_counters(session), settings.high - settings.low)
        self._event_log.read(row for row in rows if isinstance(row, EntryRow))

    def view(self, server: ServerHealth, now: float) -> CampaignView:
        """Return the campaign's view at ``now``."""
        self._history.add(now, sample_counters(self._session))
        return build_view(read_metrics(self._session), self._history, self._event_log, server, now)


class Followers:
    """The followers in memory.  Each is used by one thread at a time: it is removed while it reads."""

    def __init__(self, readers: Readers, clock: Callable[[], float]) -> None:
        self._readers, self._clock = readers, clock
        self._kept: dict[str, tuple[Follower, float]] = {}  # with the time of the last request
        self._requests: dict[str, asyncio.Task[CampaignView]] = {}

    async def view(self, name: str, server: ServerHealth) -> CampaignView:
        """Return a campaign's view.  The work goes on, for the next caller, if this one is cancelled."""
        request = self._requests.get(name)
        if request is None:
            request = self._requests[name] = asyncio.ensure_future(self._read(name, server))
            request.add_done_callback(lambda done: self._end(name, done))
        return await asyncio.shield(request)

    def _end(self, name: str, request: asyncio.Task[CampaignView]) -> None:
        del self._requests[name]
        if not request.cancelled():
            request.exception()  # callers that wait receive it; without any, the next request tries again

    def forget(self, name: str) -> None:
        """This server leads the campaign now."""
        self._kept.pop(name, None)

    async def _read(self, name: str, server: ServerHealth) -> CampaignView:
        cached, _ = self._kept.pop(name, (None, 0.0))
        now = self._clock()
        follower, view = await self._readers.read(lambda reader: _follow(reader, name, cached, server, now))
        view = replace(view, now=self._clock())
        if len(self._kept) >= MAX_FOLLOWERS:
            oldest = min(self._kept, key=lambda each: self._kept[each][1])
            if now - self._kept[oldest][1] < IDLE_SECONDS:  # a follower in use keeps its place
                return view
            del self._kept[oldest]
        self._kept[name] = follower, now
        return view


def _follow(
    reader: Reader, name: str, follower: Follower | None, server: ServerHealth, now: float
) -> tuple[Follower, CampaignView]:
    stored, snapshot = reader.load(name)
    if follower is not None and follower.can_catch_up(stored):
        follower.catch_up(reader, stored)
    else:
        follower = Follower(reader, stored, snapshot, now)
    return follower, follower.view(server, now)


def _drop_pull_cache(session: Session) -> None:
    """A follower answers no replays, and the cache is most of a campaign's memory."""
    session.cache = PullCache()
