"""What the runs of a request work with: arrays that all of them read, and arrays that one run after the other writes.

Making the arrays of a run and describing them to compiled code takes longer than a short run.  So a run leaves its
workspace, unless it is large, to the next one under the same teacher: also to that of another request which differs
in its means and its seed only, such as those of a set of random instances.  Shapes: M clients, K arms.
"""

import functools
import threading
import weakref
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tutelage.code_errors import is_foreign
from tutelage.distributions.base import RewardArrays
from tutelage.engine.compiled_loop import ActivityArrays
from tutelage.engine.kernels import RepeatedCalls
from tutelage.engine.leaping import new_scratch
from tutelage.engine.memory import Memory, new_memory
from tutelage.engine.policy_groups import PolicyGroups, group_clients
from tutelage.engine.run_record import RunRecord
from tutelage.engine.stream_seeds import StreamSeeder
from tutelage.policies.base import Prospect, Stretch
from tutelage.read_only_arrays import read_only
from tutelage.request import SimulationRequest
from tutelage.run_outcome import PullTrace
from tutelage.teachers.checks import ask_segments

_MOST_BYTES = 1 << 17  # of a memory, and of a record, that is worth keeping
_MOST_KINDS = 64  # of workspaces that are made before those that no run uses are dropped


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
    # what `reward_arrays` show read-only: the key, and local and global means; None if the means are its request's
    shock_key: NDArray[np.uint64]
    means: tuple[NDArray[np.float64], NDArray[np.float64]] | None

    def begin(self, request: SimulationRequest, run: int, first_client: int) -> None:
        """Let everything be as before the first pull of a run."""
        if self.initial is not self.memory.block:  # a large one is used once: segments not reached take no memory
            np.copyto(self.memory.block, self.initial)
        if self.means is not None:
            np.copyto(self.means[0], request.instance.local_means)
            np.copyto(self.means[1], request.instance.global_means)
        self.seeder.fill(request.seed, run, first_client, self.memory.streams, self.shock_key)
        self.is_evidence[...] = True


@dataclass(frozen=True, eq=False)
class _SharedArrays:
    """What is the same in all runs under a teacher of requests that differ in their means and seeds only.

    ``unused`` are the workspaces that no run uses.
    """

    acting: ActivityArrays
    policies: PolicyGroups
    cuts: NDArray[np.int64]
    unused: list[Workspace] = field(default_factory=list)


_SHARED: weakref.WeakKeyDictionary[SimulationRequest, dict[int, _SharedArrays]] = weakref.WeakKeyDictionary()
_ALIKE: weakref.WeakValueDictionary[tuple[Any, ...], _SharedArrays] = weakref.WeakValueDictionary()
_LOCK = threading.Lock()


def take_workspace(request: SimulationRequest, teacher: int, own: slice) -> Workspace:
    """Return a workspace for a run of the clients ``own``: one that an earlier run left, or a new one."""
    shared = _share_arrays(request, teacher)
    try:
        if own == slice(0, request.instance.num_clients):
            return shared.unused.pop()
    except IndexError:
        pass
    return _make_workspace(request, shared, own)


def is_kept(request: SimulationRequest, own: slice, workspace: Workspace) -> bool:
    """Return whether a later run may use the workspace of one that has ended."""
    is_small = max(workspace.initial.nbytes, workspace.record.pulls.nbytes) <= _MOST_BYTES
    return is_small and own == slice(0, request.instance.num_clients) and not request.sums_clients


def leave_workspace(request: SimulationRequest, teacher: int, workspace: Workspace) -> None:
    """Let a later run use the workspace of one that has ended: at once, so nothing of it may be read any more.

    A later run writes each entry of the record again.
    """
    _share_arrays(request, teacher).unused.append(workspace)


def _make_workspace(request: SimulationRequest, shared: _SharedArrays, own: slice) -> Workspace:
    num_clients, num_arms = own.stop - own.start, request.instance.num_arms
    acting = shared.acting
    policies = shared.policies.select(own)
    streams = np.zeros((num_clients, 3, 4), dtype=np.uint64)
    memory = new_memory(num_arms, shared.cuts.size, policies.state_size, streams)
    memory.remaining_delays[:] = acting.delays[own]
    key, all_clients = np.zeros(1, dtype=np.uint64), np.ones(num_clients, dtype=np.bool_)
    rewards = request.instance.reward_arrays()
    rewards = rewards._replace(local_means=rewards.local_means[own], shock_key=read_only(key))
    means = None
    if own == slice(0, request.instance.num_clients) and not request.sums_clients:
        means = rewards.local_means.copy(), rewards.global_means.copy()
        rewards = rewards._replace(local_means=read_only(means[0]), global_means=read_only(means[1]))
    prospect, stretch = new_scratch(num_arms)
    return Workspace(
        reward_arrays=rewards,
        acting=ActivityArrays(acting.activity[own], acting.delays[own], acting.last_rounds[own]),
        policies=policies,
        cuts=shared.cuts,
        memory=memory,
        initial=memory.block.copy() if memory.block.nbytes <= _MOST_BYTES else memory.block,
        seeder=StreamSeeder(),
        calls=tuple((RepeatedCalls(kernel), clients) for kernel, clients in policies.groups),
        prospect=prospect,
        stretch=stretch,
        all_clients=all_clients,
        is_evidence=all_clients.copy(),
        quota=np.zeros(num_arms, dtype=np.int64),
        no_trace=new_trace(num_clients, 0),
        record=RunRecord(request, num_clients),
        shock_key=key,
        means=means,
    )


def _share_arrays(request: SimulationRequest, teacher: int) -> _SharedArrays:
    """Return what runs under a teacher share, made at the first of them in this process."""
    by_teacher = _SHARED.setdefault(request, {})
    if teacher not in by_teacher:
        key = _describe_shared(request, teacher)
        shared = None if key is None else _ALIKE.get(key)
        by_teacher[teacher] = _make_shared(request, teacher, key) if shared is None else shared
    return by_teacher[teacher]


def _make_shared(request: SimulationRequest, teacher: int, key: tuple[Any, ...] | None) -> _SharedArrays:
    instance, problem = request.instance, request.problem_for(request.teachers[teacher])
    shared = _SharedArrays(
        ActivityArrays(*instance.conditions.arrays(instance.num_clients)),
        group_clients(request.policies, instance.rewards, instance.num_arms, request.engine),
        np.array(ask_segments(request.teachers[teacher], problem), dtype=np.int64),
    )
    latest = _list_latest()
    with _LOCK:
        if len(latest) >= _MOST_KINDS:  # an experiment of many cells: those of earlier ones are not needed any more
            for each in latest:
                each.unused.clear()
            latest.clear()
        latest.add(shared)
        if key is not None:
            _ALIKE[key] = shared
    return shared


@functools.cache
def _list_latest() -> weakref.WeakSet[_SharedArrays]:
    """Return what was made since workspaces were dropped: no global set, which would be hashed with the code."""
    return weakref.WeakSet()


def _describe_shared(request: SimulationRequest, teacher: int) -> tuple[Any, ...] | None:
    """Return all on which shared arrays and workspaces depend; None where they are those of one request.

    So are those for many clients, for observed rewards, and for entries of other packages or without a hash, which
    may be equal and yet behave differently.
    """
    instance, taught_by, conditions = request.instance, request.teachers[teacher], request.instance.conditions
    if request.sums_clients or instance.samples.values.size:
        return None
    distinct = {id(entry): entry for entry in (taught_by, instance.rewards, *request.policies)}
    if not all(map(_is_of_this_package, distinct.values())):
        return None
    key = (
        taught_by,
        request.problem_for(taught_by),
        request.policies,
        instance.rewards,
        (conditions.activity, conditions.delays, conditions.stops),
        request.engine,
        request.recorded_rounds.tobytes(),
    )
    try:
        hash(key)
    except TypeError:
        return None
    return key


def _is_of_this_package(entry: Any) -> bool:
    """Return whether an entry and the objects that are its attributes are of this package.

    What is inside tuples, lists and dictionaries is not looked at.
    """
    if is_foreign(entry):
        return False
    attributes = getattr(entry, "__dict__", {}).values()
    return all(
        _is_of_this_package(each) for each in attributes if hasattr(each, "__dict__") and not isinstance(each, type)
    )


def new_trace(num_clients: int, num_rounds: int) -> PullTrace:
    """Return arrays for the pulls of as many rounds."""
    shape = (num_clients, num_rounds)
    return PullTrace(np.full(shape, -1, dtype=np.int64), np.zeros(shape), np.zeros(shape))
