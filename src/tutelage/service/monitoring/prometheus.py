"""The metrics of ``/metrics``, for the campaigns that this server leads: one function each.

What the server counts and times while it works is in :mod:`tutelage.service.instruments`.
Every kind of status item that is an alert is a gauge too: ``tutelage_stalled{campaign="..."}`` is 1 while the
campaign is stalled (:mod:`tutelage.service.monitoring.status`).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from tutelage.service.monitoring.campaign_view import Array, CampaignView, ServerHealth
from tutelage.service.monitoring.status import DEFAULTS, KINDS, Thresholds, alerts_of
from tutelage.service.monitoring.status.stalled import find_silent_clients
from tutelage.service.monitoring.status.unservable import unservable

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


Value = Callable[[CampaignView, Thresholds], float]
ClientValue = Callable[[CampaignView], Array]
ServerValue = Callable[[ServerHealth], float | None]


@dataclass(frozen=True)
class MetricDefinition:
    """A metric: ``value`` computes it, from the view of a campaign or, without a label, from the server.

    Its name is that of the function, which ends in ``_total`` for a counter, and its help the docstring.
    """

    value: Callable[..., Any]

    @property
    def name(self) -> str:
        """The name in ``/metrics``."""
        return f"tutelage_{self.value.__name__}"

    @property
    def help(self) -> str:
        """The description in ``/metrics``."""
        return " ".join((self.value.__doc__ or "").split())

    def family(self, *labels: str) -> CounterMetricFamily | GaugeMetricFamily:
        """The metric without values."""
        kind = CounterMetricFamily if self.name.endswith("_total") else GaugeMetricFamily
        return kind(self.name, self.help, labels=labels)


CAMPAIGN_METRICS: list[MetricDefinition] = []
CLIENT_METRICS: list[MetricDefinition] = []
SERVER_METRICS: list[MetricDefinition] = []
MOST_CLIENTS = 1_000
LEADS_HELP = "1 if this server is the leader of the campaign, the only one that writes to it, otherwise 0."
LEFT_OUT_HELP = "Clients left out of the metrics tutelage_client_*, because there are more than --client-metrics."


def campaign_metric(value: Value) -> Value:
    """Add a metric of every campaign, with its name as the label."""
    CAMPAIGN_METRICS.append(MetricDefinition(value))
    return value


def client_metric(value: ClientValue) -> ClientValue:
    """Add a metric of every client [M] of a campaign."""
    CLIENT_METRICS.append(MetricDefinition(value))
    return value


def server_metric(value: ServerValue) -> ServerValue:
    """Add a metric of the server, which is left out while its value is None."""
    SERVER_METRICS.append(MetricDefinition(value))
    return value


@campaign_metric
def pulls_total(view: CampaignView, thresholds: Thresholds) -> float:
    """Pulls stored for the campaign: choices that its clients made and sent with their rewards."""
    return float(view.metrics.pulls.sum())


@campaign_metric
def ledger_rows_total(view: CampaignView, thresholds: Thresholds) -> float:
    """Rows stored for the campaign: pulls, and events such as its start or a decision."""
    return view.metrics.position


@campaign_metric
def replayed_pulls_total(view: CampaignView, thresholds: Thresholds) -> float:
    """Pulls that were sent again, as after a timeout, and answered as before, since this server became the leader."""
    return view.metrics.replays


@campaign_metric
def beyond_horizon_pulls_total(view: CampaignView, thresholds: Thresholds) -> float:
    """Pulls of clients that had already made all planned pulls: they are answered but not used for decisions."""
    return view.metrics.beyond_horizon


@campaign_metric
def bypassed_pulls_total(view: CampaignView, thresholds: Thresholds) -> float:
    """Pulls whose client used the reward that it observed, because no response came in time, and reported this."""
    return view.metrics.bypassed


@campaign_metric
def refused_conflicts_total(view: CampaignView, thresholds: Thresholds) -> float:
    """Refused requests that reused a stored pull's id with different content, since this server became the leader."""
    return view.metrics.conflicts


@campaign_metric
def round(view: CampaignView, thresholds: Thresholds) -> float:
    """Largest number of pulls that any client of the campaign has made, up to tutelage_horizon_rounds."""
    return view.metrics.round


@campaign_metric
def horizon_rounds(view: CampaignView, thresholds: Thresholds) -> float:
    """Number of pulls for which the campaign is planned, for each client."""
    return view.metrics.horizon


@campaign_metric
def active_arms(view: CampaignView, thresholds: Thresholds) -> float:
    """Arms (options that clients choose from) that may still turn out to be the best one."""
    return len(view.metrics.active_arms)


@campaign_metric
def clients(view: CampaignView, thresholds: Thresholds) -> float:
    """Clients of the campaign, including those that an operator excluded."""
    return len(view.metrics.clients)


@campaign_metric
def clients_silent(view: CampaignView, thresholds: Thresholds) -> float:
    """Clients, except excluded ones, that are silent.

    They have made no pull for over --stalled-seconds and for over --stalled-intervals times their usual interval
    between pulls.
    """
    return int(find_silent_clients(view, thresholds).sum())


@campaign_metric
def directive(view: CampaignView, thresholds: Thresholds) -> float:
    """Serial number of the rules in force for changing rewards: 1 at the start, one more after each consultation."""
    return view.metrics.directive


@campaign_metric
def quota_ratio(view: CampaignView, thresholds: Thresholds) -> float:
    """Progress to the next consultation (evaluation of the pulls), from 0 to 1, of the client furthest behind."""
    return view.metrics.quota_share


@campaign_metric
def missing_pulls(view: CampaignView, thresholds: Thresholds) -> float:
    """Pulls that clients still have to make before the next consultation (evaluation of the pulls)."""
    return float(view.metrics.missing.sum())


@campaign_metric
def decided(view: CampaignView, thresholds: Thresholds) -> float:
    """1 if the campaign has decided which arm (option) is the best, otherwise 0."""
    return float(view.metrics.target is not None)


@campaign_metric
def cost(view: CampaignView, thresholds: Thresholds) -> float:
    """Sum of the absolute changes that the server made to rewards, with rewards scaled to the range from 0 to 1."""
    return view.metrics.cost


@campaign_metric
def pulls_per_second(view: CampaignView, thresholds: Thresholds) -> float:
    """Pulls of the campaign per second, over the last minute."""
    return view.activity.pulls_per_second


@campaign_metric
def idle_seconds(view: CampaignView, thresholds: Thresholds) -> float:
    """Seconds since the last pull of any client that is not excluded, or since the campaign's last start if later."""
    return float(np.min(view.activity.silence[view.metrics.is_evidence], initial=np.inf))


@client_metric
def client_missing_pulls(view: CampaignView) -> Array:
    """Pulls that this client still has to make before the next consultation (evaluation of the pulls)."""
    missing: Array = view.metrics.missing.sum(axis=1)
    return missing


@client_metric
def client_silent_seconds(view: CampaignView) -> Array:
    """Seconds since the last pull of this client, or since the campaign's last start if that is later."""
    return view.activity.silence


@server_metric
def waiting_pulls(server: ServerHealth) -> float | None:
    """Pulls received but not yet written to the database."""
    return server.waiting_pulls


@server_metric
def store_failed(server: ServerHealth) -> float | None:
    """1 while the database rejects writes, otherwise 0."""
    return float(server.failure is not None)


def render_metrics(
    views: Sequence[CampaignView],
    server: ServerHealth,
    thresholds: Thresholds = DEFAULTS,
    unservable_names: Sequence[str] = (),
    *,
    leads: Mapping[str, bool] | None = None,
    most_clients: int = MOST_CLIENTS,
) -> bytes:
    """The campaigns' part of ``/metrics``.

    ``unservable_names`` are the names of campaigns that cannot be served; ``leads`` says of each running campaign
    whether this server leads it.  At most ``most_clients`` clients have metrics of their own.
    """
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_CampaignCollector(views, server, thresholds, unservable_names, leads or {}, most_clients))
    return generate_latest(registry)


@dataclass(frozen=True, eq=False)
class _CampaignCollector(Collector):
    views: Sequence[CampaignView]
    server: ServerHealth
    thresholds: Thresholds
    unservable: Sequence[str]
    leads: Mapping[str, bool]
    most_clients: int

    def collect(self) -> Iterator[Metric]:
        for metric in CAMPAIGN_METRICS:
            family = metric.family("campaign")
            for view in self.views:
                family.add_metric([view.metrics.name], metric.value(view, self.thresholds))
            yield family
        yield from self._collect_clients()
        leading = GaugeMetricFamily("tutelage_leads", LEADS_HELP, labels=["campaign"])
        for name, is_leader in sorted(self.leads.items()):
            leading.add_metric([name], float(is_leader))
        yield leading
        found = {view.metrics.name: alerts_of(view, self.thresholds) for view in self.views}
        found |= {name: {unservable.name} for name in self.unservable}
        for kind in KINDS:
            if kind.is_alert:
                alert = GaugeMetricFamily(kind.metric, kind.metric_help, labels=["campaign"])
                for name, kinds in found.items():
                    if kind is unservable or name not in self.unservable:
                        alert.add_metric([name], float(kind.name in kinds))
                yield alert
        for metric in SERVER_METRICS:
            if (value := metric.value(self.server)) is not None:
                family = metric.family()
                family.add_metric([], value)
                yield family

    def _collect_clients(self) -> Iterator[Metric]:
        """Yield the metrics of clients, of whole campaigns in the order of their names while they fit."""
        families = [(metric, metric.family("campaign", "client")) for metric in CLIENT_METRICS]
        room, left_out = self.most_clients, 0
        for view in self.views:
            name, clients = view.metrics.name, view.metrics.clients
            if len(clients) > room:
                left_out += len(clients)
                continue
            room -= len(clients)
            for metric, family in families:
                for client, value in zip(clients, metric.value(view), strict=True):
                    family.add_metric([name, client], float(value))
        yield from (family for _, family in families)
        yield GaugeMetricFamily("tutelage_clients_without_metrics", LEFT_OUT_HELP, value=left_out)
