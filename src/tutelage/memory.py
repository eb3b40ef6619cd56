"""All clients of a run as arrays: what rules look at, what policies learn from, what is evidence.

Shapes: M clients, K arms, J segment cuts, C checkpoints.  The functions here are plain Python on one
client's rows; ``advance.py`` compiles them.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

NOT_YET = np.iinfo(np.int64).max  # "the count was not reached" among rounds


class Memory(NamedTuple):
    """One run's clients.  Nothing in it grows with the horizon."""

    rounds: NDArray[np.int64]  # [M] rounds passed
    turns: NDArray[np.int64]  # [M] pulls made
    waits: NDArray[np.int64]  # [M] rounds until the pull on its way arrives
    pending_arm: NDArray[np.int64]  # [M] arm of a pull observed but not yet revealed, else -1
    pending_reward: NDArray[np.float64]  # [M]
    pulls: NDArray[np.int64]  # [M, K] since the start
    # what rules look at, since the teacher began (anew)
    counted: NDArray[np.int64]  # [M, K] N
    observed: NDArray[np.float64]  # [M, K] Q
    revealed: NDArray[np.float64]  # [M, K] S
    kept: NDArray[np.float64]  # [M, 2] what LEVEL and LIFT keep
    # what policies learn from
    counts: NDArray[np.int64]  # [M, K] pulls revealed
    means: NDArray[np.float64]  # [M, K]
    constants: NDArray[np.float64]  # [M, K] gamma: the value with which the arm's revealed rewards began
    constant_counts: NDArray[np.int64]  # [M, K] n0: how many equal to it came before any other
    rests: NDArray[np.float64]  # [M, K] s: the sum of all later ones
    states: NDArray[np.float64]  # [M, ...] the policies' own numbers
    # evidence and account
    segments: NDArray[np.int64]  # [M, K] segments completed
    segment_sums: NDArray[np.float64]  # [M, K, J + 1] sum of observed rewards in each segment
    reached: NDArray[np.int64]  # [M, K] round in which the quota's count was reached, else NOT_YET
    costs: NDArray[np.float64]  # [M] sum of abs(revealed - observed)
    next_checkpoints: NDArray[np.int64]  # [M] index of the next checkpoint to record
    streams: NDArray[np.uint64]  # [M, 3, 4] of rewards, policies and activity

    def copy_from(self, other: "Memory") -> None:
        """Make every array equal to another memory's of the same shape."""
        for mine, theirs in zip(self, other, strict=True):
            np.copyto(mine, theirs)

    def begin_anew(self, cuts: NDArray[np.int64]) -> None:
        """Forget all evidence and what rules remember; pulls that are pending are the first of the new."""
        for array in (
            self.counted,
            self.observed,
            self.revealed,
            self.kept,
            self.segments,
            self.segment_sums,
        ):
            array[...] = 0
        for client, arm in enumerate(self.pending_arm.tolist()):
            if arm >= 0:
                reward = self.pending_reward[client]
                self.counted[client, arm] = 1
                self.observed[client, arm] = reward
                add_to_segment(arm, 1, reward, self.segments[client], self.segment_sums[client], cuts)

    def copy(self) -> "Memory":
        """A memory of its own with the same content."""
        copies: list[Any] = [array.copy() for array in self]
        return Memory(*copies)


def new_memory(num_arms: int, num_cuts: int, state_size: int, streams: NDArray[np.uint64]) -> Memory:
    """The memory of as many clients as ``streams`` has rows, before their first pull."""
    num_clients = streams.shape[0]

    def whole(*shape: int) -> NDArray[np.int64]:
        return np.zeros(shape, dtype=np.int64)

    return Memory(
        rounds=whole(num_clients),
        turns=whole(num_clients),
        waits=whole(num_clients),
        pending_arm=np.full(num_clients, -1, dtype=np.int64),
        pending_reward=np.zeros(num_clients),
        pulls=whole(num_clients, num_arms),
        counted=whole(num_clients, num_arms),
        observed=np.zeros((num_clients, num_arms)),
        revealed=np.zeros((num_clients, num_arms)),
        kept=np.zeros((num_clients, 2)),
        counts=whole(num_clients, num_arms),
        means=np.zeros((num_clients, num_arms)),
        constants=np.zeros((num_clients, num_arms)),
        constant_counts=whole(num_clients, num_arms),
        rests=np.zeros((num_clients, num_arms)),
        states=np.zeros((num_clients, max(1, state_size))),
        segments=whole(num_clients, num_arms),
        segment_sums=np.zeros((num_clients, num_arms, num_cuts + 1)),
        reached=np.full((num_clients, num_arms), NOT_YET, dtype=np.int64),
        costs=np.zeros(num_clients),
        next_checkpoints=whole(num_clients),
        streams=streams,
    )


class Shown(NamedTuple):
    """One client's rows of what has been revealed to it."""

    counts: NDArray[np.int64]
    means: NDArray[np.float64]
    constants: NDArray[np.float64]
    constant_counts: NDArray[np.int64]
    rests: NDArray[np.float64]


def add_to_segment(
    arm: int, pulls: int, reward: float, segments: Any, sums: Any, cuts: NDArray[np.int64]
) -> None:
    """Put the arm's ``pulls``-th observed reward into its segment; the cut-th pull completes it."""
    segment = segments[arm]
    if segment < cuts.size:
        sums[arm, segment] += reward
        if pulls == cuts[segment]:
            segments[arm] = segment + 1


def show(shown: Shown, arm: int, reward: float) -> None:
    """Add a revealed reward to a client's mean of an arm.

    The mean is *defined* as gamma while all revealed values equal gamma, and as (n0 gamma + s) / n
    afterwards, n0 the length of that constant beginning and s the sum of the rest: exact for constants, so
    that arms that were shown the same are tied exactly (docs/decisions/0001, rule 4).
    """
    count = shown.counts[arm] + 1
    shown.counts[arm] = count
    if count == 1:
        shown.constants[arm] = reward
        shown.constant_counts[arm] = 1
        shown.means[arm] = reward
    elif shown.constant_counts[arm] == count - 1 and reward == shown.constants[arm]:
        shown.constant_counts[arm] = count
    else:
        shown.rests[arm] += reward
        constant_part = shown.constant_counts[arm] * shown.constants[arm]
        shown.means[arm] = (constant_part + shown.rests[arm]) / count
