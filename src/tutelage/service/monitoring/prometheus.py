"""The metrics of ``/metrics``, for the campaigns that this server leads: one entry each.

Every kind of status item that is an alert is a gauge too: ``tutelage_stalled{campaign="..."}`` is 1 while the
campaign is stalled (:mod:`tutelage.service.monitoring.status`).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from tutelage.service.monitoring.campaign_view import CampaignView, ServerHealth
from tutelage.service.monitoring.status import DEFAULTS, KINDS, Thresholds, status_of
from tutelage.service.monitoring.status.silence import find_silent_clients
from tutelage.service.monitoring.status.unservable import UNSERVABLE

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True)
class CampaignMetric:
    """A metric of every campaign, labelled with its name; a counter's name ends in ``_total``."""

    name: str
    help: str
    value: Callable[[CampaignView, Thresholds], float]

    def family(self) -> CounterMetricFamily | GaugeMetricFamily:
        """An empty family of samples."""
        kind = CounterMetricFamily if self.name.endswith("_total") else GaugeMetricFamily
        return kind(self.name, self.help, labels=["campaign"])


@dataclass(frozen=True)
class ServerMetric:
    """A gauge of the server, without a label; it is left out while its value is None."""

    name: str
    help: str
    value: Callable[[ServerHealth], float | None]


CAMPAIGN_METRICS = (
    CampaignMetric(
        "tutelage_pulls_total",
        "Pulls stored in the campaign's ledger.",
        lambda view, _: float(view.metrics.pulls.sum()),
    ),
    CampaignMetric(
        "tutelage_ledger_rows_total",
        "Rows in the campaign's ledger: pulls, decisions and other entries.",
        lambda view, _: view.metrics.position,
    ),
    CampaignMetric(
        "tutelage_replayed_pulls_total",
        "Pulls received again and answered from the ledger, since this server leads the campaign.",
        lambda view, _: view.metrics.replays,
    ),
    CampaignMetric(
        "tutelage_beyond_horizon_pulls_total",
        "Pulls made by clients that had already reached the horizon; they are not evidence.",
        lambda view, _: view.metrics.beyond_horizon,
    ),
    CampaignMetric(
        "tutelage_refused_conflicts_total",
        "Requests refused because they reused a stored pull id with different content, since this server "
        "leads the campaign.",
        lambda view, _: view.metrics.conflicts,
    ),
    CampaignMetric(
        "tutelage_round",
        "Largest number of pulls made by any client, up to the horizon.",
        lambda view, _: view.metrics.round,
    ),
    CampaignMetric(
        "tutelage_horizon_rounds",
        "Horizon of the campaign: the number of pulls per client that it is planned for.",
        lambda view, _: view.metrics.horizon,
    ),
    CampaignMetric(
        "tutelage_arms_in_play",
        "Arms that the teacher has not ruled out.",
        lambda view, _: len(view.metrics.active_arms),
    ),
    CampaignMetric(
        "tutelage_clients",
        "Registered clients, including excluded ones.",
        lambda view, _: len(view.metrics.clients),
    ),
    CampaignMetric(
        "tutelage_clients_silent",
        "Clients that are not excluded and have been silent for longer than --stalled-seconds and "
        "--stalled-intervals allow.",
        lambda view, thresholds: int(find_silent_clients(view, thresholds).sum()),
    ),
    CampaignMetric(
        "tutelage_directive",
        "Number of the teacher's directive in force: 1 plus the consultations of the teacher so far.",
        lambda view, _: view.metrics.directive,
    ),
    CampaignMetric(
        "tutelage_quota_ratio",
        "Share of the pulls for the teacher's next consultation that have been made, from 0 to 1.",
        lambda view, _: view.metrics.quota_share,
    ),
    CampaignMetric(
        "tutelage_missing_pulls",
        "Pulls still needed for the teacher's next consultation.",
        lambda view, _: float(view.metrics.missing.sum()),
    ),
    CampaignMetric(
        "tutelage_decided",
        "1 if the teacher has decided on a target arm, otherwise 0.",
        lambda view, _: float(view.metrics.target is not None),
    ),
    CampaignMetric(
        "tutelage_cost",
        "Sum of the absolute adjustments to rewards, with rewards scaled to 0 to 1.",
        lambda view, _: view.metrics.cost,
    ),
    CampaignMetric(
        "tutelage_pulls_per_second",
        "Pulls per second in the last minute.",
        lambda view, _: view.activity.pulls_per_second,
    ),
    CampaignMetric(
        "tutelage_idle_seconds",
        "Seconds since the last pull of any client that is not excluded, or since the last start.",
        lambda view, _: float(np.min(view.activity.silence[view.metrics.is_evidence], initial=np.inf)),
    ),
)
SERVER_METRICS = (
    ServerMetric(
        "tutelage_commit_seconds",
        "99th-percentile time to commit to the store, in the last 30 seconds.",
        lambda server: server.commit_seconds,
    ),
    ServerMetric(
        "tutelage_waiting_pulls",
        "Pulls waiting to be written to the store.",
        lambda server: server.waiting_pulls,
    ),
    ServerMetric(
        "tutelage_store_failed",
        "1 while the store rejects writes, otherwise 0.",
        lambda server: float(server.failure is not None),
    ),
)


def render_metrics(
    views: Sequence[CampaignView],
    server: ServerHealth,
    thresholds: Thresholds = DEFAULTS,
    unservable: Sequence[str] = (),
) -> bytes:
    """The text of ``/metrics``; ``unservable`` are the names of campaigns that cannot be served."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_CampaignCollector(views, server, thresholds, unservable))
    return generate_latest(registry)


class _CampaignCollector(Collector):
    def __init__(
        self,
        views: Sequence[CampaignView],
        server: ServerHealth,
        thresholds: Thresholds,
        unservable: Sequence[str],
    ) -> None:
        self._views, self._server, self._thresholds = views, server, thresholds
        self._unservable = unservable

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterator[Metric]:
        for metric in CAMPAIGN_METRICS:
            family = metric.family()
            for view in self._views:
                family.add_metric([view.metrics.name], metric.value(view, self._thresholds))
            yield family
        found = {
            view.metrics.name: {item.kind for item in status_of(view, self._thresholds)}
            for view in self._views
        }
        found |= {name: {UNSERVABLE.name} for name in self._unservable}
        for kind in KINDS:
            if kind.is_alert:
                alert = GaugeMetricFamily(kind.metric, kind.metric_help, labels=["campaign"])
                for name, kinds in found.items():
                    if kind is UNSERVABLE or name not in self._unservable:
                        alert.add_metric([name], float(kind.name in kinds))
                yield alert
        for gauge in SERVER_METRICS:
            if (value := gauge.value(self._server)) is not None:
                yield GaugeMetricFamily(gauge.name, gauge.help, value=value)
