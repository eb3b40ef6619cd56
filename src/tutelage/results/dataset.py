"""The layout of a result as an ``xarray.Dataset``: names, dimensions, descriptions (docs/simulate.md)."""

from collections.abc import Mapping
from platform import python_version
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tutelage.agents.agent_policy import describe_agents
from tutelage.request import SimulationRequest
from tutelage.results.documents import describe_request, encode_json
from tutelage.teachers.base import Style
from tutelage.versions import package_version, source_commit

if TYPE_CHECKING:
    import xarray as xr

_RUN = ("teacher", "run")
_CLIENT = (*_RUN, "client", "checkpoint")
_EVENT = (*_RUN, "event")
VARIABLES: dict[str, tuple[tuple[str, ...], str]] = {
    "pulls": ((*_CLIENT, "arm"), "pulls so far"),
    "regret": (_CLIENT, "pseudo-regret so far"),
    "cost": (_CLIENT, "sum of abs(revealed - observed) so far"),
    "target": (_RUN, "target arm at the horizon (-1: none)"),
    "decided_in": (_RUN, "round of the decision (-1: none)"),
    "consultations": (_RUN, "number of consultations of the teacher up to the horizon"),
    "reachable": (_RUN, "its next decision fits the horizon"),
    "messages": (_RUN, "messages between clients and a teacher that sends them the rules"),
    "noticed_in": ((*_RUN, "client"), "round in which the client could first notice that it is taught (0: none)"),
    "event_round": (_EVENT, "round (0: no event)"),
    "event_target": (_EVENT, "target (-1: none)"),
    "event_active": ((*_EVENT, "arm"), "arm is active"),
}
CURVES = ("pulls", "regret", "cost")  # of many clients, summed over these; each client's values are those at T
FINAL_VARIABLES: dict[str, tuple[tuple[str, ...], str]] = {
    "final_pulls": ((*_RUN, "client", "arm"), "pulls at the horizon"),
    "final_regret": ((*_RUN, "client"), "pseudo-regret at the horizon"),
    "final_cost": ((*_RUN, "client"), "sum of abs(revealed - observed) at the horizon"),
}
DIMENSIONS: Mapping[str, tuple[str, ...]] = {
    **{name: dimensions for name, (dimensions, _) in (VARIABLES | FINAL_VARIABLES).items()},
    **dict.fromkeys(("spec", "decides", "style"), ("teacher",)),
    **dict.fromkeys(("weight", "policy", "policy_label", "client_name"), ("client",)),
    **dict.fromkeys(("global_means", "gap", "arm_name"), ("arm",)),
    "event_num_active": _EVENT,
    "local_means": ("client", "arm"),
}


def without_clients(dimensions: tuple[str, ...]) -> tuple[str, ...]:
    """Return the dimensions of what is summed over clients."""
    return tuple(each for each in dimensions if each != "client")


def has_sums_only(dataset: "xr.Dataset") -> bool:
    """Whether the curves of a dataset are summed over its clients, which were many."""
    return "final_regret" in dataset


def write_style(style: Style | None) -> str:
    """Write a style as ``#d55e00 square 4,2``: colour, marker, dash; empty for none."""
    if style is None:
        return ""
    return " ".join([style.colour, style.marker, ",".join(f"{length:g}" for length in style.dash)]).strip()


def make_dataset(request: SimulationRequest, arrays: Mapping[str, NDArray[Any]]) -> "xr.Dataset":
    """Name the arrays of a result: dimensions teacher, run, client, arm, checkpoint and event.

    Curves that are summed over clients, next to ``FINAL_VARIABLES``, have no dimension client.
    """
    import xarray as xr

    instance = request.instance
    coordinates: dict[str, Any] = {
        "teacher": np.array(request.teacher_labels),
        "spec": ("teacher", np.array(request.teacher_specs)),
        "decides": ("teacher", np.array([teacher.decides for teacher in request.teachers])),
        "style": ("teacher", np.array([write_style(getattr(each, "style", None)) for each in request.teachers])),
        "run": np.arange(request.runs),
        "client": np.arange(instance.num_clients),
        "arm": np.arange(instance.num_arms),
        "checkpoint": request.checkpoints,
        "policy": ("client", np.array(request.client_specs)),
        "policy_label": ("client", np.array(request.client_labels)),
    }
    if instance.client_names:
        coordinates["client_name"] = ("client", np.array(instance.client_names))
    if instance.arm_names:
        coordinates["arm_name"] = ("arm", np.array(instance.arm_names))
    variables: dict[str, Any] = {}
    for name, (dimensions, description) in (VARIABLES | FINAL_VARIABLES).items():
        if name in CURVES and request.sums_clients:
            variables[name] = (without_clients(dimensions), arrays[name], {"long_name": f"{description}, all clients"})
        elif name in arrays:
            variables[name] = (dimensions, arrays[name], {"long_name": description})
    return xr.Dataset(
        {
            **variables,
            "event_num_active": (DIMENSIONS["event_num_active"], arrays["event_active"].sum(axis=-1, dtype=np.int32)),
            "local_means": (("client", "arm"), instance.local_means),
            "global_means": ("arm", instance.global_means),
            "gap": ("arm", instance.gaps),
            "weight": ("client", instance.weights),
        },
        coords=coordinates,
        attrs={
            "tutelage": package_version(),
            "commit": source_commit(),
            "numpy": np.__version__,
            "numba": package_version("numba"),
            "python": python_version(),
            "seed": np.uint64(request.seed),
            "command": request.command,
            "request": encode_json(describe_request(request), ascii=False),
            **({"agents": agents} if (agents := describe_agents(request.policies, instance.num_arms)) else {}),
        },
    )
