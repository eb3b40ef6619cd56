"""The simulator: simulations from Python, by one call or by a request, and the arguments that both resolve."""

import contextlib
import itertools
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from tutelage.agents import AgentMaker
from tutelage.conditions import Conditions
from tutelage.errors import InputError
from tutelage.instances import Instance
from tutelage.policies.base import Policy
from tutelage.progress_bar import ProgressOption, show_progress
from tutelage.request import DEFAULT_ENGINE, Engine, SimulationRequest
from tutelage.results import GroupCollector, SimulationResult
from tutelage.run_outcome import RunOutcome
from tutelage.simulator.checkpoints import Checkpoints, checkpoint_rounds
from tutelage.simulator.command import write_command
from tutelage.simulator.replay import Verification, compare, find_differences, restore_request
from tutelage.simulator.requests import (
    DEFAULT_CHECKPOINTS,
    DEFAULT_CLIENTS,
    DEFAULT_EXECUTOR,
    DEFAULT_HORIZON,
    DEFAULT_RUNS,
    DEFAULT_SEED,
    make_request,
    parse_clients,
    parse_engine,
)
from tutelage.teachers.base import Teacher
from tutelage.text import format_value

if TYPE_CHECKING:
    from concurrent.futures import Executor

    import xarray as xr

    from tutelage.engine.executors import ExecutorName
    from tutelage.engine.runs import Progress

__all__ = [
    "DEFAULT_CHECKPOINTS",
    "DEFAULT_CLIENTS",
    "DEFAULT_ENGINE",
    "DEFAULT_EXECUTOR",
    "DEFAULT_HORIZON",
    "DEFAULT_RUNS",
    "DEFAULT_SEED",
    "Checkpoints",
    "Verification",
    "checkpoint_rounds",
    "find_differences",
    "make_request",
    "parse_clients",
    "parse_engine",
    "restore_request",
    "simulate",
    "simulate_groups",
    "simulate_request",
    "simulate_requests",
    "verify",
    "write_command",
]


def simulate(
    instance: str | PurePath | Instance,
    teachers: "str | Teacher | Sequence[str | Teacher] | None" = None,
    clients: str | Policy | AgentMaker | Sequence[str | Policy | AgentMaker] = DEFAULT_CLIENTS,
    *,
    horizon: int = DEFAULT_HORIZON,
    runs: int = DEFAULT_RUNS,
    seed: int = DEFAULT_SEED,
    checkpoints: Checkpoints = DEFAULT_CHECKPOINTS,
    workers: int | None = None,
    executor: "ExecutorName | str | Executor" = DEFAULT_EXECUTOR,
    conditions: Conditions | None = None,
    exclude: Mapping[int, int] | None = None,
    exclude_after: float | None = None,
    engine: "Engine | str" = DEFAULT_ENGINE,
    binary_reveals: bool = False,
    progress: ProgressOption = False,
) -> "xr.Dataset":
    """Simulate teachers, all with the same random numbers, and return every run.

    Args:
        instance: A SPEC as on the command line, an ``Instance``, or the ``Path`` of a table of means.
        teachers: A SPEC, a teacher, or a sequence of them; by default those of
            :func:`tutelage.teachers.side_by_side`.
        clients: The SPEC of all clients, a policy for all, or a sequence with one policy per client.  A function
            ``make(num_arms, seed)`` stands for agents of any library (docs/agents.md).
        horizon: Rounds in a run.
        runs: Runs of each teacher.
        seed: The seed of all random numbers.
        checkpoints: Rounds after which pulls, regret and cost are recorded (:func:`checkpoint_rounds`).
        workers: Runs played at a time; by default as many as there are cores.
        executor: ``auto``, ``threads``, ``processes``, ``dask://HOST:PORT``, or an object of
            ``concurrent.futures.Executor``.  Workers and executor change the time, never the result.
        conditions: When clients act and when their means shift, instead of the instance's own conditions.
        exclude: Maps clients to the round after which each is no longer evidence.
        exclude_after: Excludes a client once it has not pulled for more than this many of its usual
            intervals.
        engine: ``step`` plays round by round; ``leap`` leaps over rounds where that does not change the
            distribution of any result, and refuses where nobody can; ``auto`` steps below 5,000,000
            client-rounds, the clients times the horizon, and leaps, where anybody can, from there on.  The result
            names the one that was used.
        binary_reveals: Reveal only 0 and 1, for agents that refuse fractions: 1 with a probability of the reward
            that the teacher would reveal (docs/agents.md).
        progress: True draws a bar on standard error; a function is called from time to time with the number of
            finished runs of all teachers.

    Returns:
        A dataset with the dimensions teacher, run, client, arm, checkpoint and event (docs/simulate.md).

    Raises:
        InputError: With the invalid value and what is allowed.
    """
    request = make_request(
        instance,
        teachers,
        clients,
        horizon=horizon,
        runs=runs,
        seed=seed,
        checkpoints=checkpoints,
        conditions=conditions,
        exclude=exclude,
        exclude_after=exclude_after,
        engine=engine,
        binary_reveals=binary_reveals,
    )
    with show_progress(progress, request.runs * len(request.teachers)) as callback:
        result = simulate_request(request, workers=workers, executor=executor, progress=callback)
    return result.to_dataset()


def verify(
    saved: "str | Path | xr.Dataset",
    *,
    workers: int | None = None,
    executor: "ExecutorName | str | Executor" = DEFAULT_EXECUTOR,
    progress: ProgressOption = False,
) -> Verification:
    """Simulate a saved result again, and compare every value.

    ``saved`` is a result or the path of its file; the other arguments are those of :func:`simulate`.
    Raises ``InputError`` if the result cannot be simulated here.
    """
    from tutelage import results

    dataset = results.load(saved) if isinstance(saved, str | Path) else saved
    request = restore_request(dataset)
    with show_progress(progress, request.runs * len(request.teachers)) as callback:
        again = simulate_request(request, workers=workers, executor=executor, progress=callback)
    return compare(dataset, again.to_dataset())


def simulate_request(
    request: SimulationRequest,
    *,
    workers: int | None = None,
    executor: "ExecutorName | str | Executor" = DEFAULT_EXECUTOR,
    progress: "Progress | None" = None,
) -> SimulationResult:
    """Play all runs of a request.

    ``progress`` is called from time to time with the number of runs, of all teachers, that have been played.
    """
    return simulate_requests([request], workers=workers, executor=executor, progress=progress)[0]


def simulate_requests(
    requests: Sequence[SimulationRequest],
    *,
    workers: int | None = None,
    executor: "ExecutorName | str | Executor" = DEFAULT_EXECUTOR,
    progress: "Progress | None" = None,
) -> list[SimulationResult]:
    """Play all runs of requests that differ in their instances and seeds only.

    ``progress`` is called from time to time with the number of runs, of all requests and teachers, that have been
    played.
    """
    ((_, results),) = simulate_groups([requests], workers=workers, executor=executor, progress=progress)
    return results


def simulate_groups(
    groups: Sequence[Sequence[SimulationRequest]],
    *,
    workers: int | None = None,
    executor: "ExecutorName | str | Executor" = DEFAULT_EXECUTOR,
    progress: "Progress | None" = None,
    finished: Sequence[Mapping[int, Sequence[RunOutcome]]] = (),
    on_outcome: Callable[[int, int, RunOutcome], None] | None = None,
) -> Generator[tuple[int, list[SimulationResult]], None, None]:
    """Play all runs of groups of requests; yield the number and the results of each group that is complete.

    The requests of a group differ in their instances and seeds only.  Workers play runs of the next groups while the
    caller uses the results of one, unless it or the next one has many clients.  ``finished`` maps, for each group,
    numbers of its requests to outcomes of runs that have been played before; ``on_outcome`` is called with the numbers
    of the group and of the request within it and each new outcome.
    """
    from tutelage.engine.runs import simulate_runs

    for request in itertools.chain.from_iterable(groups):
        if not isinstance(request, SimulationRequest):
            raise InputError(f"Invalid request {format_value(request)}: use a result of make_request.")
    collectors = [GroupCollector(requests) for requests in groups]
    skip: set[tuple[int, int, int]] = set()
    places = [(group, within) for group, requests in enumerate(groups) for within in range(len(requests))]
    for number, (group, within) in enumerate(places):
        for outcome in finished[group].get(within, ()) if finished else ():
            collectors[group].put(within, outcome)
            skip.add((number, outcome.teacher, outcome.run))
    yield from ((group, each.finish()) for group, each in enumerate(collectors) if each.is_complete)
    played = simulate_runs(groups, workers=workers, executor=executor, progress=progress, skip=skip)
    with contextlib.closing(played):
        for number, outcome in played:
            group, within = places[number]
            if on_outcome is not None:
                on_outcome(group, within, outcome)
            collectors[group].put(within, outcome)
            if collectors[group].is_complete:
                yield group, collectors[group].finish()
