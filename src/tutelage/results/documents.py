"""The JSON documents of a simulation (docs/simulate.md): its instance, its request and its summary."""

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from msgspec import UNSET, Struct, UnsetType
from numpy.typing import NDArray

from tutelage.distributions import DISTRIBUTIONS
from tutelage.inference import Difference, interval_of_mean
from tutelage.instances.base import Instance
from tutelage.metrics import RunStatistics
from tutelage.noticing import LEVEL
from tutelage.request import Engine, SimulationRequest
from tutelage.theory.floors import Floor


class ShiftDocument(Struct, frozen=True):
    """The means from round ``after`` + 1 on."""

    after: int
    global_means: list[float]
    best_arms: list[int]


class InstanceDocument(Struct, frozen=True, kw_only=True):
    """An instance as it is described with every result.

    ``best_arms`` stands only where best arms are tied, conditions only where they differ from the paper's,
    names only where there are any.
    """

    name: str
    num_clients: int
    num_arms: int
    global_means: list[float]
    best_arm: int
    min_gap: float
    best_arms: list[int] | UnsetType = UNSET
    weights: list[float]
    rewards: str
    notes: dict[str, str]
    activity: list[float] | UnsetType = UNSET
    delays: list[int] | UnsetType = UNSET
    stops: dict[str, int] | UnsetType = UNSET
    shifts: list[ShiftDocument] | UnsetType = UNSET
    client_names: list[str] | UnsetType = UNSET
    arm_names: list[str] | UnsetType = UNSET


class RequestDocument(Struct, frozen=True):
    """A request as it is saved with every result."""

    instance: InstanceDocument
    clients: list[str]
    teachers: list[str]
    horizon: int
    runs: int
    seed: int
    checkpoints: list[int]
    exclude: dict[str, int]
    exclude_after: float | None
    engine: Engine
    binary_reveals: bool


class LearningDocument(Struct, frozen=True):
    """How many runs have a target, the limits of the probability of one, and the rounds in which they decided."""

    decided: int
    interval: tuple[float, float]
    rounds: list[int]


class TargetDocument(Struct, frozen=True):
    """How many runs decided on each arm [K], how many on one that is not a best arm, and its probability's limits."""

    counts: list[int]
    wrong: int
    interval: tuple[float, float]


class NoticingDocument(Struct, frozen=True):
    """How easily clients notice that they are taught (``noticing.py``).

    ``share`` is that of all clients in all runs, ``interval`` the confidence interval of its mean over runs (None for
    one run), ``median_round`` that of those who notice (None without any), and ``level`` the share that a teacher
    which changes nothing may have.
    """

    share: float
    interval: tuple[float, float] | None
    median_round: float | None
    level: float


class FloorDocument(Struct, frozen=True):
    """What must be paid under a condition, and the measured mean divided by it (docs/floors.md)."""

    name: str
    quantity: str
    value: float
    condition: str
    is_possible: bool
    ratio: float | None


class TeacherDocument(Struct, frozen=True):
    """One teacher over all runs, at the horizon: its label, its SPEC with every parameter, and its figures."""

    teacher: str
    spec: str
    regret: RunStatistics
    cost: RunStatistics
    regret_per_client: list[float]
    cost_per_client: list[float]
    learning: LearningDocument
    target: TargetDocument
    consultations: float
    messages: float
    noticed: NoticingDocument
    pulls: list[list[float]]
    floors: list[FloorDocument]


class SimulationDocument(Struct, frozen=True):
    """What ``tutelage simulate --json`` prints."""

    tutelage: str
    instance: InstanceDocument
    clients: list[str]
    horizon: int
    runs: int
    seed: int
    engine: Engine
    teachers: list[TeacherDocument]
    differences: list[Difference]


def summarize_noticing(noticed_in: NDArray[np.int64]) -> NoticingDocument:
    """Summarise the rounds [R, M] in which clients could first notice that they are taught, 0 for never.

    Clients of one run depend on each other through the teacher, so the interval is that of the runs' shares.
    """
    shares, rounds = (noticed_in > 0).mean(axis=1), noticed_in[noticed_in > 0]
    middle = float(np.median(rounds)) if rounds.size else None
    return NoticingDocument(float(shares.mean()), interval_of_mean(shares), middle, LEVEL)


def describe_floors(floors: Sequence[Floor], regret: float | None, cost: float | None) -> list[FloorDocument]:
    """Describe floors next to the measured means, None without a simulation."""
    return [
        FloorDocument(
            **dataclasses.asdict(floor), ratio=measured / floor.value if measured is not None and floor.value else None
        )
        for floor in floors
        for measured in [regret if floor.quantity == "regret" else cost]
    ]


def describe_instance(instance: Instance) -> InstanceDocument:
    """Describe an instance."""
    real = instance.conditions
    shifts = [
        ShiftDocument(phase.after, phase.global_means.tolist(), list(phase.best_arms)) for phase in instance.phases[1:]
    ]
    return InstanceDocument(
        name=instance.name,
        num_clients=instance.num_clients,
        num_arms=instance.num_arms,
        global_means=instance.global_means.tolist(),
        best_arm=instance.best_arm,
        min_gap=instance.min_gap,
        best_arms=list(instance.best_arms) if len(instance.best_arms) > 1 else UNSET,
        weights=instance.weights.tolist(),
        rewards=DISTRIBUTIONS.spec(instance.rewards),
        notes=dict(instance.notes),
        activity=list(real.activity) or UNSET,
        delays=list(real.delays) or UNSET,
        stops=_by_client(dict(real.stops)) or UNSET,
        shifts=shifts or UNSET,
        client_names=list(instance.client_names or ()) or UNSET,
        arm_names=list(instance.arm_names or ()) or UNSET,
    )


def describe_request(request: SimulationRequest) -> RequestDocument:
    """Describe a request."""
    return RequestDocument(
        instance=describe_instance(request.instance),
        clients=list(request.client_specs),
        teachers=list(request.teacher_specs),
        horizon=request.horizon,
        runs=request.runs,
        seed=request.seed,
        checkpoints=request.checkpoints.tolist(),
        exclude=_by_client(dict(sorted(request.exclude.items()))),
        exclude_after=request.exclude_after,
        engine=request.engine,
        binary_reveals=request.binary_reveals,
    )


def _by_client(rounds: dict[int, int]) -> dict[str, int]:
    return {str(client): round for client, round in rounds.items()}


def encode_json(document: Any, *, ascii: bool = True) -> str:
    """Return a document, or plain values with documents among them, as JSON of finite numbers.

    A file name that is not UTF-8 contains halves of surrogate pairs: those are escaped.
    """
    values = msgspec.to_builtins(document, enc_hook=lambda number: number.item())  # numpy's numbers
    text = json.dumps(values, ensure_ascii=ascii, allow_nan=False)
    return text.encode("utf-8", "backslashreplace").decode()
