"""What TAL and TWL share: segment sums, estimates, confidence intervals (Shi et al., eq. (1))."""

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tutelage.errors import InputError
from tutelage.schedule import Schedule, confidence_radius, make_schedule, squared_weights
from tutelage.teachers.base import Evidence, Problem, Quota


@dataclass(frozen=True, eq=False)
class Evidences:
    """All segment sums so far: ``sums[k]`` is float64 [segments of arm k, M]; and who no longer counts."""

    sums: tuple[NDArray[np.float64], ...]
    excluded: tuple[int, ...] = ()


@dataclass(frozen=True)
class Intervals:
    """Lower and upper confidence bounds [K] of the latest epoch; None for arms that it did not look at."""

    lower: tuple[float | None, ...]
    upper: tuple[float | None, ...]


@functools.lru_cache(maxsize=64)
def _schedule(num_arms: int, horizon: int, weights: tuple[float, ...]) -> Schedule:
    return make_schedule(num_arms, horizon, weights)


def schedule_of(problem: Problem) -> Schedule:
    """The epochs of a problem (they stay as they are when a client excludes)."""
    return _schedule(problem.num_arms, problem.horizon, problem.weights)


def no_evidence(problem: Problem) -> Evidences:
    """The state of affairs before the first pull."""
    return Evidences(tuple(np.zeros((0, problem.num_clients)) for _ in range(problem.num_arms)))


def no_intervals(num_arms: int) -> Intervals:
    """No bound on any arm yet."""
    return Intervals((None,) * num_arms, (None,) * num_arms)


def add_evidence(evidences: Evidences, new: Evidence) -> Evidences:
    """The evidence with the newly completed segments behind the old ones."""
    sums = tuple(np.concatenate((old, more)) for old, more in zip(evidences.sums, new.sums, strict=True))
    return Evidences(sums, evidences.excluded)


def without_client(evidences: Evidences, client: int, problem: Problem) -> Evidences:
    """The evidence without a client.  Raises ``InputError`` if there is no such one, or no other left."""
    if not 0 <= client < problem.num_clients or client in evidences.excluded:
        raise InputError(f"There is no client {client} to exclude.")
    if len(evidences.excluded) == problem.num_clients - 1:
        raise InputError(f"Client {client} is the last one and cannot be excluded.")
    return Evidences(evidences.sums, tuple(sorted((*evidences.excluded, client))))


def has_epoch(evidences: Evidences, epoch: int, arms: tuple[int, ...]) -> bool:
    """Whether the epoch's segment is complete for all these arms."""
    return all(len(evidences.sums[arm]) >= epoch for arm in arms)


def is_reachable(problem: Problem, epoch: int, arms: tuple[int, ...]) -> bool:
    """Whether a client's T pulls have room for the F(psi) that the epoch needs of each of these arms."""
    ends = schedule_of(problem).ends
    return epoch <= len(ends) and len(arms) * ends[epoch - 1] <= problem.horizon


def quota_of(problem: Problem, epoch: int, arms: tuple[int, ...]) -> Quota | None:
    """F(psi) pulls of each of these arms; None if the epoch cannot be reached within the horizon."""
    if not is_reachable(problem, epoch, arms):
        return None
    ends = schedule_of(problem).ends
    return Quota(tuple(ends[epoch - 1] if arm in arms else 0 for arm in range(problem.num_arms)))


def intervals_of(problem: Problem, evidences: Evidences, epoch: int, arms: tuple[int, ...]) -> Intervals:
    """UCB and LCB of eq. (1) for these arms: sum_m w_m (sum of the epoch's rewards / f(psi)) -+ CB(psi).

    The sum runs over the clients in order, excluded ones left out and the weights of the others scaled to sum
    to 1; the radius then uses their sum of squares, with the logarithm unchanged.
    """
    schedule = schedule_of(problem)
    weights, squared = _remaining_weights(problem.weights, evidences.excluded)
    radius = confidence_radius(schedule, epoch, squared)
    pulls = schedule.pulls(epoch)
    lower: list[float | None] = [None] * problem.num_arms
    upper: list[float | None] = [None] * problem.num_arms
    for arm in arms:
        estimate = 0.0
        for weight, total in zip(weights, evidences.sums[arm][epoch - 1].tolist(), strict=True):
            estimate += weight * (total / pulls)
        lower[arm], upper[arm] = estimate - radius, estimate + radius
    return Intervals(tuple(lower), tuple(upper))


@functools.lru_cache(maxsize=64)
def _remaining_weights(
    weights: tuple[float, ...], excluded: tuple[int, ...]
) -> tuple[tuple[float, ...], float]:
    """The weights with 0 for the excluded and the rest summing to 1, and the sum of their squares."""
    if not excluded:
        return weights, squared_weights(weights)
    kept = [weight for client, weight in enumerate(weights) if client not in excluded]
    total = math.fsum(kept)
    squared = squared_weights(tuple(weight / total for weight in kept))
    return tuple(
        0.0 if client in excluded else weights[client] / total for client in range(len(weights))
    ), squared
