"""Runs spread over cores: threads, processes, or the machines of a dask cluster.

The unit of work is one run under one teacher.  It draws from generators of its own (``seeding.py``) and its
outcome goes to a place of its own, so neither the number of workers nor the order in which they finish can
change a result.  Kernels release Python's lock, so threads do; teachers that think often, in Python, do not,
and are played in processes where these cost nothing to start.
"""

import contextlib
import importlib
import itertools
import multiprocessing
import multiprocessing.connection
import multiprocessing.resource_tracker
import os
import pickle
import re
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    CancelledError,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from tutelage.engine.simulation import Cancelled, RunOutcome, _Run, simulate_run
from tutelage.errors import InputError
from tutelage.instances.base import equal_weights
from tutelage.instances.conditions import Conditions
from tutelage.policies import POLICIES
from tutelage.policies.base import Policy
from tutelage.results import SimulationRequest, problem_of
from tutelage.teachers.baselines import NoTeaching
from tutelage.teachers.checks import ask_segments

EXECUTORS = "auto, threads, processes or dask://HOST:PORT"
Progress = Callable[[float], None]

_DASK = re.compile(r"dask://(?P<address>[^/\s]+:(?P<port>[0-9]+))/?")
_LAST_PORT = 65535
_TICK = 0.25  # seconds between two reports of progress
_DASK_TIMEOUT = 10  # seconds for a scheduler to answer
_OFTEN = 64  # a ledger cut into so many segments lets a teacher be asked again and again
_WORTH_FORKING = 4  # runs for each process


class Played(NamedTuple):
    """The outcome of run ``run`` under teacher ``teacher``, both counted from 0."""

    teacher: int
    run: int
    outcome: RunOutcome


def default_workers() -> int:
    """As many as the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_workers(workers: Any, executor: Any) -> None:
    """Raise ``InputError`` unless runs can be spread this way."""
    if workers is not None and (isinstance(workers, bool) or not hasattr(workers, "__index__")):
        raise InputError(
            f"The number of workers {workers!r} is not a whole number: give 1 or more, or None for all cores."
        )
    if workers is not None and workers < 1:
        raise InputError(
            f"{workers} workers are too few: give 1 or more, or leave the number out for all cores."
        )
    if executor in ("auto", "threads", "processes"):
        return
    dask = _DASK.fullmatch(executor) if isinstance(executor, str) else None
    if dask is None:
        raise InputError(f"There is no executor {executor!r}: use {EXECUTORS}.")
    port = dask["port"].lstrip("0")
    if len(port) > 5 or not 1 <= int(port or 0) <= _LAST_PORT:
        raise InputError(f"The port in {executor!r} lies outside 1 to {_LAST_PORT}: use {EXECUTORS}.")


def play(
    request: SimulationRequest,
    *,
    workers: int | None = None,
    executor: str = "auto",
    progress: Progress | None = None,
) -> Generator[Played, None, None]:
    """Play every run of a request under every teacher, and give each outcome as it comes, in any order.

    ``progress`` is told from time to time, in this thread, how many runs have been played (a fraction of one
    under way counts).  Closing the iterator stops the work soon.
    """
    check_workers(workers, executor)
    warm_up(request)
    team = _open_team(request, workers, executor)
    tasks = itertools.product(range(request.runs), range(len(request.teachers)))
    waiting: dict[Future[RunOutcome], tuple[int, int]] = {}
    played, complete = 0, False
    try:
        while True:
            for run, teacher in itertools.islice(tasks, team.slots - len(waiting)):
                waiting[team.submit(teacher, run)] = (teacher, run)
            if not waiting:
                complete = True
                break
            done, _ = wait(waiting, timeout=_TICK, return_when=FIRST_COMPLETED)
            for future in done:
                teacher, run = waiting.pop(future)
                played += 1
                yield Played(teacher, run, _result(future, executor))
            if progress is not None:
                progress(played + team.under_way())
    finally:
        team.stop(wait=complete)  # so that the next request finds no thread of this one, and can fork


def _result(future: Future[RunOutcome], executor: str) -> RunOutcome:
    try:
        return future.result()
    except BrokenProcessPool as error:
        raise ChildProcessError(
            "A worker process ended before its run did; it may have run out of memory: use fewer --workers."
        ) from error
    except CancelledError as error:
        raise ConnectionError(f"The connection to {executor} was lost before the runs were done.") from error
    except ModuleNotFoundError as error:
        if not _DASK.fullmatch(executor):
            raise
        raise InputError(
            f"The workers of {executor} cannot import {error.name}: install the same packages there as here."
        ) from error


def warm_up(request: SimulationRequest) -> None:
    """Compile, or read from the cache, the kernel of every policy, once and in this thread.

    Raises ``InputError`` naming the policy that cannot be compiled.
    """
    kinds: dict[Any, Policy] = {}
    for policy in request.policies:
        kinds.setdefault((policy.choose, policy.learn), policy)
    one = replace(
        request.instance,
        local_means=np.ascontiguousarray(request.instance.local_means[:1]),
        weights=equal_weights(1),
        client_names=None,
        samples=_first_samples(request),
        conditions=Conditions(),
    )
    enough = threading.Event()
    enough.set()  # one compiled call: counts of long horizons have a type, and so a kernel, of their own
    for policy in kinds.values():
        try:
            simulate_run(
                one,
                [policy],
                NoTeaching(),
                horizon=1 if request.horizon < 2**31 else request.horizon,
                seed=0,
                run=0,
                checkpoints=np.ones(1, dtype=np.int64),
                cancel=enough,
            )
        except Cancelled:
            continue
        except InputError:
            raise
        except Exception as error:
            spec = POLICIES.spec(policy)
            if ":" not in spec or isinstance(error, OSError | MemoryError):
                raise  # not the fault of a policy of one's own
            compiling = type(error).__module__.startswith("numba")
            what = "cannot be compiled by numba" if compiling else "failed"
            raise InputError(f"The policy {spec} {what}: {_reason(error)}") from error


def _first_samples(request: SimulationRequest) -> Any:
    """The observed values of the first client alone."""
    samples, num_arms = request.instance.samples, request.instance.num_arms
    if samples.offsets.size <= num_arms:
        return samples
    return replace(samples, offsets=samples.offsets[: num_arms + 1])


def _reason(error: Exception) -> str:
    """The first line of numba's message that says what is wrong, as the end of a sentence."""
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line).strip() for line in str(error).splitlines()]
    told = [line for line in lines if line and not line.startswith("Failed in")]
    if len(told) > 1 and told[0].endswith(":"):  # the signature that it means comes in the next line
        told[0] += told[1].lstrip(">")
    reason = told[0] if told else "no reason given"
    return f"{type(error).__name__}: {reason.rstrip('.')}."


class _Team(Protocol):
    """An executor at work on one request.  ``slots`` runs may be submitted and not yet done."""

    slots: int

    def submit(self, teacher: int, run: int) -> Future[RunOutcome]: ...

    def under_way(self) -> float:
        """How much of the runs that are not done has been played, in runs."""
        ...

    def stop(self, *, wait: bool) -> None:
        """Let no run go on.  Waits for the workers to end only where all runs have ended."""
        ...


def _open_team(request: SimulationRequest, workers: int | None, executor: str) -> _Team:
    cores = workers or default_workers()
    if executor == "auto":
        executor = "processes" if _is_worth_forking(request, cores) else "threads"
    if executor == "threads":
        return _Threads(request, cores)
    if executor == "processes":
        return _Processes(request, cores)
    return _Dask(request, workers, executor)


def _is_worth_forking(request: SimulationRequest, workers: int) -> bool:
    """Whether threads would mostly wait for each other, and processes have all kernels from the start."""
    if workers == 1 or not _can_fork() or request.runs * len(request.teachers) < _WORTH_FORKING * workers:
        return False
    segments = (
        ask_segments(teacher, problem_of(request.instance, request.horizon, teacher))
        for teacher in request.teachers
    )
    return any(len(cuts) >= _OFTEN for cuts in segments)


def _can_fork() -> bool:
    """Whether a copy of this process is whole: on Linux, and where no other thread is at work."""
    return (
        sys.platform == "linux"
        and threading.active_count() == 1
        and threading.current_thread() is threading.main_thread()
    )


def _play_one(
    request: SimulationRequest, teacher: int, run: int, cancel: Any = None, progress: Progress | None = None
) -> RunOutcome:
    try:
        return simulate_run(
            request.instance,
            request.policies,
            request.teachers[teacher],
            horizon=request.horizon,
            seed=request.seed,
            run=run,
            checkpoints=request.recorded,
            exclude=request.exclude,
            exclude_after=request.exclude_after,
            cancel=cancel,
            progress=progress,
        )
    except (InputError, MemoryError):
        raise
    except Exception as error:
        specs = [spec for spec in dict.fromkeys(request.client_specs) if ":" in spec]
        if not specs or not _is_of_kernel(error):
            raise
        who = f"policy {specs[0]}" if len(specs) == 1 else f"policies {' or '.join(specs)}"
        raise InputError(f"The {who} failed: {_reason(error)}") from error


def _is_of_kernel(error: Exception) -> bool:
    """Whether compiled code raised this, and so a policy of one's own: our part of it raises nothing else."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return any(frame.f_code is _Run._play.__code__ for frame in frames)  # noqa: SLF001


class _Threads:
    """Threads of this process."""

    def __init__(self, request: SimulationRequest, workers: int) -> None:
        self.request, self.slots = request, 2 * workers
        self.pool = ThreadPoolExecutor(workers, thread_name_prefix="tutelage")
        self.cancel = threading.Event()
        self.shares: dict[tuple[int, int], float] = {}

    def submit(self, teacher: int, run: int) -> Future[RunOutcome]:
        return self.pool.submit(self._play, teacher, run)

    def _play(self, teacher: int, run: int) -> RunOutcome:
        def watch(share: float) -> None:
            self.shares[teacher, run] = share

        try:
            return _play_one(self.request, teacher, run, self.cancel, watch)
        finally:
            self.shares.pop((teacher, run), None)

    def under_way(self) -> float:
        return sum(list(self.shares.values()))

    def stop(self, *, wait: bool) -> None:
        self.cancel.set()
        self.pool.shutdown(wait=wait, cancel_futures=True)


class _Processes:
    """Processes of this machine: copies of this one (forked), else started afresh (spawned)."""

    def __init__(self, request: SimulationRequest, workers: int) -> None:
        self.slots = 2 * workers
        if _can_fork():
            context: Any = multiprocessing.get_context("fork")
            told: SimulationRequest | bytes = request
        else:
            context, told = multiprocessing.get_context("spawn"), _pickled(request)
            _start_tracker()
        self.cancel = context.Event()
        self.pool = ProcessPoolExecutor(
            workers, mp_context=context, initializer=_start_process, initargs=(told, self.cancel)
        )

    def submit(self, teacher: int, run: int) -> Future[RunOutcome]:
        with _interrupts_blocked(), warnings.catch_warnings():
            # A process that is started here inherits the mask: Ctrl-C is this one's.  Python 3.12 warns of
            # any thread when it forks; those that there are belong to numpy and to cli/ending.py, and wait.
            warnings.simplefilter("ignore", DeprecationWarning)
            return self.pool.submit(_play_in_process, teacher, run)

    def under_way(self) -> float:
        return 0.0

    def stop(self, *, wait: bool) -> None:
        self.cancel.set()
        self.pool.shutdown(wait=wait, cancel_futures=True)


def _pickled(request: SimulationRequest) -> bytes:
    try:
        return pickle.dumps(request)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise InputError(f"This cannot be sent to other processes: {error}; use threads.") from error


def _start_tracker() -> None:
    """Start Python's tracker of semaphores so that it frees silently what an interrupted command leaves."""
    quiet = "ignore::UserWarning:multiprocessing.resource_tracker"
    sys.warnoptions.append(quiet)  # a process that Python starts inherits these options
    try:
        multiprocessing.resource_tracker.ensure_running()
    finally:
        sys.warnoptions.remove(quiet)


@contextlib.contextmanager
def _interrupts_blocked() -> Iterator[None]:
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_told: dict[str, Any] = {}  # in a worker process: the request, and the event that cancels it


def _start_process(request: SimulationRequest | bytes, cancel: Any) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if isinstance(request, bytes):
        request = pickle.loads(request)  # noqa: S301 - our own parent wrote it
    _told.update(request=request, cancel=cancel)


def _end_with_parent() -> None:
    """End this process when the one that started it has ended, however it did."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)


def _play_in_process(teacher: int, run: int) -> RunOutcome:
    return _play_one(_told["request"], teacher, run, _told["cancel"])


class _Dask:
    """The workers of a dask scheduler, each sent the request once."""

    def __init__(self, request: SimulationRequest, workers: int | None, executor: str) -> None:
        try:
            distributed: Any = importlib.import_module("distributed")
        except ImportError as error:
            raise InputError(
                f"{executor} needs the package distributed: install it with pip install 'tutelage[dask]'."
            ) from error
        address = executor.removeprefix("dask://").rstrip("/")
        try:
            self.client = distributed.Client(f"tcp://{address}", timeout=_DASK_TIMEOUT, set_as_default=False)
        except (OSError, ValueError) as error:
            raise InputError(
                f"No dask scheduler answers at {address}: start one with dask scheduler, or name another."
            ) from error
        cores = sum(self.client.nthreads().values())
        if not cores:
            self.client.close()
            raise InputError(f"The dask scheduler at {address} has no workers: start some with dask worker.")
        self.slots = workers or 2 * cores
        self.request = self.client.scatter(request, broadcast=True, hash=False)
        self.pool = self.client.get_executor(pure=False)

    def submit(self, teacher: int, run: int) -> Future[RunOutcome]:
        future: Future[RunOutcome] = self.pool.submit(_play_one, self.request, teacher, run)
        return future

    def under_way(self) -> float:
        return 0.0

    def stop(self, *, wait: bool) -> None:
        self.pool.shutdown(wait=wait)
        self.client.close()
