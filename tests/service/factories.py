"""Made-up figures of campaigns, for the tests of states and pages."""

from dataclasses import replace

import numpy as np

from tutelage.service.monitoring.figures import Event, Figures, Recent, Server, Settled, Taken, Told

NOW = 1_800_000_000.0


def learning(num_clients=5, num_arms=5, *, seed=0, active=None, quota=613, clients=None, arms=None):
    """A campaign in which all goes well: every pair has 60 to 90 % of its quota and goes on filling it."""
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
    shown = np.isin(np.arange(num_arms), active)
    taken = Taken(
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
        collected=collected,
        quota=counts,
        mode="all",
        missing=np.maximum(counts - collected, 0),
        counted=np.ones(num_clients, dtype=np.bool_),
        directive=3,
        active_arms=active,
        target=None,
        reachable=True,
        sentence="learning",
        estimates=means,
        lower=np.where(shown, lower, np.nan),
        upper=np.where(shown, upper, np.nan),
        cost=6890.0,
        replays=164,
        conflicts=0,
        evidence=np.full(num_arms, np.nan),
    )
    told = Told(
        (
            Event(taken.position, NOW - 400, 3835, "Epoch 2: none ruled out"),
            Event(1, NOW - 11_520, 1, "Started"),
        ),
        NOW - 11_520,
        NOW - 11_520,
        None,
        tuple(lower.tolist()),
        tuple(upper.tolist()),
        tuple(2 if arm in active else 1 for arm in range(num_arms)),
    )
    return Figures(taken, _recent(taken, window, random), told, Server("tut-1", disk=0.003), NOW, NOW)


def _recent(taken, window, random):
    points = 300
    rates = window.sum(axis=0) / 300
    steps = random.poisson(rates, (points, len(taken.arms)))
    totals = taken.pulls.sum(axis=0)
    steps_until = np.cumsum(steps[::-1], axis=0)[::-1] - steps
    return Recent(
        silent=random.uniform(0, 2, len(taken.clients)),
        usual_interval=np.full(len(taken.clients), 1.0),
        is_usual=np.ones(len(taken.clients), dtype=np.bool_),
        span=300.0,
        window=window,
        replays=0,
        conflicts=0,
        minute_span=60.0,
        minute=window // 5,
        minute_cost=31.0,
        times=NOW - np.arange(points - 1, -1, -1.0),
        costs=taken.cost - 0.5 * np.arange(points - 1, -1, -1.0),
        arm_pulls=np.maximum(totals - steps_until, 0),
    )


def with_taken(figures, **changes):
    """The same with other fields of the campaign; what is missing follows from pulls and quota."""
    taken = replace(figures.taken, **changes)
    if "missing" not in changes:
        missing = np.maximum(taken.quota - taken.collected, 0) * taken.counted[:, None]
        taken = replace(taken, missing=missing)
    return replace(figures, taken=taken)


def with_recent(figures, **changes):
    """The same with other recent counters."""
    return replace(figures, recent=replace(figures.recent, **changes))


def silenced(figures, client, seconds=346.0):
    """One client has been silent, and all others have met the quota."""
    silent = figures.recent.silent.copy()
    silent[client] = seconds
    window = figures.recent.window.copy()
    window[client] = 0
    collected = np.maximum(figures.taken.collected, figures.taken.quota)
    collected[client] = figures.taken.collected[client] // 3
    figures = with_taken(figures, collected=collected)
    return with_recent(figures, silent=silent, window=window)


def decided(figures, target):
    """It has decided, and most pulls go to the target."""
    size = len(figures.taken.arms)
    since = tuple(520 if arm == target else 40 for arm in range(size))
    settled = Settled(70_000, NOW - 150, 16_095, 3, 6_100.0, since)
    minute = np.where(np.arange(size) == target, 90, figures.recent.minute // 5)
    figures = with_taken(
        figures, target=target, active_arms=(target,), quota=np.zeros(size, dtype=np.int64), directive=4
    )
    others = np.arange(size) != target
    upper = np.where(
        others, np.minimum(figures.taken.upper, figures.taken.lower[target] - 0.01), figures.taken.upper
    )
    figures = with_taken(figures, upper=upper, lower=np.where(others, upper - 0.12, figures.taken.lower))
    figures = with_recent(figures, minute=minute)
    figures = with_taken(figures, error_bound="Wrong with probability at most 1/T = 0.00002.")
    return replace(figures, told=replace(figures.told, settled=settled))


def betting(figures):
    """A teacher that bets instead: evidence against each arm, and no intervals."""
    taken = figures.taken
    unknown = np.full(len(taken.arms), np.nan)
    evidence = np.where(np.isin(np.arange(len(taken.arms)), taken.active_arms), 0.4, 1.02)
    evidence[taken.active_arms[0]] = 0.0
    figures = with_taken(figures, teacher="blt", mode="any", lower=unknown, upper=unknown, evidence=evidence)
    return replace(figures, told=replace(figures.told, lower=(), upper=(), epochs=()))


def given_up(figures):
    """A teacher that bets has seen that it will not decide, and leads all to its best arm."""
    figures = betting(figures)
    taken = figures.taken
    nothing, best = np.zeros(len(taken.arms), dtype=np.int64), taken.active_arms[0]
    minute = np.where(nothing == np.arange(len(taken.arms)) - best, 90, figures.recent.minute // 5)
    figures = with_taken(
        figures,
        quota=nothing,
        mode="all",
        reachable=False,
        provisional=best,
        sentence=f"no decision to be hoped for: clients are led to arm {best}, unproved",
    )
    return with_recent(figures, minute=minute)


def every_state(num_clients=5, num_arms=5, **options):
    """A name and figures for each state that a page can be in."""
    good = learning(num_clients, num_arms, **options)
    quota = good.taken.quota
    avoiding = good.recent.window.copy()
    avoiding[-1, good.taken.active_arms[-1]] = 0
    late = with_taken(good, horizon=int((good.taken.rounds + good.taken.missing.sum(axis=1)).max()))
    nearly = with_taken(good, horizon=int(good.taken.rounds.max()) + 5)
    silent = np.full(num_clients, 400.0)
    some = good.recent.silent.copy()
    some[-1] = 45.0
    zero = np.zeros_like(good.taken.pulls)
    new = with_taken(
        good,
        status="registering",
        pulls=zero,
        collected=zero,
        quota=quota * 0,
        cost=0.0,
        directive=1,
        replays=0,
    )
    done = decided(good, good.taken.active_arms[0])
    return {
        "learning": good,
        "betting": betting(good),
        "slow": with_recent(good, silent=some),
        "stalled": silenced(good, 0),
        "avoids an arm": with_recent(good, window=avoiding),
        "cannot end by pace": late,
        "cannot end": nearly,
        "out of reach": with_taken(good, reachable=False, quota=quota * 0),
        "decided": done,
        "given up": given_up(good),
        "store lagging": replace(good, server=replace(good.server, disk=0.4, waiting=6000)),
        "store failed": replace(good, server=replace(good.server, failure="The disk is full.")),
        "no data": with_recent(good, silent=silent),
        "no data, decided": with_recent(done, silent=silent),
        "conflict": with_taken(with_recent(good, conflicts=2), conflicts=2),
        "replays": with_recent(good, replays=int(0.2 * good.recent.window.sum())),
        "follower": replace(good, server=replace(good.server, leads=False, leader="http://tut-2:8321")),
        "horizon reached": with_taken(done, horizon=int(good.taken.rounds.min())),
        "cut off": replace(good, time=NOW - 42),
        "stopped": with_taken(good, status="stopped"),
        "registering": with_recent(new, window=zero, minute=zero, arm_pulls=good.recent.arm_pulls * 0),
    }
