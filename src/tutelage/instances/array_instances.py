"""An instance from local means in memory: an array, or a table of pandas or polars."""

import dataclasses
from collections.abc import Iterable
from typing import Any, Protocol, TypeGuard, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tutelage.distributions.base import RewardDistribution
from tutelage.errors import InputError
from tutelage.instances.base import Instance, equal_weights, to_numbers
from tutelage.instances.readers.delimited import whole_id
from tutelage.instances.readers.means import is_corner, is_weight
from tutelage.instances.support.building import describe_names
from tutelage.text import format_value
from tutelage.validation import is_number, is_whole


class MeansFrame(Protocol):
    """A table with a column for each arm: a DataFrame of pandas or polars."""

    @property
    def columns(self) -> Any: ...
    def __getitem__(self, name: Any) -> Any: ...
    def to_numpy(self) -> NDArray[Any]: ...


def make_instance(
    means: ArrayLike | MeansFrame,
    *,
    arms: Iterable[str] | None = None,
    clients: Iterable[str] | None = None,
    weights: ArrayLike | None = None,
    rewards: str | RewardDistribution = "bernoulli",
    name: str = "means",
) -> Instance:
    """Make an instance from local means in memory.

    Args:
        means: The local means [M, K] in [0, 1], a row for each client: an array, a list of rows, or a DataFrame of
            pandas or polars, whose columns are the arms.  As in a file of means, a column headed ``client`` (or a
            first column of texts, or an index of pandas that does not only count rows) names the clients, and a
            column headed ``weight`` holds the weights.
        arms: Names of the arms [K], instead of those of the columns.
        clients: Names of the clients [M], instead of those in the DataFrame.
        weights: Weights of the clients [M], positive, with the sum 1; equal by default.
        rewards: The reward distribution, as in ``bernoulli`` or ``beta(20)``.
        name: What results call the instance.

    Returns:
        An instance for :func:`tutelage.simulate` and for plans.  It holds a copy of the means.

    Raises:
        InputError: With the column, mean, weight or name that cannot be used.
    """
    table = _read_frame(means) if _is_frame(means) else _Columns(to_numbers(means, f"{name}: the local means").copy())
    chosen = table.weights if weights is None else np.copy(to_numbers(weights, f"{name}: the weights"))
    made = Instance(
        name=name,
        local_means=table.means,
        weights=equal_weights(max(1, len(np.atleast_1d(table.means)))) if chosen is None else chosen,
        rewards=cast("RewardDistribution", rewards),  # a SPEC is resolved there
        client_names=table.clients if clients is None else _names(clients),
        arm_names=table.arms if arms is None else _names(arms),
    )
    note = describe_names(made.client_names, made.arm_names, made.num_clients, made.num_arms)
    return dataclasses.replace(made, notes=(note,))


@dataclasses.dataclass(frozen=True, eq=False)
class _Columns:
    """What a DataFrame holds: means [M, K], names of clients and arms, and weights where it has them."""

    means: NDArray[Any]
    clients: tuple[str, ...] | None = None
    arms: tuple[str, ...] | None = None
    weights: NDArray[Any] | None = None


def _is_frame(means: object) -> TypeGuard[MeansFrame]:
    return hasattr(means, "columns") and hasattr(means, "to_numpy")


def _names(given: Any) -> Any:
    """Names as texts; whole numbers such as years become texts."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        return given
    return tuple(str(name) if is_whole(name) else name for name in given)


def _read_frame(frame: MeansFrame) -> _Columns:
    labels = list(frame.columns)
    texts = list(map(str, labels))
    if repeated := [text for text in texts if texts.count(text) > 1]:
        raise InputError(f"The means have two columns named {repeated[0]!r}: rename one.")
    columns = {label: frame[label].to_numpy() for label in labels}
    kept = [label for label in labels if not is_weight(str(label))]
    names = next((label for label in kept if str(label) and is_corner(str(label))), None)
    if names is None and kept and columns[kept[0]].size and all(isinstance(cell, str) for cell in columns[kept[0]]):
        names = kept[0]
    index = list(getattr(frame, "index", ()))
    clients = None if index == list(range(len(index))) else index
    if names is not None:
        clients = list(columns[names])
        kept.remove(names)
    kinds = [columns[label].dtype.kind in "iu" for label in kept]
    if names is None and kinds[:1] == [True] and not all(kinds) and len(set(columns[kept[0]])) == len(columns[kept[0]]):
        raise InputError(
            f"The column {kept[0]!r} of whole numbers may be names or means: call it 'client' if it names the clients, "
            "or make its numbers floats."
        )
    if not kept:
        raise InputError("The means have no column for an arm: give one for each.")
    weights = next((columns[label] for label in labels if is_weight(str(label))), None)
    counted = (list(range(len(kept))), [f"column_{at}" for at in range(len(kept))])  # what the libraries count
    return _Columns(
        np.column_stack([_numbers(columns[label], label) for label in kept]),
        None if clients is None else tuple(whole_id(str(client)) for client in clients),
        None if kept in counted else tuple(map(str, kept)),
        None if weights is None else _numbers(weights, "weight"),
    )


def _numbers(column: NDArray[Any], label: object) -> NDArray[np.float64]:
    for row, value in enumerate(column):
        if not is_number(value):
            raise InputError(f"Invalid mean {format_value(value)} in row {row} of the column {label!r}: use a number.")
    return column.astype(np.float64)
