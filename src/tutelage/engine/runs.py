"""All runs of groups of requests, spread over the workers of an executor.

The unit of work is one run under one teacher; workers get several short ones at a time.  A run draws from
generators of its own (``seeding.py``) and its outcome has a place of its own in the result, so neither the executor,
the number of workers nor the order in which runs end can change a result.
"""

import contextlib
import functools
import itertools
import logging
import threading
from collections import Counter, deque
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from typing import Any, NoReturn, get_args

import numpy as np

from tutelage.conditions import Conditions
from tutelage.engine.agent_group import Cancelled
from tutelage.engine.executors import (
    MAIN_GUARD,
    ExecutorName,
    Groups,
    PlayedRuns,
    Requests,
    RunPlace,
    Team,
    check_workers,
    count_runs,
    default_workers,
    describe_missing_guard,
    have_many_clients,
    open_team,
)
from tutelage.engine.parallel_map import parallel_map
from tutelage.engine.policy_groups import group_clients
from tutelage.engine.routine_consultations import find_routine, routine_kernel, warm_up_routine
from tutelage.engine.simulation import simulate_run
from tutelage.engine.time_estimates import check_duration
from tutelage.errors import InputError
from tutelage.instances.base import equal_weights
from tutelage.policies import POLICIES
from tutelage.policies.base import Policy
from tutelage.request import SimulationRequest
from tutelage.run_outcome import RunOutcome
from tutelage.teachers.baselines import NoTeaching
from tutelage.text import format_rough_duration, join_words

Progress = Callable[[float], None]

LOG = logging.getLogger("tutelage.simulator")
_TICK = 0.25  # seconds between two reports of progress
_LEAST_SECONDS = 0.05  # of work in one call, so that sending it and its result weighs little
_MOST_UNKNOWN = 8  # runs in a call while it is not known how long they take
# Roughly, on one core; by the beginning of a kernel's name.
_SECONDS_TO_COMPILE = {"advance": 10.0, "leap": 20.0, "consult": 3.0}
_MOST_BREAKS = 3  # of the worker processes, after which their runs are played again


def simulate_runs(
    groups: Groups,
    *,
    workers: int | None = None,
    executor: str | Executor = "auto",
    progress: Progress | None = None,
    skip: Collection[RunPlace] = (),
) -> Generator[tuple[int, RunOutcome], None, None]:
    """Play every run of the requests under every teacher; yield outcomes as they come, each with its request's number.

    The requests of a group are alike but for their instances and seeds.  Requests are numbered through all groups, and
    their runs begin in this order, so that a group is played while the next one begins.
    ``skip`` has the runs that have been played before, as (request, teacher, run); they count as played.
    An ``Executor`` object is used as it is and not shut down.  ``progress`` is called from time to time, in
    this thread, with the number of runs that have been played; part of a run counts as a fraction.  Closing
    the generator stops the work soon; runs in an ``Executor`` that does not use threads end first.
    """
    check_workers(workers, executor)
    warm_up(*_list_kinds(groups))
    first = before = 0  # requests and runs of earlier batches
    for batch in _cut_into_batches(groups):
        end = first + sum(map(len, batch))
        skipped = {(number - first, teacher, run) for number, teacher, run in skip if first <= number < end}
        note = None if progress is None else functools.partial(_add_and_call, progress, before)
        with contextlib.closing(_simulate_batch(batch, workers, executor, note, skipped)) as played:
            for number, outcome in played:
                yield first + number, outcome
        first, before = end, before + sum(map(count_runs, batch))


def _cut_into_batches(groups: Groups) -> Iterator[Groups]:
    """Yield groups that are played by one team: a group of many clients alone, neighbouring ones of few together.

    Runs of many clients are played one at a time, their clients shared by threads (``executors.is_for_threads``).
    """
    batch: list[Requests] = []
    for requests in groups:
        if have_many_clients(requests):
            yield from [batch, [requests]] if batch else [[requests]]
            batch = []
        else:
            batch.append(requests)
    if batch:
        yield batch


def _add_and_call(progress: Progress, before: int, played: float) -> None:
    progress(before + played)


def _simulate_batch(
    groups: Groups, workers: int | None, executor: str | Executor, progress: Progress | None, skip: Collection[RunPlace]
) -> Generator[tuple[int, RunOutcome], None, None]:
    """Play the runs of one batch with one team; requests are numbered from its first one."""
    team = open_team(groups, workers, executor)
    try:
        for requests in groups:
            check_duration(replace(requests[0], runs=len(requests) * requests[0].runs), max(1, team.slots // 2))
    except BaseException:
        team.stop(wait=True)
        raise
    of_group = [number for number, requests in enumerate(groups) for _ in requests]
    places = _list_runs(itertools.chain.from_iterable(groups))
    tasks = _Tasks([place for place in places if place not in skip], of_group)
    played, reported, complete = len(skip), 0.0, False
    breaks: Counter[int] = Counter()  # by the group of the first run that was lost
    failure: Exception | None = None
    try:
        while tasks.are_left:
            broken: BrokenProcessPool | None = None
            try:
                tasks.submit(team)
            except BrokenProcessPool as ended:
                broken = ended
            except Exception as refused:  # noqa: BLE001
                _raise_explained(refused, executor)
            wait(tasks.waiting, timeout=_TICK, return_when=FIRST_COMPLETED)
            for future in [each for each in tasks.waiting if each.done()]:  # in the order of submission
                if future not in tasks.waiting:  # given up with one that failed
                    continue
                error = _find_error(future)
                if isinstance(error, BrokenProcessPool):
                    broken = error
                    continue
                if error is not None:
                    failure = failure or error
                    tasks.give_up(future)
                    continue
                outcomes = tasks.collect(future)
                if broken is None and failure is None:
                    with contextlib.suppress(Exception):  # the next submission fails, too
                        tasks.submit(team)  # workers go on while the caller uses the outcomes
                for number, outcome in outcomes:
                    played += 1
                    yield number, outcome
            if failure is not None and (broken is not None or _has_lost_workers(failure)):
                break
            if broken is not None:
                group = tasks.take_back()
                breaks[group] += 1
                if isinstance(executor, Executor) or not team.has_started() or breaks[group] > _MOST_BREAKS:
                    raise _explain_break(executor, team) from broken
                LOG.warning("A worker process ended before its runs did; they are played again.")
                team.stop(wait=True)
                team = open_team(groups, workers, executor)
            if progress is not None:
                # runs that have ended while the caller was at work are not collected yet, but count as shares no more
                reported = max(reported, played + team.played_shares())
                progress(reported)
        if failure is not None:
            _raise_explained(failure, executor)
        if progress is not None:
            progress(played)
        complete = True
    finally:
        for future in tasks.waiting:
            future.cancel()
        team.stop(wait=complete)  # so that the next request finds no thread of this one, and can fork


def _list_kinds(groups: Groups) -> Iterator[SimulationRequest]:
    """Yield one request of each group for each kind of rewards: these have all kernels."""
    for requests in groups:
        rewards = [request.instance.rewards for request in requests]
        kinds = [(each.draw, getattr(each, "leaps_as", "")) for each in rewards]
        yield from dict(zip(kinds, requests, strict=True)).values()


def _list_runs(requests: Iterable[SimulationRequest]) -> Iterator[RunPlace]:
    for number, request in enumerate(requests):
        for run in range(request.runs):
            yield from ((number, teacher, run) for teacher in range(len(request.teachers)))


class _Tasks:
    """The runs that are left, and the calls that play some of them, each of at least ``_LEAST_SECONDS`` if it can be.

    A call has runs of one group of requests only; ``of_group`` has the group of each request.  How long a run of a
    group takes under a teacher is known once one was collected.  Until then, if many runs of the group are left, it is
    taken to last about as long as the run that was collected last, so that workers have enough to do while the results
    of the group before are used.
    """

    def __init__(self, places: Sequence[RunPlace], of_group: Sequence[int]) -> None:
        self.left, self.of_group = deque(places), of_group
        self.num_left = Counter(of_group[number] for number, _, _ in places)  # by group
        self.waiting: dict[Future[PlayedRuns], list[RunPlace]] = {}
        self.seconds: dict[tuple[int, int], float] = {}  # of the shortest run of each group under each teacher
        self.latest = _LEAST_SECONDS  # of the run that was collected last

    @property
    def are_left(self) -> bool:
        return bool(self.left or self.waiting)

    def submit(self, team: Team) -> None:
        """Submit as many calls as the team has room for."""
        while self.left and len(self.waiting) < team.slots:
            places, seconds, group = [], 0.0, self.of_group[self.left[0][0]]
            has_many_left = self.num_left[group] >= 2 * _MOST_UNKNOWN * team.slots
            expected = max(self.latest, _LEAST_SECONDS / _MOST_UNKNOWN) if has_many_left else _LEAST_SECONDS
            while self.left and seconds < _LEAST_SECONDS and self.of_group[self.left[0][0]] == group:
                places.append(self.left.popleft())
                seconds += self.seconds.get((group, places[-1][1]), expected)
            try:
                self.waiting[team.submit(places)] = places
            except BaseException:
                self.left.extendleft(reversed(places))
                raise
            self.num_left[group] -= len(places)

    def give_up(self, failed: Future[PlayedRuns]) -> None:
        """Leave only calls of groups before that of a call which failed: their results are to be complete."""
        if failed not in self.waiting:
            return
        group = self._find_group(failed)
        self.left.clear()
        for each in [each for each in self.waiting if self._find_group(each) >= group]:
            each.cancel()
            del self.waiting[each]

    def _find_group(self, future: Future[PlayedRuns]) -> int:
        return self.of_group[self.waiting[future][0][0]]

    def collect(self, future: Future[PlayedRuns]) -> list[tuple[int, RunOutcome]]:
        """Return the outcomes of a call that is done."""
        played = future.result()
        places = self.waiting.pop(future)
        for (number, teacher, _), (_, seconds) in zip(places, played, strict=True):
            kind = self.of_group[number], teacher
            self.seconds[kind] = min(seconds, self.seconds.get(kind, seconds))
            self.latest = seconds
        return [(place[0], outcome) for place, (outcome, _) in zip(places, played, strict=True)]

    def take_back(self) -> int:
        """Leave all that was submitted and has no result to be submitted again; return the first group of it."""
        lost = [future for future in self.waiting if not future.done() or future.exception() is not None]
        places = [place for future in lost for place in self.waiting.pop(future)]
        self.left.extendleft(reversed(places))
        self.num_left.update(self.of_group[number] for number, _, _ in places)
        return self.of_group[self.left[0][0]]


def _explain_break(executor: str | Executor, team: Team) -> Exception:
    """Return the error for worker processes that end again and again, or those of the caller's executor."""
    if not team.has_started():
        return InputError(describe_missing_guard())
    if isinstance(executor, Executor):
        return ChildProcessError(
            "A worker process of the executor ended before its run did: it may have run out of memory, or the "
            f"script lacks {MAIN_GUARD}."
        )
    return ChildProcessError(
        f"Worker processes ended {_MOST_BREAKS + 1} times before their runs did; they may have run out of memory: use "
        "fewer --workers."
    )


def _find_error(future: Future[PlayedRuns]) -> Exception | None:
    """Return what a call that is done raised."""
    try:
        error = future.exception()
    except CancelledError as cancelled:
        return cancelled
    if error is None or isinstance(error, Exception):
        return error
    raise error


def _has_lost_workers(error: Exception) -> bool:
    """Return whether calls may never be done, because workers were lost: those of Dask, which tried others before."""
    return isinstance(error, CancelledError) or type(error).__name__ == "KilledWorker"


def _raise_explained(error: Exception, executor: str | Executor) -> NoReturn:
    """Raise what a call raised; what went wrong between this process and its workers gets a sentence."""
    if isinstance(error, CancelledError):
        if isinstance(executor, Executor):
            raise InputError("The executor was shut down before the runs were done.") from error
        raise ConnectionError(
            f"The connection to {executor} was lost before the runs were done: start them again."
        ) from error
    if isinstance(error, ModuleNotFoundError) and executor not in get_args(ExecutorName):
        raise InputError(
            f"The workers of {executor} cannot import {error.name}: install the same packages there as here."
        ) from error
    if _has_lost_workers(error):
        raise ChildProcessError(f"Several workers of {executor} ended while they played the same runs.") from error
    raise error


def warm_up(*requests: SimulationRequest) -> None:
    """Compile the kernels of all policies and teachers, or read them from the cache, once and in this thread.

    Several that must be compiled are first compiled into the cache in copies of this process, where these may be made.
    Raises ``InputError`` with the policy that cannot be compiled.
    """
    # by kernel and type of counts: for what it is, and a function that compiles it
    parts: dict[tuple[Any, Any], tuple[str, Callable[[], None]]] = {}
    for request in requests:
        groups = group_clients(request.policies, request.instance.rewards, request.instance.num_arms, request.engine)
        for kernel, clients in groups.groups:
            policy = request.policies[clients[0]]
            part = POLICIES.spec(policy), functools.partial(_warm_up_policy, request, policy)
            parts.setdefault((kernel, request.count_type), part)
        for teacher in range(len(request.teachers)):
            routine = find_routine(request, teacher)
            if routine is not None:
                compile_it = functools.partial(warm_up_routine, request, teacher)
                part = request.teacher_labels[teacher], compile_it
                parts.setdefault((routine_kernel(routine.consult), None), part)
    missing = {key: part for key, part in parts.items() if not key[0].is_cached}
    if missing:
        LOG.info(_describe_compilation({kernel: name for (kernel, _), (name, _) in missing.items()}))
    in_copies = [compile_it for (kernel, _), (_, compile_it) in missing.items() if kernel.has_cache]
    if len(in_copies) > 1:
        for _ in parallel_map(_call_and_ignore_errors, in_copies):
            pass
    for _, warm_up_part in parts.values():
        warm_up_part()


def _describe_compilation(names: dict[Any, str]) -> str:
    """Return the sentence that says what is compiled, with the name of what each kernel is for, and how long it takes.

    ``Compiling the simulator for ucb1 and blt takes about 10 s; later runs find it in the cache.``
    """
    turns = -(-len(names) // default_workers())
    seconds = turns * max(_SECONDS_TO_COMPILE[kernel.name.partition("_")[0]] for kernel in names)
    what = (
        f"Compiling the simulator for {join_words(names.values(), 'and')} takes about {format_rough_duration(seconds)}"
    )
    if all(kernel.has_cache for kernel in names):
        return f"{what}; later runs find it in the cache."
    return f"{what}, and as long in later runs, since no folder for a cache is writable."


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
