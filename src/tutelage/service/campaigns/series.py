"""Time series of a campaign's counters for charts: the older, the coarser.

The points depend only on the rows of the ledger and their times, so that a rebuilt campaign has the same
points bit for bit.

Shapes: K arms, P points.
"""

from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]
MOST_POINTS = 2_000
MOST_NUMBERS = 1_000_000  # in all points together, for campaigns of very many arms
FINE_POINTS = 600  # the newest, which stay a second apart
SECOND = 1_000_000
_SIZES = (np.uint8, np.uint16, np.uint32, np.uint64)


class Point(NamedTuple):
    """The counters at a time, in microseconds since 1970: the cost, and the pulls of each arm [K]."""

    time: int
    cost: float
    pulls: Counts


class StoredSeries(msgspec.Struct, array_like=True):
    """A series in a snapshot; ``growth`` [P, K] are the pulls since the previous point, of ``size`` bytes each."""

    last: int
    times: list[int]
    costs: list[float]
    size: int
    growth: bytes


class Series:
    """At most ``MOST_POINTS`` points.  ``last`` is the time of the last change, 0 before the first."""

    def __init__(self, num_arms: int) -> None:
        self._num_arms = num_arms
        self._most = max(100, min(MOST_POINTS, MOST_NUMBERS // num_arms))
        self.points: list[Point] = []
        self.last = 0

    def is_due(self, time: int) -> bool:
        """Whether to call :meth:`keep` before a change of a counter at this time."""
        return not self.points or time - self.points[-1].time >= SECOND

    def keep(self, time: int, cost: float, pulls: Counts) -> None:
        """Add the counters before a change; after a long pause, at both of its ends."""
        if self.points and self.last > self.points[-1].time:
            self.points.append(Point(self.last, cost, pulls))
        if not self.points or time - self.last >= SECOND:
            self.points.append(Point(time, cost, pulls))
        if len(self.points) > self._most:
            fine = min(FINE_POINTS, self._most // 2)
            self.points = self.points[:-fine:2] + self.points[-fine:]

    def change(self, time: int) -> None:
        """Note the time of a change; a clock that was set back counts once it has caught up."""
        self.last = max(self.last, time)

    def dump(self) -> StoredSeries:
        """Return the stored form."""
        pulls = np.array([point.pulls for point in self.points], dtype=np.int64).reshape(-1, self._num_arms)
        growth = np.diff(pulls, axis=0, prepend=0)
        most = int(growth.max(initial=0))
        kind = next(kind for kind in _SIZES if most <= np.iinfo(kind).max)
        return StoredSeries(
            self.last,
            [point.time for point in self.points],
            [point.cost for point in self.points],
            np.dtype(kind).itemsize,
            growth.astype(kind).tobytes(),
        )

    def load(self, kept: StoredSeries) -> None:
        """Restore what :meth:`dump` returned."""
        kind = next(kind for kind in _SIZES if np.dtype(kind).itemsize == kept.size)
        growth = np.frombuffer(kept.growth, dtype=kind).reshape(-1, self._num_arms).astype(np.int64)
        pulls = growth.cumsum(axis=0)
        self.points = [Point(*point) for point in zip(kept.times, kept.costs, pulls, strict=True)]
        self.last = kept.last
