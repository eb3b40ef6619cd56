"""Check that a dataset contains what a picture needs, before anything is drawn."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tutelage.errors import InputError
from tutelage.results.dataset import CURVES, DIMENSIONS, has_sums_only, without_clients

if TYPE_CHECKING:
    import xarray as xr

_RESULT = ("teacher", "run", "client", "checkpoint")
_WORDS = {"teacher": "teachers", "run": "runs", "client": "clients", "checkpoint": "checkpoints"}
_REMEDY = "use a result that tutelage simulate --out saved, or another --kind"


def check_drawable(dataset: "xr.Dataset", kinds: Sequence[str], what: str = "The result") -> "xr.Dataset":
    """Return the dataset with every dimension of a result, also where it is a selection of one run or client.

    Raises ``InputError`` if a kind of picture cannot be drawn from the dataset, which ``what`` names.
    """
    import xarray as xr

    if not isinstance(dataset, xr.Dataset):
        raise InputError(f"{what} cannot be drawn: it is a {type(dataset).__name__}, not an xarray.Dataset; {_REMEDY}.")
    dataset = _restore_dimensions(dataset)
    fault = next(_find_faults(dataset, kinds), None)
    if fault is not None:
        raise InputError(f"{what} cannot be drawn: {fault}; {_REMEDY}.")
    return dataset


def _restore_dimensions(dataset: "xr.Dataset") -> "xr.Dataset":
    """Return the dataset with the dimensions that selecting one value, as in ``isel(run=0)``, has dropped."""
    import xarray as xr

    lost = [name for name in (*_RESULT, "arm") if name in dataset.coords and name not in dataset.sizes]
    if not lost:
        return dataset
    variables = {}
    for name, variable in dataset.variables.items():
        dimensions = DIMENSIONS.get(str(name), (str(name),))
        if name in CURVES and has_sums_only(dataset):
            dimensions = without_clients(dimensions)
        added = [each for each in dimensions if each in lost and each not in variable.dims]
        values = variable.values[(np.newaxis,) * len(added)]
        variables[name] = xr.Variable((*added, *variable.dims), values, variable.attrs)
    coordinates = {name: variables.pop(name) for name in dataset.coords}
    return xr.Dataset(variables, coordinates, dataset.attrs)


def _find_faults(dataset: "xr.Dataset", kinds: Sequence[str]) -> Iterator[str]:
    leading = ("instance",) if "instance" in dataset.sizes else ()
    has_sums = has_sums_only(dataset)
    if has_sums and not {"curves", "scatter"}.issuperset(kinds):
        yield f"its curves are sums over {dataset.sizes['client']:,} clients"
    for name in ("regret", "cost"):
        yield from _check_variable(dataset, name, (*leading, *(without_clients(_RESULT) if has_sums else _RESULT)))
    for name in ("teacher", "spec", "style", "checkpoint"):
        if name not in dataset.coords:
            yield f"the coordinate {name} is missing"
    for name, word in (*_WORDS.items(), *(("instance", "instances") for _ in leading)):
        if dataset.sizes[name] == 0:
            yield f"it contains no {word}"
    if any(dataset[name].dtype.kind not in "UO" for name in ("teacher", "spec", "style")):
        yield "the teachers are not named by texts"
    rounds = dataset["checkpoint"].values
    if rounds.dtype.kind not in "iu" or rounds[0] < 1 or (np.diff(rounds) <= 0).any():
        yield "the checkpoints are not increasing rounds from 1 on"
    if "pulls" in kinds and not leading:
        yield from _check_variable(dataset, "pulls", (*_RESULT, "arm"))
        yield from _check_variable(dataset, "gap", ("arm",))
        if dataset.sizes["arm"] == 0:
            yield "it contains no arms"


def _check_variable(dataset: "xr.Dataset", name: str, dims: tuple[str, ...]) -> Iterator[str]:
    """Yield what is wrong with a variable that should have these dimensions."""
    if name not in dataset.data_vars:
        yield f"the variable {_write_variable(name, dims)} is missing"
        return
    variable = dataset[name]
    if set(map(str, variable.dims)) != set(dims):
        yield f"it contains {_write_variable(name, variable.dims)} instead of {_write_variable(name, dims)}"
    if variable.dtype.kind not in "fiu":
        yield f"{name} does not consist of numbers"
    elif not np.isfinite(variable.values).all():
        yield f"{name} is not finite everywhere"
    elif (variable.values < 0).any():
        yield f"{name} is negative somewhere"


def _write_variable(name: str, dims: Sequence[Any]) -> str:
    return f"{name}[{', '.join(map(str, dims))}]"
