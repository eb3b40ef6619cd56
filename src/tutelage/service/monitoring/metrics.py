"""/metrics: the figures of the campaigns that this server leads, as Prometheus reads them.

Every alert of the page is a gauge of the same name, 1 while it is so: ``tutelage_stalled{campaign="..."}``.
What only grows is a counter, whose name ends in ``_total``.
"""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from tutelage.service.monitoring.figures import Figures, Server
from tutelage.service.monitoring.status import ALERTS, CANNOT_BE_SERVED, DEFAULTS, silent_clients, states_of
from tutelage.service.monitoring.thresholds import Thresholds

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_COUNTERS = {
    "pulls": "Pulls in the ledger.",
    "position": "The last position of the ledger.",
    "replayed_pulls": "Pulls that were answered again since this server leads.",
    "beyond_horizon_pulls": "Pulls behind their clients' last round, which are no evidence.",
    "refused_conflicts": "Requests that told other content under a stored id since this server leads.",
}
_GAUGES = {
    "round": "The most pulls that a client has made, up to the horizon.",
    "horizon_rounds": "The horizon.",
    "arms_in_play": "Arms that are not ruled out.",
    "clients": "Clients, the excluded ones too.",
    "clients_silent": "Clients that have been silent for longer than anybody should wait for.",
    "epoch": "1 + the consultations of the teacher so far.",
    "epoch_filled_ratio": "The share of the quota that is filled.",
    "missing_pulls": "Pulls that the quota still misses.",
    "decided": "1 once there is a target.",
    "cost": "The sum of all adjustments, in units of [0, 1].",
    "pulls_per_second": "Pulls a second in the last minute.",
    "idle_seconds": "Seconds since the last pull of any client that counts, or the start.",
}


def metrics_text(
    campaigns: Sequence[Figures],
    server: Server,
    thresholds: Thresholds = DEFAULTS,
    unserved: Sequence[str] = (),
) -> bytes:
    """The text of ``/metrics``; ``unserved`` are the names of campaigns that cannot be served."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Campaigns(campaigns, server, thresholds, unserved))
    return generate_latest(registry)


class _Campaigns(Collector):
    def __init__(
        self,
        campaigns: Sequence[Figures],
        server: Server,
        thresholds: Thresholds,
        unserved: Sequence[str],
    ) -> None:
        self._campaigns, self._server, self._thresholds = campaigns, server, thresholds
        self._unserved = unserved

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterator[Metric]:
        families: dict[str, CounterMetricFamily | GaugeMetricFamily] = {
            name: kind(f"tutelage_{name}", words, labels=["campaign"])
            for kind, all_words in ((CounterMetricFamily, _COUNTERS), (GaugeMetricFamily, _GAUGES))
            for name, words in all_words.items()
        }
        alerts = {
            kind: GaugeMetricFamily(
                f"tutelage_{kind.replace(' ', '_')}", f"1 while the page says: {kind}.", labels=["campaign"]
            )
            for kind in ALERTS
        }
        for figures in self._campaigns:
            name = [figures.taken.name]
            for key, value in _values(figures, self._thresholds).items():
                families[key].add_metric(name, value)
            now = {state.kind for state in states_of(figures, self._thresholds)}
            for kind, family in alerts.items():
                family.add_metric(name, float(kind in now))
        for one in self._unserved:
            alerts[CANNOT_BE_SERVED].add_metric([one], 1.0)
        yield from families.values()
        yield from alerts.values()
        yield from _of_server(self._server)


def _values(figures: Figures, thresholds: Thresholds) -> dict[str, float]:
    taken = figures.taken
    return {
        "pulls": float(taken.pulls.sum()),
        "round": taken.round,
        "horizon_rounds": taken.horizon,
        "position": taken.position,
        "arms_in_play": len(taken.active_arms),
        "clients": len(taken.clients),
        "clients_silent": int(silent_clients(figures, thresholds).sum()),
        "epoch": taken.directive,
        "epoch_filled_ratio": taken.filled,
        "missing_pulls": float(taken.missing.sum()),
        "decided": float(taken.target is not None),
        "cost": taken.cost,
        "replayed_pulls": taken.replays,
        "refused_conflicts": taken.conflicts,
        "pulls_per_second": figures.recent.pulls_per_second,
        "idle_seconds": float(np.min(figures.recent.silent[taken.counted], initial=np.inf)),
        "beyond_horizon_pulls": taken.beyond_horizon,
    }


def _of_server(server: Server) -> Iterator[Metric]:
    if server.disk is not None:
        yield GaugeMetricFamily(
            "tutelage_commit_seconds", "99 % of the last half minute's commits took less.", value=server.disk
        )
    yield GaugeMetricFamily("tutelage_waiting_pulls", "Pulls that wait for the disk.", value=server.waiting)
    yield GaugeMetricFamily(
        "tutelage_store_failed", "1 while the store takes nothing.", value=float(server.failure is not None)
    )
