"""Evidence that a campaign has collected and its teacher has not yet received, and the awaited quota.

Sums begin at 0.0 and add up in the order of the pulls, so that they equal the simulator's bit for bit.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tutelage.read_only_arrays import read_only
from tutelage.teachers.base import Evidence, Problem, Quota


class CollectedEvidence:
    """The evidence of one campaign.  Shapes: M clients, K arms.

    ``counts`` [M, K] are the pulls that are evidence, ``segments`` [M, K] the completed segments, ``sums``
    [M, K] those of the open segments; lists, because single numbers are changed in a third of the time of
    arrays.  ``closed[k][m]`` are the sums of completed segments that wait for the other clients.
    ``missing[k]`` is the number of clients that still lack pulls of an arm in the quota.
    """

    def __init__(self, problem: Problem, cuts: Sequence[int]) -> None:
        self.problem = problem
        self.cuts = (*cuts, 0)  # the 0 is never reached: after the last cut there is no segment
        self.is_evidence = np.ones(problem.num_clients, dtype=np.bool_)
        self.quota: Quota | None = None
        self.clear()

    def clear(self) -> None:
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
        """The pulls of each client and arm that are evidence, [M, K]; a copy."""
        return np.array(self.counts, dtype=np.int64)

    def observe(self, client: int, arm: int, reward: float) -> None:
        """Add a pull, its reward in [0, 1]."""
        counts, sums = self.counts[client], self.sums[client]
        pulls = counts[arm] = counts[arm] + 1
        sums[arm] += reward
        if pulls == self.cuts[self.segments[client][arm]]:
            self.closed[arm][client].append(sums[arm])
            sums[arm] = 0.0
            self.segments[client][arm] += 1
        missing = self.missing[arm]
        if missing and self.is_evidence[client] and self.quota and pulls == self.quota.counts[arm]:
            self.missing[arm] = missing - 1

    def receive(
        self,
        client: int,
        counts: Sequence[int],
        segments: Sequence[int],
        sums: Sequence[float],
        closed: Sequence[Sequence[float]],
    ) -> None:
        """Set what an edge has counted for a client, by arm; ``closed`` are the sums of newly completed segments."""
        for arm, count in enumerate(counts):
            self.closed[arm][client].extend(closed[arm])
            missing = self.missing[arm]
            if missing and self.is_evidence[client] and self.quota:
                self.missing[arm] = missing - (self.counts[client][arm] < self.quota.counts[arm] <= count)
        self.counts[client][:], self.segments[client][:], self.sums[client][:] = counts, segments, sums

    def await_quota(self, quota: Quota | None) -> None:
        """Set the quota and count what it still lacks."""
        self.quota = quota
        self.missing = [None] * self.problem.num_arms
        pulls = self.pulls[self.is_evidence]
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
        """Ignore this client from now on."""
        self.is_evidence[client] = False

    def take(self) -> Evidence:
        """Return the segments that all clients who are evidence have completed since the last call."""
        completed = np.array(self.segments)[self.is_evidence].min(axis=0).tolist()
        taken = []
        for arm, end in enumerate(completed):
            number, clients = end - self.delivered[arm], self.closed[arm]
            sums = np.zeros((number, len(clients)))
            for client in np.flatnonzero(self.is_evidence).tolist():
                sums[:, client] = clients[client][:number]
                del clients[client][:number]
            self.delivered[arm] = end
            taken.append(read_only(sums))
        return Evidence(tuple(taken))

    def count_missing(self) -> NDArray[np.int64]:
        """Count the pulls that each client still lacks for the quota, [M, K]; 0 for excluded clients."""
        counts = np.array(self.quota.counts if self.quota else [0] * self.problem.num_arms, dtype=np.int64)
        missing: NDArray[np.int64] = np.maximum(counts - self.pulls, 0) * self.is_evidence[:, None]
        return missing
