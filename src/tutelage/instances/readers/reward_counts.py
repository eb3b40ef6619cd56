"""Observed rewards of M clients and K arms, counted cell by cell: their means and their empirical distribution."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tutelage.distributions.base import Samples
from tutelage.errors import InputError

_DENSE = 10_000_000  # up to this many (cell, value) pairs are counted in one array instead of by sorting


@dataclass(frozen=True, eq=False)
class RewardCounts:
    """How often each value was seen in each cell.

    Entry i says that ``values[i]`` in [0, 1] was seen ``counts[i]`` times in cell ``cells[i]``, which is
    client m K + arm k.  Entries ascend by cell, then by value, each pair once.
    """

    num_clients: int
    num_arms: int
    cells: NDArray[np.int64]
    values: NDArray[np.float64]
    counts: NDArray[np.int64]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of observations in each cell [M, K]."""
        sizes: NDArray[np.int64] = self._sum(self.counts.astype(np.float64)).astype(np.int64)
        return sizes

    @property
    def means(self) -> NDArray[np.float64]:
        """The mean of each cell's observations [M, K], in [0, 1]; 0 for an empty cell."""
        sums, sizes = self._sum(self.counts * self.values), self.sizes
        means: NDArray[np.float64] = np.clip(sums / np.maximum(1, sizes), 0.0, 1.0)
        return means

    def _sum(self, amounts: NDArray[np.float64]) -> NDArray[np.float64]:
        sums = np.zeros(self.num_clients * self.num_arms)
        np.add.at(sums, self.cells, amounts)
        return sums.reshape(self.num_clients, self.num_arms)

    def of_clients(self, chosen: NDArray[np.int64]) -> "RewardCounts":
        """Return only the chosen clients, which must be in ascending order."""
        place = np.full(self.num_clients, -1, dtype=np.int64)
        place[chosen] = np.arange(chosen.size)
        client, arm = np.divmod(self.cells, self.num_arms)
        chosen_entries = place[client] >= 0
        cells = place[client[chosen_entries]] * self.num_arms + arm[chosen_entries]
        return RewardCounts(chosen.size, self.num_arms, cells, self.values[chosen_entries], self.counts[chosen_entries])

    def samples(self) -> Samples:
        """Return the cells as the empirical distribution resamples them."""
        size = self.num_clients * self.num_arms
        offsets = np.zeros(size + 1, dtype=np.int64)
        np.cumsum(np.bincount(self.cells, minlength=size), out=offsets[1:])
        running = np.concatenate([[0], np.cumsum(self.counts)])
        within = running[1:] - running[offsets[:-1]][self.cells]
        return Samples(offsets, self.values, within / self.sizes.reshape(-1)[self.cells])

    def smallest(self, client: Callable[[int], str], arm: Callable[[int], str], unit: str, remedy: str) -> str:
        """Describe the cell with the fewest observations.  Raises ``InputError`` for an empty cell."""
        sizes = self.sizes
        row, column = (int(index) for index in np.unravel_index(int(np.argmin(sizes)), sizes.shape))
        least, empty = int(sizes[row, column]), int(np.sum(sizes == 0))
        if not least:
            others = f" ({empty} cells are empty in all)" if empty > 1 else ""
            raise InputError(f"There are no {unit} of {client(row)} for {arm(column)}{others}; {remedy}.")
        return f"{client(row)}, {arm(column)}: {least} {unit}"


def tally(
    cells: NDArray[np.int64],
    values: NDArray[np.float64],
    counts: NDArray[np.int64] | None,
    num_clients: int,
    num_arms: int,
) -> RewardCounts:
    """Count observations, given in any order and with repeats (``counts`` of each, or 1)."""
    levels = np.unique(values)
    codes = np.searchsorted(levels, values)
    span = max(1, levels.size)
    keys = cells * span + codes
    if num_clients * num_arms * span <= _DENSE:
        table = np.bincount(keys, weights=counts, minlength=0)
        distinct = np.flatnonzero(table)
        totals = table[distinct]
    else:
        distinct, inverse = np.unique(keys, return_inverse=True)
        totals = np.bincount(inverse, weights=counts)
    return RewardCounts(num_clients, num_arms, distinct // span, levels[distinct % span], totals.astype(np.int64))
