"""All runs of a request, spread over the workers of an executor.

The unit of work is one run under one teacher.  It draws from generators of its own (``seeding.py``) and its
outcome has a place of its own in the result, so neither the executor, the number of workers nor the order in
which runs end can change a result.
"""

import contextlib
import functools
import itertools
import threading
from collections.abc import Callable, Collection, Generator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from typing import Any

import numpy as np

from tutelage.conditions import Conditions
from tutelage.engine.executors import MAIN_GUARD, Team, check_workers, describe_missing_guard, open_team
from tutelage.engine.parallel_map import parallel_map
from tutelage.engine.policy_groups import group_clients
from tutelage.engine.routine_consultations import find_routine, routine_kernel, warm_up_routine
from tutelage.engine.simulation import Cancelled, simulate_run
from tutelage.engine.time_estimates import check_duration
from tutelage.errors import InputError
from tutelage.instances.base import equal_weights
from tutelage.policies.base import Policy
from tutelage.request import SimulationRequest
from tutelage.run_outcome import RunOutcome
from tutelage.teachers.baselines import NoTeaching

Progress = Callable[[float], None]

_TICK = 0.25  # seconds between two reports of progress


def simulate_runs(
    request: SimulationRequest,
    *,
    workers: int | None = None,
    executor: str | Executor = "auto",
    progress: Progress | None = None,
    skip: Collection[tuple[int, int]] = (),
) -> Generator[RunOutcome, None, None]:
    """Play every run of a request under every teacher and yield the outcomes as they come, in any order.

    ``skip`` has the runs that have been played before, as (teacher, run); they count as played.
    An ``Executor`` object is used as it is and not shut down.  ``progress`` is called from time to time, in
    this thread, with the number of runs that have been played; part of a run counts as a fraction.  Closing
    the generator stops the work soon; runs in an ``Executor`` that does not use threads end first.
    """
    check_workers(workers, executor)
    warm_up(request)
    team = open_team(request, workers, executor)
    try:
        check_duration(request, max(1, team.slots // 2))
    except BaseException:
        team.stop(wait=True)
        raise
    pairs = itertools.product(range(request.runs), range(len(request.teachers)))
    tasks = ((run, teacher) for run, teacher in pairs if (teacher, run) not in skip)
    waiting: set[Future[RunOutcome]] = set()
    played, complete = len(skip), False
    try:
        while True:
            for run, teacher in itertools.islice(tasks, team.slots - len(waiting)):
                waiting.add(team.submit(teacher, run))
            if not waiting:
                complete = True
                break
            done, waiting = wait(waiting, timeout=_TICK, return_when=FIRST_COMPLETED)
            for future in done:
                played += 1
                yield _outcome(future, executor, team)
            if progress is not None:
                progress(played + team.played_shares())
    finally:
        for future in waiting:
            future.cancel()
        team.stop(wait=complete)  # so that the next request finds no thread of this one, and can fork


def _outcome(future: Future[RunOutcome], executor: str | Executor, team: Team) -> RunOutcome:
    try:
        return future.result()
    except BrokenProcessPool as error:
        if not team.has_started():
            raise InputError(describe_missing_guard()) from error
        if isinstance(executor, Executor):
            raise ChildProcessError(
                "A worker process of the executor ended before its run did: it may have run out of memory, or the "
                f"script lacks {MAIN_GUARD}."
            ) from error
        raise ChildProcessError(
            "A worker process ended before its run did; it may have run out of memory: use fewer --workers."
        ) from error
    except CancelledError as error:
        raise ConnectionError(
            f"The connection to {executor} was lost before the runs were done: start them again."
        ) from error
    except ModuleNotFoundError as error:
        if executor in ("auto", "threads", "processes"):
            raise
        raise InputError(
            f"The workers of {executor} cannot import {error.name}: install the same packages there as here."
        ) from error


def warm_up(*requests: SimulationRequest) -> None:
    """Compile the kernels of all policies and teachers, or read them from the cache, once and in this thread.

    Several that must be compiled are first compiled into the cache in copies of this process, where these may be made.
    Raises ``InputError`` with the policy that cannot be compiled.
    """
    parts: dict[Any, Callable[[], None]] = {}  # by kernel
    for request in requests:
        groups = group_clients(request.policies, request.instance.rewards, request.instance.num_arms, request.engine)
        for kernel, clients in groups.groups:
            parts.setdefault(kernel, functools.partial(_warm_up_policy, request, request.policies[clients[0]]))
        for teacher in range(len(request.teachers)):
            routine = find_routine(request, teacher)
            if routine is not None:
                parts.setdefault(routine_kernel(routine.consult), functools.partial(warm_up_routine, request, teacher))
    missing = [warm_up_part for kernel, warm_up_part in parts.items() if kernel.is_to_be_compiled()]
    if len(missing) > 1:
        for _ in parallel_map(_call_and_ignore_errors, missing):
            pass
    for warm_up_part in parts.values():
        warm_up_part()


def _call_and_ignore_errors(function: Callable[[], None]) -> None:
    """Call a function that is called again by this process's parent, which raises the same error."""
    with contextlib.suppress(Exception):
        function()


def _warm_up_policy(request: SimulationRequest, policy: Policy) -> None:
    """Play one client for one round."""
    instance = replace(
        request.instance,
        local_means=np.ascontiguousarray(request.instance.local_means[:1]),
        weights=equal_weights(1),
        client_names=None,
        samples=_first_samples(request),
        conditions=Conditions(),
    )
    cancel = threading.Event()
    cancel.set()  # after one compiled call
    small = SimulationRequest(
        instance,
        (NoTeaching(),),
        (policy,),
        horizon=1 if request.count_type is np.int32 else request.horizon,  # one kernel for each type
        runs=1,
        seed=0,
        checkpoints=np.ones(1, dtype=np.int64),
        engine=request.engine,
    )
    with contextlib.suppress(Cancelled):
        simulate_run(small, 0, 0, cancel=cancel)


def _first_samples(request: SimulationRequest) -> Any:
    """Return the observed rewards of the first client only."""
    samples, num_arms = request.instance.samples, request.instance.num_arms
    if samples.offsets.size <= num_arms:
        return samples
    return replace(samples, offsets=samples.offsets[: num_arms + 1])
