"""The lab: what to simulate, resolved and checked, and played on all cores."""

import contextlib
import dataclasses
import operator
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tutelage import instances
from tutelage.errors import InputError
from tutelage.instances import Instance
from tutelage.instances.conditions import Conditions
from tutelage.policies import POLICIES
from tutelage.policies.base import Policy
from tutelage.registry import split_call, split_top
from tutelage.results import Collector, SimulationRequest, SimulationResult, problem_of, size_in_bytes
from tutelage.seeding import teacher_generator
from tutelage.teachers import TEACHERS, side_by_side
from tutelage.teachers.base import Teacher
from tutelage.teachers.checks import ask, ask_directive, ask_segments

if TYPE_CHECKING:
    import xarray as xr

    from tutelage.engine.executors import Progress

DEFAULT_HORIZON, DEFAULT_RUNS, DEFAULT_SEED = 50_000, 20, 0
DEFAULT_CLIENTS, DEFAULT_CHECKPOINTS, DEFAULT_EXECUTOR = "ucb1", "linear", "auto"
DEFAULT_COUNT = 200  # checkpoints

_MOST = 2**53  # above it a count of pulls is no longer exact as a float
_MOST_CHECKPOINTS = 10_000_000
_DIGITS = re.compile(r"[0-9]+")
_SIGNED = re.compile(r"[+-]*[0-9]+")
_COUNTED = re.compile(r"\s*([0-9]+)\s*\*(.*)", re.DOTALL)

Checkpoints = str | int | Sequence[int] | NDArray[np.integer[Any]]


def simulate(
    instance: str | PurePath | Instance,
    teachers: "str | Teacher | Sequence[str | Teacher] | None" = None,
    clients: str | Policy | Sequence[str | Policy] = DEFAULT_CLIENTS,
    *,
    horizon: int = DEFAULT_HORIZON,
    runs: int = DEFAULT_RUNS,
    seed: int = DEFAULT_SEED,
    checkpoints: Checkpoints = DEFAULT_CHECKPOINTS,
    workers: int | None = None,
    executor: str = DEFAULT_EXECUTOR,
    conditions: Conditions | None = None,
    exclude: Mapping[int, int] | None = None,
    exclude_after: float | None = None,
) -> "xr.Dataset":
    """Simulate teachers side by side, all with the same random numbers, and return every run.

    ``instance``, ``teachers`` and ``clients`` are SPECs as on the command line, or objects; ``instance`` may
    be the ``Path`` of a table of means.  Without ``teachers`` it runs those of
    :func:`tutelage.teachers.side_by_side`.  ``clients`` may be a sequence with one policy a client.
    ``checkpoints`` are the rounds after which pulls, regret and cost are kept, see :func:`checkpoint_rounds`.
    ``workers`` (all cores by default) and ``executor`` (``auto``, ``threads``, ``processes``,
    ``dask://HOST:PORT``) change how long it takes, never the result.  ``conditions`` say when clients act
    and when their means shift (instead of the instance's own).  ``exclude`` maps clients to the round after
    which each no longer counts as evidence; with ``exclude_after`` that also holds for one that has been
    silent over so many of its usual gaps.

    The dataset has the dimensions teacher, run, client, arm, checkpoint and event (docs/simulate.md).
    Raises ``InputError`` with the offending value and the remedy.
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
    )
    return run(request, workers=workers, executor=executor).to_dataset()


def run(
    request: SimulationRequest,
    *,
    workers: int | None = None,
    executor: str = DEFAULT_EXECUTOR,
    progress: "Progress | None" = None,
) -> SimulationResult:
    """Play all runs of a request.  ``progress`` is told how many runs of all teachers have been played."""
    from tutelage.engine.executors import play

    collector = Collector(request)
    with contextlib.closing(play(request, workers=workers, executor=executor, progress=progress)) as played:
        for teacher, number, outcome in played:
            collector.put(
                teacher,
                number,
                pulls=outcome.pulls,
                costs=outcome.costs,
                events=[(event.round, event.active_arms, event.target) for event in outcome.events],
                target=outcome.target,
                decided_in=outcome.decided_in,
                report=outcome.report,
            )
    return collector.finish()


def make_request(
    instance: str | PurePath | Instance,
    teachers: "str | Teacher | Sequence[str | Teacher] | None" = None,
    clients: str | Policy | Sequence[str | Policy] = DEFAULT_CLIENTS,
    *,
    horizon: int = DEFAULT_HORIZON,
    runs: int = DEFAULT_RUNS,
    seed: int = DEFAULT_SEED,
    checkpoints: Checkpoints = DEFAULT_CHECKPOINTS,
    conditions: Conditions | None = None,
    exclude: Mapping[int, int] | None = None,
    exclude_after: float | None = None,
) -> SimulationRequest:
    """The arguments of :func:`simulate`, resolved and checked.  Raises ``InputError``."""
    horizon = _whole("horizon", horizon, 1, _MOST)
    runs = _whole("number of runs", runs, 1, 2**31 - 1)
    seed = _whole("seed", seed, 0, 2**64 - 1)
    rounds = checkpoint_rounds(checkpoints, horizon)
    chosen = _teachers(teachers)
    loaded = instance if isinstance(instance, Instance) else instances.load(instance)
    if conditions is not None:
        loaded = dataclasses.replace(loaded, conditions=conditions)
    if exclude_after is not None and not 1 <= exclude_after < float("inf"):
        raise InputError(f"Clients cannot exclude after {exclude_after:g} usual gaps: give 1 or more.")
    request = SimulationRequest(
        instance=loaded,
        teachers=chosen,
        policies=_policies(clients, loaded),
        horizon=horizon,
        runs=runs,
        seed=seed,
        checkpoints=rounds,
        exclude=_exclusions({} if exclude is None else exclude, loaded, horizon),
        exclude_after=exclude_after,
    )
    _check_size(request)
    _check_begin(request)
    return request


def checkpoint_rounds(checkpoints: Checkpoints, horizon: int) -> NDArray[np.int64]:
    """The rounds [C] of the checkpoints: increasing, within 1 .. T, the last one T.

    ``linear`` or ``linear(count=200)``: evenly spaced, the first T / count.  ``logarithmic`` or
    ``logarithmic(count=200)``: from 1 on with equal ratios.  A number n is ``linear(count=n)``.  A sequence
    is taken as it is, with T added.  Fewer come out where the horizon has no room for as many.
    """
    if isinstance(checkpoints, str):
        kind, count = _read_checkpoints(checkpoints)
        count = min(count, horizon)
        if count > _MOST_CHECKPOINTS:
            raise InputError(f"{count} checkpoints are too many: ask for {_MOST_CHECKPOINTS} or fewer.")
        if kind == "logarithmic":
            spaced = np.rint(np.geomspace(1, horizon, count))
        else:
            spaced = np.array([horizon * (position + 1) // count for position in range(count)])
        return np.unique(np.append(spaced.astype(np.int64), horizon))
    if hasattr(checkpoints, "__index__") and not getattr(checkpoints, "ndim", 0):
        count = _whole("number of checkpoints", checkpoints, 1, _MOST)
        return checkpoint_rounds(f"linear(count={count})", horizon)
    if isinstance(checkpoints, bytes) or not isinstance(checkpoints, Iterable):
        raise InputError(
            f"The checkpoints {checkpoints!r} are none: give linear, logarithmic, a whole number or rounds."
        )
    rounds = [_whole("checkpoint", round, 1, horizon) for round in checkpoints]
    return np.unique(np.array([*rounds, horizon], dtype=np.int64))


def _read_checkpoints(spec: str) -> tuple[str, int]:
    spec = f"linear(count={spec.strip()})" if _SIGNED.fullmatch(spec.strip()) else spec
    name, arguments = split_call(spec, "choice of checkpoints")
    if name not in ("linear", "logarithmic"):
        raise InputError(
            f"There are no checkpoints {name!r}: use linear(count={DEFAULT_COUNT}), "
            f"logarithmic(count={DEFAULT_COUNT}) or a number."
        )
    if [key for key, _ in arguments] not in ([], ["count"]):
        raise InputError(f"The checkpoints {spec!r} take one count, as in {name}(count={DEFAULT_COUNT}).")
    text = arguments[0][1] if arguments else str(DEFAULT_COUNT)
    if not _DIGITS.fullmatch(text) or not text.strip("0"):
        raise InputError(f"count={text} in {spec!r} is not a whole number of at least 1.")
    return name, _read_count(text, "checkpoints")


def _read_count(digits: str, what: str) -> int:
    """A count as people write it; Python reads no more than 4300 digits, and no count needs 20."""
    significant = digits.lstrip("0")
    if len(significant) > 19:
        raise InputError(
            f"The number of {what} {significant[:10]}... has {len(significant)} digits: give a smaller one."
        )
    return int(significant or "0")


def parse_clients(spec: str, num_clients: int) -> tuple[Policy, ...]:
    """A policy a client: ``ucb1`` for all, or ``2*ucb1,2*eps-greedy(c=1,d=.5),1*ts`` in this order.

    In a list a policy without a number is one client.  Raises ``InputError`` unless the numbers add up.
    """
    parts = split_top(spec, ",")
    if len(parts) == 1 and not _COUNTED.fullmatch(parts[0]):
        return (POLICIES.parse(parts[0]),) * num_clients
    groups: list[tuple[int, Policy]] = []
    for part in parts:
        counted = _COUNTED.fullmatch(part)
        count, text = (_read_count(counted[1], "clients"), counted[2]) if counted else (1, part)
        if count < 1:
            raise InputError(
                f"{part.strip()!r} in the clients {spec!r} counts none: give 1 or more, or leave it out."
            )
        groups.append((count, POLICIES.parse(text)))
    total = sum(count for count, _ in groups)
    if total != num_clients:
        raise InputError(
            f"The clients {spec!r} add up to {total}, but the instance has {num_clients}: make them equal."
        )
    return tuple(policy for count, policy in groups for _ in range(count))


def _policies(clients: str | Policy | Sequence[str | Policy], instance: Instance) -> tuple[Policy, ...]:
    if isinstance(clients, str):
        return parse_clients(clients, instance.num_clients)
    if not isinstance(clients, Sequence):
        return (POLICIES.resolve(clients),) * instance.num_clients
    if len(clients) != instance.num_clients:
        raise InputError(
            f"There are policies for {len(clients)} clients, but the instance has {instance.num_clients}."
        )
    return tuple(POLICIES.resolve(each) for each in clients)


def _teachers(teachers: "str | Teacher | Sequence[str | Teacher] | None") -> tuple[Teacher, ...]:
    if teachers is None:
        return side_by_side()
    listed = [teachers] if isinstance(teachers, str) or not isinstance(teachers, Sequence) else teachers
    if not listed:
        raise InputError("There is no teacher: name at least one, or leave the teachers out for all of them.")
    made: dict[str, Teacher] = {}
    for each in listed:
        teacher = TEACHERS.resolve(each)
        spec = TEACHERS.spec(teacher)
        if spec in made:
            raise InputError(f"The teacher {spec} is given twice: leave one, or change its parameters.")
        made[spec] = teacher
    return tuple(made.values())


def _exclusions(exclude: Mapping[int, int], instance: Instance, horizon: int) -> dict[int, int]:
    if not isinstance(exclude, Mapping):
        raise InputError(f"exclude={exclude!r} does not say when: map clients to rounds, as in {{0: 1000}}.")
    checked = {
        _whole("excluded client", client, 0, instance.num_clients - 1): _whole(
            f"round in which client {client} excludes", round, 1, horizon
        )
        for client, round in exclude.items()
    }
    if len(checked) == instance.num_clients:
        raise InputError("All clients are to exclude: leave at least one.")
    return checked


def _check_size(request: SimulationRequest) -> None:
    """Refuse now what could not be kept later: arrays larger than all the memory of this machine."""
    memory, size = _memory_in_bytes(), size_in_bytes(request)
    if memory is not None and size > memory:
        raise InputError(
            f"{request.runs} runs of {len(request.teachers)} teachers with {request.checkpoints.size} "
            f"checkpoints take {size / 1e9:.0f} GB, and this machine has {memory / 1e9:.0f} GB of memory: "
            "ask for fewer checkpoints (--checkpoints) or fewer runs (--runs)."
        )


def _memory_in_bytes() -> int | None:
    """The machine's memory, where the operating system tells it."""
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # Windows has no sysconf
        return None
    return size if size > 0 else None


def _check_begin(request: SimulationRequest) -> None:
    """Let every teacher say now, before anything is compiled, what it cannot do here."""
    for teacher in request.teachers:
        problem = problem_of(request.instance, request.horizon, teacher)
        ask_segments(teacher, problem)
        state = ask(teacher, "begin", problem, teacher_generator(request.seed, 0))
        ask_directive(teacher, problem, state)


def _whole(name: str, value: Any, least: int, most: int) -> int:
    """A whole number within bounds; else ``InputError``."""
    try:
        number = operator.index(value)
    except TypeError:
        raise InputError(f"The {name} {value!r} is not a whole number.") from None
    if isinstance(value, bool):
        raise InputError(f"The {name} {value!r} is not a whole number.")
    # Python writes no number of more than 4300 digits, and nobody reads one.
    shown = str(number) if number.bit_length() < 200 else f"of {number.bit_length()} bits"
    if number < least:
        raise InputError(f"The {name} {shown} is below {least}: give {least} or more.")
    if number > most:
        raise InputError(f"The {name} {shown} is above {most}, the largest that can be used.")
    return number
