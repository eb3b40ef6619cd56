"""BLT with clients that depend on each other: bets in windows (docs/blt.md, "Dependent clients").

A window begins at a consultation, which fixes the leading arm and the predictions, and ends once every client has
the window's pulls of every active arm.  Its first window is only observed; in every other one the leading arm is
bet against each other active arm, in one step.
"""

import functools
import itertools
import math
from dataclasses import replace

import numpy as np

from tutelage.teachers.base import Evidence
from tutelage.teachers.blt.betting import Array, Bets, GridStep, log_gain, log_mean, make_bets
from tutelage.teachers.blt.states import WindowState
from tutelage.teachers.dependence import group_weights, groups_of
from tutelage.teachers.families.weights import listed_weights, remaining_weights

# Pulls of an arm, at least, and as a share of those before.  The shorter a window, the more pulls it does not count:
# clients get ahead with some arms while others lack pulls.  Chosen on the paper's instance (docs/blt.md).
LEAST_WINDOW, _SHARE = 16, 0.5


@functools.lru_cache(maxsize=16)
def window_lengths(horizon: int, first: int) -> tuple[int, ...]:
    """Return the pulls of an arm that does not lead in each window: ``first``, then max(16, n / 2).

    n is the sum before the window; the sums stay within the horizon.
    """
    lengths, total = [first], first
    while (length := max(LEAST_WINDOW, math.floor(_SHARE * total))) + total <= horizon:
        lengths.append(length)
        total += length
    return tuple(lengths) if first <= horizon else ()


@functools.lru_cache(maxsize=16)
def window_cuts(lengths: tuple[int, ...], rho: int, horizon: int) -> tuple[int, ...]:
    """Return the lengths of all windows, for other arms and for the leading one, ascending."""
    return tuple(sorted({cut for length in lengths for cut in (length, rho * length) if cut <= horizon}))


@functools.lru_cache(maxsize=64)
def dependent_weights(weights: tuple[float, ...], excluded: tuple[int, ...], dependence: str | None) -> Array:
    """Return the weight W_g of each client's group [M], 0 for an excluded client."""
    remaining, groups = listed_weights(weights, excluded), groups_of(dependence, len(weights))
    sums = [math.fsum(itertools.compress(remaining, (other == group for other in groups))) for group in groups]
    return np.where(np.array(remaining) > 0.0, sums, 0.0)


@functools.lru_cache(maxsize=64)
def dependent_bets(
    weights: tuple[float, ...], excluded: tuple[int, ...], dependence: str | None, num_stakes: int, rho: int
) -> Bets:
    """Return bets of the sizes W_g / max W with the exponents w_m / W_g, for the remaining clients."""
    remaining = remaining_weights(weights, excluded)
    is_left = remaining > 0.0
    own, group = remaining[is_left], dependent_weights(weights, excluded, dependence)[is_left]
    stakes = 2.0 ** (-np.arange(num_stakes) / 2.0)
    return make_bets(own.size * own, stakes, float(rho), group / group.max(), own / group)


def effective_clients(weights: tuple[float, ...], dependence: str | None) -> float:
    """Return sum_g (W_g / max W)^2: as many independent clients of equal weight let capital grow as fast."""
    sums = group_weights(weights, groups_of(dependence, len(weights)))
    return math.fsum((each / max(sums)) ** 2 for each in sums)


def pulls_in_windows(state: WindowState, windows: int) -> list[int]:
    """Return the pulls of each arm by each client in the first windows, [K]."""
    return [sum(counts[arm] for counts in state.counts[:windows]) for arm in range(state.problem.num_arms)]


def count_window(state: WindowState, lengths: tuple[int, ...], rho: int, leading_arm: int | None) -> tuple[int, ...]:
    """Return the pulls of each arm that the present window needs, [K]; all 0 if the horizon has no room for it."""
    window, size = len(state.counts), state.problem.num_arms
    if window == len(lengths) or len(state.active_arms) == 1:
        return (0,) * size
    counts = [lengths[window] if arm in state.active_arms else 0 for arm in range(size)]
    if leading_arm is not None:
        counts[leading_arm] *= rho
    left = state.problem.horizon - sum(pulls_in_windows(state, window))
    return tuple(counts) if sum(counts) <= left else (0,) * size


def close_window(
    state: WindowState, evidence: Evidence, counts: tuple[int, ...], cuts: tuple[int, ...], leading_arm: int | None
) -> WindowState:
    """Return the state with the sums of a window that every client has completed."""
    totals = []
    for arm, count in enumerate(counts):
        segments = cuts.index(count) + 1 if count else 0
        totals.append(np.concatenate((state.totals[arm], state.totals[arm][-1:] + _add_rows(evidence, arm, segments))))
    return replace(
        state,
        totals=tuple(totals),
        counts=(*state.counts, counts),
        leaders=(*state.leaders, leading_arm),
        consultations=state.consultations + 1,
    )


def _add_rows(evidence: Evidence, arm: int, segments: int) -> Array:
    return np.add.reduce(evidence.sums[arm][:segments], axis=0)  # type: ignore[no-any-return]


def bet_window(state: WindowState, window: int, bets: Bets, tolerance: float, thresholds: Array) -> WindowState:
    """Bet the window's leading arm against every other active arm, and rule out those whose threshold is reached."""
    counts, leader = state.counts[window], state.leaders[window]
    others = [arm for arm in state.active_arms if arm != leader and counts[arm]]
    if leader is None or leader not in state.active_arms or not others:
        return state
    before = pulls_in_windows(state, window)
    included = [client for client in range(state.problem.num_clients) if client not in state.excluded]
    pairs = ([leader] * len(others), others)
    sums = np.array([[state.totals[arm][window : window + 2, included] for arm in arms] for arms in pairs])
    step = GridStep(
        before=sums[:, :, 0],
        won=sums[:, :, 1] - sums[:, :, 0],
        pulls=np.array([[before[arm] for arm in arms] for arms in pairs], dtype=np.float64)[..., None],
        length=np.array([[counts[arm] for arm in arms] for arms in pairs], dtype=np.float64)[..., None],
    )
    log_wealth = state.log_wealth.copy()
    log_wealth[leader, others] += log_gain(step, bets, tolerance)
    crossed = log_mean(log_wealth[leader, others]) >= thresholds[leader, others]
    out = set(itertools.compress(others, crossed.tolist()))
    left = tuple(arm for arm in state.active_arms if arm not in out)
    return replace(state, log_wealth=log_wealth, active_arms=left)
