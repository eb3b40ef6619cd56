"""BLT's routine consultations as a plain function on arrays, which the simulator compiles (``base.Routine``).

Nearly all consultations of BLT only add sums and bet: no threshold is near and the campaign is far from hopeless.
:func:`consult` does what ``BLT.advance`` and ``BLT.directive`` do in such a consultation, and leaves every other one,
before which it changes nothing, to these.

Shapes: M clients, K arms, J cuts, I grid steps, G stakes.
"""

import functools
import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tutelage.teachers.blt.betting import NEVER, Array, Bets, Grid
from tutelage.teachers.blt.betting_scalar import PairStep, add_up, list_terms
from tutelage.teachers.blt.states import BltState

NOT_ROUTINE = -2
_NEAR = 1e-6  # to a threshold: far above the rounding of log W
_SURELY = 1.0 - 1e-6

Counts = NDArray[np.int64]


class RoutineArrays(NamedTuple):
    """A state of BLT, what its consultations depend on, and places for intermediate results.

    ``thresholds`` are the logs of those of W_jk, infinite until the head start is complete.  While more than
    ``most_left`` pulls are left, no campaign is hopeless.
    """

    totals: Array  # [K, J + 2, M], of which arm k has segments[k] + 1 rows
    segments: Counts  # [K]
    steps: Counts  # [K, K]
    log_wealth: Array  # [K, K, G]
    active: NDArray[np.bool_]  # [K]
    consultations: Counts  # [1]
    thresholds: Array  # [K, K]
    cuts: Counts  # [J + 1], the first is 0
    counts: Counts  # [I]
    at: Counts  # [I + 1]
    at_leading: Counts  # [I + 1]
    step_numbers: Counts  # [J + 1], Grid.steps
    leading_step_numbers: Counts  # [J + 1]
    weights: Array  # [M]
    units: Array  # [M]
    changes: Array  # [2, M], Bets.signed
    stakes: Array  # [G]
    rho: float
    total_units: float
    excess: float
    head_start: float
    horizon: int
    hope: float
    most_left: float
    new_segments: Counts  # [K]
    new_steps: Counts  # [K, K]
    new_wealth: Array  # [K, K, G]
    moves: Array  # [4 M]
    times: Array  # [4 M]
    logs: Array  # [4 M]


def new_routine_arrays(
    state: BltState, grid: Grid, bets: Bets, thresholds: Array, excess: float, hope: float, most_left: float
) -> RoutineArrays:
    """Return the arrays of a state of which no client is excluded."""
    problem, size = state.problem, state.problem.num_arms
    totals = np.zeros((size, len(grid.cuts) + 1, problem.num_clients))
    for arm, sums in enumerate(state.totals):
        totals[arm, : len(sums)] = sums
    moves, times, logs = np.zeros((3, 4 * problem.num_clients))
    steps = np.array(state.steps, dtype=np.int64)
    cuts, counts, at, at_leading, step_numbers, leading_step_numbers = _make_grid_arrays(grid)
    return RoutineArrays(
        totals=totals,
        segments=np.array([len(sums) - 1 for sums in state.totals], dtype=np.int64),
        steps=steps,
        log_wealth=state.log_wealth.copy(),
        active=np.isin(np.arange(size), state.active_arms),
        consultations=np.array([state.consultations], dtype=np.int64),
        thresholds=thresholds.copy(),
        cuts=cuts,
        counts=counts,
        at=at,
        at_leading=at_leading,
        step_numbers=step_numbers,
        leading_step_numbers=leading_step_numbers,
        weights=np.array(problem.weights),
        units=bets.units,
        changes=np.ascontiguousarray(bets.signed[:, 0]),
        stakes=np.ascontiguousarray(bets.stakes[:, 0]),
        rho=bets.rho,
        total_units=bets.total_units,
        excess=excess,
        head_start=float(grid.head_start),
        horizon=problem.horizon,
        hope=hope,
        most_left=most_left,
        new_segments=np.zeros(size, dtype=np.int64),
        new_steps=np.zeros_like(steps),
        new_wealth=np.zeros_like(state.log_wealth),
        moves=moves,
        times=times,
        logs=logs,
    )


@functools.lru_cache(maxsize=16)
def _make_grid_arrays(grid: Grid) -> list[Counts]:
    numbers = (0, *grid.cuts), grid.counts, grid.at, grid.at_leading, grid.steps, grid.leading_steps
    return [np.array(each, dtype=np.int64) for each in numbers]


def restore_state(arrays: RoutineArrays, state: BltState) -> BltState:
    """Return the state in the arrays; what routine consultations do not change is that of ``state``."""
    return replace(
        state,
        totals=tuple(sums[: done + 1].copy() for sums, done in zip(arrays.totals, arrays.segments, strict=True)),
        steps=tuple(map(tuple, arrays.steps.tolist())),
        log_wealth=arrays.log_wealth.copy(),
        consultations=int(arrays.consultations[0]),
    )


def consult(arrays: RoutineArrays, segment_sums: Array, first: Counts, end: Counts, quota: Counts) -> int:
    """Add the segments ``first`` to ``end`` [K] of ``segment_sums`` [M, K, J + 1], bet, and write the next quota [K].

    Returns the leading arm, -1 if there is none, or NOT_ROUTINE; then the state in the arrays has not changed.
    """
    for arm in range(arrays.segments.size):
        arrays.new_segments[arm] = end[arm]
        for segment in range(first[arm], end[arm]):
            for m in range(arrays.units.size):
                before = arrays.totals[arm, segment, m]
                arrays.totals[arm, segment + 1, m] = before + segment_sums[m, arm, segment]
    _copy_bets(arrays.steps, arrays.log_wealth, arrays.new_steps, arrays.new_wealth)
    leading_arm = _find_leading_arm(arrays)
    if _has_head_start(arrays):
        if arrays.thresholds[0, 0] == math.inf or not _bet(arrays):
            return NOT_ROUTINE
        if leading_arm >= 0 and _may_be_hopeless(arrays, leading_arm):
            return NOT_ROUTINE
    if not _write_quota(arrays, quota):
        return NOT_ROUTINE
    _copy_bets(arrays.new_steps, arrays.new_wealth, arrays.steps, arrays.log_wealth)
    for arm in range(arrays.segments.size):
        arrays.segments[arm] = arrays.new_segments[arm]
    arrays.consultations[0] += 1
    return leading_arm


def _copy_bets(steps: Counts, wealth: Array, new_steps: Counts, new_wealth: Array) -> None:
    num_arms, _, num_stakes = wealth.shape
    for arm in range(num_arms):
        for other in range(num_arms):
            new_steps[arm, other] = steps[arm, other]
            for stake in range(num_stakes):
                new_wealth[arm, other, stake] = wealth[arm, other, stake]


def _find_leading_arm(arrays: RoutineArrays) -> int:
    """As ``BLT._leading_arm``; -1: none."""
    best, highest = -1, -1.0
    for arm in range(arrays.active.size):
        if arrays.active[arm]:
            pulls = arrays.cuts[arrays.new_segments[arm]]
            if pulls == 0:
                return -1
            mean = 0.0
            for m in range(arrays.weights.size):
                mean += arrays.weights[m] * (arrays.totals[arm, arrays.new_segments[arm], m] / pulls)
            if mean > highest:
                best, highest = arm, mean
    return best


def _has_head_start(arrays: RoutineArrays) -> bool:
    """Whether all arms, also those that are ruled out, have the segments with which bets begin."""
    fewest = arrays.new_segments[0]
    for arm in range(arrays.active.size):
        fewest = min(fewest, arrays.new_segments[arm])
    return fewest >= arrays.at_leading[0]  # type: ignore[no-any-return]


def _bet(arrays: RoutineArrays) -> bool:
    """Bet on every grid step that both arms of a pair have completed; False if a threshold may be reached."""
    for better in range(arrays.active.size):
        room = arrays.leading_step_numbers[arrays.new_segments[better]]
        for worse in range(arrays.active.size):
            if better == worse or not arrays.active[better] or not arrays.active[worse]:
                continue
            last = min(room, arrays.step_numbers[arrays.new_segments[worse]])
            for now in range(arrays.new_steps[better, worse], last):
                _bet_on_step(arrays, better, worse, now)
                arrays.new_steps[better, worse] = now + 1
                wealth = _log_mean(arrays.new_wealth[better, worse])
                if wealth >= arrays.thresholds[better, worse] - _NEAR:
                    return False
    return True


def _bet_on_step(arrays: RoutineArrays, better: int, worse: int, now: int) -> None:
    """Add what one step of a pair gains to its log W, as ``betting.log_gain``."""
    moves, times, logs, wealth = arrays.moves, arrays.times, arrays.logs, arrays.new_wealth[better, worse]
    sums_j, sums_k, count = arrays.totals[better], arrays.totals[worse], float(arrays.counts[now])
    length = arrays.counts[now + 1] - count
    step = PairStep(
        sums_j[arrays.at_leading[now]],
        sums_k[arrays.at[now]],
        sums_j[arrays.at_leading[now + 1]],
        sums_k[arrays.at[now + 1]],
        arrays.head_start + arrays.rho * count,
        count,
        arrays.rho * length,
        length,
    )
    list_terms(step, arrays.units, arrays.changes, arrays.rho, arrays.total_units, arrays.excess, moves, times)
    for stake in range(arrays.stakes.size):
        for place in range(logs.size):  # most steps have one pull, so half of the times are 0
            log = 0.0 if times[place] == 0.0 else np.log1p(moves[place] * arrays.stakes[stake])
            logs[place] = log * times[place]
        wealth[stake] += add_up(logs, 0, logs.size)


def _log_mean(logs: Array) -> float:
    """As ``betting.log_mean`` of one pair."""
    most, total = logs[0], 0.0
    for stake in range(logs.size):
        most = max(most, logs[stake])
    for stake in range(logs.size):
        total += math.exp(logs[stake] - most)
    return most + math.log(total / logs.size)  # type: ignore[no-any-return]


def _may_be_hopeless(arrays: RoutineArrays, leading_arm: int) -> bool:
    """Whether ``BLT._is_hopeless`` could be true: False only where it is false whatever is rounded."""
    left, num_active = float(arrays.horizon), 0
    for arm in range(arrays.active.size):
        left -= arrays.cuts[arrays.new_segments[arm]]
        num_active += arrays.active[arm]
    if arrays.hope == math.inf or left > arrays.most_left:
        return False
    mean, variance = _estimate(arrays, leading_arm)
    pulls = arrays.cuts[arrays.new_segments[leading_arm]]
    for arm in range(arrays.active.size):
        if arrays.active[arm] and arm != leading_arm:
            other_mean, other_variance = _estimate(arrays, arm)
            error = math.sqrt(variance / pulls + other_variance / arrays.cuts[arrays.new_segments[arm]])
            gap = mean - other_mean + arrays.hope * error
            lacking = arrays.thresholds[leading_arm, arm] - _log_mean(arrays.new_wealth[leading_arm, arm])
            needed = 2.0 * (variance / arrays.rho + other_variance) * lacking * (num_active - 1 + arrays.rho)
            if needed <= _SURELY * gap * gap * left:
                return False
    return True


def _estimate(arrays: RoutineArrays, arm: int) -> tuple[float, float]:
    """Return an arm's mean and the sum of w^2 q (1 - q) over clients, q being the prediction of a reward."""
    done, mean, variance = arrays.new_segments[arm], 0.0, 0.0
    sums, pulls = arrays.totals[arm, done], arrays.cuts[done]
    for m in range(arrays.weights.size):
        weight, seen = arrays.weights[m], (sums[m] + 0.5) / (pulls + 1.0)
        mean += weight * sums[m] / pulls
        variance += weight * weight * (seen * (1.0 - seen))
    return mean, variance


def _write_quota(arrays: RoutineArrays, quota: Counts) -> bool:
    """As ``BLT._awaited``; False if no next bet fits into the horizon."""
    is_any = False
    for arm in range(arrays.active.size):
        done, least = arrays.new_segments[arm], NEVER
        for other in range(arrays.active.size):
            if other != arm and arrays.active[arm] and arrays.active[other]:
                for need in (
                    arrays.at_leading[0],
                    arrays.at_leading[arrays.new_steps[arm, other] + 1],
                    arrays.at[arrays.new_steps[other, arm] + 1],
                ):
                    if done < need < least:
                        least = need
        quota[arm] = arrays.cuts[least] if least < NEVER else 0
        is_any = is_any or least < NEVER
    return is_any
