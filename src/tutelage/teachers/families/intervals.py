"""Segment sums, estimates and confidence intervals of TAL and TWL (Shi et al., eq. (1))."""

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tutelage.epoch_schedule import Schedule, confidence_radius, make_schedule, spread_factor, squared_weights
from tutelage.teachers.base import Evidence, Problem, Quota
from tutelage.teachers.dependence import group_weights, groups_of
from tutelage.teachers.families.weights import remaining_weights


@dataclass(frozen=True, eq=False)
class SegmentSums:
    """All segment sums so far, ``sums[k]`` float64 [segments of arm k, M], and the excluded clients."""

    sums: tuple[NDArray[np.float64], ...]
    excluded: tuple[int, ...] = ()


@dataclass(frozen=True)
class Intervals:
    """Lower and upper confidence bounds [K] of the latest epoch; None for arms that were not active."""

    lower: tuple[float | None, ...]
    upper: tuple[float | None, ...]


@functools.lru_cache(maxsize=64)
def schedule_of(problem: Problem, dependence: str | None = None) -> Schedule:
    """Return the epochs of a problem; excluding a client does not change them.

    Where the clients of a group depend on each other (``dependence.py``), sum_g W_g^2 takes the place of
    sum_m w_m^2 (docs/theory.md, "Dependent clients").
    """
    weights = group_weights(problem.weights, groups_of(dependence, problem.num_clients))
    return make_schedule(problem.num_arms, problem.horizon, weights, problem.sub_gaussian, problem.risk)


def no_sums(problem: Problem) -> SegmentSums:
    """Return the sums before the first pull."""
    return SegmentSums(tuple(np.zeros((0, problem.num_clients)) for _ in range(problem.num_arms)))


def no_intervals(num_arms: int) -> Intervals:
    """Return intervals without bounds."""
    return Intervals((None,) * num_arms, (None,) * num_arms)


def append_segments(segment_sums: SegmentSums, new: Evidence) -> SegmentSums:
    """Append the newly completed segments."""
    sums = tuple(np.concatenate((old, more)) for old, more in zip(segment_sums.sums, new.sums, strict=True))
    return SegmentSums(sums, segment_sums.excluded)


def has_epoch(segment_sums: SegmentSums, epoch: int, arms: tuple[int, ...]) -> bool:
    """Whether the epoch's segment is complete for all these arms."""
    return all(len(segment_sums.sums[arm]) >= epoch for arm in arms)


def is_reachable(problem: Problem, ends: tuple[int, ...], epoch: int, arms: tuple[int, ...]) -> bool:
    """Whether the F(psi) pulls of each of these arms that the epoch needs fit into a client's T pulls."""
    return epoch <= len(ends) and len(arms) * ends[epoch - 1] <= problem.horizon


def quota_of(problem: Problem, ends: tuple[int, ...], epoch: int, arms: tuple[int, ...]) -> Quota | None:
    """Return F(psi) pulls of each of these arms; None if the epoch cannot be reached within the horizon.

    ``ends`` are F(1), F(2), ... within the horizon.
    """
    if not is_reachable(problem, ends, epoch, arms):
        return None
    return Quota(tuple(ends[epoch - 1] if arm in arms else 0 for arm in range(problem.num_arms)))


def compute_intervals(
    problem: Problem, segment_sums: SegmentSums, epoch: int, arms: tuple[int, ...], dependence: str | None = None
) -> Intervals:
    """Compute LCB and UCB of eq. (1): sum_m w_m (sum of the epoch's rewards / f(psi)) -+ CB(psi).

    The sum is over the clients in order.  Excluded clients are left out and the weights of the others scaled
    to sum to 1; the radius then uses their sum of squares, and with dependent clients that of their groups.

    Departs from the paper, which excludes nobody: after r exclusions the logarithm is log(2 K T^2 M^r).  Who is
    excluded may depend on the rewards; there are at most M^r such sets, and each one's intervals fail with
    probability 1 / (T M^r) (docs/theory.md).  The pulls of an epoch are unchanged.  For rewards beyond [0, 1] the
    sum of squares is multiplied by (2 sigma)^2.
    """
    schedule = schedule_of(problem, dependence)
    weights = remaining_weights(problem.weights, segment_sums.excluded)
    squared = squared_weights(group_weights(tuple(weights.tolist()), groups_of(dependence, problem.num_clients)))
    squared *= spread_factor(problem.sub_gaussian)
    chosen = len(segment_sums.excluded) * math.log(problem.num_clients) + math.log(problem.risk_divisor)
    radius = confidence_radius(schedule, epoch, squared, chosen)
    pulls = schedule.pulls(epoch)
    lower: list[float | None] = [None] * problem.num_arms
    upper: list[float | None] = [None] * problem.num_arms
    for arm in arms:
        estimate = float(np.cumsum(weights * (segment_sums.sums[arm][epoch - 1] / pulls))[-1])
        lower[arm], upper[arm] = estimate - radius, estimate + radius
    return Intervals(tuple(lower), tuple(upper))
