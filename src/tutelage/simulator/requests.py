"""The arguments of a simulation, resolved to a request and checked before anything is compiled."""

import dataclasses
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from tutelage import instances
from tutelage.agents import AgentMaker
from tutelage.agents.agent_policy import AgentPolicy
from tutelage.conditions import Conditions
from tutelage.distributions import DISTRIBUTIONS
from tutelage.errors import InputError
from tutelage.instances import Instance
from tutelage.policies import POLICIES
from tutelage.policies.base import Policy
from tutelage.registry import split_top
from tutelage.request import DEFAULT_ENGINE, ENGINES, Engine, SimulationRequest
from tutelage.results import result_size
from tutelage.seeding import teacher_generator
from tutelage.simulator.checkpoints import LARGEST_HORIZON, Checkpoints, checkpoint_rounds, parse_count
from tutelage.simulator.command import write_command
from tutelage.simulator.engine_choice import choose_engine
from tutelage.teachers import TEACHERS, side_by_side
from tutelage.teachers.base import Teacher, number_arms
from tutelage.teachers.checks import ask, ask_directive, ask_segments
from tutelage.text import format_value
from tutelage.validation import check_number, check_whole

DEFAULT_HORIZON, DEFAULT_RUNS, DEFAULT_SEED = 50_000, 20, 0
DEFAULT_CLIENTS, DEFAULT_CHECKPOINTS, DEFAULT_EXECUTOR = "ucb1", "linear", "auto"

_NUMBERED = re.compile(r"\s*([0-9]+)\s*\*(.*)", re.DOTALL)


def make_request(
    instance: str | PurePath | Instance,
    teachers: "str | Teacher | Sequence[str | Teacher] | None" = None,
    clients: str | Policy | AgentMaker | Sequence[str | Policy | AgentMaker] = DEFAULT_CLIENTS,
    *,
    horizon: int = DEFAULT_HORIZON,
    runs: int = DEFAULT_RUNS,
    seed: int = DEFAULT_SEED,
    checkpoints: Checkpoints = DEFAULT_CHECKPOINTS,
    conditions: Conditions | None = None,
    exclude: Mapping[int, int] | None = None,
    exclude_after: float | None = None,
    engine: str = DEFAULT_ENGINE,
    binary_reveals: bool = False,
) -> SimulationRequest:
    """Resolve and check the arguments of :func:`tutelage.simulate`.  Raises ``InputError``."""
    horizon = check_whole("horizon", horizon, 1, LARGEST_HORIZON)
    runs = check_whole("number of runs", runs, 1, 2**31 - 1)
    seed = check_whole("seed", seed, 0, 2**64 - 1)
    rounds = checkpoint_rounds(checkpoints, horizon)
    listed = side_by_side() if teachers is None else list_teachers(teachers)
    loaded = instance if isinstance(instance, Instance) else instances.load(instance)
    chosen = _number_arms(listed, loaded)
    if conditions is not None:
        loaded = dataclasses.replace(loaded, conditions=conditions)
    if exclude_after is not None:
        exclude_after = check_number("exclude_after (usual intervals)", exclude_after, 1)
    if not isinstance(binary_reveals, bool):
        raise InputError(f"Invalid binary_reveals={format_value(binary_reveals)}: use True or False.")
    request = SimulationRequest(
        instance=loaded,
        teachers=chosen,
        policies=_resolve_policies(clients, loaded),
        horizon=horizon,
        runs=runs,
        seed=seed,
        checkpoints=rounds,
        exclude=_check_exclusions({} if exclude is None else exclude, loaded, horizon),
        exclude_after=exclude_after,
        binary_reveals=binary_reveals,
    )
    request = dataclasses.replace(request, engine=choose_engine(request, parse_engine(engine)))
    _check_size(request)
    _check_teachers(request)
    can_write = not isinstance(instance, Instance) and isinstance(checkpoints, str | int)
    can_write &= all(policy.can_be_imported for policy in request.policies if isinstance(policy, AgentPolicy))
    if can_write and (conditions is None or not conditions.shifts):
        return dataclasses.replace(request, command=write_command(request, str(checkpoints)))
    return request


def parse_engine(name: str) -> Engine:
    """Return the engine of that name.  Raises ``InputError``."""
    for engine in ENGINES:
        if engine == name:
            return engine
    raise InputError(f"Invalid engine {format_value(name)}: use {', '.join(ENGINES)}.")


def parse_clients(spec: str, num_clients: int) -> tuple[Policy, ...]:
    """Parse the policies of all clients: ``ucb1``, or ``2*ucb1,2*eps-greedy(c=1,d=.5),1*ts`` in this order.

    In a list, a policy without a number is one client.  Raises ``InputError`` unless the numbers add up.
    """
    parts = split_top(spec, ",")
    if len(parts) == 1 and not _NUMBERED.fullmatch(parts[0]):
        return (POLICIES.parse(parts[0]),) * num_clients
    groups: list[tuple[int, Policy]] = []
    for part in parts:
        numbered = _NUMBERED.fullmatch(part)
        count, text = (parse_count(numbered[1], "clients"), numbered[2]) if numbered else (1, part)
        if count < 1:
            raise InputError(
                f"Invalid number 0 in {part.strip()!r} of the clients {spec!r}: give 1 or more, or leave "
                "the policy out."
            )
        groups.append((count, POLICIES.parse(text)))
    total = sum(count for count, _ in groups)
    if total != num_clients:
        raise InputError(
            f"The clients {spec!r} add up to {total}, but the instance has {num_clients}: "
            f"give {num_clients}, or one policy for all."
        )
    return tuple(policy for count, policy in groups for _ in range(count))


def _resolve_policies(
    clients: str | Policy | AgentMaker | Sequence[str | Policy | AgentMaker], instance: Instance
) -> tuple[Policy, ...]:
    if isinstance(clients, str):
        return parse_clients(clients, instance.num_clients)
    if not isinstance(clients, Sequence):
        return (_resolve_policy(clients),) * instance.num_clients
    if len(clients) != instance.num_clients:
        raise InputError(
            f"There are policies for {len(clients)} clients, but the instance has {instance.num_clients}: "
            "give one per client."
        )
    return tuple(map(_resolve_policy, clients))


def _resolve_policy(given: Any) -> Policy:
    """Return the policy of a SPEC, a policy itself, or an agent's maker as a policy."""
    if isinstance(given, str) or hasattr(given, "choose"):
        return POLICIES.resolve(given)
    if callable(given):
        return AgentPolicy.of(given)
    if hasattr(given, "update") or hasattr(given, "partial_fit") or hasattr(given, "getReward"):
        raise InputError(
            f"{format_value(given)} is an agent, but each run needs a new one with a seed of its own: give a function "
            "that makes it, as in lambda num_arms, seed: ..."
        )
    return POLICIES.resolve(given)


def list_teachers(teachers: "str | Teacher | Sequence[str | Teacher]") -> "tuple[Teacher, ...]":
    """Return one teacher, or all of a list, as objects."""
    listed = [teachers] if isinstance(teachers, str) or not isinstance(teachers, Sequence) else teachers
    if not listed:
        raise InputError("The list of teachers is empty: name at least one, or leave it out for the default.")
    return tuple(TEACHERS.resolve(each) for each in listed)


def _number_arms(teachers: "tuple[Teacher, ...]", instance: Instance) -> "tuple[Teacher, ...]":
    """The teachers, with numbers where they name arms of the instance; each must be another one."""
    resolved: dict[str, Teacher] = {}
    for each in teachers:
        teacher = number_arms(each, instance.arm_names or (), instance.num_arms)
        spec = TEACHERS.spec(teacher)
        if spec in resolved:
            raise InputError(f"The teacher {spec} is named twice: remove one, or change its parameters.")
        resolved[spec] = teacher
    return tuple(resolved.values())


def _check_exclusions(exclude: Mapping[int, int], instance: Instance, horizon: int) -> dict[int, int]:
    if not isinstance(exclude, Mapping):
        raise InputError(f"Invalid exclude={exclude!r}: map clients to rounds, as in {{0: 1000}}.")
    checked = {
        check_whole("excluded client", client, 0, instance.num_clients - 1): check_whole(
            f"round after which client {client} is excluded", round, 1, horizon
        )
        for client, round in exclude.items()
    }
    if len(checked) == instance.num_clients:
        raise InputError("All clients are to be excluded: leave at least one.")
    return checked


def _check_size(request: SimulationRequest) -> None:
    """Refuse a request whose result is larger than all the memory of this machine."""
    memory, size = _memory_size(), result_size(request)
    if memory is not None and size > memory:
        raise InputError(
            f"{request.runs} runs of {len(request.teachers)} teachers with {request.checkpoints.size} "
            f"checkpoints need {size / 1e9:.0f} GB, but this machine has {memory / 1e9:.0f} GB of memory: "
            "use fewer checkpoints (--checkpoints) or fewer runs (--runs)."
        )


def _memory_size() -> int | None:
    """Return the bytes of the machine's memory, or None if the operating system does not say."""
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # Windows has no sysconf
        return None
    return size if size > 0 else None


def _check_teachers(request: SimulationRequest) -> None:
    """Let every teacher begin, so that it refuses now what it cannot do here."""
    for teacher in request.teachers:
        problem = request.problem_for(teacher)
        if problem.sub_gaussian is not None and getattr(teacher, "needs_bounded_rewards", True):
            raise InputError(
                f"The teacher {TEACHERS.label(teacher)} needs rewards in [0, 1], but those of "
                f"rewards={DISTRIBUTIONS.spec(request.instance.rewards)} go beyond: use tal, twl or a teacher that "
                "does not learn, or another distribution, as in rewards=beta(10)."
            )
        ask_segments(teacher, problem)
        state = ask(teacher, "begin", problem, teacher_generator(request.seed, 0))
        ask_directive(teacher, problem, state)
