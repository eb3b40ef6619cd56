"""Simulate a saved result again: its request, and what differs."""

import dataclasses
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tutelage import instances
from tutelage.conditions import Conditions
from tutelage.distributions import parse_distribution
from tutelage.errors import InputError
from tutelage.instances import Instance
from tutelage.request import SimulationRequest
from tutelage.simulator.engine_choice import may_leap
from tutelage.simulator.requests import make_request

if TYPE_CHECKING:
    import xarray as xr

_VERSIONS = ("tutelage", "commit", "python", "numpy", "numba")


def restore_request(dataset: "xr.Dataset") -> SimulationRequest:
    """Return the request that a result was made by.

    The instance is restored from the result itself, so the file that it was read from is not needed; only an
    instance with observed rewards, or with means that shift, is loaded again by its name.  Raises ``InputError``
    for a part of a result, for a set of instances, and where an instance, teacher or policy cannot be loaded.
    """
    document = json.loads(dataset.attrs["request"])
    if isinstance(document["instance"], list):
        raise InputError("The result is of a set of instances: run its experiment again with tutelage run.")
    _check_complete(dataset, document)
    engine = document.get("engine", "step")  # there was no other one
    request = make_request(
        _restore_instance(dataset, document["instance"]),
        [str(spec) for spec in dataset["spec"].values],
        [str(spec) for spec in dataset["policy"].values],
        horizon=document["horizon"],
        runs=document["runs"],
        seed=document["seed"],
        checkpoints=document["checkpoints"],
        exclude={int(client): round for client, round in document["exclude"].items()},
        exclude_after=document["exclude_after"],
        engine="step" if engine == "auto" else engine,
        binary_reveals=document.get("binary_reveals", False),
    )
    if engine == "auto" and may_leap(request):  # saved when it leaped at any horizon
        request = dataclasses.replace(request, engine="leap")
    return dataclasses.replace(request, command=str(dataset.attrs.get("command", "")))


def _check_complete(dataset: "xr.Dataset", document: dict[str, Any]) -> None:
    instance = document["instance"]
    sizes = {
        "teacher": len(document["teachers"]),
        "run": document["runs"],
        "client": instance["num_clients"],
        "arm": instance["num_arms"],
        "checkpoint": len(document["checkpoints"]),
    }
    for name, size in sizes.items():
        count = dataset.sizes.get(name, 1)
        if count != size:
            raise InputError(f"The result is a part of another ({count} of {size} along {name}): use the whole one.")


def _restore_instance(dataset: "xr.Dataset", described: dict[str, Any]) -> Instance:
    rewards = parse_distribution(described["rewards"])
    if rewards.needs_samples or "shifts" in described:
        loaded = instances.load(described["name"])
        means = dataset["local_means"].values
        if loaded.local_means.shape != means.shape or not np.array_equal(loaded.local_means, means):
            raise InputError(
                f"The instance {described['name']!r} now has other means than in the result: restore its data."
            )
        shifts = loaded.conditions.shifts
        instance = loaded
    else:
        shifts = ()
        instance = Instance(
            name=described["name"],
            local_means=dataset["local_means"].values,
            weights=dataset["weight"].values,
            rewards=rewards,
            client_names=tuple(described["client_names"]) if "client_names" in described else None,
            arm_names=tuple(described["arm_names"]) if "arm_names" in described else None,
            notes=tuple(described["notes"].items()),
        )
    conditions = Conditions(
        activity=tuple(described.get("activity", ())),
        delays=tuple(described.get("delays", ())),
        stops=tuple((int(client), round) for client, round in described.get("stops", {}).items()),
        shifts=shifts,
    )
    return dataclasses.replace(instance, conditions=conditions)


def find_differences(saved: "xr.Dataset", again: "xr.Dataset") -> dict[str, dict[str, int]]:
    """Return the variables whose values differ: for each the number of such runs by teacher."""
    found = {}
    for name in map(str, saved.data_vars):
        one, two = saved[name].values, again[name].values
        if "teacher" not in saved[name].dims:
            continue
        if one.shape != two.shape:  # another number of events
            differing = np.ones(one.shape[:2], dtype=np.bool_)
        else:
            differing = (one != two).reshape(*one.shape[:2], -1).any(axis=-1)
        runs = dict(zip(saved["teacher"].values.tolist(), differing.sum(axis=1).tolist(), strict=True))
        if differing.any():
            found[name] = {teacher: count for teacher, count in runs.items() if count}
    return found


@dataclass(frozen=True)
class Verification:
    """Whether a saved result was the same when it was simulated again.

    ``differences`` has the variables whose values differ, for each the number of such runs by teacher; ``saved``
    and ``here`` are the versions of this package, its commit, Python, numpy and numba.
    """

    differences: dict[str, dict[str, int]]
    saved: dict[str, str]
    here: dict[str, str]

    @property
    def reproduced(self) -> bool:
        """Whether every value was the same."""
        return not self.differences


def compare(saved: "xr.Dataset", again: "xr.Dataset") -> Verification:
    """Compare a result with the one that was simulated from its request."""
    return Verification(find_differences(saved, again), _list_versions(saved), _list_versions(again))


def _list_versions(dataset: "xr.Dataset") -> dict[str, str]:
    return {name: str(dataset.attrs.get(name, "unknown")) for name in _VERSIONS}
