"""Observes every campaign: samples counters once a second, and makes views of campaigns on request.

The counters of campaigns that this server leads are copied between two groups of the writer; everything else
is computed in the threads of readers.  No pull waits for any of it.
"""

import asyncio
import contextlib
import logging
import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from tutelage.service.campaigns.failover import Failover
from tutelage.service.campaigns.handoff import Handoff, Readers
from tutelage.service.campaigns.messages import NotLeader, Refusal
from tutelage.service.campaigns.rebuilding import Disagreement
from tutelage.service.campaigns.session import Session
from tutelage.service.campaigns.settings import Settings
from tutelage.service.campaigns.writer import ReadJob
from tutelage.service.monitoring.activity import ActivityHistory
from tutelage.service.monitoring.campaign_view import (
    CampaignView,
    CounterSample,
    Metrics,
    ServerHealth,
    read_metrics,
    sample_counters,
)
from tutelage.service.monitoring.dependence_reader import DependenceReader
from tutelage.service.monitoring.event_log import EventLog
from tutelage.service.monitoring.followers import Followers
from tutelage.service.monitoring.ledger_views import build_view, load_history, read_entries, view_at_round
from tutelage.service.monitoring.load_checks import LoadChecks, UnservableCampaign, UnservableRefusal
from tutelage.service.monitoring.prometheus import MOST_CLIENTS
from tutelage.service.monitoring.status import Thresholds
from tutelage.service.monitoring.status.outdated import describe_unreachable
from tutelage.service.monitoring.status.unservable import unservable
from tutelage.stores.base import CampaignNotFound, StoreError

LOG = logging.getLogger("tutelage.pages")
LARGE_CELLS, HUGE_CELLS = 5_000, 500_000
COMMIT_SECONDS, COMMITS_READ_SECONDS = 30.0, 0.5
LIST_SECONDS = 0.5  # for new views in a list of all campaigns
LISTED_PER_SECOND = 100  # campaigns in a list for which its views may get one second older
VIEWED_AT_ONCE = 20  # campaigns in a scrape, whose jobs the writer does in one group
SCRAPE_SECONDS = 4.0  # Prometheus waits for 10 seconds by default
MAX_PAST_VIEWS = 4  # views of the past that are being made or wait for it
_FAILURES = (TimeoutError, NotLeader, Refusal, StoreError, Disagreement, CampaignNotFound)


@dataclass(eq=False)
class _MonitoredCampaign:
    """What the monitor remembers of a campaign."""

    history: ActivityHistory | None = None
    event_log: EventLog | None = None
    dependence: DependenceReader | None = None
    sampled: float = 0.0
    acts: int = 0  # of operators, that the view shows
    changes: tuple[int, ...] = ()  # as of the last sample
    is_tested: bool = False  # for dependence, up to the last sample
    view: CampaignView | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def interval(self) -> float:
        """Seconds between two samples; large campaigns are sampled less often."""
        cells = self.view.metrics.pulls.size if self.view else 0
        return 10.0 if cells > HUGE_CELLS else 2.0 if cells > LARGE_CELLS else 0.95


class Monitor:
    """Views of every campaign.  ``name`` is how pages call this server, ``command_server`` how commands do."""

    def __init__(
        self,
        handoff: Handoff,
        readers: Readers,
        failover: Failover,
        *,
        name: str = "",
        command_server: str = "",
        thresholds: Thresholds | None = None,
        most_client_metrics: int = MOST_CLIENTS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.thresholds, self.most_client_metrics = thresholds or Thresholds(), most_client_metrics
        self._handoff, self._readers, self._failover = handoff, readers, failover
        self._name, self._command_server, self._clock = name, command_server, clock
        self._campaigns: dict[str, _MonitoredCampaign] = {}
        self._followers = Followers(readers, clock)
        self._load_checks = LoadChecks(readers, self._now)
        self._past_lock, self._num_past = asyncio.Lock(), 0
        self._commit_seconds: float | None = None
        self._commits_read = -math.inf

    def _now(self) -> float:
        return self._clock()

    async def run(self) -> None:
        """Update once a second until cancelled."""
        while True:
            await self.update()
            await asyncio.sleep(1.0)

    async def update(self) -> None:
        """Sample every campaign that this server leads, and find out why others could not be loaded."""
        for name in self._failover.refused:
            await self._guarded(name, partial(self.view, name))
        for name in list(self._handoff.writer.sessions):
            campaign = self._campaigns.setdefault(name, _MonitoredCampaign())
            if campaign.view is None:  # from now on there is one, even if later updates fail
                await self._guarded(name, partial(self.view, name))
            elif self._clock() - campaign.sampled >= campaign.interval() and not self._is_idle(name, campaign):
                campaign.sampled = self._clock()
                await self._guarded(name, partial(self._sample, name, campaign))
                await self._guarded(name, partial(self._test_dependence, name, campaign))

    def _is_idle(self, name: str, campaign: _MonitoredCampaign) -> bool:
        """Whether nothing has changed in a campaign since it was sampled."""
        session = self._handoff.writer.sessions.get(name)
        return session is not None and campaign.is_tested and _count_changes(session) == campaign.changes

    async def _guarded(self, name: str, act: Callable[[], Awaitable[object]]) -> None:
        """Call ``act``; its failure is shown by the page and does not affect other campaigns."""
        try:
            await act()
        except _FAILURES:
            pass
        except Exception:
            LOG.exception("monitoring failed", extra={"campaign": name})

    async def all_views(self, only: str | None = None) -> list[CampaignView | UnservableCampaign]:
        """Every campaign, or ``only`` one; the failure of one does not affect the others.

        New views are made for at most ``LIST_SECONDS``, the oldest first; the other campaigns are shown as they
        were last seen, or as not loaded yet.
        """
        listed = await self._readers.read(lambda reader: reader.campaigns())
        found: dict[str, CampaignView | UnservableCampaign | None] = {
            one.name: self._last_view(one.name, len(listed)) for one in listed if only in {None, one.name}
        }
        task = asyncio.ensure_future(self._update_views(found, time.monotonic() + LIST_SECONDS))
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        await asyncio.wait({task}, timeout=LIST_SECONDS)  # it ends by itself after the campaign that it reads
        if task.done():
            task.result()
        return [one for one in found.values() if one is not None]

    async def _update_views(self, found: dict[str, CampaignView | UnservableCampaign | None], end: float) -> None:
        """Make new views until a time on the monotonic clock, the oldest first, where they are not recent."""
        recent = self._clock() - len(found) / LISTED_PER_SECOND
        for name in sorted(found, key=lambda name: _measured(self._campaigns.get(name))):
            if time.monotonic() >= end:
                return
            campaign = self._campaigns.get(name)
            if _measured(campaign) > recent and campaign and campaign.acts == self._handoff.acts[name]:
                continue
            found[name] = await self._current_view(name)
            await asyncio.sleep(0)

    def _last_view(self, name: str, listed: int) -> CampaignView | UnservableCampaign:
        """A campaign as last seen; with its age if that is great even for a list of ``listed`` campaigns."""
        campaign = self._campaigns.get(name)
        if campaign is None or campaign.view is None:
            return UnservableCampaign(name, describe_unreachable("The server has not loaded this campaign yet."))
        view, now = campaign.view, self._clock()
        age = self.thresholds.outdated_seconds + listed / LISTED_PER_SECOND
        return view if now - view.measured <= age else replace(view, now=now, server=self._server_of(name, view))

    async def led_views(self) -> list[CampaignView | UnservableCampaign]:
        """The campaigns that this server leads, including those that are not in memory at the moment."""
        writer, faults = self._handoff.writer, self._load_checks.faults()
        elsewhere = self._failover.led_elsewhere.keys() - writer.sessions.keys()
        names = sorted({*writer.sessions, *writer.led, *faults} - elsewhere)
        found: dict[str, CampaignView | UnservableCampaign | None] = {}
        with contextlib.suppress(TimeoutError):  # the store is away
            async with asyncio.timeout(SCRAPE_SECONDS):
                for start in range(0, len(names), VIEWED_AT_ONCE):  # so that pulls are answered in between
                    part = names[start : start + VIEWED_AT_ONCE]
                    found |= zip(part, await asyncio.gather(*map(self._current_view, part)), strict=True)
                    await asyncio.sleep(0)
        for name in names[len(found) :]:  # as they were
            if (campaign := self._campaigns.get(name)) is not None and (view := campaign.view) is not None:
                found[name] = replace(view, now=self._clock(), server=self._server_of(name, view))
        return [
            one
            for one in found.values()
            if (isinstance(one, CampaignView) and one.server.leads)
            or (isinstance(one, UnservableCampaign) and one.item.kind == unservable.name)
        ]

    def leads(self) -> dict[str, bool]:
        """Whether this server leads a campaign, for each campaign that runs or has a leader."""
        failover, held = self._failover, self._handoff.writer.instruments.leases
        return dict.fromkeys([*failover.running, *failover.led_elsewhere], False) | dict.fromkeys(held, True)

    async def _current_view(self, name: str) -> CampaignView | UnservableCampaign | None:
        """A view, made without asking the writer if nothing has changed; None if the campaign was just deleted."""
        return self._unchanged_view(name) or await self._view_or_reason(name)

    async def _view_or_reason(self, name: str) -> CampaignView | UnservableCampaign | None:
        """None if the campaign was just deleted."""
        try:
            return await self.view(name)
        except UnservableRefusal as error:
            return error.campaign
        except _FAILURES as error:
            if _is_deleted(error):
                return None
            return UnservableCampaign(name, describe_unreachable(str(error)))

    async def view(self, name: str) -> CampaignView:
        """Return a campaign's view, at most a second old and newer than what an operator did through this server.

        Raises :class:`Refusal` for an unknown name.

        If the server is too busy, the view is older and says so.  Raises :class:`UnservableRefusal` with the
        reason if the campaign cannot be loaded.
        """
        if name in self._handoff.writer.sessions:
            self._load_checks.forget(name)
        if reason := self._load_checks.faults().get(name):
            raise UnservableRefusal(name, reason)
        campaign = self._campaigns.setdefault(name, _MonitoredCampaign())
        async with campaign.lock:
            old, now = campaign.view, self._clock()
            acts = self._handoff.acts[name]
            if old is None or now - old.measured >= campaign.interval() or acts != campaign.acts:
                try:
                    async with asyncio.timeout(self.thresholds.outdated_seconds):
                        campaign.view = await self._fresh_view(name, campaign)
                        campaign.acts = acts
                except _FAILURES as error:
                    await self._raise_unless_known(name, error, is_known=old is not None)
                    assert old is not None  # noqa: S101 - otherwise the line above has raised
                    campaign.view = replace(old, now=now, server=self._server_of(name, old))
            assert campaign.view is not None  # noqa: S101 - it was just set
            return campaign.view

    async def _raise_unless_known(self, name: str, error: Exception, *, is_known: bool) -> None:
        """Raise the error for the caller, unless an older view may be shown instead."""
        if _is_deleted(error):
            self._campaigns.pop(name, None)
            self._load_checks.forget(name)
            raise error
        if not isinstance(error, TimeoutError) and self._handoff.writer.failure is None:
            reason = None
            with contextlib.suppress(*_FAILURES):
                async with asyncio.timeout(self.thresholds.outdated_seconds):
                    reason = await self._load_checks.check(name)
            if reason is not None:
                self._campaigns.pop(name, None)
                LOG.warning("cannot be served", extra={"campaign": name, "reason": reason})
                raise UnservableRefusal(name, reason) from error
        if not is_known:
            self._campaigns.pop(name, None)
            if isinstance(error, TimeoutError):
                raise Refusal("unavailable", f"Reading the campaign {name} timed out: try again.")
            raise error

    async def past_view(self, name: str, round: int) -> CampaignView:
        """Return a campaign's view after its first pull of a round, from the ledger only.

        One such view is made at a time, which leaves the other readers free; few may wait.
        """
        if self._num_past >= MAX_PAST_VIEWS:
            raise Refusal("busy", "Too many pages of the past are being made: try again.")
        self._num_past += 1
        made = asyncio.ensure_future(self._make_past_view(name, round))
        made.add_done_callback(lambda done: done.cancelled() or done.exception())
        return await asyncio.shield(made)  # its thread goes on even if the caller is cancelled

    async def _make_past_view(self, name: str, round: int) -> CampaignView:
        try:
            async with self._past_lock:
                return await self._readers.read(
                    lambda reader: view_at_round(
                        reader, name, round, ServerHealth(self._name, command_server=self._command_server)
                    )
                )
        finally:
            self._num_past -= 1

    async def _sample(self, name: str, campaign: _MonitoredCampaign) -> None:
        counters: CounterSample = await self._handoff.ask(ReadJob(name, look=sample_counters))
        campaign.sampled, campaign.is_tested = self._clock(), False
        campaign.changes = counters.position, counters.replays, counters.conflicts
        if campaign.history is not None:
            campaign.history.add(campaign.sampled, counters)
            return
        settings = await self._handoff.ask(ReadJob(name, look=lambda session: session.settings))
        campaign.history = await self._readers.read(
            lambda reader: load_history(reader, name, counters, settings.high - settings.low, campaign.sampled)
        )

    async def _test_dependence(self, name: str, campaign: _MonitoredCampaign) -> None:
        """Let the test for dependence between clients read on, unless the campaign is large."""
        settings, num_clients, position = await self._handoff.ask(ReadJob(name, look=_describe_ledger))
        if campaign.dependence is not None and campaign.dependence.position > position:
            campaign.dependence = None  # another campaign has this name now
        is_caught_up = True
        if num_clients > 0 and num_clients * len(settings.arms) <= LARGE_CELLS:
            dependence = campaign.dependence = campaign.dependence or DependenceReader(settings, num_clients)
            await self._readers.read(lambda reader: dependence.catch_up(reader, name, position))
            is_caught_up = dependence.position == position
        campaign.is_tested = is_caught_up and campaign.changes[:1] == (position,)

    async def _fresh_view(self, name: str, campaign: _MonitoredCampaign) -> CampaignView:
        try:
            metrics: Metrics = await self._handoff.ask(ReadJob(name, look=read_metrics))
        except NotLeader as error:
            campaign.history = None
            server = replace(self.server_health(), leads=False, leader=error.address)
            return await self._followers.view(name, server)
        self._followers.forget(name)
        if campaign.view is not None and metrics.position < campaign.view.metrics.position:
            campaign.history = campaign.event_log = None  # another campaign has this name now
        now = self._clock()
        if campaign.history is None:
            await self._sample(name, campaign)
        assert campaign.history is not None  # noqa: S101 - it was just set
        campaign.history.add(
            now, CounterSample(metrics.position, metrics.pulls, metrics.cost, metrics.replays, metrics.conflicts)
        )
        event_log = campaign.event_log = campaign.event_log or EventLog(metrics.arms)
        if metrics.position - int(metrics.pulls.sum()) > event_log.num_read:  # not every new row is a pull
            await self._readers.read(lambda reader: read_entries(reader, name, event_log))
        return self._build_view(campaign, metrics, campaign.history, event_log, now)

    def _unchanged_view(self, name: str) -> CampaignView | None:
        """Make a view of the metrics that are known, if nothing has changed since and the writer works."""
        writer, campaign = self._handoff.writer, self._campaigns.get(name)
        session, view = writer.sessions.get(name), None if campaign is None else campaign.view
        if campaign is None or session is None or view is None or not view.server.leads:
            return None
        is_working = writer.failure is None and time.monotonic() - writer.last_commit < self.thresholds.outdated_seconds
        is_same = _count_changes(session) == _count_view_changes(view) and self._handoff.acts[name] == campaign.acts
        if not (is_working and is_same and campaign.history and campaign.event_log):
            return None
        campaign.view = self._build_view(campaign, view.metrics, campaign.history, campaign.event_log, self._clock())
        return campaign.view

    def _build_view(
        self, campaign: _MonitoredCampaign, metrics: Metrics, history: ActivityHistory, event_log: EventLog, now: float
    ) -> CampaignView:
        view = build_view(metrics, history, event_log, self.server_health(), now)
        finding = campaign.dependence.finding if campaign.dependence is not None else None
        return replace(view, now=self._clock(), dependence=finding)

    def server_health(self) -> ServerHealth:
        """This server at the moment."""
        writer = self._handoff.writer
        return ServerHealth(
            self._name,
            commit_seconds=self._compute_commit_seconds(),
            waiting_pulls=self._handoff.waiting,
            failure=writer.failure,
            command_server=self._command_server,
        )

    def _compute_commit_seconds(self) -> float | None:
        """The 99th percentile of the last half minute, computed once for all campaigns that are looked at together."""
        now = time.monotonic()
        if now - self._commits_read >= COMMITS_READ_SECONDS:
            took = [seconds for ended, seconds in list(self._handoff.writer.commits) if now - ended <= COMMIT_SECONDS]
            self._commit_seconds, self._commits_read = float(np.quantile(took, 0.99)) if took else None, now
        return self._commit_seconds

    def _server_of(self, name: str, old: CampaignView) -> ServerHealth:
        """This server, which made this view when it last could."""
        leader = self._failover.led_elsewhere.get(name)
        if leader is not None or not old.server.leads:
            return replace(self.server_health(), leads=False, leader=leader)
        return self.server_health()


def _measured(campaign: _MonitoredCampaign | None) -> float:
    """When the campaign's view was measured; 0 without one."""
    return 0.0 if campaign is None or campaign.view is None else campaign.view.measured


def _count_changes(session: Session) -> tuple[int, ...]:
    """The numbers that grow with every change of a session; may be called from any thread."""
    return session.position, session.tally.replays, session.tally.conflicts


def _count_view_changes(view: CampaignView) -> tuple[int, ...]:
    return view.metrics.position, view.metrics.replays, view.metrics.conflicts


def _describe_ledger(session: Session) -> tuple[Settings, int, int]:
    """Return the settings, the number of clients (0 while they register) and the position of the ledger's end."""
    num_clients = 0 if session.status == "registering" else len(session.clients)
    return session.settings, num_clients, session.position


def _is_deleted(error: Exception) -> bool:
    return isinstance(error, CampaignNotFound) or (isinstance(error, Refusal) and error.reason == "unknown-campaign")
