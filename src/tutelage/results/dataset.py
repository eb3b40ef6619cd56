"""The layout of a result as an ``xarray.Dataset``: names, dimensions, descriptions (docs/simulate.md)."""

from collections.abc import Mapping
from platform import python_version
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tutelage.request import SimulationRequest
from tutelage.results.documents import describe_request, encode_json
from tutelage.teachers.base import Teacher
from tutelage.versions import package_version

if TYPE_CHECKING:
    import xarray as xr

_RUN = ("teacher", "run")
_CLIENT = (*_RUN, "client", "checkpoint")
_EVENT = (*_RUN, "event")
VARIABLES: Mapping[str, tuple[tuple[str, ...], str]] = {
    "pulls": ((*_CLIENT, "arm"), "pulls so far"),
    "regret": (_CLIENT, "pseudo-regret so far"),
    "cost": (_CLIENT, "sum of abs(revealed - observed) so far"),
    "target": (_RUN, "target arm at the horizon (-1: none)"),
    "decided_in": (_RUN, "round of the decision (-1: none)"),
    "consultations": (_RUN, "number of consultations of the teacher up to the horizon"),
    "reachable": (_RUN, "its next decision fits the horizon"),
    "event_round": (_EVENT, "round (0: no event)"),
    "event_target": (_EVENT, "target (-1: none)"),
    "event_active": ((*_EVENT, "arm"), "arm is active"),
}


def _write_style(teacher: Teacher) -> str:
    """Write the style that a teacher declares as ``#d55e00 square 4,2``: colour, marker, dash; empty for none."""
    style = getattr(teacher, "style", None)
    if style is None:
        return ""
    return " ".join([style.colour, style.marker, ",".join(f"{length:g}" for length in style.dash)]).strip()


def make_dataset(request: SimulationRequest, arrays: Mapping[str, NDArray[Any]]) -> "xr.Dataset":
    """Name the arrays of a result: dimensions teacher, run, client, arm, checkpoint and event."""
    import xarray as xr

    instance = request.instance
    coordinates: dict[str, Any] = {
        "teacher": np.array(request.teacher_labels),
        "spec": ("teacher", np.array(request.teacher_specs)),
        "decides": ("teacher", np.array([teacher.decides for teacher in request.teachers])),
        "style": ("teacher", np.array([_write_style(teacher) for teacher in request.teachers])),
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
    variables: dict[str, Any] = {
        name: (dimensions, arrays[name], {"long_name": description})
        for name, (dimensions, description) in VARIABLES.items()
    }
    return xr.Dataset(
        {
            **variables,
            "event_num_active": (_EVENT, arrays["event_active"].sum(axis=-1, dtype=np.int32)),
            "local_means": (("client", "arm"), instance.local_means),
            "global_means": ("arm", instance.global_means),
            "gap": ("arm", instance.gaps),
            "weight": ("client", instance.weights),
        },
        coords=coordinates,
        attrs={
            "tutelage": package_version(),
            "numpy": np.__version__,
            "numba": package_version("numba"),
            "python": python_version(),
            "seed": np.uint64(request.seed),
            "request": encode_json(describe_request(request), ascii=False),
        },
    )
