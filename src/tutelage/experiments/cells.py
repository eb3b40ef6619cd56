"""Cells: one instance (or set), one kind of clients, one teacher, one horizon; the unit that is kept.

A cell's file is named after the hash of everything that its content depends on, so a file that is there needs
no second look at how it was made.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tutelage import instances, lab, results
from tutelage.distributions import DISTRIBUTIONS
from tutelage.errors import InputError
from tutelage.experiments.data_sets import DataSet, data_set, doubts, find, how_to_get
from tutelage.experiments.definition import ClientsEntry, Experiment, InstanceEntry
from tutelage.instances import Instance
from tutelage.registry import split_call
from tutelage.results import SimulationRequest, SimulationResult
from tutelage.teachers import TEACHERS

if TYPE_CHECKING:
    import xarray as xr

_LAYOUT = 2  # of a cell's file; another layout is another hash
_PADDING: Mapping[str, Any] = {"event_target": results.NONE, "event_active": False}  # of others it is 0
_PER_SET = ("teacher", "run", "client", "arm", "checkpoint", "policy")  # the same for all instances of a set
Key = tuple[str, str, str, int]  # instance, clients, teacher, horizon


class NotAtHand(Exception):
    """An instance needs a data set that is not there; the message says how to get it."""


@dataclass(frozen=True, eq=False)
class Loaded:
    """The instances of an entry, with the hash of each and what is to be said of their data."""

    entry: InstanceEntry
    instances: tuple[Instance, ...]
    digests: tuple[str, ...]
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Cell:
    """What is to be played: one request, or one for each instance of a set, whose seeds ``seeds`` are.

    ``name`` is what people read; ``digest`` the hash of all that the content depends on.
    """

    key: Key
    name: str
    requests: tuple[SimulationRequest, ...]
    seeds: tuple[int, ...] | None
    digest: str

    @property
    def runs(self) -> int:
        """How many runs there are to play."""
        return sum(request.runs for request in self.requests)

    @property
    def file_name(self) -> str:
        """What the cell's file is called."""
        return f"{self.name}-{self.digest[:16]}.nc"

    def dataset(self, outcomes: Sequence[SimulationResult]) -> "xr.Dataset":
        """What is saved: the outcomes, joined along ``instance`` if they are of a set, and marked."""
        made = outcomes[0].to_dataset() if self.seeds is None else _over_instances(outcomes, self.seeds)
        made.attrs["cell"] = self.digest
        made.attrs["content"] = content_digest(made)
        return made


def load_entry(entry: InstanceEntry, where: str, folder: str | None) -> Loaded:
    """Read or draw the instances of an entry.

    Raises :class:`NotAtHand` where its data set is not there, ``InputError`` for all else.
    """
    path = None
    if entry.data is not None:
        wanted: DataSet = data_set(entry.data)
        found = find(wanted, folder)
        if found is None:
            raise NotAtHand(how_to_get(wanted))
        path = str(found)
    try:
        loaded = tuple(instances.load(spec) for spec in entry.specs(path))
    except InputError as error:
        raise InputError(f"{where}: spec in [[instances]] {entry.label!r}: {error}") from None
    digests = tuple(instance_digest(each) for each in loaded)
    return Loaded(entry, loaded, digests, () if path is None else tuple(doubts(path)))


def cells_of(experiment: Experiment, loaded: Loaded, clients: ClientsEntry, horizon: int) -> list[Cell]:
    """The cells of all teachers, in their order."""
    entry = loaded.entry
    try:
        requests = [
            lab.make_request(
                instance,
                experiment.teachers,
                clients.spec,
                horizon=horizon,
                runs=entry.runs or experiment.runs,
                seed=experiment.seed + number,
                checkpoints=1 if entry.is_set else experiment.checkpoints,
            )
            for number, instance in enumerate(loaded.instances)
        ]
    except InputError as error:
        raise InputError(
            f"{experiment.name}: clients {clients.label!r} on instance {entry.label!r}: {error}"
        ) from None
    made = []
    for number, spec in enumerate(requests[0].teacher_specs):
        teacher = requests[0].teachers[number]
        each = tuple(replace(request, teachers=(request.teachers[number],)) for request in requests)
        made.append(
            Cell(
                key=(entry.label, clients.label, spec, horizon),
                name=_slug(entry.label, clients.label, TEACHERS.brief(teacher), str(horizon)),
                requests=each,
                seeds=entry.seed_numbers if entry.is_set else None,
                digest=_cell_digest(each, loaded.digests, entry.seed_numbers),
            )
        )
    return made


def _slug(instance: str, clients: str, teacher: str, horizon: str) -> str:
    """A name for files: ``fixed-mixed-twl-1-0-50000``."""
    name, arguments = split_call(teacher, "teacher")
    written = [name, *(value for _, value in arguments)]
    return "-".join(re.sub(r"[^A-Za-z0-9._]+", "-", part) for part in (instance, clients, *written, horizon))[
        :120
    ]


def instance_digest(instance: Instance) -> str:
    """The hash of all of an instance that a result depends on; its name and where it was read are not."""
    digest = hashlib.sha256()
    for array in (instance.local_means, instance.weights, *vars(instance.samples).values()):
        _feed(digest, array)
    real = instance.conditions
    for shift in real.shifts:
        digest.update(str(shift.after).encode())
        _feed(digest, shift.local_means)
    names = instance.client_names, instance.arm_names
    told = [DISTRIBUTIONS.spec(instance.rewards), real.activity, real.delays, real.stops, names]
    digest.update(json.dumps(told).encode())
    return digest.hexdigest()


def _cell_digest(requests: Sequence[SimulationRequest], digests: Sequence[str], seeds: Sequence[int]) -> str:
    first = requests[0]
    told = {
        "layout": _LAYOUT,
        "tutelage": results.version(),
        "instances": list(digests),
        "instance_seeds": list(seeds),
        "clients": list(first.client_specs),
        "teachers": list(first.teacher_specs),
        "horizon": first.horizon,
        "runs": first.runs,
        "seeds": [request.seed for request in requests],
        "checkpoints": first.checkpoints.tolist(),
    }
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def content_digest(dataset: "xr.Dataset") -> str:
    """The hash of all of a dataset but this mark: a file that was changed or damaged has another."""
    digest = hashlib.sha256()
    for name in sorted(map(str, dataset.variables)):
        variable = dataset[name]
        digest.update(_bytes([name, variable.dims, _texts(variable.attrs)]))
        values = variable.values
        if values.dtype.kind in "UO":
            digest.update(_bytes(values.tolist()))
        else:
            _feed(digest, values)
    marked = {key: value for key, value in dataset.attrs.items() if key != "content"}
    digest.update(_bytes(_texts(marked)))
    return digest.hexdigest()


def _texts(attributes: Mapping[Any, Any]) -> list[list[str]]:
    return sorted([str(key), str(value)] for key, value in attributes.items())


def _bytes(content: Any) -> bytes:
    """Any values as bytes, also those that only a damaged file holds; what is no Unicode is escaped."""
    return json.dumps(content, default=repr).encode("ascii")


def _feed(digest: Any, array: NDArray[Any]) -> None:
    digest.update(f"{array.dtype.str}{array.shape}".encode())
    if array.size:
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)


def kept(cell: Cell, folder: Path) -> "tuple[xr.Dataset | None, str | None]":
    """The cell as kept in a folder, or None and, where a file is there that is not the cell, why not."""
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
        elif dataset.attrs.get("content") != content_digest(dataset):
            reason = f"{str(path)!r} has been changed or damaged"
        else:
            return dataset, None
    return None, f"{reason}; {cell.name} is played again."


def _over_instances(outcomes: Sequence[SimulationResult], seeds: Sequence[int]) -> "xr.Dataset":
    """One dataset with the dimension ``instance`` in front of all that depends on the instance."""
    import xarray as xr

    first = outcomes[0].to_dataset()  # xarray takes longer over a hundred datasets than the runs take
    variables = {str(name): (variable.dims, variable.values) for name, variable in first.variables.items()}
    stacked = {
        name: (
            ("instance", *dims),
            np.stack(_padded(_of_each(name, outcomes), dims, _PADDING.get(name, 0))),
            first[name].attrs,
        )
        for name, (dims, _) in variables.items()
        if name not in _PER_SET
    }
    requests = [outcome.request for outcome in outcomes]
    coordinates = {
        "instance": np.array(seeds),
        "instance_name": ("instance", np.array([request.instance.name for request in requests])),
        **{name: variables[name] for name in _PER_SET},
    }
    told = requests[0].as_json()
    told["instance"] = [request.as_json()["instance"] for request in requests]
    told["seed"] = [request.seed for request in requests]
    attributes = {**first.attrs, "request": json.dumps(told, ensure_ascii=False)}
    names = [str(name) for name in first.data_vars]
    coordinates |= {name: stacked[name] for name in stacked if name not in names}
    return xr.Dataset({name: stacked[name] for name in names}, coords=coordinates, attrs=attributes)


def _of_each(name: str, outcomes: Sequence[SimulationResult]) -> list[NDArray[Any]]:
    """A variable of ``SimulationResult.to_dataset``, of each outcome."""
    if name == "event_num_active":
        return [outcome.event_active.sum(axis=-1, dtype=np.int32) for outcome in outcomes]
    known = {"gap": "gaps", "weight": "weights", "client_name": "client_names", "arm_name": "arm_names"}
    on_instance = name in known or name in ("local_means", "global_means")
    things: Sequence[Any] = [outcome.request.instance for outcome in outcomes] if on_instance else outcomes
    return [np.asarray(getattr(thing, known.get(name, name))) for thing in things]


def join(datasets: "Sequence[xr.Dataset]") -> "xr.Dataset":
    """Datasets of equal instances, clients and runs as one, along ``teacher``.

    Events are padded to the longest run, as in each of them.
    """
    import xarray as xr

    first = datasets[0]
    variables: dict[str, Any] = {}
    for name, variable in first.variables.items():
        dims = variable.dims
        if "teacher" not in dims:
            variables[str(name)] = variable
            continue
        values = _padded([each.variables[name].values for each in datasets], dims, _PADDING.get(str(name), 0))
        variables[str(name)] = (dims, np.concatenate(values, axis=dims.index("teacher")), variable.attrs)
    coordinates = {str(name): variables.pop(str(name)) for name in first.coords}
    return xr.Dataset(variables, coords=coordinates, attrs=first.attrs)


def _padded(arrays: Sequence[NDArray[Any]], dims: Sequence[Any], value: Any) -> Sequence[NDArray[Any]]:
    """The arrays, all with as many events as the longest."""
    if "event" not in dims:
        return arrays
    axis = list(dims).index("event")
    size = max(array.shape[axis] for array in arrays)
    return [
        np.pad(
            array,
            [(0, size - length if at == axis else 0) for at, length in enumerate(array.shape)],
            constant_values=value,
        )
        for array in arrays
    ]
