"""The metrics of ``/metrics``, for the campaigns that this server leads: one function each.

What the server counts and times while it works is in :mod:`tutelage.service.instruments`.
Every kind of status item that is an alert is a gauge too: ``tutelage_stalled{campaign="..."}`` is 1 while the
campaign is stalled (:mod:`tutelage.service.monitoring.status`).  docs/dashboard.md lists all metrics.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from prometheus_client.utils import floatToGoString

from tutelage.service.monitoring.campaign_view import Array, CampaignView, Metrics, ServerHealth
from tutelage.service.monitoring.status import DEFAULTS, KINDS, Thresholds, alerts_of
from tutelage.service.monitoring.status.stalled import find_silent_clients
from tutelage.service.monitoring.status.unservable import unservable

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class MetricDefinition:
    """A metric: ``value`` computes it, from a campaign's metrics or view or, without a label, from the server.

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

    def write_sample(self, labels: str, value: float) -> str:
        """A line of the metric."""
        return _write_sample(self.name, labels, value)

    def write(self, samples: Iterable[str]) -> str:
        """The metric with these lines of samples, as text."""
        return _write_metric(self.name, self.help, samples)


class MetricGroup(list[MetricDefinition]):
    """Metrics whose functions get the same argument."""

    def add(self, value: Function) -> Function:
        """Add the metric that a function computes."""
        self.append(MetricDefinition(value))
        return value


CAMPAIGN_METRICS = MetricGroup()  # of Metrics, with the campaign's name as the label
TIMED_METRICS = MetricGroup()  # of CampaignView and Thresholds: these change with time, too
CLIENT_METRICS = MetricGroup()  # of CampaignView, for every client [M]
SERVER_METRICS = MetricGroup()  # of ServerHealth; left out while the value is None
MOST_CLIENTS = 1_000
LEADS_HELP = "1 if this server is the leader of the campaign, the only one that writes to it, otherwise 0."
LEFT_OUT_HELP = "Clients left out of the metrics tutelage_client_*, because there are more than --client-metrics."


@CAMPAIGN_METRICS.add
def pulls_total(metrics: Metrics) -> float:
    """Pulls stored for the campaign: choices that its clients made and sent with their rewards."""
    return float(metrics.pulls.sum())


@CAMPAIGN_METRICS.add
def ledger_rows_total(metrics: Metrics) -> float:
    """Rows stored for the campaign: pulls, and events such as its start or a decision."""
    return metrics.position


@CAMPAIGN_METRICS.add
def replayed_pulls_total(metrics: Metrics) -> float:
    """Pulls that were sent again, as after a timeout, and answered as before, since this server became the leader."""
    return metrics.replays


@CAMPAIGN_METRICS.add
def beyond_horizon_pulls_total(metrics: Metrics) -> float:
    """Pulls of clients that had already made all planned pulls: they are answered but not used for decisions."""
    return metrics.beyond_horizon


@CAMPAIGN_METRICS.add
def bypassed_pulls_total(metrics: Metrics) -> float:
    """Pulls whose client used the reward that it observed, because no response came in time, and reported this."""
    return metrics.bypassed


@CAMPAIGN_METRICS.add
def refused_conflicts_total(metrics: Metrics) -> float:
    """Refused requests that reused a stored pull's id with different content, since this server became the leader."""
    return metrics.conflicts


@CAMPAIGN_METRICS.add
def round(metrics: Metrics) -> float:
    """Largest number of pulls that any client of the campaign has made, up to tutelage_horizon_rounds."""
    return metrics.round


@CAMPAIGN_METRICS.add
def horizon_rounds(metrics: Metrics) -> float:
    """Number of pulls for which the campaign is planned, for each client."""
    return metrics.horizon


@CAMPAIGN_METRICS.add
def active_arms(metrics: Metrics) -> float:
    """Arms (options that clients choose from) that may still turn out to be the best one."""
    return len(metrics.active_arms)


@CAMPAIGN_METRICS.add
def clients(metrics: Metrics) -> float:
    """Clients of the campaign, including those that an operator excluded."""
    return len(metrics.clients)


@TIMED_METRICS.add
def clients_silent(view: CampaignView, thresholds: Thresholds) -> float:
    """Clients, except excluded ones, that are silent.

    They have made no pull for over --stalled-seconds and for over --stalled-intervals times their usual interval
    between pulls.
    """
    return int(find_silent_clients(view, thresholds).sum())


@CAMPAIGN_METRICS.add
def directive(metrics: Metrics) -> float:
    """Serial number of the rules in force for changing rewards: 1 at the start, one more after each consultation."""
    return metrics.directive


@CAMPAIGN_METRICS.add
def quota_ratio(metrics: Metrics) -> float:
    """Progress to the next consultation (evaluation of the pulls), from 0 to 1, of the client furthest behind."""
    return metrics.quota_share


@CAMPAIGN_METRICS.add
def missing_pulls(metrics: Metrics) -> float:
    """Pulls that clients still have to make before the next consultation (evaluation of the pulls)."""
    return float(metrics.missing.sum())


@CAMPAIGN_METRICS.add
def decided(metrics: Metrics) -> float:
    """1 if the campaign has decided which arm (option) is the best, otherwise 0."""
    return float(metrics.target is not None)


@CAMPAIGN_METRICS.add
def cost(metrics: Metrics) -> float:
    """Sum of the absolute changes that the server made to rewards, with rewards scaled to the range from 0 to 1."""
    return metrics.cost


@TIMED_METRICS.add
def pulls_per_second(view: CampaignView, thresholds: Thresholds) -> float:
    """Pulls of the campaign per second, over the last minute."""
    return view.activity.pulls_per_second


@TIMED_METRICS.add
def idle_seconds(view: CampaignView, thresholds: Thresholds) -> float:
    """Seconds since the last pull of any client that is not excluded, or since the campaign's last start if later."""
    return float(np.min(view.activity.silence[view.metrics.is_evidence], initial=np.inf))


@CLIENT_METRICS.add
def client_missing_pulls(view: CampaignView) -> Array:
    """Pulls that this client still has to make before the next consultation (evaluation of the pulls)."""
    missing: Array = view.metrics.missing.sum(axis=1)
    return missing


@CLIENT_METRICS.add
def client_silent_seconds(view: CampaignView) -> Array:
    """Seconds since the last pull of this client, or since the campaign's last start if that is later."""
    return view.activity.silence


@SERVER_METRICS.add
def waiting_pulls(server: ServerHealth) -> float | None:
    """Pulls received but not yet written to the database."""
    return server.waiting_pulls


@SERVER_METRICS.add
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
    """The campaigns' part of ``/metrics``, in Prometheus' text format.

    ``unservable_names`` are the names of campaigns that cannot be served; ``leads`` says of each running campaign
    whether this server leads it.  At most ``most_clients`` clients have metrics of their own.

    The lines are written here, because the library takes ten times as long for each of them.
    """
    labels = [_write_labels(campaign=view.metrics.name) for view in views]
    texts = [_write_values(view.metrics) for view in views]
    parts = [
        metric.write([f"{metric.name}{label} {text[place]}\n" for label, text in zip(labels, texts, strict=True)])
        for place, metric in enumerate(CAMPAIGN_METRICS)
    ]
    for metric in TIMED_METRICS:
        values = [metric.value(view, thresholds) for view in views]
        parts.append(metric.write(map(metric.write_sample, labels, values)))
    parts += _write_clients(views, most_clients)
    leading = [
        _write_sample("tutelage_leads", _write_labels(campaign=name), led)
        for name, led in sorted((leads or {}).items())
    ]
    parts.append(_write_metric("tutelage_leads", LEADS_HELP, leading))
    parts += _write_alerts(views, thresholds, unservable_names)
    for metric in SERVER_METRICS:
        if (value := metric.value(server)) is not None:
            parts.append(metric.write([metric.write_sample("", value)]))
    return "".join(parts).encode()


_VALUES: WeakKeyDictionary[Metrics, list[str]] = WeakKeyDictionary()


def _write_values(metrics: Metrics) -> list[str]:
    """The values of ``CAMPAIGN_METRICS`` as text, written once: an unchanged campaign keeps its metrics."""
    found = _VALUES.get(metrics)
    if found is None:
        found = _VALUES[metrics] = [_write_number(metric.value(metrics)) for metric in CAMPAIGN_METRICS]
    return found


def _write_clients(views: Sequence[CampaignView], most_clients: int) -> Iterator[str]:
    """Yield the metrics of clients, of whole campaigns in the order of their names while they fit."""
    room, left_out, shown = most_clients, 0, list[CampaignView]()
    for view in views:
        if (number := len(view.metrics.clients)) > room:
            left_out += number
        else:
            room -= number
            shown.append(view)
    labels = [
        _write_labels(campaign=view.metrics.name, client=client) for view in shown for client in view.metrics.clients
    ]
    for metric in CLIENT_METRICS:
        values = [value for view in shown for value in metric.value(view).tolist()]
        yield metric.write(map(metric.write_sample, labels, values))
    name = "tutelage_clients_without_metrics"
    yield _write_metric(name, LEFT_OUT_HELP, [_write_sample(name, "", left_out)])


def _write_alerts(
    views: Sequence[CampaignView], thresholds: Thresholds, unservable_names: Sequence[str]
) -> Iterator[str]:
    """Yield a gauge for each kind of status item that is an alert."""
    found = {view.metrics.name: alerts_of(view, thresholds) for view in views}
    found |= {name: {unservable.name} for name in unservable_names}
    labels = {name: _write_labels(campaign=name) for name in found}
    known = found.keys() - set(unservable_names)
    for kind in KINDS:
        if kind.is_alert:
            names = [name for name in found if kind is unservable or name in known]
            samples = [_write_sample(kind.metric, labels[name], kind.name in found[name]) for name in names]
            yield _write_metric(kind.metric, kind.metric_help, samples)


def _write_metric(name: str, help: str, samples: Iterable[str]) -> str:
    kind = "counter" if name.endswith("_total") else "gauge"
    escaped = help.replace("\\", r"\\").replace("\n", r"\n")
    return f"# HELP {name} {escaped}\n# TYPE {name} {kind}\n{''.join(samples)}"


def _write_sample(name: str, labels: str, value: float) -> str:
    return f"{name}{labels} {_write_number(value)}\n"


def _write_number(value: float) -> str:
    text: str = floatToGoString(value)  # type: ignore[no-untyped-call]
    return text


def _write_labels(**labels: str) -> str:
    """Return labels in braces, in the order of their names as the library has them."""
    escaped = {
        name: value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"") for name, value in labels.items()
    }
    return "{" + ",".join(f'{name}="{value}"' for name, value in escaped.items()) + "}"
