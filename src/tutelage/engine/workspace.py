"""What the runs of a request work with: arrays that all of them read, and arrays that one run after the other writes.

Making the arrays of a run and describing them to compiled code takes longer than a short run.  So a run leaves its
workspace to the next one under the same teacher, unless it is large.  Shapes: M clients, K arms.
"""

import weakref
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tutelage.distributions.base import RewardArrays
from tutelage.engine.compiled_loop import ActivityArrays
from tutelage.engine.kernels import RepeatedCalls
from tutelage.engine.leaping import new_prospect, new_stretch
from tutelage.engine.memory import Memory, new_memory
from tutelage.engine.policy_groups import PolicyGroups, group_clients
from tutelage.engine.run_record import RunRecord
from tutelage.engine.stream_seeds import StreamSeeder
from tutelage.policies.base import Prospect, Stretch
from tutelage.read_only_arrays import read_only
from tutelage.request import SimulationRequest
from tutelage.run_outcome import PullTrace
from tutelage.teachers.checks import ask_segments

_MOST_BYTES = 1 << 17  # of a memory, and of a record, that is worth keeping, for each request and teacher


@dataclass(frozen=True, eq=False)
class Workspace:
    """The arrays of one run at a time, of some or all clients; ``initial`` is the memory's block before the first pull.

    ``calls`` are the kernels with their clients.  What a kernel was called with last is packed already.
    """

    reward_arrays: RewardArrays
    acting: ActivityArrays
    policies: PolicyGroups
    cuts: NDArray[np.int64]
    memory: Memory
    initial: NDArray[np.uint64]
    seeder: StreamSeeder
    calls: tuple[tuple[RepeatedCalls, NDArray[np.int64]], ...]
    prospect: Prospect
    stretch: Stretch
    all_clients: NDArray[np.bool_]
    is_evidence: NDArray[np.bool_]
    quota: NDArray[np.int64]
    no_trace: PullTrace
    record: RunRecord
    shock_key: NDArray[np.uint64]  # which `reward_arrays` show read-only

    def begin(self, seed: int, run: int, first_client: int) -> None:
        """Let everything be as before the first pull of a run."""
        if self.initial is not self.memory.block:  # a large one is used once: segments not reached take no memory
            np.copyto(self.memory.block, self.initial)
        self.seeder.fill(seed, run, first_client, self.memory.streams, self.shock_key)
        self.is_evidence[...] = True


@dataclass(frozen=True, eq=False)
class _SharedArrays:
    """What is the same in all runs of a request, and the workspaces that no run uses, by teacher."""

    reward_arrays: RewardArrays
    acting: ActivityArrays
    policies: PolicyGroups
    unused: dict[int, list[Workspace]] = field(default_factory=dict)


_SHARED: weakref.WeakKeyDictionary[SimulationRequest, _SharedArrays] = weakref.WeakKeyDictionary()


def take_workspace(request: SimulationRequest, teacher: int, own: slice) -> Workspace:
    """Return a workspace for a run of the clients ``own``: one that an earlier run left, or a new one."""
    shared = _share_arrays(request)
    try:
        if own == slice(0, request.instance.num_clients):
            return shared.unused[teacher].pop()
    except LookupError:
        pass
    return _make_workspace(request, shared, teacher, own)


def is_kept(request: SimulationRequest, own: slice, workspace: Workspace) -> bool:
    """Return whether a later run may use the workspace of one that has ended."""
    is_small = max(workspace.initial.nbytes, workspace.record.pulls.nbytes) <= _MOST_BYTES
    return is_small and own == slice(0, request.instance.num_clients) and not request.sums_clients


def leave_workspace(request: SimulationRequest, teacher: int, workspace: Workspace) -> None:
    """Let a later run use the workspace of one that has ended: at once, so nothing of it may be read any more.

    A later run writes each entry of the record again.
    """
    _share_arrays(request).unused.setdefault(teacher, []).append(workspace)


def _make_workspace(request: SimulationRequest, shared: _SharedArrays, teacher: int, own: slice) -> Workspace:
    num_clients, num_arms = own.stop - own.start, request.instance.num_arms
    acting = shared.acting
    policies = shared.policies.select(own)
    problem = request.problem_for(request.teachers[teacher])
    cuts = np.array(ask_segments(request.teachers[teacher], problem), dtype=np.int64)
    streams = np.zeros((num_clients, 3, 4), dtype=np.uint64)
    memory = new_memory(num_arms, cuts.size, policies.state_size, streams)
    memory.remaining_delays[:] = acting.delays[own]
    key, all_clients = np.zeros(1, dtype=np.uint64), np.ones(num_clients, dtype=np.bool_)
    return Workspace(
        reward_arrays=shared.reward_arrays._replace(
            local_means=shared.reward_arrays.local_means[own], shock_key=read_only(key)
        ),
        acting=ActivityArrays(acting.activity[own], acting.delays[own], acting.last_rounds[own]),
        policies=policies,
        cuts=cuts,
        memory=memory,
        initial=memory.block.copy() if memory.block.nbytes <= _MOST_BYTES else memory.block,
        seeder=StreamSeeder(),
        calls=tuple((RepeatedCalls(kernel), clients) for kernel, clients in policies.groups),
        prospect=new_prospect(num_arms),
        stretch=new_stretch(num_arms),
        all_clients=all_clients,
        is_evidence=all_clients.copy(),
        quota=np.zeros(num_arms, dtype=np.int64),
        no_trace=new_trace(num_clients, 0),
        record=RunRecord(request, num_clients),
        shock_key=key,
    )


def _share_arrays(request: SimulationRequest) -> _SharedArrays:
    """Return what the runs of a request share, made at its first run in this process."""
    shared, instance = _SHARED.get(request), request.instance
    if shared is None:
        acting = ActivityArrays(*instance.conditions.arrays(instance.num_clients))
        policies = group_clients(request.policies, instance.rewards, instance.num_arms, request.engine)
        shared = _SharedArrays(instance.reward_arrays(), acting, policies)
        _SHARED[request] = shared
    return shared


def new_trace(num_clients: int, num_rounds: int) -> PullTrace:
    """Return arrays for the pulls of as many rounds."""
    shape = (num_clients, num_rounds)
    return PullTrace(np.full(shape, -1, dtype=np.int64), np.zeros(shape), np.zeros(shape))
