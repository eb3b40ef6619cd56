"""Cells: one instance (or set), one kind of clients, one teacher and one horizon; each is one file on disk.

A cell's file is named after the hash of everything that its content depends on, so that a file with the right
name and content never has to be simulated again.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from tutelage import instances, results, simulator
from tutelage.code_digest import CodeDigest
from tutelage.distributions import DISTRIBUTIONS
from tutelage.engine.simulation import simulate_run
from tutelage.errors import InputError
from tutelage.experiments.data_sets import describe_download, find_data_set, list_differences, locate
from tutelage.experiments.definition import ClientsEntry, Experiment, InstanceEntry
from tutelage.experiments.run_journal import RunJournal
from tutelage.instances import Instance
from tutelage.policies import POLICIES
from tutelage.request import SimulationRequest
from tutelage.results import SimulationResult
from tutelage.teachers import TEACHERS
from tutelage.versions import package_version

if TYPE_CHECKING:
    import xarray as xr

_LAYOUT = 5  # of a cell's file; another layout has another hash
_PADDING: Mapping[str, Any] = {"event_target": results.NONE, "event_active": False}  # 0 for all others
_PER_SET = (
    "teacher",
    "spec",
    "decides",
    "style",
    "run",
    "client",
    "arm",
    "checkpoint",
    "policy",
    "policy_label",
)  # the same for all instances of a set
CellKey = tuple[str, str, str, int]  # instance, clients, teacher, horizon


class DataNotFound(Exception):
    """An instance needs a data set that was not found; the message says how to get it."""


@dataclass(frozen=True, eq=False)
class EntryInstances:
    """The instances of an entry, the hash of each, and warnings about their data.

    ``code`` holds the digests of the code that has been hashed so far; entries may share it.
    """

    entry: InstanceEntry
    instances: tuple[Instance, ...]
    digests: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    code: dict[str, str] = field(default_factory=dict)

    def hash_code(self, request: SimulationRequest) -> list[str]:
        """Hash the code that the runs of a request reach: the engine's, and that of what its SPECs name."""
        rewards = self.instances[0].rewards
        reached: dict[str, tuple[Any, ...]] = {"engine": _ENGINE, f"rewards {DISTRIBUTIONS.spec(rewards)}": (rewards,)}
        reached |= {f"clients {POLICIES.spec(policy)}": (policy,) for policy in request.policies}
        reached |= {f"teacher {TEACHERS.spec(teacher)}": (teacher,) for teacher in request.teachers}
        for name, things in reached.items():
            if name not in self.code:
                digest = CodeDigest(thing.__module__ for thing in things)
                digest.add(things)
                self.code[name] = digest.hexdigest()
        return [self.code[name] for name in reached]


@dataclass(frozen=True, eq=False)
class ExperimentCell:
    """What is to be simulated: one request, or one for each instance of a set, which has these ``seeds``.

    ``name`` is for people; ``digest`` is the hash of everything that the content depends on.
    """

    key: CellKey
    name: str
    requests: tuple[SimulationRequest, ...]
    seeds: tuple[int, ...] | None
    digest: str

    @property
    def num_runs(self) -> int:
        """The number of runs to simulate."""
        return sum(request.runs for request in self.requests)

    @property
    def file_name(self) -> str:
        return f"{self.name}-{self.digest[:16]}.nc"

    def find_journal(self, folder: Path) -> Path:
        """Return where the journal of the cell is."""
        return (folder / self.file_name).with_suffix(".runs")

    def open_journal(self, folder: Path) -> RunJournal:
        """Open the journal of the runs that are finished while the cell is not."""
        return RunJournal(self.find_journal(folder), self.digest)

    def make_dataset(self, parts: Sequence[SimulationResult]) -> "xr.Dataset":
        """Return what the file holds: the results, joined along ``instance`` for a set, with the hashes."""
        dataset = parts[0].to_dataset() if self.seeds is None else _stack_instances(parts, self.seeds)
        dataset.attrs["cell"] = self.digest
        dataset.attrs["content"] = hash_content(dataset)
        return dataset


_ENGINE = (simulate_run, results.Collector, ExperimentCell.make_dataset)  # what makes every cell's content


def load_entry(
    entry: InstanceEntry, experiment: str, folder: str | None, code: dict[str, str] | None = None
) -> EntryInstances:
    """Read or draw the instances of an entry; ``folder`` is where real data sets are.

    Raises :class:`DataNotFound` where the entry's data set is not there, ``InputError`` for everything else.
    """
    path = None
    if entry.data is not None:
        wanted = find_data_set(entry.data)
        found = locate(wanted, folder)
        if found is None:
            raise DataNotFound(describe_download(wanted))
        path = str(found)
    try:
        loaded = tuple(instances.load(spec) for spec in entry.specs(path))
    except InputError as error:
        raise InputError(f"{experiment}: [[instances]] {entry.label!r}: invalid spec: {error}") from None
    digests = tuple(hash_instance(each) for each in loaded)
    warnings = () if path is None else tuple(list_differences(path))
    return EntryInstances(entry, loaded, digests, warnings, {} if code is None else code)


def make_cells(
    experiment: Experiment, loaded: EntryInstances, clients: ClientsEntry, horizon: int
) -> list[ExperimentCell]:
    """Return the cells of all teachers, in their order."""
    entry = loaded.entry
    try:
        requests = [
            simulator.make_request(
                instance,
                experiment.teachers,
                clients.spec,
                horizon=horizon,
                runs=entry.runs or experiment.runs,
                seed=experiment.seed + number,
                checkpoints=1 if entry.is_set else experiment.checkpoints,
                engine=experiment.engine,
            )
            for number, instance in enumerate(loaded.instances)
        ]
    except InputError as error:
        raise InputError(f"{experiment.name}: clients {clients.label!r} on instance {entry.label!r}: {error}") from None
    cells = []
    for number, teacher in enumerate(requests[0].teacher_labels):
        own = tuple(replace(request, teachers=(request.teachers[number],)) for request in requests)
        cells.append(
            ExperimentCell(
                key=(entry.label, clients.label, teacher, horizon),
                name=_file_stem(entry.label, clients.label, teacher, str(horizon)),
                requests=own,
                seeds=entry.seed_numbers if entry.is_set else None,
                digest=_hash_cell(own, loaded),
            )
        )
    return cells


def _file_stem(instance: str, clients: str, teacher: str, horizon: str) -> str:
    """``fixed-mixed-tal-gamma1-0-50000``."""
    words = (instance, clients, teacher, horizon)
    return "-".join(re.sub(r"[^A-Za-z0-9._]+", "-", word).strip("-") for word in words)[:120]


def hash_instance(instance: Instance) -> str:
    """Hash everything of an instance that a result depends on, so neither its name nor its file."""
    digest = hashlib.sha256()
    for array in (instance.local_means, instance.weights, *vars(instance.samples).values()):
        _update(digest, array)
    conditions = instance.conditions
    for shift in conditions.shifts:
        digest.update(str(shift.after).encode())
        _update(digest, shift.local_means)
    names = instance.client_names, instance.arm_names
    rewards = DISTRIBUTIONS.spec(instance.rewards)
    rest = [rewards, conditions.activity, conditions.delays, conditions.stops, names]
    digest.update(json.dumps(rest).encode())
    return digest.hexdigest()


def _hash_cell(requests: Sequence[SimulationRequest], loaded: EntryInstances) -> str:
    first = requests[0]
    settings = {
        "layout": _LAYOUT,
        "tutelage": package_version(),
        "code": loaded.hash_code(first),
        "instances": list(loaded.digests),
        "instance_seeds": list(loaded.entry.seed_numbers),
        "clients": list(first.client_specs),
        "teachers": list(first.teacher_specs),
        "horizon": first.horizon,
        "runs": first.runs,
        "seeds": [request.seed for request in requests],
        "checkpoints": first.checkpoints.tolist(),
        "engine": first.engine,
    }
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()


def hash_content(dataset: "xr.Dataset") -> str:
    """Hash everything in a dataset except this hash itself; a changed or damaged file has another hash."""
    digest = hashlib.sha256()
    for name in sorted(map(str, dataset.variables)):
        variable = dataset[name]
        digest.update(_to_bytes([name, variable.dims, _sorted_texts(variable.attrs)]))
        values = variable.values
        if values.dtype.kind in "UO":
            digest.update(_to_bytes(values.tolist()))
        else:
            _update(digest, values)
    marked = {key: value for key, value in dataset.attrs.items() if key != "content"}
    digest.update(_to_bytes(_sorted_texts(marked)))
    return digest.hexdigest()


def _sorted_texts(attributes: Mapping[Any, Any]) -> list[list[str]]:
    return sorted([str(key), str(value)] for key, value in attributes.items())


def _to_bytes(content: Any) -> bytes:
    """Encode any values, also those that only a damaged file holds; lone surrogates are escaped."""
    return json.dumps(content, default=repr).encode("ascii")


def _update(digest: Any, array: NDArray[Any]) -> None:
    digest.update(f"{array.dtype.str}{array.shape}".encode())
    if array.size:
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)


def read_cell(cell: ExperimentCell, folder: Path) -> "tuple[xr.Dataset | None, str | None]":
    """Read a cell's file: its dataset or None and, where a file is there but cannot be used, the reason."""
    path = folder / cell.file_name
    if not path.exists():
        return None, None
    try:
        dataset = results.load(path)
    except (InputError, OSError):
        reason = f"{str(path)!r} cannot be read as a result"
    else:
        if dataset.attrs.get("cell") != cell.digest:
            reason = f"{str(path)!r} is the result of other settings"
        elif dataset.attrs.get("content") != hash_content(dataset):
            reason = f"{str(path)!r} was changed or damaged"
        else:
            return dataset, None
    return None, f"{reason}; {cell.name} is simulated again."


def _stack_instances(parts: Sequence[SimulationResult], seeds: Sequence[int]) -> "xr.Dataset":
    """Return one dataset with the dimension ``instance`` first in all that depends on the instance."""
    import xarray as xr

    first = parts[0].to_dataset()  # a hundred xarray datasets take longer than the runs
    variables = {str(name): (variable.dims, variable.values) for name, variable in first.variables.items()}
    stacked = {
        name: (
            ("instance", *dims),
            np.stack(_pad_events(_values_of(name, parts), dims, _PADDING.get(name, 0))),
            first[name].attrs,
        )
        for name, (dims, _) in variables.items()
        if name not in _PER_SET
    }
    requests = [part.request for part in parts]
    coordinates = {
        "instance": np.array(seeds),
        "instance_name": ("instance", np.array([request.instance.name for request in requests])),
        **{name: variables[name] for name in _PER_SET},
    }
    content = msgspec.to_builtins(results.describe_request(requests[0]))
    content["instance"] = [msgspec.to_builtins(results.describe_instance(request.instance)) for request in requests]
    content["seed"] = [request.seed for request in requests]
    attributes = {**first.attrs, "request": json.dumps(content, ensure_ascii=False)}
    names = [str(name) for name in first.data_vars]
    coordinates |= {name: stacked[name] for name in stacked if name not in names}
    return xr.Dataset({name: stacked[name] for name in names}, coords=coordinates, attrs=attributes)


def _values_of(name: str, parts: Sequence[SimulationResult]) -> list[NDArray[Any]]:
    """Return a variable of ``SimulationResult.to_dataset`` for each result."""
    if name == "event_num_active":
        return [part.event_active.sum(axis=-1, dtype=np.int32) for part in parts]
    aliases = {"gap": "gaps", "weight": "weights", "client_name": "client_names", "arm_name": "arm_names"}
    on_instance = name in aliases or name in ("local_means", "global_means")
    sources: Sequence[Any] = [part.request.instance for part in parts] if on_instance else parts
    return [np.asarray(getattr(source, aliases.get(name, name))) for source in sources]


def join_teachers(datasets: "Sequence[xr.Dataset]") -> "xr.Dataset":
    """Join datasets of the same instances, clients and runs along ``teacher``.

    Events are padded to the longest run, as within each dataset.
    """
    import xarray as xr

    first = datasets[0]
    variables: dict[str, Any] = {}
    for name, variable in first.variables.items():
        dims = variable.dims
        if "teacher" not in dims:
            variables[str(name)] = variable
            continue
        values = _pad_events([each.variables[name].values for each in datasets], dims, _PADDING.get(str(name), 0))
        variables[str(name)] = (dims, np.concatenate(values, axis=dims.index("teacher")), variable.attrs)
    coordinates = {str(name): variables.pop(str(name)) for name in first.coords}
    return xr.Dataset(variables, coords=coordinates, attrs=first.attrs)


def _pad_events(arrays: Sequence[NDArray[Any]], dims: Sequence[Any], value: Any) -> Sequence[NDArray[Any]]:
    """Return the arrays, all with as many events as the longest."""
    if "event" not in dims:
        return arrays
    axis = list(dims).index("event")
    size = max(array.shape[axis] for array in arrays)
    return [_pad(array, axis, size, value) for array in arrays]


def _pad(array: NDArray[Any], axis: int, size: int, value: Any) -> NDArray[Any]:
    """Do what ``np.pad`` does at the end of one axis, in a tenth of the time for small arrays."""
    padded = np.full((*array.shape[:axis], size, *array.shape[axis + 1 :]), value, array.dtype)
    padded[(*[slice(None)] * axis, slice(array.shape[axis]))] = array
    return padded
