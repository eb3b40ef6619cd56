"""All clients of a run as arrays: what rules look at, what policies learn from, what is evidence.

Shapes: M clients, K arms, J segment cuts, C checkpoints.  The functions here are plain Python on one
client's rows; ``advance.py`` compiles them.
"""

import math
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
    block: NDArray[np.uint64]  # all of the above, which are parts of it, one after the other

    def copy_from(self, other: "Memory") -> None:
        """Make every array equal to another memory's of the same shape."""
        np.copyto(self.block, other.block)

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


def new_memory(num_arms: int, num_cuts: int, state_size: int, streams: NDArray[np.uint64]) -> Memory:
    """The memory of as many clients as ``streams`` has rows, before their first pull."""
    num_clients = streams.shape[0]
    each, arms = (num_clients,), (num_clients, num_arms)
    shapes: dict[str, tuple[type, tuple[int, ...]]] = {
        "rounds": (np.int64, each),
        "turns": (np.int64, each),
        "waits": (np.int64, each),
        "pending_arm": (np.int64, each),
        "pending_reward": (np.float64, each),
        "pulls": (np.int64, arms),
        "counted": (np.int64, arms),
        "observed": (np.float64, arms),
        "revealed": (np.float64, arms),
        "kept": (np.float64, (num_clients, 2)),
        "counts": (np.int64, arms),
        "means": (np.float64, arms),
        "constants": (np.float64, arms),
        "constant_counts": (np.int64, arms),
        "rests": (np.float64, arms),
        "states": (np.float64, (num_clients, max(1, state_size))),
        "segments": (np.int64, arms),
        "segment_sums": (np.float64, (*arms, num_cuts + 1)),
        "reached": (np.int64, arms),
        "costs": (np.float64, each),
        "next_checkpoints": (np.int64, each),
        "streams": (np.uint64, streams.shape),
    }
    sizes = {name: math.prod(shape) for name, (_, shape) in shapes.items()}
    block, end = np.zeros(sum(sizes.values()), dtype=np.uint64), 0
    parts: dict[str, NDArray[Any]] = {}
    for name, (kind, shape) in shapes.items():
        start, end = end, end + sizes[name]
        parts[name] = block[start:end].view(kind).reshape(shape)
    memory = Memory(**parts, block=block)
    memory.pending_arm[...] = -1
    memory.reached[...] = NOT_YET
    memory.streams[...] = streams
    return memory


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
