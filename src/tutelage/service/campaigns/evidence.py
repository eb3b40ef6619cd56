"""What a campaign has observed and its teacher has not yet been told: segments, and the quota awaited.

Sums begin at 0.0 and run in the order of the pulls, so that they equal the lab's bit for bit.
"""

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from tutelage.teachers.base import Evidence, Problem, Quota


class StoredEvidence(msgspec.Struct):
    """What was collected, as it is stored."""

    counted: bytes
    pulls: bytes
    segments: bytes
    sums: bytes
    closed: list[list[list[float]]]
    delivered: list[int]


class Collected:
    """The evidence of one campaign.  Shapes: M clients, K arms.

    ``counts`` [M, K] is how many pulls are evidence, ``segments`` [M, K] the segments completed, ``sums``
    [M, K] what the open one has so far; lists, as one number after another is changed in a third of the time.
    ``closed[k][m]`` are the sums of completed ones that wait for the others.  ``missing[k]`` is how many
    clients still miss pulls of a listed arm.
    """

    def __init__(self, problem: Problem, cuts: Sequence[int]) -> None:
        self.problem = problem
        self.cuts = (*cuts, 0)  # the 0 is never reached: what comes after the last cut is no segment
        self.counted = np.ones(problem.num_clients, dtype=np.bool_)
        self.quota: Quota | None = None
        self.begin_anew()

    def begin_anew(self) -> None:
        """Forget all evidence."""
        size = (self.problem.num_clients, self.problem.num_arms)
        self.counts: list[list[int]] = [[0] * size[1] for _ in range(size[0])]
        self.segments: list[list[int]] = [[0] * size[1] for _ in range(size[0])]
        self.sums: list[list[float]] = [[0.0] * size[1] for _ in range(size[0])]
        self.closed: list[list[list[float]]] = [[[] for _ in range(size[0])] for _ in range(size[1])]
        self.delivered = [0] * size[1]
        self.missing: list[int | None] = [None] * size[1]

    @property
    def pulls(self) -> NDArray[np.int64]:
        """What is evidence of each client and arm, [M, K]; a copy."""
        return np.array(self.counts, dtype=np.int64)

    def observe(self, client: int, arm: int, reward: float) -> None:
        """One more pull, its reward in [0, 1]."""
        counts, sums = self.counts[client], self.sums[client]
        pulls = counts[arm] = counts[arm] + 1
        sums[arm] += reward
        if pulls == self.cuts[self.segments[client][arm]]:
            self.closed[arm][client].append(sums[arm])
            sums[arm] = 0.0
            self.segments[client][arm] += 1
        missing = self.missing[arm]
        if missing and self.counted[client] and self.quota and pulls == self.quota.counts[arm]:
            self.missing[arm] = missing - 1

    def await_quota(self, quota: Quota | None) -> None:
        """Count anew what this quota still misses."""
        self.quota = quota
        self.missing = [None] * self.problem.num_arms
        pulls = self.pulls[self.counted]
        for arm, count in enumerate(quota.counts if quota else ()):
            if count > 0:
                self.missing[arm] = int(np.count_nonzero(pulls[:, arm] < count))

    def is_due(self) -> bool:
        """Whether the quota is met."""
        if self.quota is None:
            return False
        listed = [missing == 0 for missing in self.missing if missing is not None]
        return all(listed) if self.quota.mode == "all" else any(listed)

    def exclude(self, client: int) -> None:
        """This client is no evidence any more."""
        self.counted[client] = False

    def take(self) -> Evidence:
        """The segments that all counted clients have completed since this was last asked."""
        completed = np.array(self.segments)[self.counted].min(axis=0).tolist()
        taken = []
        for arm, end in enumerate(completed):
            number, clients = end - self.delivered[arm], self.closed[arm]
            sums = np.zeros((number, len(clients)))
            for client in np.flatnonzero(self.counted).tolist():
                sums[:, client] = clients[client][:number]
                del clients[client][:number]
            self.delivered[arm] = end
            taken.append(sums)
        return Evidence(tuple(taken))

    def behind(self) -> NDArray[np.int64]:
        """How many pulls each client [M, K] still misses of what the quota lists; 0 for the excluded."""
        counts = np.array(self.quota.counts if self.quota else [0] * self.problem.num_arms, dtype=np.int64)
        missing: NDArray[np.int64] = np.maximum(counts - self.pulls, 0) * self.counted[:, None]
        return missing

    def dump(self) -> StoredEvidence:
        """All of it but the quota, which is the directive's."""
        return StoredEvidence(
            self.counted.tobytes(),
            self.pulls.tobytes(),
            np.array(self.segments, dtype=np.int64).tobytes(),
            np.array(self.sums).tobytes(),
            self.closed,
            self.delivered,
        )

    def load(self, kept: StoredEvidence) -> None:
        """Put back what :meth:`dump` gave."""
        size = (self.problem.num_clients, self.problem.num_arms)
        self.counted = np.frombuffer(kept.counted, dtype=np.bool_).copy()
        self.counts = np.frombuffer(kept.pulls, dtype=np.int64).reshape(size).tolist()
        self.segments = np.frombuffer(kept.segments, dtype=np.int64).reshape(size).tolist()
        self.sums = np.frombuffer(kept.sums, dtype=np.float64).reshape(size).tolist()
        self.closed, self.delivered = kept.closed, kept.delivered
