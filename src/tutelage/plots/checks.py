"""Whether a dataset holds what is to be drawn: told in one sentence, before anything is."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tutelage.errors import InputError

if TYPE_CHECKING:
    import xarray as xr

_RESULT = ("teacher", "run", "client", "checkpoint")
_COUNTED = {"teacher": "teachers", "run": "runs", "client": "clients", "checkpoint": "checkpoints"}
_REMEDY = "name a result that tutelage simulate --out saved, or draw another --kind"


def check_drawable(dataset: "xr.Dataset", kinds: Sequence[str], what: str = "The result") -> None:
    """Raise ``InputError`` where a kind of picture cannot be drawn from the dataset; ``what`` names it."""
    fault = next(_faults(dataset, kinds), None)
    if fault is not None:
        raise InputError(f"{what} cannot be drawn: {fault}; {_REMEDY}.")


def _faults(dataset: "xr.Dataset", kinds: Sequence[str]) -> Iterator[str]:
    leading = ("instance",) if "instance" in dataset.sizes else ()
    for name in ("regret", "cost"):
        yield from _variable(dataset, name, (*leading, *_RESULT))
    for name in ("teacher", "checkpoint"):
        if name not in dataset.coords:
            yield f"it lacks the coordinate {name}"
    for name, word in (*_COUNTED.items(), *(("instance", "instances") for _ in leading)):
        if dataset.sizes[name] == 0:
            yield f"it holds no {word}"
    if dataset["teacher"].dtype.kind not in "UO":
        yield "its teachers are not SPECs"
    rounds = dataset["checkpoint"].values
    if rounds.dtype.kind not in "iu" or rounds[0] < 1 or (np.diff(rounds) <= 0).any():
        yield "its checkpoints are not rounds from 1 on, one after the other"
    if "pulls" in kinds and not leading:
        yield from _variable(dataset, "pulls", (*_RESULT, "arm"))
        yield from _variable(dataset, "gap", ("arm",))
        if dataset.sizes["arm"] == 0:
            yield "it holds no arms"


def _variable(dataset: "xr.Dataset", name: str, dims: tuple[str, ...]) -> Iterator[str]:
    """What is wrong with a variable of these dimensions."""
    if name not in dataset.data_vars:
        yield f"it lacks {_written(name, dims)}"
        return
    variable = dataset[name]
    if set(map(str, variable.dims)) != set(dims):
        yield f"it holds {_written(name, variable.dims)} instead of {_written(name, dims)}"
    if variable.dtype.kind not in "fiu":
        yield f"its {name} is not made of numbers"
    elif not np.isfinite(variable.values).all():
        yield f"its {name} is not finite"
    elif (variable.values < 0).any():
        yield f"its {name} is below 0"


def _written(name: str, dims: Sequence[Any]) -> str:
    return f"{name}[{', '.join(map(str, dims))}]"
