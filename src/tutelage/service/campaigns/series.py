"""Time series of a campaign's counters for charts: the older, the coarser.

The points depend only on the rows of the ledger and their times, so that a rebuilt campaign has the same
points bit for bit.

Shapes: K arms, P points.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]
MOST_POINTS = 2_000
MOST_NUMBERS = 1_000_000  # in all points together, for campaigns of very many arms
FINE_POINTS = 600  # the newest, which stay a second apart
SECOND = 1_000_000
_SIZES = (np.uint8, np.uint16, np.uint32, np.uint64)


class Points(NamedTuple):
    """Counters at some times: microseconds since 1970 [P], the cost [P], and the pulls of each arm [P, K]."""

    times: Counts
    costs: NDArray[np.float64]
    pulls: Counts

    def map(self, change: Callable[[NDArray[Any]], NDArray[Any]]) -> "Points":
        """Return the points with each array changed."""
        return Points(change(self.times), change(self.costs), change(self.pulls))


class StoredSeries(msgspec.Struct, array_like=True):
    """A series in a snapshot; ``growth`` [P, K] are the pulls since the previous point, of ``size`` bytes each."""

    last: int
    times: list[int]
    costs: list[float]
    size: int
    growth: bytes


class Series:
    """At most ``MOST_POINTS`` points.  ``last`` is the time of the last change, 0 before the first.

    The arrays have room for more than ``num_points``: they are replaced when it is used up, and what a reader has got
    stays as it was.
    """

    def __init__(self, num_arms: int) -> None:
        self._most = max(100, min(MOST_POINTS, MOST_NUMBERS // num_arms))
        self._arrays = Points(np.empty(0, np.int64), np.empty(0), np.empty((0, num_arms), np.int64))
        self.num_points = self._newest = 0
        self.last = 0

    @property
    def points(self) -> Points:
        """The points so far."""
        return self._arrays.map(lambda array: array[: self.num_points])

    def is_due(self, time: int) -> bool:
        """Whether to call :meth:`keep` before a change of a counter at this time."""
        return not self.num_points or time - self._newest >= SECOND

    def keep(self, time: int, cost: float, pulls: Counts) -> None:
        """Add the counters before a change; after a long pause, at both of its ends."""
        if self.num_points and self.last > self._newest:
            self._append(self.last, cost, pulls)
        if not self.num_points or time - self.last >= SECOND:
            self._append(time, cost, pulls)
        if self.num_points > self._most:
            fine = min(FINE_POINTS, self._most // 2)
            self._replace(self.points.map(lambda array: np.concatenate((array[:-fine:2], array[-fine:]))))

    def change(self, time: int) -> None:
        """Note the time of a change; a clock that was set back counts once it has caught up."""
        self.last = max(self.last, time)

    def dump(self) -> StoredSeries:
        """Return the stored form."""
        times, costs, pulls = self.points
        growth = np.diff(pulls, axis=0, prepend=0)
        most = int(growth.max(initial=0))
        kind = next(kind for kind in _SIZES if most <= np.iinfo(kind).max)
        size, stored = np.dtype(kind).itemsize, growth.astype(kind).tobytes()
        return StoredSeries(self.last, times.tolist(), costs.tolist(), size, stored)

    def load(self, kept: StoredSeries) -> None:
        """Restore what :meth:`dump` returned."""
        kind = next(kind for kind in _SIZES if np.dtype(kind).itemsize == kept.size)
        growth = np.frombuffer(kept.growth, dtype=kind).reshape(-1, self._arrays.pulls.shape[1]).astype(np.int64)
        self._replace(Points(np.array(kept.times, np.int64), np.array(kept.costs, np.float64), growth.cumsum(axis=0)))
        self.last = kept.last

    def _append(self, time: int, cost: float, pulls: Counts) -> None:
        if self.num_points == len(self._arrays.times):
            room = 8 + self.num_points // 4
            self._arrays = self._arrays.map(
                lambda array: np.concatenate((array, np.empty_like(array, shape=(room, *array.shape[1:]))))
            )
        times, costs, all_pulls = self._arrays
        times[self.num_points], costs[self.num_points], all_pulls[self.num_points] = time, cost, pulls
        self.num_points += 1
        self._newest = time

    def _replace(self, points: Points) -> None:
        self._arrays, self.num_points = points, len(points.times)
        self._newest = int(points.times[-1]) if self.num_points else 0
