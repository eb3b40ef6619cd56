"""The executors that play runs: threads, processes, the machines of a dask cluster, or the caller's own.

Compiled code releases Python's lock, so threads run in parallel; teachers that compute much in Python do not
release it, and are played in processes where these start at no cost.  So are many runs of several groups of requests:
this process stores the results of a group while the next one is played.
"""

import contextlib
import functools
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
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from tutelage.engine.agent_group import has_agents
from tutelage.engine.client_shares import ClientThreads
from tutelage.engine.sharded_clients import ShardedClients, ShardProgress, can_be_sharded
from tutelage.engine.simulation import play_run, simulate_run
from tutelage.errors import InputError
from tutelage.request import SimulationRequest
from tutelage.run_outcome import RunOutcome
from tutelage.teachers.checks import ask_segments
from tutelage.validation import check_whole

RunPlace = tuple[int, int, int]  # number of a request, teacher, run
Requests = Sequence[SimulationRequest]
Groups = Sequence[Requests]  # the requests of a group differ in their instances and seeds only
PlayedRuns = list[tuple[RunOutcome, float]]
ExecutorName = Literal["auto", "threads", "processes"]
EXECUTORS = f"{', '.join(get_args(ExecutorName))} or dask://HOST:PORT"

_DASK = re.compile(r"dask://(?P<address>[^/\s]+:(?P<port>[0-9]+))/?")
_LAST_PORT, _MOST_WORKERS = 65535, 65536
_DASK_TIMEOUT = 10  # seconds for a scheduler to answer
MAIN_GUARD = 'if __name__ == "__main__":'
_MANY_SEGMENTS = 64  # with so many segments a teacher may be consulted again and again
_RUNS_WORTH_FORKING = 4  # for each process
_SHORT_STEPS = 10_000  # rounds of all clients of a run that takes longer in Python than in compiled code
_SHORT_RUNS_WORTH_FORKING = 250  # for each process: these take longer in Python than it takes to start
_HAS_MASKS = hasattr(signal, "pthread_sigmask")


def default_workers() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_workers(workers: Any, executor: Any) -> None:
    """Raise ``InputError`` unless runs can be spread this way."""
    if workers is not None:
        check_whole("number of workers", workers, 1, _MOST_WORKERS)
    if executor in get_args(ExecutorName) or isinstance(executor, Executor):
        return
    dask = _DASK.fullmatch(executor) if isinstance(executor, str) else None
    if dask is None:
        raise InputError(f"Invalid executor {executor!r}: use {EXECUTORS}, or in Python an Executor object.")
    port = dask["port"].lstrip("0")
    if len(port) > 5 or not 1 <= int(port or 0) <= _LAST_PORT:
        raise InputError(f"Invalid port in the executor {executor!r}: use 1 to {_LAST_PORT}.")


def play_runs(
    requests: Requests,
    runs: Sequence[RunPlace],
    cancel: Any = None,
    progress: Callable[[RunPlace, float], None] | None = None,
    threads: ClientThreads | None = None,
) -> PlayedRuns:
    """Play some runs, one after the other, and time each of them."""
    played = []
    for place in runs:
        began = time.perf_counter()
        note = None if progress is None else functools.partial(progress, place)
        number, teacher, run = place
        outcome = simulate_run(requests[number], teacher, run, cancel=cancel, progress=note, threads=threads)
        played.append((outcome, time.perf_counter() - began))
    return played


@dataclass
class Team:
    """An executor at work on requests: it calls ``play(*arguments, runs)`` for some runs, which are then played.

    At most ``slots`` calls are submitted and not done.  ``cancel``, if the workers can see it, stops their
    runs; ``shares`` holds which part of each run under way has been played, where that is known.  ``close``
    ends the executor, if it is ours; its argument says whether to wait for the workers.  ``has_started`` says
    whether a worker process has got as far as to play runs, where that is known.
    """

    executor: Executor
    slots: int
    play: Callable[..., PlayedRuns]
    arguments: tuple[Any, ...] = ()
    cancel: Any = None
    shares: dict[RunPlace, float] = field(default_factory=dict)
    close: Callable[[bool], None] | None = None
    has_started: Callable[[], bool] = lambda: True

    def submit(self, runs: Sequence[RunPlace]) -> Future[PlayedRuns]:
        with without_interrupts():
            return self.executor.submit(self.play, *self.arguments, runs)

    def played_shares(self) -> float:
        """Return how much of the runs that are not done has been played, in runs."""
        return sum(list(self.shares.values()))

    def stop(self, *, wait: bool) -> None:
        """Let no run go on.  Waits for the workers to end only if ``wait``."""
        if self.cancel is not None:
            self.cancel.set()
        if self.close is not None:
            self.close(wait)


class _PicklingTeam(Team):
    """The caller's executor, which gets the requests of a call's group with each call."""

    def __init__(self, executor: Executor, slots: int, groups: Groups) -> None:
        super().__init__(executor, slots, _play_pickled)
        self.contents = [_pickled(requests) for requests in groups]
        self.places = [(group, within) for group, requests in enumerate(groups) for within in range(len(requests))]

    def submit(self, runs: Sequence[RunPlace]) -> Future[PlayedRuns]:
        content = self.contents[self.places[runs[0][0]][0]]
        with without_interrupts():
            within = [(self.places[number][1], teacher, run) for number, teacher, run in runs]
            return self.executor.submit(self.play, content, within)


def count_runs(requests: Requests) -> int:
    """Return the number of runs of all teachers."""
    return sum(request.runs * len(request.teachers) for request in requests)


def open_team(groups: Groups, workers: int | None, executor: str | Executor) -> Team:
    """Open what ``executor`` says, for the requests of all groups; ``Team.stop`` closes it."""
    count, requests = workers or default_workers(), list(itertools.chain.from_iterable(groups))
    if isinstance(executor, ThreadPoolExecutor):
        return _open_threads(requests, count, executor)
    if isinstance(executor, Executor):
        return _PicklingTeam(executor, 2 * count, groups)
    if executor == "auto":
        executor = "processes" if _is_worth_forking(groups, count) else "threads"
    if executor == "threads" or (executor == "processes" and is_for_threads(requests)):
        return _open_threads(requests, count)
    if executor == "processes":
        return _open_processes(requests, count)
    return _open_dask(requests, workers, executor)


def _open_threads(requests: Requests, workers: int, executor: ThreadPoolExecutor | None = None) -> Team:
    """Open threads of this process, or use those of a given executor.

    Fewer runs than workers, and runs of many clients, which need much memory, are each played by several threads.
    """
    cancel = threading.Event()
    shares: dict[RunPlace, float] = {}
    runs_at_a_time = 1 if have_many_clients(requests) else min(workers, count_runs(requests))
    clients: ClientThreads | None = None
    if executor is None and runs_at_a_time < workers:
        clients = ClientThreads(ThreadPoolExecutor(workers, thread_name_prefix="tutelage-clients"), workers)

    def play(runs: Sequence[RunPlace]) -> PlayedRuns:
        try:
            return play_runs(requests, runs, cancel, shares.__setitem__, clients)
        finally:
            for place in runs:
                shares.pop(place, None)

    if executor is not None:
        return Team(executor, 2 * workers, play, cancel=cancel, shares=shares)
    threads = ThreadPoolExecutor(runs_at_a_time, thread_name_prefix="tutelage")

    def close(wait: bool) -> None:
        threads.shutdown(wait=wait, cancel_futures=True)
        if clients is not None:
            clients.pool.shutdown(wait=wait)

    return Team(threads, 2 * runs_at_a_time, play, cancel=cancel, shares=shares, close=close)


def _open_processes(requests: Requests, workers: int) -> Team:
    """Open processes of this machine: copies of this one (forked), or else new ones (spawned)."""
    if multiprocessing.current_process().daemon:
        raise InputError(
            "This process is a worker of multiprocessing.Pool, which may not start processes: use executor='threads'."
        )
    if getattr(multiprocessing.current_process(), "_inheriting", False):  # it imports the script that started it
        raise InputError(describe_missing_guard())
    if can_fork():
        context: Any = multiprocessing.get_context("fork")
        sent: Requests | bytes = requests
    else:
        context, sent = multiprocessing.get_context("spawn"), _pickled(requests)
        _start_tracker()
    cancel, started = context.Event(), context.Event()
    processes = ProcessPoolExecutor(
        workers, mp_context=context, initializer=_start_process, initargs=(sent, cancel, started)
    )
    close = functools.partial(processes.shutdown, cancel_futures=True)
    return Team(processes, 2 * workers, _play_in_process, cancel=cancel, close=close, has_started=started.is_set)


def describe_missing_guard() -> str:
    """Return a sentence about worker processes that end before they play a run."""
    return (
        "The worker processes ended while they imported the script that starts them: put its calls under "
        f"{MAIN_GUARD}, or use executor='threads'."
    )


def _open_dask(requests: Requests, workers: int | None, executor: str) -> Team:
    """Connect to the workers of a dask scheduler and send each the requests once.

    The requests are the value of a task, which can be repeated; Dask keeps scattered data on one worker only.
    """
    try:
        distributed: Any = importlib.import_module("distributed")
    except ImportError as error:
        raise InputError(
            f"{executor} needs the package distributed: install it with pip install 'tutelage[dask]'."
        ) from error
    address = executor.removeprefix("dask://").rstrip("/")
    try:
        client = distributed.Client(f"tcp://{address}", timeout=_DASK_TIMEOUT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(
            f"No dask scheduler answers at {address}: start one with dask scheduler, or name another."
        ) from error
    cores = sum(client.nthreads().values())
    if not cores:
        client.close()
        raise InputError(f"The dask scheduler at {address} has no workers: start some with dask worker.")
    encoding = distributed.protocol.pickle
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sending large graph")
        sent = client.submit(encoding.loads, encoding.dumps(tuple(requests)), pure=False)
    if all(map(can_be_sharded, requests)):
        return _open_shards(requests, client, sent)
    pool = client.get_executor(pure=False)

    def close(wait: bool) -> None:
        pool.shutdown(wait=wait)
        client.close()

    return Team(pool, workers or 2 * cores, play_runs, (sent,), close=close)


def _open_shards(requests: Requests, client: Any, sent: Any) -> Team:
    """Play one run at a time, its clients in shards on the workers of a dask scheduler."""
    thread = ThreadPoolExecutor(1, thread_name_prefix="tutelage")
    shares: dict[RunPlace, float] = {}
    progress = ShardProgress(client, shares.__setitem__)

    def play(runs: Sequence[RunPlace]) -> PlayedRuns:
        played = []
        for place in runs:
            began, (number, teacher, run) = time.perf_counter(), place
            progress.follow(place, requests[number].instance.num_clients)
            try:
                clients = ShardedClients(client, sent, requests[number], number, teacher, run, progress.topic)
                played.append((play_run(requests[number], teacher, run, clients), time.perf_counter() - began))
            finally:
                progress.follow(None)
                shares.pop(place, None)
        return played

    def close(wait: bool) -> None:
        client.close()
        thread.shutdown(wait=wait, cancel_futures=True)

    return Team(thread, 1, play, shares=shares, close=close)


def have_many_clients(requests: Requests) -> bool:
    """Return whether several threads play a run, because each takes much memory."""
    return any(request.sums_clients for request in requests)


def is_for_threads(requests: Requests) -> bool:
    """Return whether processes would play one run after the other, each on one core; threads share its clients."""
    return count_runs(requests) == 1 or have_many_clients(requests)


def _is_worth_forking(groups: Groups, workers: int) -> bool:
    """Return whether threads would mostly wait for each other, or for this one while it puts results together."""
    if workers == 1 or any(map(have_many_clients, groups)) or not can_fork():
        return False
    counts = list(map(count_runs, groups))
    if sum(counts) < _RUNS_WORTH_FORKING * workers:
        return False
    if any(has_agents(request) for requests in groups for request in requests):
        return True
    is_many = sum(counts) >= _SHORT_RUNS_WORTH_FORKING * workers
    if is_many and (len(groups) > 1 or _is_short(groups[0][0])):
        return True
    segments = (
        ask_segments(teacher, requests[0].problem_for(teacher))
        for requests in groups
        for teacher in requests[0].teachers
    )
    return any(len(cuts) >= _MANY_SEGMENTS for cuts in segments)


def _is_short(request: SimulationRequest) -> bool:
    return request.horizon * request.instance.num_clients <= _SHORT_STEPS


def can_fork() -> bool:
    """Return whether a copy of this process is complete and may be made.

    On Linux, where no other thread is at work, and not in a worker of ``multiprocessing.Pool``.
    """
    return (
        sys.platform == "linux"
        and not multiprocessing.current_process().daemon
        and threading.active_count() == 1
        and threading.current_thread() is threading.main_thread()
    )


def _pickled(requests: Requests) -> bytes:
    try:
        return pickle.dumps(tuple(requests))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise InputError(
            f"The request cannot be sent to other processes ({error}): use the executor threads."
        ) from error


@functools.lru_cache(maxsize=2)  # while a group is played, the next one begins
def _unpickled(content: bytes) -> Requests:
    requests: Requests = pickle.loads(content)  # noqa: S301 - our own parent wrote it
    return requests


def _play_pickled(content: bytes, runs: Sequence[RunPlace]) -> PlayedRuns:
    return play_runs(_unpickled(content), runs)


def _start_tracker() -> None:
    """Start Python's tracker of semaphores so that it frees silently what an interrupted command leaves."""
    quiet = "ignore::UserWarning:multiprocessing.resource_tracker"
    sys.warnoptions.append(quiet)  # a process that Python starts inherits these options
    try:
        multiprocessing.resource_tracker.ensure_running()
    finally:
        sys.warnoptions.remove(quiet)


@contextlib.contextmanager
def without_interrupts() -> Iterator[None]:
    """Let processes that are started here ignore Ctrl-C, which is for this one, and start without a warning.

    Python 3.12 warns of any thread when it forks; those that exist belong to numpy and to cli/interrupts.py, and wait.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if _HAS_MASKS else None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            yield
    finally:
        if before is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


_in_process: dict[str, Any] = {}  # in a worker process: the requests, and the event that cancels it


def _start_process(requests: Requests | bytes, cancel: Any, started: Any) -> None:
    started.set()
    end_with_parent()
    if isinstance(requests, bytes):
        requests = _unpickled(requests)
    _in_process.update(requests=requests, cancel=cancel)


def end_with_parent() -> None:
    """Let this process end when the one that started it has ended, for whatever reason."""
    threading.Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)


def _play_in_process(runs: Sequence[RunPlace]) -> PlayedRuns:
    return play_runs(_in_process["requests"], runs, _in_process["cancel"])
