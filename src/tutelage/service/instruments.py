"""What a server counts and times while it works, as metrics of Prometheus.

There is one :class:`Instruments` for each server.  What a campaign's memory tells at the time of a scrape is in
:mod:`tutelage.service.monitoring.prometheus` instead.
"""

import platform
from collections.abc import Iterator
from typing import Literal

import prometheus_client
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, Metric
from prometheus_client.process_collector import ProcessCollector

from tutelage.versions import package_version

LeaseChange = Literal["acquired", "lost", "released"]
_REQUEST_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_COMMIT_BUCKETS = (0.0005, *_REQUEST_BUCKETS)
_CONSULTATION_BUCKETS = (0.0001, 0.00025, *_COMMIT_BUCKETS)

# Otherwise each counter has a second series, the time of its first value.
prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]


class Instruments:
    """The metrics of one server, in a registry of their own."""

    def __init__(self) -> None:
        registry = self.registry = CollectorRegistry()
        self.request_seconds = Histogram(
            "tutelage_request_duration_seconds",
            "Time from the arrival of a request to the end of its response, by method, route and HTTP status.",
            ["method", "route", "status"],
            buckets=_REQUEST_BUCKETS,
            registry=registry,
        )
        self._requests: dict[tuple[str, str, int], Histogram] = {}
        self.in_flight = 0  # changed in the event loop only
        self.leases: set[str] = set()  # campaigns that this server leads; changed in the writer's thread only
        Gauge("tutelage_requests_in_flight", "Requests received and not answered yet.", registry=registry).set_function(
            lambda: self.in_flight
        )
        self.commit_seconds = Histogram(
            "tutelage_commit_duration_seconds",
            "Time to commit a group of changes, such as new pulls, to the database.",
            buckets=_COMMIT_BUCKETS,
            registry=registry,
        )
        self.consultation_seconds = Histogram(
            "tutelage_consultation_duration_seconds",
            "Time of a consultation, which evaluates new pulls and sets the rules by which rewards are changed.",
            buckets=_CONSULTATION_BUCKETS,
            registry=registry,
        )
        answered = Counter(
            "tutelage_answered_pulls_total",
            "Pulls that this server answered: accepted (new), replayed (sent before), or bypassed (reported by a "
            "client that had used the reward it observed).",
            ["outcome"],
            registry=registry,
        )
        self._accepted, self._replayed, self._bypassed = map(answered.labels, ("accepted", "replayed", "bypassed"))
        self.refused_pulls = Counter(
            "tutelage_refused_pulls_total",
            "Pulls that this server refused, by the type of the error; an unreadable request counts as one pull.",
            ["reason"],
            registry=registry,
        )
        self._lease_changes = Counter(
            "tutelage_lease_changes_total",
            "Leases (terms for which a server leads a campaign) that this server acquired, lost, or released.",
            ["change"],
            registry=registry,
        )
        self._forwarded = Counter(
            "tutelage_forwarded_requests_total",
            "Requests that this server passed on to the leader of their campaign, by outcome: answered or failed.",
            ["outcome"],
            registry=registry,
        )
        for change in ("acquired", "lost", "released"):
            self._lease_changes.labels(change)
        for outcome in ("answered", "failed"):
            self._forwarded.labels(outcome)
        Info("tutelage_build", "Versions of Tutelage and Python as labels, with the value 1.", registry=registry).info(
            {"version": package_version(), "python": platform.python_version()}
        )
        ProcessCollector(registry=registry)

    def observe_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request that has been answered; ``route`` is the path with its fields in braces."""
        key = method, route, status
        series = self._requests.get(key)
        if series is None:
            series = self._requests[key] = self.request_seconds.labels(method, route, str(status))
        series.observe(seconds)

    def count_answers(self, *, accepted: int, replayed: int, bypassed: int) -> None:
        """Count the pulls of a request that was answered."""
        for number, counter in ((accepted, self._accepted), (replayed, self._replayed), (bypassed, self._bypassed)):
            if number:
                counter.inc(number)

    def count_lease(self, campaign: str, change: LeaseChange) -> None:
        """Note that this server acquired or gave up the lease of a campaign; a repeated note changes nothing."""
        if (change == "acquired") == (campaign in self.leases):
            return
        self.leases ^= {campaign}
        self._lease_changes.labels(change).inc()

    def count_forwarded(self, *, is_answered: bool) -> None:
        """Count a request that was forwarded."""
        self._forwarded.labels("answered" if is_answered else "failed").inc()

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics, as they are now."""
        yield from self.registry.collect()
