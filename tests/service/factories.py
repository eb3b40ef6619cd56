"""Views of invented campaigns, for the tests of status items and pages."""

from dataclasses import replace

import numpy as np

from tutelage.service.monitoring.campaign_view import CampaignView, ChartPoints, Metrics, RecentActivity, ServerHealth
from tutelage.service.monitoring.event_log import LedgerEvent, LedgerSummary, TargetDecision
from tutelage.teachers.base import Problem, bound_error

NOW = 1_800_000_000.0


def learning_view(num_clients=5, num_arms=5, *, seed=0, active=None, quota=613, clients=None, arms=None):
    """A campaign without problems: every pair has 60 to 90 % of its quota and keeps pulling."""
    random = np.random.default_rng(seed)
    active = tuple(range(num_arms)) if active is None else tuple(active)
    size = (num_clients, num_arms)
    collected = random.integers(int(0.6 * quota), int(0.9 * quota), size)
    counts = np.zeros(num_arms, dtype=np.int64)
    counts[list(active)] = quota
    window = np.full(size, 3, dtype=np.int64)
    window[:, list(active)] = 60
    means = np.empty(num_arms)
    means[[*active, *(arm for arm in range(num_arms) if arm not in active)]] = np.linspace(0.7, 0.3, num_arms)
    radius = np.where(np.isin(np.arange(num_arms), active), 0.06, 0.12)
    lower, upper = means - radius, means + radius
    format_name = np.isin(np.arange(num_arms), active)
    metrics = Metrics(
        name="spring-offers",
        teacher="twl(gamma1=1,gamma2=0)",
        arms=arms or tuple(f"arm {arm:02}" for arm in range(num_arms)),
        clients=clients or tuple(f"base station {client:03}" for client in range(num_clients)),
        horizon=50_000,
        low=0.0,
        high=1.0,
        status="running",
        position=int(collected.sum()) + 3,
        pulls=collected.copy(),
        evidence_pulls=collected,
        quota=counts,
        mode="all",
        missing=np.maximum(counts - collected, 0),
        is_evidence=np.ones(num_clients, dtype=np.bool_),
        directive=3,
        active_arms=active,
        target=None,
        reachable=True,
        sentence="learning",
        estimates=means,
        lower=np.where(format_name, lower, np.nan),
        upper=np.where(format_name, upper, np.nan),
        cost=6890.0,
        replays=164,
        conflicts=0,
        arm_evidence=np.full(num_arms, np.nan),
    )
    ledger = LedgerSummary(
        (
            LedgerEvent(metrics.position, NOW - 400, 3835, "Consultation 2: no arm ruled out"),
            LedgerEvent(1, NOW - 11_520, 1, "Started"),
        ),
        NOW - 11_520,
        NOW - 11_520,
        None,
        tuple(lower.tolist()),
        tuple(upper.tolist()),
        tuple(2 if arm in active else 1 for arm in range(num_arms)),
    )
    server = ServerHealth("tut-1", commit_seconds=0.003)
    return CampaignView(metrics, _make_activity(metrics, window, random), ledger, server, NOW, NOW)


def _make_activity(metrics, window, random):
    points = 300
    rates = window.sum(axis=0) / 300
    steps = random.poisson(rates, (points, len(metrics.arms)))
    totals = metrics.pulls.sum(axis=0)
    steps_until = np.cumsum(steps[::-1], axis=0)[::-1] - steps
    return RecentActivity(
        silence=random.uniform(0, 2, len(metrics.clients)),
        usual_interval=np.full(len(metrics.clients), 1.0),
        is_interval_known=np.ones(len(metrics.clients), dtype=np.bool_),
        window_seconds=300.0,
        window_pulls=window,
        replays=0,
        conflicts=0,
        minute_seconds=60.0,
        minute_pulls=window // 5,
        minute_cost=31.0,
        taught_seconds=60.0,
        taught_pulls=window // 5,
        make_points=lambda: ChartPoints(
            NOW - np.arange(points - 1, -1, -1.0),
            metrics.cost - 0.5 * np.arange(points - 1, -1, -1.0),
            np.maximum(totals - steps_until, 0),
        ),
    )


def with_metrics(view, **changes):
    """Change fields of the metrics; the missing pulls follow from pulls and quota."""
    metrics = replace(view.metrics, **changes)
    if "missing" not in changes:
        missing = np.maximum(metrics.quota - metrics.evidence_pulls, 0) * metrics.is_evidence[:, None]
        metrics = replace(metrics, missing=missing)
    return replace(view, metrics=metrics)


def with_activity(view, **changes):
    """Change fields of the recent activity, or of the points of its charts."""
    points = {name: changes.pop(name) for name in ("times", "costs", "arm_pulls") if name in changes}
    if points:
        changed = replace(view.activity.points, **points)
        changes["make_points"] = lambda: changed
    return replace(view, activity=replace(view.activity, **changes))


def silence_client(view, client, seconds=346.0):
    """Silence one client, and let all others meet the quota."""
    silent = view.activity.silence.copy()
    silent[client] = seconds
    window = view.activity.window_pulls.copy()
    window[client] = 0
    collected = np.maximum(view.metrics.evidence_pulls, view.metrics.quota)
    collected[client] = view.metrics.evidence_pulls[client] // 3
    view = with_metrics(view, evidence_pulls=collected)
    return with_activity(view, silence=silent, window_pulls=window)


def make_decided(view, target):
    """Decide for a target; most pulls go to it."""
    size = len(view.metrics.arms)
    since = tuple(520 if arm == target else 40 for arm in range(size))
    decision = TargetDecision(70_000, NOW - 150, 16_095, 3, 6_100.0, since)
    minute = np.where(np.arange(size) == target, 90, view.activity.minute_pulls // 5)
    view = with_metrics(view, target=target, active_arms=(target,), quota=np.zeros(size, dtype=np.int64), directive=4)
    others = np.arange(size) != target
    upper = np.where(others, np.minimum(view.metrics.upper, view.metrics.lower[target] - 0.01), view.metrics.upper)
    bound = bound_error(Problem(2, 2, 50_000, (0.5, 0.5)))
    view = with_metrics(view, error_bound=bound)
    view = with_metrics(view, upper=upper, lower=np.where(others, upper - 0.12, view.metrics.lower))
    view = with_activity(view, minute_pulls=minute, taught_pulls=minute)
    return replace(view, ledger=replace(view.ledger, decision=decision))


def make_betting(view):
    """Use a teacher that bets: evidence against each arm, and no intervals."""
    metrics = view.metrics
    unknown = np.full(len(metrics.arms), np.nan)
    evidence = np.where(np.isin(np.arange(len(metrics.arms)), metrics.active_arms), 0.4, 1.02)
    evidence[metrics.active_arms[0]] = 0.0
    view = with_metrics(view, teacher="blt", mode="any", lower=unknown, upper=unknown, arm_evidence=evidence)
    return replace(view, ledger=replace(view.ledger, lower=(), upper=(), directives=()))


def make_undecidable(view):
    """A teacher that bets expects no decision, and leads all clients to its best arm."""
    view = make_betting(view)
    metrics = view.metrics
    nothing, best = np.zeros(len(metrics.arms), dtype=np.int64), metrics.active_arms[0]
    minute = np.where(nothing == np.arange(len(metrics.arms)) - best, 90, view.activity.minute_pulls // 5)
    view = with_metrics(
        view,
        quota=nothing,
        mode="all",
        reachable=False,
        provisional_arm=best,
        sentence=f"undecidable before the horizon: leading clients to arm {best}, unproved",
    )
    return with_activity(view, minute_pulls=minute, taught_pulls=minute)


def every_status(num_clients=5, num_arms=5, **options):
    """A name and a view for each status that a page can show."""
    good = learning_view(num_clients, num_arms, **options)
    quota = good.metrics.quota
    avoiding = good.activity.window_pulls.copy()
    avoiding[-1, good.metrics.active_arms[-1]] = 0
    late = with_metrics(good, horizon=int((good.metrics.rounds + good.metrics.missing.sum(axis=1)).max()))
    nearly = with_metrics(good, horizon=int(good.metrics.rounds.max()) + 5)
    silent = np.full(num_clients, 400.0)
    some = good.activity.silence.copy()
    some[-1] = 45.0
    zero = np.zeros_like(good.metrics.pulls)
    new = with_metrics(
        good, status="registering", pulls=zero, evidence_pulls=zero, quota=quota * 0, cost=0.0, directive=1, replays=0
    )
    done = make_decided(good, good.metrics.active_arms[0])
    return {
        "learning": good,
        "betting": make_betting(good),
        "slow": with_activity(good, silence=some),
        "stalled": silence_client(good, 0),
        "arm avoided": with_activity(good, window_pulls=avoiding),
        "horizon too short by rate": late,
        "horizon too short": nearly,
        "out of reach": with_metrics(good, reachable=False, quota=quota * 0),
        "decided": done,
        "undecidable": make_undecidable(good),
        "store lagging": replace(good, server=replace(good.server, commit_seconds=0.4, waiting_pulls=6000)),
        "store failed": replace(good, server=replace(good.server, failure="The disk is full.")),
        "no data": with_activity(good, silence=silent),
        "no data, decided": with_activity(done, silence=silent),
        "id conflict": with_metrics(with_activity(good, conflicts=2), conflicts=2),
        "replays": with_activity(good, replays=int(0.2 * good.activity.window_pulls.sum())),
        "follower": replace(good, server=replace(good.server, leads=False, leader="http://tut-2:8321")),
        "finished": with_metrics(done, horizon=int(good.metrics.rounds.min())),
        "outdated": replace(good, measured=NOW - 42),
        "stopped": with_metrics(good, status="stopped"),
        "registering": with_activity(
            new, window_pulls=zero, minute_pulls=zero, arm_pulls=good.activity.points.arm_pulls * 0
        ),
    }
