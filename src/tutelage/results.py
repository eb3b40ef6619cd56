"""What a simulation was asked, what is kept of it, and how that is saved.

Shapes: N teachers, R runs, M clients, C checkpoints, K arms, E events.  Runs are ragged (one has more events
than another), so events are padded to the longest run: round 0, target -1, no arm active.
"""

import dataclasses
import io
import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from platform import python_version
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tutelage.atomic_files import write_whole
from tutelage.distributions import DISTRIBUTIONS
from tutelage.errors import InputError
from tutelage.instances.base import Instance, Phase
from tutelage.instances.files import expanded, is_file
from tutelage.metrics import compute_phased_regret, sum_over_clients, summarize_runs
from tutelage.policies import POLICIES
from tutelage.policies.base import Policy
from tutelage.teachers import TEACHERS
from tutelage.teachers.base import Problem, Report, Teacher

if TYPE_CHECKING:
    import xarray as xr

ENDINGS = (".nc", ".nc4")  # of results
NONE = -1  # no target, not decided


def version(package: str = "tutelage") -> str:
    """The version of an installed package; ``unknown`` where it runs from a folder that is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "unknown"


def problem_of(instance: Instance, horizon: int, teacher: Teacher) -> Problem:
    """What this teacher is told about an instance."""
    return Problem(
        num_clients=instance.num_clients,
        num_arms=instance.num_arms,
        horizon=horizon,
        weights=tuple(instance.weights.tolist()),
        best_arm=instance.best_arm if teacher.needs_best_arm else None,
    )


@dataclass(frozen=True, eq=False)
class SimulationRequest:
    """A simulation, resolved: every default filled in, every SPEC an object.

    ``policies`` has one entry a client, ``checkpoints`` are rounds 1 .. T, increasing, the last one T.
    ``exclude`` maps clients to the round after which each no longer counts; with ``exclude_after`` that also
    holds for one that has been silent over so many of its usual gaps.  ``lab.make_request`` checks all of
    it.
    """

    instance: Instance
    teachers: tuple[Teacher, ...]
    policies: tuple[Policy, ...]
    horizon: int
    runs: int
    seed: int
    checkpoints: NDArray[np.int64]
    exclude: Mapping[int, int] = dataclasses.field(default_factory=dict)
    exclude_after: float | None = None

    @property
    def recorded(self) -> NDArray[np.int64]:
        """The rounds after which a run is looked at: the checkpoints and those in which means shift."""
        shifts = [phase.after for phase in self.instance.phases[1:] if phase.after < self.horizon]
        return np.union1d(self.checkpoints, np.array(shifts, dtype=np.int64))

    @property
    def final_phase(self) -> Phase:
        """The phase in which the horizon lies."""
        return [phase for phase in self.instance.phases if phase.after < self.horizon][-1]

    @property
    def teacher_specs(self) -> tuple[str, ...]:
        """The canonical SPEC of each teacher [N]."""
        return tuple(TEACHERS.spec(teacher) for teacher in self.teachers)

    @property
    def client_specs(self) -> tuple[str, ...]:
        """The canonical SPEC of each client's policy [M]."""
        return tuple(POLICIES.spec(policy) for policy in self.policies)

    def as_json(self) -> dict[str, Any]:
        """The request as plain values."""
        return {
            "instance": instance_as_json(self.instance),
            "clients": list(self.client_specs),
            "teachers": list(self.teacher_specs),
            "horizon": self.horizon,
            "runs": self.runs,
            "seed": self.seed,
            "checkpoints": self.checkpoints.tolist(),
            "exclude": {str(client): round for client, round in sorted(self.exclude.items())},
            "exclude_after": self.exclude_after,
        }


def instance_as_json(instance: Instance) -> dict[str, Any]:
    """What is told of an instance beside every result."""
    told: dict[str, Any] = {
        "name": instance.name,
        "num_clients": instance.num_clients,
        "num_arms": instance.num_arms,
        "global_means": instance.global_means.tolist(),
        "best_arm": instance.best_arm,
        "min_gap": instance.min_gap,
    }
    if len(instance.best_arms) > 1:
        told["best_arms"] = list(instance.best_arms)
    told["weights"] = instance.weights.tolist()
    told["rewards"] = DISTRIBUTIONS.spec(instance.rewards)
    told["notes"] = dict(instance.notes)
    told |= _conditions_as_json(instance)
    if instance.client_names:
        told["client_names"] = list(instance.client_names)
    if instance.arm_names:
        told["arm_names"] = list(instance.arm_names)
    return told


def _conditions_as_json(instance: Instance) -> dict[str, Any]:
    """When clients act and when means shift, as far as that is not as in the paper."""
    real = instance.conditions
    told: dict[str, Any] = {}
    if real.activity:
        told["activity"] = list(real.activity)
    if real.delays:
        told["delays"] = list(real.delays)
    if real.stops:
        told["stops"] = {str(client): round for client, round in real.stops}
    if len(instance.phases) > 1:
        told["shifts"] = [
            {
                "after": phase.after,
                "global_means": phase.global_means.tolist(),
                "best_arms": list(phase.best_arms),
            }
            for phase in instance.phases[1:]
        ]
    return told


@dataclass(frozen=True, eq=False)
class SimulationResult:
    """All runs of a request, as arrays.  ``to_dataset`` is what is saved, ``summary`` what ``--json`` prints.

    ``regret`` and ``cost`` are cumulative up to each checkpoint.  ``consultations`` and ``reachable`` are of the
    teacher's report at the horizon.  ``undecided[n]`` says why runs of teacher n have no target: sentences
    with their number.
    """

    request: SimulationRequest
    pulls: NDArray[np.integer[Any]]  # [N, R, M, C, K]
    regret: NDArray[np.float64]  # [N, R, M, C]
    cost: NDArray[np.float64]  # [N, R, M, C]
    target: NDArray[np.int32]  # [N, R]; -1: none
    decided_in: NDArray[np.int64]  # [N, R] round, 0 from the start; -1: never
    consultations: NDArray[np.int32]  # [N, R]
    reachable: NDArray[np.bool_]  # [N, R]
    event_round: NDArray[np.int64]  # [N, R, E]
    event_target: NDArray[np.int32]  # [N, R, E]
    event_active: NDArray[np.bool_]  # [N, R, E, K]
    undecided: tuple[tuple[tuple[str, int], ...], ...]

    def totals(self, teacher: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Regret and cost [R] at the horizon, summed over clients in their order."""
        regret, cost = self.regret[teacher, :, :, -1], self.cost[teacher, :, :, -1]
        return sum_over_clients(regret.T), sum_over_clients(cost.T)

    def never_decides(self, teacher: int) -> bool:
        """Whether the teacher names no target by its nature."""
        return not self.request.teachers[teacher].decides

    def is_wrong(self, teacher: int) -> NDArray[np.bool_]:
        """Which runs [R] hold to an arm whose global mean is below the best (a tie is not wrong).

        Where means shift, those at the horizon count.
        """
        target = self.target[teacher]
        wrong: NDArray[np.bool_] = (target != NONE) & (self.request.final_phase.gaps[target] > 0.0)
        return wrong

    def summary(self) -> dict[str, Any]:
        """The result as plain finite numbers, the document of ``tutelage simulate --json``."""
        request = self.request
        return {
            "tutelage": version(),
            "instance": instance_as_json(request.instance),
            "clients": list(request.client_specs),
            "horizon": request.horizon,
            "runs": request.runs,
            "seed": request.seed,
            "teachers": [self._teacher_summary(n, spec) for n, spec in enumerate(request.teacher_specs)],
        }

    def _teacher_summary(self, teacher: int, spec: str) -> dict[str, Any]:
        regret, cost = self.totals(teacher)
        decided = self.decided_in[teacher]
        targets = self.target[teacher]
        num_arms = self.request.instance.num_arms
        counts = np.bincount(targets[targets != NONE], minlength=num_arms)
        return {
            "teacher": spec,
            "regret": dataclasses.asdict(summarize_runs(regret)),
            "cost": dataclasses.asdict(summarize_runs(cost)),
            "regret_per_client": self.regret[teacher, :, :, -1].mean(axis=0).tolist(),
            "cost_per_client": self.cost[teacher, :, :, -1].mean(axis=0).tolist(),
            "learning": {
                "finished": int((decided != NONE).sum()),
                "rounds": decided[decided != NONE].tolist(),
            },
            "target": {"counts": counts.tolist(), "wrong": int(self.is_wrong(teacher).sum())},
            "pulls": self.pulls[teacher, :, :, -1].mean(axis=0).tolist(),
        }

    def to_dataset(self) -> "xr.Dataset":
        """The result with names: dimensions teacher, run, client, arm, checkpoint and event."""
        import xarray as xr

        instance, request = self.request.instance, self.request
        per_run, clients = ("teacher", "run"), ("teacher", "run", "client", "checkpoint")
        coordinates: dict[str, Any] = {
            "teacher": np.array(request.teacher_specs),
            "run": np.arange(request.runs),
            "client": np.arange(instance.num_clients),
            "arm": np.arange(instance.num_arms),
            "checkpoint": request.checkpoints,
            "policy": ("client", np.array(request.client_specs)),
        }
        if instance.client_names:
            coordinates["client_name"] = ("client", np.array(instance.client_names))
        if instance.arm_names:
            coordinates["arm_name"] = ("arm", np.array(instance.arm_names))
        return xr.Dataset(
            {
                "pulls": ((*clients, "arm"), self.pulls, {"long_name": "pulls so far"}),
                "regret": (clients, self.regret, {"long_name": "pseudo-regret so far"}),
                "cost": (clients, self.cost, {"long_name": "sum of abs(revealed - observed) so far"}),
                "target": (per_run, self.target, {"long_name": "target arm at the horizon (-1: none)"}),
                "decided_in": (per_run, self.decided_in, {"long_name": "round of the decision (-1: none)"}),
                "consultations": (
                    per_run,
                    self.consultations,
                    {"long_name": "the teacher's consultations at the horizon"},
                ),
                "reachable": (per_run, self.reachable, {"long_name": "its next decision fits the horizon"}),
                "event_round": ((*per_run, "event"), self.event_round, {"long_name": "round (0: no event)"}),
                "event_target": ((*per_run, "event"), self.event_target, {"long_name": "target (-1: none)"}),
                "event_active": (
                    (*per_run, "event", "arm"),
                    self.event_active,
                    {"long_name": "arm is active"},
                ),
                "event_num_active": ((*per_run, "event"), self.event_active.sum(axis=-1, dtype=np.int32)),
                "local_means": (("client", "arm"), instance.local_means),
                "global_means": ("arm", instance.global_means),
                "gap": ("arm", instance.gaps),
                "weight": ("client", instance.weights),
            },
            coords=coordinates,
            attrs={
                "tutelage": version(),
                "numpy": np.__version__,
                "numba": version("numba"),
                "python": python_version(),
                "seed": np.uint64(request.seed),
                "request": _as_text(request.as_json()),
            },
        )


def _as_text(content: dict[str, Any]) -> str:
    """JSON in Unicode.  A file name that is not UTF-8 holds halves of surrogate pairs: those are escaped."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "backslashreplace").decode()


def whole_type(horizon: int) -> type[np.int32] | type[np.int64]:
    """The type that counts of pulls are kept in."""
    return np.int32 if horizon < 2**31 else np.int64


def size_in_bytes(request: SimulationRequest) -> int:
    """The memory that pulls, regret and cost of all runs take."""
    rows = len(request.teachers) * request.runs * request.instance.num_clients * request.checkpoints.size
    return rows * (request.instance.num_arms * np.dtype(whole_type(request.horizon)).itemsize + 2 * 8)


class Collector:
    """Takes outcomes of runs in any order into arrays that are made once."""

    def __init__(self, request: SimulationRequest) -> None:
        self.request = request
        instance = request.instance
        self.recorded = request.recorded
        self.kept = np.searchsorted(self.recorded, request.checkpoints)
        self.phases = [(phase.after, phase.gaps) for phase in instance.phases]
        each = (len(request.teachers), request.runs)
        shape = (*each, instance.num_clients, request.checkpoints.size)
        counts = whole_type(request.horizon)
        self.pulls: NDArray[np.integer[Any]] = np.zeros((*shape, instance.num_arms), dtype=counts)
        self.regret, self.cost = np.zeros(shape), np.zeros(shape)
        self.target = np.full(each, NONE, dtype=np.int32)
        self.decided_in = np.full(each, NONE, dtype=np.int64)
        self.consultations = np.zeros(each, dtype=np.int32)
        self.reachable = np.zeros(each, dtype=np.bool_)
        self.num_events = 0
        self.event_round = np.zeros((*each, 1), dtype=np.int64)
        self.event_target = np.full((*each, 1), NONE, dtype=np.int32)
        self.event_active = np.zeros((*each, 1, instance.num_arms), dtype=np.bool_)
        self.undecided: list[Counter[str]] = [Counter() for _ in request.teachers]

    def put(
        self,
        teacher: int,
        run: int,
        *,
        pulls: NDArray[np.integer[Any]],
        costs: NDArray[np.float64],
        events: Sequence[tuple[int, tuple[int, ...], int | None]],
        target: int | None,
        decided_in: int | None,
        report: Report,
    ) -> None:
        """Keep one run, its events as (round, active arms, target).

        ``pulls`` and ``costs`` are as of each round of the request's ``recorded``.
        """
        at = (teacher, run)
        self.pulls[at] = pulls[:, self.kept]
        self.regret[at] = compute_phased_regret(pulls, self.recorded, self.phases)[:, self.kept]
        self.cost[at] = costs[:, self.kept]
        self.target[at] = NONE if target is None else target
        self.decided_in[at] = NONE if decided_in is None else decided_in
        self.consultations[at], self.reachable[at] = report.consultations, report.reachable
        if target is None:
            self.undecided[teacher][report.sentence] += 1
        self.num_events = max(self.num_events, len(events))
        if self.num_events > self.event_round.shape[-1]:
            self._make_room(self.num_events)
        for position, (round, active, event_target) in enumerate(events):
            self.event_round[(*at, position)] = round
            self.event_target[(*at, position)] = NONE if event_target is None else event_target
            self.event_active[(*at, position, list(active))] = True

    def _make_room(self, size: int) -> None:
        """Room for twice this many events a run; those so far are kept."""
        more = 2 * size - self.event_round.shape[-1]
        last = ((0, 0), (0, 0), (0, more))
        self.event_round = np.pad(self.event_round, last)
        self.event_target = np.pad(self.event_target, last, constant_values=NONE)
        self.event_active = np.pad(self.event_active, (*last, (0, 0)))

    def finish(self) -> SimulationResult:
        """The outcome, once every run has been put."""
        size = max(1, self.num_events)  # NetCDF would take a dimension of size 0 for an unlimited one
        return SimulationResult(
            request=self.request,
            pulls=self.pulls,
            regret=self.regret,
            cost=self.cost,
            target=self.target,
            decided_in=self.decided_in,
            consultations=self.consultations,
            reachable=self.reachable,
            event_round=self.event_round[..., :size],
            event_target=self.event_target[..., :size],
            event_active=self.event_active[..., :size, :],
            undecided=tuple(_by_number(counter) for counter in self.undecided),
        )


def _by_number(counter: Counter[str]) -> tuple[tuple[str, int], ...]:
    """The commonest first; equal ones by their words, so that the order of the runs does not matter."""
    return tuple(sorted(counter.items(), key=lambda item: (-item[1], item[0])))


def check_writable(path: str | Path) -> Path:
    """The path, if a result can be saved there; else ``InputError``, before any work is done."""
    path = expanded(path)
    try:
        path = path.resolve()
        path.stat()
    except FileNotFoundError:
        pass
    except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{str(path)!r} cannot be written to ({reason}): name another file.") from None
    folder = path.parent
    if path.exists() and not path.is_dir() and not path.is_file():
        raise InputError(f"{str(path)!r} is no ordinary file and would be replaced: name another.")
    if path.is_dir():
        raise InputError(f"{str(path)!r} is a folder: name a file in it, as in {str(path / 'result.nc')!r}.")
    if not folder.is_dir():
        raise InputError(f"There is no folder {str(folder)!r} to write {path.name!r} to: make it first.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"The folder {str(folder)!r} cannot be written to: name a file elsewhere.")
    return path


def check_place(path: str | Path) -> Path:
    """The path, if a result can be saved there under this name; else ``InputError``."""
    place = check_writable(path)
    name = expanded(path).name
    if Path(name).suffix.lower() not in ENDINGS:
        raise InputError(
            f"{name!r} is no name for a result, which is a NetCDF file: end it in {' or '.join(ENDINGS)}."
        )
    return place


def save(dataset: "xr.Dataset", path: str | Path) -> None:
    """Save a result as one NetCDF file, whose name ends in ``.nc``.

    It is written beside its place and moved there when complete, so a reader never sees half of it and an
    earlier file survives a failure.  Raises ``InputError`` if the place cannot be written to, ``OSError``
    if writing fails on the way (a full disk).
    """
    path = check_place(path)
    packed = {"zlib": True, "complevel": 1, "shuffle": True}  # a seventh of the size for twice the time
    encoding: dict[Any, dict[str, Any]] = {name: {"_FillValue": None} for name in dataset.variables}
    for name in dataset.data_vars:
        encoding[name] |= packed if dataset[name].ndim > 2 else {}
    content = io.BytesIO()  # HDF5 itself cannot let go of a file on a full disk and crashes in the end
    dataset.to_netcdf(content, engine="h5netcdf", encoding=encoding)
    write_whole(path, content.getbuffer())


def load(path: str | Path) -> "xr.Dataset":
    """A result that :func:`save` wrote, equal to what was saved.  Raises ``InputError`` if it is none."""
    import h5py  # type: ignore[import-untyped]
    import xarray as xr

    path = expanded(path)
    if not is_file(path):
        raise InputError(f"There is no file {str(path)!r}: name one that tutelage simulate --out wrote.")
    try:
        with h5py.File(path, "r") as file:
            list(file.attrs)  # where these cannot be read h5netcdf leaves the file open and complains later
        dataset = xr.load_dataset(path, engine="h5netcdf")
    except (
        Exception
    ) as error:  # in a damaged file the readers meet what they do not expect and raise anything
        told = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
        raise InputError(
            f"{str(path)!r} is not a NetCDF file that can be read ({told}): get it anew."
        ) from error
    if "request" not in dataset.attrs or "tutelage" not in dataset.attrs:
        raise InputError(f"{str(path)!r} holds no result of tutelage simulate.")
    return dataset
