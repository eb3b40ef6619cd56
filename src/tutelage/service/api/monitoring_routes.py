"""The routes by which programs observe the server: health, metrics and the status of campaigns."""

import asyncio
import time
from functools import partial

from prometheus_client import generate_latest
from starlette.responses import Response

from tutelage.service.api.problems import HttpProblem, ProblemKind
from tutelage.service.api.route import Call, Route
from tutelage.service.api.schemas import CampaignStatus, CampaignStatusItem, Health, ListedStatus, StatusList
from tutelage.service.campaigns.handoff import Handoff
from tutelage.service.monitoring.campaign_view import CampaignView
from tutelage.service.monitoring.load_checks import UnservableCampaign
from tutelage.service.monitoring.monitor import Monitor
from tutelage.service.monitoring.prometheus import CONTENT_TYPE, render_metrics
from tutelage.service.monitoring.status import StatusItem, status_of

METRICS_KEY_AGE = 600.0  # seconds: /metrics tells what happens while the store is away
READY_SECONDS = 5.0  # a commit or a probe of the disk comes more often


def monitoring_routes(handoff: Handoff, monitor: Monitor) -> list[Route]:
    """The routes."""
    to, get = MonitoringHandlers(handoff, monitor), partial(Route, "GET", tag="monitoring")
    away: tuple[ProblemKind, ...] = ("unavailable",)
    status, prometheus = "/v1/campaigns/{name}/status", CONTENT_TYPE.partition(";")[0]
    return [
        get(
            "/v1/status",
            to.list_status,
            "viewer",
            "List what needs attention",
            answer=StatusList,
            takes_campaign_keys=True,
        ),
        get(status, to.show_status, "viewer", "Show what needs attention", answer=CampaignStatus),
        get(
            "/metrics",
            to.show_metrics,
            "viewer",
            "Show metrics for Prometheus",
            content_types=(prometheus,),
            max_key_age=METRICS_KEY_AGE,
        ),
        get("/healthz", to.check_health, "anyone", "Check whether the server works", answer=Health, problems=away),
        get(
            "/readyz",
            to.check_readiness,
            "anyone",
            "Check whether pulls are answered now",
            answer=Health,
            problems=away,
        ),
    ]


class MonitoringHandlers:
    """The handlers of the routes.  Their docstrings are descriptions in the OpenAPI document."""

    def __init__(self, handoff: Handoff, monitor: Monitor) -> None:
        self.writer, self.monitor = handoff.writer, monitor

    async def show_status(self, call: Call) -> CampaignStatus:
        """The status items of the campaign's page, most severe first."""
        view = await self.monitor.view(call.name)
        items = [_describe_item(item, view) for item in status_of(view, self.monitor.thresholds)]
        return CampaignStatus(call.name, view.metrics.position, items)

    async def list_status(self, call: Call) -> StatusList:
        """The status items of every campaign; a key of one campaign sees only this one.

        With many campaigns some are shown as they were a few seconds ago.
        """
        found = await self.monitor.all_views(only=call.caller.campaign)
        return StatusList([await asyncio.to_thread(self._list_items, one) for one in found])

    def _list_items(self, one: CampaignView | UnservableCampaign) -> ListedStatus:
        if isinstance(one, UnservableCampaign):
            return ListedStatus(one.name, [_describe_item(one.item)])
        items = status_of(one, self.monitor.thresholds)
        return ListedStatus(one.metrics.name, [_describe_item(item, one) for item in items])

    async def show_metrics(self, call: Call) -> Response:
        """Metrics of the server and of the campaigns that it leads.

        While the store is away, keys that were read in the last ten minutes are good for this route.
        """
        found = await self.monitor.led_views()
        led = [one for one in found if isinstance(one, CampaignView)]
        unservable = [one.name for one in found if not isinstance(one, CampaignView)]
        monitor = self.monitor
        render = partial(
            render_metrics,
            *(led, monitor.server_health(), monitor.thresholds, unservable),
            leads=monitor.leads(),
            most_clients=monitor.most_client_metrics,
        )
        own = await asyncio.to_thread(generate_latest, self.writer.instruments.registry)
        return Response(own + await asyncio.to_thread(render), media_type=CONTENT_TYPE)

    async def check_health(self, call: Call) -> Health:
        """Fails if the server must be restarted."""
        if not self.writer.is_alive:
            raise HttpProblem("unavailable", "The thread that writes to the store has ended: restart the server.")
        return Health()

    async def check_readiness(self, call: Call) -> Health:
        """Fails if this server's writes do not reach the disk, whatever other servers do."""
        if self.writer.failure is not None:  # the reason may hold paths, and anyone may ask
            raise HttpProblem("unavailable", "Nothing can be written now: see the log or the dashboard.")
        if time.monotonic() - self.writer.last_commit > READY_SECONDS:
            raise HttpProblem("unavailable", f"Nothing has reached the disk for {READY_SECONDS:g} seconds.")
        return Health()


def _describe_item(item: StatusItem, view: CampaignView | None = None) -> CampaignStatusItem:
    """Describe an item; without a view it is about the whole campaign."""
    described = CampaignStatusItem(
        kind=item.kind,
        severity=item.severity,
        message=item.message,
        action=item.action,
        command=item.command,
        client=None,
        arm=None,
        missing=None,
        silent_seconds=item.silent_seconds,
    )
    if view is not None and item.arm is not None:
        described.arm = view.metrics.arms[item.arm]
    if view is not None and (client := item.client) is not None:
        described.client = view.metrics.clients[client]
        described.missing = int(view.metrics.missing[client, slice(None) if item.arm is None else item.arm].sum())
        if item.silent_seconds is None:
            described.silent_seconds = float(view.activity.silence[client])
    return described
