"""A campaign's figures for people: what is copied between two groups, and all that is told beside it.

Pages, metrics and the list of states are made from a :class:`Figures` alone, in other threads, whenever they
like: nothing in it changes any more.

Shapes: M clients, K arms, B points in time.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tutelage.service.campaigns.campaign import Campaign
from tutelage.service.campaigns.series import Counts, Point
from tutelage.service.campaigns.session import Session
from tutelage.service.display import with_names

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Taken:
    """A campaign between two groups.

    ``pulls`` [M, K] are all pulls, ``collected`` [M, K] those that are evidence; ``quota`` [K] the pulls
    that every client is awaited to have (0: not awaited), met by ``all`` listed arms or ``any`` of them,
    and ``missing`` [M, K] what is lacking, 0 for the excluded.  ``counted`` [M] is False for those.
    ``estimates`` [K] are the means of the global model from all observed rewards, NaN where a counted
    client has none; ``lower`` and ``upper`` [K] the bounds of the latest epoch, NaN where there are none.
    All three are in [0, 1], as is ``cost``'s unit; ``low`` and ``high`` are the sender's range.
    ``evidence`` [K] is, of a teacher that bets, how near each arm is to being ruled out, NaN elsewhere.
    ``provisional`` is the arm that clients are led to where the teacher has given up deciding.
    ``error_bound`` is the teacher's sentence on the probability of a wrong decision, empty if it has none.
    ``beyond_horizon`` counts the pulls behind their clients' last round, which are no evidence.
    ``series`` are the points of the charts, ``changed`` when a counter changed last, as it has them.
    """

    name: str
    teacher: str
    arms: tuple[str, ...]
    clients: tuple[str, ...]
    horizon: int
    low: float
    high: float
    status: str
    position: int
    pulls: Counts
    collected: Counts
    quota: Counts
    mode: str
    missing: Counts
    counted: NDArray[np.bool_]
    directive: int
    active_arms: tuple[int, ...]
    target: int | None
    reachable: bool
    sentence: str
    estimates: Array
    lower: Array
    upper: Array
    cost: float
    replays: int
    conflicts: int
    evidence: Array
    provisional: int | None = None
    error_bound: str = ""
    beyond_horizon: int = 0
    series: tuple[Point, ...] = ()
    changed: int = 0

    @property
    def rounds(self) -> Counts:
        """The pulls [M] of each client."""
        rounds: Counts = self.pulls.sum(axis=1)
        return rounds

    def to_sender(self, value: float) -> float:
        """A mean or bound in the sender's units."""
        return self.low + (self.high - self.low) * value

    @property
    def round(self) -> int:
        """The most pulls that a client has made, up to the horizon: what is beyond is counted apart."""
        return min(int(self.rounds.max(initial=0)), self.horizon)

    @property
    def is_learning(self) -> bool:
        """Whether pulls are taken and a decision is to come."""
        return self.status == "running" and self.target is None and not self.is_over

    @property
    def led_to(self) -> int | None:
        """The arm that clients are led to: the target, or what stands in for it."""
        return self.target if self.target is not None else self.provisional

    @property
    def is_over(self) -> bool:
        """Whether every counted client has reached the horizon."""
        rounds = self.rounds[self.counted]
        return bool(rounds.size) and int(rounds.min()) >= self.horizon

    @property
    def listed(self) -> NDArray[np.bool_]:
        """The arms [K] that the quota lists."""
        return self.quota > 0

    @property
    def filled(self) -> float:
        """The share of the epoch's pulls that are made, in [0, 1]; 1 where none are awaited.

        Of a quota that any one arm can meet, that arm's share which is furthest.
        """
        wanted = self.quota * int(self.counted.sum())
        if not wanted.any():
            return 1.0
        if self.mode == "any":
            shares = 1.0 - self.missing.sum(axis=0)[self.listed] / wanted[self.listed]
            return float(shares.max())
        return float(1.0 - self.missing.sum() / wanted.sum())


@dataclass(frozen=True, eq=False)
class Sample:
    """The little of a campaign that is taken every second: counters, with all ``pulls`` [M, K]."""

    position: int
    pulls: Counts
    cost: float
    replays: int
    conflicts: int


@dataclass(frozen=True, eq=False)
class Recent:
    """What a campaign has done of late.

    ``silent`` [M] are the seconds since each client's last pull, or since the campaign was started last;
    ``usual_interval`` [M] those between two of its pulls while it was pulling (NaN: not known yet), and
    ``is_usual`` [M] whether that is judged from enough pulls.  ``window`` [M, K] are the pulls of the last
    ``span`` seconds, five minutes where so much is known, with the ``replays`` and ``conflicts`` in it;
    ``minute`` [M, K] those of the last ``minute_span`` seconds, which cost ``minute_cost``.
    ``times`` [B] (seconds since 1970), ``costs`` [B] and ``arm_pulls`` [B, K] are counters over time.
    """

    silent: Array
    usual_interval: Array
    is_usual: NDArray[np.bool_]
    span: float
    window: Counts
    replays: int
    conflicts: int
    minute_span: float
    minute: Counts
    minute_cost: float
    times: Array
    costs: Array
    arm_pulls: Counts

    @property
    def pulls_per_second(self) -> float:
        """The rate of the last minute."""
        return float(self.minute.sum()) / self.minute_span if self.minute_span > 0 else 0.0


@dataclass(frozen=True)
class Event:
    """Something that happened, from the ledger.  ``round`` is None where none is stored."""

    position: int
    time: float
    round: int | None
    sentence: str


@dataclass(frozen=True)
class Settled:
    """The decision for a target: when it was made, its position in the ledger, what learning has cost.

    ``since`` [K] are the pulls of each arm after it, None where no history reaches back so far.
    """

    position: int
    time: float
    round: int
    directive: int
    cost: float
    since: tuple[int, ...] | None = None


@dataclass(frozen=True, eq=False)
class Told:
    """What the ledger tells: ``lower`` and ``upper`` [K] of the last epoch that looked at each arm.

    ``epochs`` [K] says which that was, 0 where none did.  ``started`` is when the campaign began,
    ``resumed`` when it was started last.
    """

    events: tuple[Event, ...] = ()
    started: float | None = None
    resumed: float | None = None
    settled: Settled | None = None
    lower: tuple[float | None, ...] = ()
    upper: tuple[float | None, ...] = ()
    epochs: tuple[int, ...] = ()


@dataclass(frozen=True)
class Server:
    """The server at work.  ``disk`` is the time that 99 % of the last half minute's commits stayed below.

    ``waiting`` counts the pulls in its queue.  ``leader`` is the address of whoever leads the campaign if
    this server does not.
    """

    name: str = ""
    leads: bool = True
    leader: str | None = None
    disk: float | None = None
    waiting: int = 0
    failure: str | None = None


@dataclass(frozen=True, eq=False)
class Figures:
    """A campaign as people are shown it.

    ``time`` is when ``taken`` was taken, ``now`` when it is told, in seconds since 1970.  ``at`` is the
    round of a past that was asked for.
    """

    taken: Taken
    recent: Recent
    told: Told
    server: Server
    time: float
    now: float
    at: int | None = None


def sample(session: Session) -> Sample:
    """What is taken every second; to be called between two groups."""
    campaign = session.campaign
    if campaign is None:
        pulls = np.zeros((len(session.clients), len(session.settings.arms)), dtype=np.int64)
        return Sample(session.position, pulls, 0.0, session.replays, session.conflicts)
    return Sample(session.position, campaign.pulls, campaign.cost, session.replays, session.conflicts)


def take(session: Session) -> Taken:
    """The whole of it; to be called between two groups."""
    campaign, settings = session.campaign, session.settings
    size = (len(session.clients), len(settings.arms))
    nothing = np.zeros(size, dtype=np.int64)
    unknown = np.full(size[1], np.nan)
    if campaign is None:
        return Taken(
            **_said(session),
            pulls=nothing,
            collected=nothing,
            quota=nothing.sum(axis=0),
            mode="all",
            missing=nothing,
            counted=np.ones(size[0], dtype=np.bool_),
            directive=1,
            active_arms=tuple(range(size[1])),
            target=None,
            reachable=True,
            sentence="not started",
            estimates=unknown,
            lower=unknown,
            upper=unknown,
            evidence=unknown,
            cost=0.0,
        )
    report, quota, collected = campaign.report(), campaign.collected.quota, campaign.collected
    return Taken(
        **_said(session),
        pulls=campaign.pulls,
        collected=collected.pulls,
        quota=np.array(quota.counts if quota else (0,) * size[1], dtype=np.int64),
        mode=quota.mode if quota else "all",
        missing=collected.behind(),
        counted=collected.counted.copy(),
        directive=1 + campaign.consultations,
        active_arms=campaign.directive.active_arms,
        target=campaign.target,
        reachable=report.reachable,
        sentence=with_names(report.sentence, settings.arms),
        estimates=_estimates(campaign),
        lower=np.array(report.lower, dtype=np.float64),
        upper=np.array(report.upper, dtype=np.float64),
        evidence=np.array(report.evidence or (None,) * size[1], dtype=np.float64),
        cost=campaign.cost,
        provisional=campaign.directive.leading_arm if report.is_undecidable else None,
        error_bound=campaign.setup.teacher.error_bound(campaign.setup.problem),
        beyond_horizon=campaign.beyond_horizon,
    )


def _said(session: Session) -> dict[str, Any]:
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
        "replays": session.replays,
        "conflicts": session.conflicts,
        "trail": tuple(session.series.points),
        "changed": session.series.last,
    }


def _estimates(campaign: Campaign) -> Array:
    """sum_m w_m (mean observed reward of arm k at client m) over the counted clients, [K]."""
    counted = campaign.collected.counted
    pulls = np.array([client.pulls for client in campaign.clients], dtype=np.float64)[counted]
    sums = np.array([client.observed for client in campaign.clients])[counted]
    weights = np.array(campaign.setup.problem.weights)[counted]
    with np.errstate(invalid="ignore"):
        means = sums / pulls
    estimates: Array = weights @ means / weights.sum()
    return estimates
