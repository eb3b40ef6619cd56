"""The numbers that are drawn from a saved result.

A *sample* is one dot or one member of a band: a run, or, in a set of instances (whose datasets have
``instance`` as their first dimension), an instance with its runs averaged.  Shapes: N teachers, S samples, C
checkpoints, M clients.
"""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tutelage.errors import InputError
from tutelage.inference import RISK, half_width_of_band, warn_of_few
from tutelage.metrics import sum_over_clients
from tutelage.results.dataset import has_sums_only
from tutelage.text import format_axis_number

if TYPE_CHECKING:
    import xarray as xr

QUANTITIES = ("regret", "cost")
BANDS = ("runs", "mean")
_LOW = 0.04  # of a linear axis: curves below it can hardly be told apart


@dataclass(frozen=True, eq=False)
class Band:
    """The mean of the samples and the ends of a band of one of ``BANDS``; each [N, ...]."""

    mean: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def is_set(dataset: "xr.Dataset") -> bool:
    """Whether the dataset is of a set of instances."""
    return "instance" in dataset.sizes


def teacher_labels(dataset: "xr.Dataset") -> list[str]:
    """The labels of the teachers [N]."""
    return [str(label) for label in dataset["teacher"].values]


def horizon(dataset: "xr.Dataset") -> int:
    """The last checkpoint, T."""
    return int(dataset["checkpoint"].values[-1])


def sample_count(dataset: "xr.Dataset") -> int:
    """The number S of runs or of instances."""
    return int(dataset.sizes["instance" if is_set(dataset) else "run"])


def sample_word(dataset: "xr.Dataset") -> str:
    """The word for the samples: runs or instances."""
    return "instances" if is_set(dataset) else "runs"


def band_name(dataset: "xr.Dataset", band: str = "runs") -> str:
    """The name of a band: ``80 % of runs`` or ``80 % of instances``, ``80 % of 5 of 20 runs`` of a selection."""
    if band == "mean":
        return f"{100 * (1 - RISK):g} % band of the means"
    return f"80 % of {_describe_part(sample_word(dataset), sample_count(dataset), _whole(dataset)['samples'])}"


def name_quantity(dataset: "xr.Dataset", quantity: str) -> str:
    """Name regret or cost with what it is of: ``regret of all clients``, ``cost of 2 of 5 clients, run 3``."""
    whole, count = _whole(dataset), int(dataset.sizes["client"])
    if has_sums_only(dataset):
        count = whole["clients"] or count
    part = _describe_part("clients", count, whole["clients"]) if count != whole["clients"] else "all clients"
    if count == 1 and whole["clients"] != 1:
        part = f"client {list_names(dataset, 'client')[0]}"
    only = sample_count(dataset) == 1 and whole["samples"] not in (1, None)
    samples = "instance" if is_set(dataset) else "run"
    return f"{quantity} of {part}" + (f", {samples} {dataset[samples].values[0]}" if only else "")


def _describe_part(word: str, count: int, total: int | None) -> str:
    """``clients`` for all of them, ``2 of 5 clients`` for some, ``2 clients`` where their number is unknown."""
    if count == total:
        return word
    return f"{count} {word}" if total is None or count > total else f"{count} of {total} {word}"


def _whole(dataset: "xr.Dataset") -> dict[str, int | None]:
    """The numbers of clients, arms and samples of the result from which the dataset is, None where unknown."""
    try:
        request = json.loads(dataset.attrs["request"])
        instance, samples = request["instance"], int(request["runs"])
        if is_set(dataset):
            instance, samples = instance[0], len(instance)
        return {"clients": len(request["clients"]), "arms": int(instance["num_arms"]), "samples": samples}
    except (KeyError, TypeError, ValueError):
        return {"clients": None, "arms": None, "samples": None}


def name_arms(dataset: "xr.Dataset") -> str:
    """``arm``, or ``2 of 5 arms`` of a selection."""
    count, total = int(dataset.sizes["arm"]), _whole(dataset)["arms"]
    return "arm" if count == total else _describe_part("arms", count, total)


def list_names(dataset: "xr.Dataset", dimension: str) -> list[str]:
    """Return the names of the clients or arms, or their numbers if they have no names."""
    named = f"{dimension}_name"
    return [str(name) for name in dataset[named if named in dataset.coords else dimension].values]


def list_policies(dataset: "xr.Dataset") -> list[str]:
    """Return the label of each client's policy, nothing if the dataset lacks them."""
    return [str(label) for label in dataset["policy_label"].values] if "policy_label" in dataset.coords else []


def lies_on_axis(means: NDArray[np.float64]) -> bool:
    """Whether two of the teachers' means [N, ...] at the end of a linear axis are above 0 and too low to differ."""
    last = means.reshape(len(means), -1).max(axis=1)
    return bool(((last > 0) & (last < _LOW * last.max())).sum() > 1)


def has_band(dataset: "xr.Dataset") -> bool:
    """Whether there is more than one sample."""
    return sample_count(dataset) > 1


def warn_of_few_samples(dataset: "xr.Dataset") -> list[str]:
    """Return a sentence where the bands are of so few samples that their ends lie next to the extremes."""
    return warn_of_few(sample_count(dataset), sample_word(dataset))


def totals(dataset: "xr.Dataset", quantity: str) -> NDArray[np.float64]:
    """Sum regret or cost over clients, in order: [N, S, C]."""
    return sum_over_clients(np.moveaxis(per_client_samples(dataset, quantity), 2, 0))


def per_client_samples(dataset: "xr.Dataset", quantity: str) -> NDArray[np.float64]:
    """Return regret or cost of each client: [N, S, M, C], of many clients only their sum, [N, S, 1, C].

    Raises ``InputError`` for another quantity.
    """
    if quantity not in QUANTITIES:
        raise InputError(f"Unknown quantity {quantity!r}: use {' or '.join(QUANTITIES)}.")
    values = dataset[quantity]
    if has_sums_only(dataset):
        values = values.expand_dims("client")
    values = values.mean("run").rename(instance="sample") if is_set(dataset) else values.rename(run="sample")
    array: NDArray[np.float64] = values.transpose("teacher", "sample", "client", "checkpoint").to_numpy()
    return array.astype(np.float64, copy=False)


def compute_band(values: NDArray[Any], band: str = "runs") -> Band:
    """Compute the mean and a band over the samples, axis 1 of values [N, S, ...].

    ``runs`` is the 10th to the 90th percentile (linear interpolation).  ``mean``, of values [N, S, C], is a confidence
    band of the means that holds for all N curves and all C checkpoints together.
    """
    mean = values.mean(axis=1)
    if band == "mean":
        width = np.array([half_width_of_band(curves, RISK / len(values)) for curves in values])
        return Band(mean, np.maximum(mean - width, 0.0), mean + width)
    low, high = np.quantile(values, (0.1, 0.9), axis=1, method="linear")
    return Band(mean, low, high)


def compute_pull_shares(dataset: "xr.Dataset", teacher: str) -> NDArray[np.float64]:
    """Compute the share of each client's pulls that each arm received by the horizon, mean over runs: [M, K].

    NaN for a client that never acted.  Raises ``InputError`` for a teacher that is not in the dataset, and
    for a set of instances, whose arms are not the same.
    """
    if is_set(dataset):
        raise InputError(
            "A set of instances has no map of pulls, because its instances have different arms: use the kind "
            "curves, scatter or clients."
        )
    labels = teacher_labels(dataset)
    if teacher not in labels:
        raise InputError(f"Unknown teacher {teacher!r}: the result has {', '.join(labels)}.")
    last = dataset["pulls"].isel(teacher=labels.index(teacher), checkpoint=-1)
    pulls = last.mean("run").transpose("client", "arm").to_numpy()
    totals = pulls.sum(axis=1, keepdims=True)
    shares: NDArray[np.float64] = np.divide(pulls, totals, out=np.full(pulls.shape, np.nan), where=totals > 0)
    return shares


@dataclass(frozen=True)
class LogScale:
    """A logarithmic axis on which zero has a place: at ``floor``, below every positive value.

    ``floor`` is None where no value is zero.  ``ticks`` pairs positions with their labels.
    """

    low: float
    high: float
    floor: float | None
    ticks: tuple[tuple[float, str], ...]

    def place(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the positions of the values on the axis."""
        return values if self.floor is None else np.where(values > 0, values, self.floor)


def make_log_scale(values: NDArray[np.float64]) -> LogScale:
    """Return a scale for these values (at least 0, any shape)."""
    positive = values[values > 0]
    least, most = (float(positive.min()), float(positive.max())) if positive.size else (1.0, 1.0)
    wider = max(1.25, np.sqrt(5.1 * least / most))  # two ticks of 1, 2, 5, 10 lie within any factor of 5
    low, high = least / wider, most * wider
    first, last = int(np.ceil(np.log10(low))), int(np.floor(np.log10(high)))
    step = max(0, last - first) // 7 + 1
    ticks = [(10.0**power, format_axis_number(10.0**power)) for power in range(first, last + 1, step)]
    if len(ticks) < 3:
        steps = [digit * 10.0**power for power in range(first - 1, last + 1) for digit in (1, 2, 5)]
        ticks = [(value, format_axis_number(value)) for value in steps if low <= value <= high]
    if positive.size == values.size:
        return LogScale(low, high, None, tuple(ticks))
    floor = low / (high / low) ** 0.12
    return LogScale(floor / (high / low) ** 0.05, high, floor, ((floor, "0"), *ticks))


def thin(dataset: "xr.Dataset", most: int, *, logarithmic: bool = False) -> "xr.Dataset":
    """Return the dataset with at most ``most`` checkpoints, which include the last.

    They are evenly spaced among the existing ones or, if ``logarithmic``, over the logarithm of time.
    """
    count = dataset.sizes["checkpoint"]
    if count <= most:
        return dataset
    if logarithmic:
        rounds = dataset["checkpoint"].to_numpy()
        wanted = np.geomspace(rounds[-1], rounds[0], most)
        chosen = np.unique(np.searchsorted(rounds, wanted).clip(0, count - 1))
    else:
        chosen = np.unique(np.linspace(count - 1, 0, most).round().astype(np.int64))
    return dataset.isel(checkpoint=chosen)
