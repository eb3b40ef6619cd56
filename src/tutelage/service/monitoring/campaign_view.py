"""A view of a campaign at one moment, for people and alarms.

The page, ``/metrics`` and the status items are computed from a :class:`CampaignView` only.  A view never
changes, so other threads may use it at any time.

Shapes: M clients, K arms, B points in time.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tutelage.dependence_test import DependenceFinding
from tutelage.service.campaigns.campaign import Campaign
from tutelage.service.campaigns.series import Counts, Points
from tutelage.service.campaigns.session import Session
from tutelage.service.monitoring.event_log import LedgerSummary
from tutelage.text import name_arms

Array = NDArray[np.float64]
NO_POINTS = Points(np.zeros(0, np.int64), np.zeros(0), np.zeros((0, 0), np.int64))
Phase = Literal["registering", "learning", "undecidable", "decided", "stopped", "finished"]


@dataclass(frozen=True, eq=False)
class CounterSample:
    """The counters of a campaign that are copied every second; ``pulls`` [M, K] are all pulls."""

    position: int
    pulls: Counts
    cost: float
    replays: int
    conflicts: int


@dataclass(frozen=True, eq=False, kw_only=True)
class Metrics(CounterSample):
    """The numbers of a campaign, copied from its session between two groups of jobs; by default those before the start.

    ``evidence_pulls`` [M, K] are the pulls that are evidence.  ``quota`` [K] is the
    number of pulls that the teacher asks of every client (0: none), to be met for ``all`` arms in the quota
    or for ``any`` of them (``mode``); ``missing`` [M, K] is what is left of it, 0 for excluded clients, which
    are those where ``is_evidence`` [M] is False.  ``directive`` is the number of the directive in force: 1 +
    the consultations so far.  ``estimates`` [K] are the means of the global model from all observed rewards,
    NaN where some client that is not excluded has no pull; ``lower`` and ``upper`` [K] are the bounds of the
    latest consultation, NaN if there are none.  All three are in [0, 1], and so is the unit of ``cost``;
    ``low`` and ``high`` are the range of rewards as sent.  ``arm_evidence`` [K] is, for a teacher
    that bets, the evidence against each arm as a share of its threshold, NaN otherwise.  ``provisional_arm``
    is the arm that clients are led to after the teacher stopped trying to decide.  ``error_bound``
    is a sentence that bounds the probability of a wrong decision, if that is proved.  ``beyond_horizon``
    counts the pulls after their clients' last round, which are not evidence; ``bypassed`` those whose clients
    used the observed reward, as they reported.  ``series`` are the points of the charts; ``changed`` is the time
    of the last change of a counter, in microseconds since 1970.
    """

    name: str
    teacher: str
    arms: tuple[str, ...]
    clients: tuple[str, ...]
    horizon: int
    low: float
    high: float
    status: str
    evidence_pulls: Counts
    quota: Counts
    missing: Counts
    is_evidence: NDArray[np.bool_]
    active_arms: tuple[int, ...]
    estimates: Array
    lower: Array
    upper: Array
    arm_evidence: Array
    mode: str = "all"
    directive: int = 1
    target: int | None = None
    reachable: bool = True
    sentence: str = "not started"
    provisional_arm: int | None = None
    error_bound: str = ""
    beyond_horizon: int = 0
    bypassed: int = 0
    series: Points = NO_POINTS
    changed: int = 0

    @cached_property
    def rounds(self) -> Counts:
        """The pulls [M] of each client."""
        rounds: Counts = self.pulls.sum(axis=1)
        return rounds

    @property
    def round(self) -> int:
        """The largest number of pulls of any client, at most the horizon."""
        return min(int(self.rounds.max(initial=0)), self.horizon)

    @cached_property
    def phase(self) -> Phase:
        """Where the campaign is between its creation and its end."""
        if self.status == "registering":
            return "registering"
        if self.is_finished:
            return "finished"
        if self.status == "stopped":
            return "stopped"
        if self.target is not None:
            return "decided"
        return "learning" if self.provisional_arm is None else "undecidable"

    @cached_property
    def is_learning(self) -> bool:
        """Whether the campaign accepts pulls and has no target yet."""
        return self.status == "running" and self.target is None and not self.is_finished

    @cached_property
    def is_finished(self) -> bool:
        """Whether every client that is not excluded has reached the horizon."""
        rounds = self.rounds[self.is_evidence]
        return bool(rounds.size) and int(rounds.min()) >= self.horizon

    @property
    def taught_arm(self) -> int | None:
        """The arm that clients are led to: the target, or the provisional arm."""
        return self.target if self.target is not None else self.provisional_arm

    @cached_property
    def in_quota(self) -> NDArray[np.bool_]:
        """Which arms [K] have a quota."""
        return self.quota > 0

    @cached_property
    def deciding_pair(self) -> tuple[int, int] | None:
        """The client and the arm that the next consultation waits for most; None without a quota.

        Each arm in the quota waits for the client with the smallest share of it; of the arms, the one with the
        smallest such share decides or, for a quota that any one arm can meet, the one with the largest.
        """
        if not self.in_quota.any() or not self.is_evidence.any():
            return None
        arms = np.flatnonzero(self.in_quota)
        shares = 1.0 - self.missing[:, arms] / self.quota[arms]
        lowest = shares.min(axis=0)
        place = int(lowest.argmax() if self.mode == "any" else lowest.argmin())
        return int(shares[:, place].argmin()), int(arms[place])

    @property
    def quota_share(self) -> float:
        """How far the next consultation is: the deciding pair's share of its quota, in [0, 1]; 1 without a quota."""
        if self.deciding_pair is None:
            return 1.0
        client, arm = self.deciding_pair
        return float(1.0 - self.missing[client, arm] / self.quota[arm])

    def to_reward(self, value: float) -> float:
        """Convert a mean or bound from [0, 1] to the units of the rewards as they are sent."""
        return self.low + (self.high - self.low) * value


@dataclass(frozen=True, eq=False)
class ChartPoints:
    """Counters at ``times`` [B] (seconds since 1970): ``costs`` [B], and ``arm_pulls`` [B, K] by all clients."""

    times: Array
    costs: Array
    arm_pulls: Counts


@dataclass(frozen=True, eq=False)
class RecentActivity:
    """What a campaign's clients did in the last minutes.

    ``silence`` [M] are the seconds since each client's last pull, or since the campaign was last started;
    ``usual_interval`` [M] those between two of its pulls while it was pulling (NaN: unknown), and
    ``is_interval_known`` [M] whether enough pulls tell it.  ``window_pulls`` [M, K] are the pulls of the last
    ``window_seconds``, five minutes if so much is known, with the ``replays`` and ``conflicts`` in it;
    ``minute_pulls`` [M, K] those of the last ``minute_seconds``, which cost ``minute_cost``; of them
    ``taught_pulls`` [M, K] were made since the decision, if there is one, in ``taught_seconds``.
    ``make_points`` computes ``points``, which only charts need.
    """

    silence: Array
    usual_interval: Array
    is_interval_known: NDArray[np.bool_]
    window_seconds: float
    window_pulls: Counts
    replays: int
    conflicts: int
    minute_seconds: float
    minute_pulls: Counts
    minute_cost: float
    taught_seconds: float
    taught_pulls: Counts
    make_points: Callable[[], ChartPoints]

    @cached_property
    def points(self) -> ChartPoints:
        """The counters over time."""
        return self.make_points()

    @property
    def pulls_per_second(self) -> float:
        """The rate of the last minute."""
        return float(self.minute_pulls.sum()) / self.minute_seconds if self.minute_seconds > 0 else 0.0


@dataclass(frozen=True)
class ServerHealth:
    """The server that made the view.

    ``commit_seconds`` is the 99th-percentile commit time of the last 30 seconds, ``waiting_pulls`` the length
    of its queue.  ``leader`` is the address of the campaign's leader if that is another server.
    ``command_server`` is the server that commands for an operator name, empty for the commands' default.
    """

    name: str = ""
    leads: bool = True
    leader: str | None = None
    commit_seconds: float | None = None
    waiting_pulls: int = 0
    failure: str | None = None
    command_server: str = ""


@dataclass(frozen=True, eq=False)
class CampaignView:
    """Everything that is shown of a campaign.

    ``measured`` is the time at which ``metrics`` were copied, ``now`` the time of the view, both in seconds
    since 1970.  ``at_round`` is the round of a view of the past.  ``dependence`` is what the leader's test for
    dependence between clients has found, None elsewhere.
    """

    metrics: Metrics
    activity: RecentActivity
    ledger: LedgerSummary
    server: ServerHealth
    measured: float
    now: float
    at_round: int | None = None
    dependence: DependenceFinding | None = None


def sample_counters(session: Session) -> CounterSample:
    """Copy the counters; to be called between two groups of jobs."""
    campaign, tally = session.campaign, session.tally
    if campaign is None:
        pulls = np.zeros((len(session.clients), len(session.settings.arms)), dtype=np.int64)
        return CounterSample(session.position, pulls, 0.0, tally.replays, tally.conflicts)
    return CounterSample(session.position, campaign.pulls, campaign.cost, tally.replays, tally.conflicts)


def read_metrics(session: Session) -> Metrics:
    """Copy all numbers; to be called between two groups of jobs."""
    campaign, settings = session.campaign, session.settings
    size = (len(session.clients), len(settings.arms))
    nothing = np.zeros(size, dtype=np.int64)
    unknown = np.full(size[1], np.nan)
    if campaign is None:
        return Metrics(
            **_common_fields(session),
            pulls=nothing,
            evidence_pulls=nothing,
            quota=nothing.sum(axis=0),
            missing=nothing,
            is_evidence=np.ones(size[0], dtype=np.bool_),
            active_arms=tuple(range(size[1])),
            estimates=unknown,
            lower=unknown,
            upper=unknown,
            arm_evidence=unknown,
            cost=0.0,
        )
    report, quota, collected = campaign.report(), campaign.collected.quota, campaign.collected
    return Metrics(
        **_common_fields(session),
        pulls=campaign.pulls,
        evidence_pulls=collected.pulls,
        quota=np.array(quota.counts if quota else (0,) * size[1], dtype=np.int64),
        mode=quota.mode if quota else "all",
        missing=collected.count_missing(),
        is_evidence=collected.is_evidence.copy(),
        directive=1 + campaign.consultations,
        active_arms=campaign.directive.active_arms,
        target=campaign.target,
        reachable=report.reachable,
        sentence=name_arms(report.sentence, settings.arms),
        estimates=_estimate_means(campaign),
        lower=np.array(report.lower, dtype=np.float64),
        upper=np.array(report.upper, dtype=np.float64),
        arm_evidence=np.array(report.evidence or (None,) * size[1], dtype=np.float64),
        cost=campaign.cost,
        provisional_arm=campaign.directive.leading_arm if report.is_undecidable else None,
        error_bound=campaign.setup.teacher.error_bound(campaign.setup.problem),
        beyond_horizon=campaign.beyond_horizon,
    )


def _common_fields(session: Session) -> dict[str, Any]:
    settings = session.settings
    return {
        "name": session.name,
        "teacher": settings.teacher,
        "arms": settings.arms,
        "clients": tuple(session.clients),
        "horizon": settings.horizon,
        "low": settings.low,
        "high": settings.high,
        "status": session.status,
        "position": session.position,
        "replays": session.tally.replays,
        "conflicts": session.tally.conflicts,
        "bypassed": session.bypassed,
        "series": session.series.points,
        "changed": session.series.last,
    }


def _estimate_means(campaign: Campaign) -> Array:
    """sum_m w_m (mean observed reward of arm k at client m) over the clients that are not excluded, [K]."""
    is_evidence = campaign.collected.is_evidence
    pulls = np.array([client.pulls for client in campaign.clients], dtype=np.float64)[is_evidence]
    sums = np.array([client.observed for client in campaign.clients])[is_evidence]
    weights = np.array(campaign.setup.problem.weights)[is_evidence]
    with np.errstate(invalid="ignore"):
        means = sums / pulls
    estimates: Array = weights @ means / weights.sum()
    return estimates
