"""The state of all clients of a run as arrays.

Shapes: M clients, K arms, J segment cuts.  The functions here are plain Python on one client's rows;
``compiled_loop.py`` compiles them.
"""

import functools
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tutelage.rule_memory import state_size

NOT_REACHED = np.iinfo(np.int64).max  # stands among rounds for "the quota's count was not reached"


class Memory(NamedTuple):
    """The clients of one run.  No array grows with the horizon.

    All are contiguous but ``segment_sums``, which is stored segment after segment.
    """

    rounds: NDArray[np.int64]  # [M] rounds passed
    num_pulls: NDArray[np.int64]  # [M] pulls of all arms
    remaining_delays: NDArray[np.int64]  # [M] rounds until the pull under way arrives
    pending_arm: NDArray[np.int64]  # [M] arm of a pull that is observed but not revealed, else -1
    pending_reward: NDArray[np.float64]  # [M]
    leapt_rounds: NDArray[np.int64]  # [M] rounds that the client leapt over
    pulls: NDArray[np.int64]  # [M, K] pulls in all
    # what rules use, since the start or the teacher's latest restart
    pulls_since_restart: NDArray[np.int64]  # [M, K] N
    observed_sums: NDArray[np.float64]  # [M, K] Q
    revealed_sums: NDArray[np.float64]  # [M, K] S
    rule_states: NDArray[np.float64]  # [M, K + 3] see `rule_memory.RuleMemory.state`
    # what policies learn from (revealed_rewards.py)
    revealed_pulls: NDArray[np.int64]  # [M, K]
    revealed_means: NDArray[np.float64]  # [M, K]
    first_rewards: NDArray[np.float64]  # [M, K]
    first_reward_counts: NDArray[np.int64]  # [M, K]
    later_sums: NDArray[np.float64]  # [M, K]
    policy_states: NDArray[np.float64]  # [M, ...]
    # whether a client could notice that it is taught (noticing.py)
    first_half_means: NDArray[np.float64]  # [M, K] revealed mean at the latest power of 2 of revealed pulls
    noticed_in: NDArray[np.int64]  # [M, 1] round, 0: not yet
    # evidence, cost and records
    evidence_pulls: NDArray[np.int64]  # [M, K] pulls in segments, since the latest restart or window
    is_first_left_out: NDArray[np.int64]  # [M] 1 until the client's first pull of a window, else 0
    completed_segments: NDArray[np.int64]  # [M, K]
    segment_sums: NDArray[np.float64]  # [M, K, J + 1] sum of observed rewards in each segment
    quota_rounds: NDArray[np.int64]  # [M, K] round in which the quota's count was reached, or NOT_REACHED
    costs: NDArray[np.float64]  # [M] sum of abs(revealed - observed)
    next_checkpoints: NDArray[np.int64]  # [M] index of the next round to record
    streams: NDArray[np.uint64]  # [M, 3, 4] of rewards, policies and activity
    block: NDArray[np.uint64]  # one array that holds all of the above, one after the other

    def restart_evidence(self, cuts: NDArray[np.int64]) -> None:
        """Forget all evidence and the rules' state; pending pulls are the first of the new evidence."""
        for array in (self.pulls_since_restart, self.observed_sums, self.revealed_sums, self.rule_states):
            array[...] = 0
        self._clear_segments()
        self.is_first_left_out[...] = 0
        for client, arm in enumerate(self.pending_arm.tolist()):
            if arm >= 0:
                reward = self.pending_reward[client]
                self.pulls_since_restart[client, arm] = 1
                self.observed_sums[client, arm] = reward
                pulls, segments = self.evidence_pulls[client], self.completed_segments[client]
                add_to_segment(arm, reward, pulls, segments, self.segment_sums[client], cuts)

    def begin_window(self) -> None:
        """Forget segments and their counts, but not what rules remember; leave out each client's next pull."""
        self._clear_segments()
        self.is_first_left_out[...] = 1

    def _clear_segments(self) -> None:
        for array in (self.evidence_pulls, self.completed_segments, self.segment_sums):
            array[...] = 0


def new_memory(num_arms: int, num_cuts: int, policy_state_size: int, streams: NDArray[np.uint64]) -> Memory:
    """Return the memory of as many clients as ``streams`` has rows, before their first pull."""
    parts, size = _lay_out(num_arms, num_cuts, policy_state_size, streams.shape)
    block = np.zeros(size, dtype=np.uint64)
    arrays: dict[str, NDArray[Any]] = {}
    for name, kind, start, end, shape in parts:
        arrays[name] = block[start:end].view(kind).reshape(shape)
    # segment after segment, so that those that no client reaches take no memory
    arrays["segment_sums"] = arrays["segment_sums"].transpose((1, 2, 0))
    memory = Memory(**arrays, block=block)
    memory.pending_arm[...] = -1
    memory.quota_rounds[...] = NOT_REACHED
    memory.streams[...] = streams
    return memory


@functools.lru_cache(maxsize=16)
def _lay_out(
    num_arms: int, num_cuts: int, policy_state_size: int, stream_shape: tuple[int, ...]
) -> tuple[list[tuple[str, type, int, int, tuple[int, ...]]], int]:
    """Return name, type, start, end and shape of each array in the block, and the block's size in words."""
    num_clients = stream_shape[0]
    counts, numbers = (np.int64, ()), (np.float64, ())
    counts_by_arm, numbers_by_arm = (np.int64, (num_arms,)), (np.float64, (num_arms,))
    layout: dict[str, tuple[type, tuple[int, ...]]] = {
        "rounds": counts,
        "num_pulls": counts,
        "remaining_delays": counts,
        "pending_arm": counts,
        "pending_reward": numbers,
        "leapt_rounds": counts,
        "pulls": counts_by_arm,
        "pulls_since_restart": counts_by_arm,
        "observed_sums": numbers_by_arm,
        "revealed_sums": numbers_by_arm,
        "rule_states": (np.float64, (state_size(num_arms),)),
        "revealed_pulls": counts_by_arm,
        "revealed_means": numbers_by_arm,
        "first_rewards": numbers_by_arm,
        "first_reward_counts": counts_by_arm,
        "later_sums": numbers_by_arm,
        "policy_states": (np.float64, (max(1, policy_state_size),)),
        "first_half_means": numbers_by_arm,
        "noticed_in": (np.int64, (1,)),
        "evidence_pulls": counts_by_arm,
        "is_first_left_out": counts,
        "completed_segments": counts_by_arm,
        "segment_sums": (np.float64, (num_arms, num_cuts + 1)),
        "quota_rounds": counts_by_arm,
        "costs": numbers,
        "next_checkpoints": counts,
        "streams": (np.uint64, stream_shape[1:]),
    }
    parts, end = [], 0
    for name, (kind, shape) in layout.items():
        start, end = end, end + num_clients * math.prod(shape)
        whole = (num_cuts + 1, num_clients, num_arms) if name == "segment_sums" else (num_clients, *shape)
        parts.append((name, kind, start, end, whole))
    return parts, end


def add_to_segment(arm: int, reward: float, pulls: Any, completed: Any, sums: Any, cuts: NDArray[np.int64]) -> None:
    """Count a pull of the arm in ``pulls`` [K] and add its observed reward to its segment.

    A segment is completed by the pull whose number is the segment's cut.
    """
    pulls[arm] += 1
    segment = completed[arm]
    if segment < cuts.size:
        sums[arm, segment] += reward
        if pulls[arm] == cuts[segment]:
            completed[arm] = segment + 1
