"""Running sums of rewards, and what BLT's bets gain (``betting.py``, ``betting_scalar.py``)."""

import functools
import itertools
from collections.abc import Sequence

import numpy as np

from tutelage.teachers.blt.betting import Array, Bets, Grid, GridStep, log_gain, make_bets
from tutelage.teachers.blt.betting_scalar import MOST_CLIENTS, MOST_TERMS, PairStep, log_gain_of_few
from tutelage.teachers.families.weights import remaining_weights

Waiting = list[tuple[int, int, int, int]]  # pair (j, k), its next grid step, the last one


class BettingTotals:
    """The running sums of all arms' rewards at the clients that are not excluded, and the bets on them.

    ``totals[k]`` is float64 [segments of arm k + 1, M].
    """

    def __init__(self, totals: Sequence[Array], grid: Grid, bets: Bets, excluded: tuple[int, ...]) -> None:
        self.grid, self.bets, self.totals = grid, bets, totals
        self.head_start = grid.head_start
        if excluded:
            self.totals = [np.delete(sums, excluded, axis=1) for sums in totals]

    def gain(self, waiting: Waiting, tolerance: float) -> Array:
        """Compute what log W of each pair and stake gains in this step, float64 [P, G]."""
        num_clients = self.bets.units.size
        if num_clients <= MOST_CLIENTS and num_clients * len(waiting) <= MOST_TERMS:
            return log_gain_of_few([self._pair_step(*pair) for pair in waiting], self.bets, tolerance)
        return log_gain(self._step(waiting), self.bets, tolerance)

    def _pair_step(self, better: int, worse: int, now: int, _: int) -> PairStep:
        grid, rho = self.grid, self.bets.rho
        sums_j, sums_k = self.totals[better], self.totals[worse]
        count, length = grid.counts[now], grid.counts[now + 1] - grid.counts[now]
        return PairStep(
            sums_j[grid.at_leading[now]].tolist(),
            sums_k[grid.at[now]].tolist(),
            sums_j[grid.at_leading[now + 1]].tolist(),
            sums_k[grid.at[now + 1]].tolist(),
            self.head_start + rho * count,
            float(count),
            rho * length,
            float(length),
        )

    def _step(self, waiting: Waiting) -> GridStep:
        at, at_leading, starts, counts = self.grid.at, self.grid.at_leading, self._starts, self.grid.counts
        rows = [
            [starts[better] + at_leading[now] for better, _, now, _ in waiting],
            [starts[worse] + at[now] for _, worse, now, _ in waiting],
            [starts[better] + at_leading[now + 1] for better, _, now, _ in waiting],
            [starts[worse] + at[now + 1] for _, worse, now, _ in waiting],
        ]
        sums = self._joined.take(rows, axis=0)
        pulls = np.array([(counts[now], counts[now + 1]) for _, _, now, _ in waiting], dtype=np.float64)
        shares, first = np.array([[[self.bets.rho]], [[1.0]]]), np.array([[[self.head_start]], [[0.0]]])
        before, after = pulls.T[:, None, :, None] * shares + first  # [2, P, 1], of j and of k
        return GridStep(sums[:2], sums[2:] - sums[:2], before, after - before)

    @functools.cached_property
    def _joined(self) -> Array:
        """The sums of all arms, concatenated."""
        return np.concatenate(self.totals)

    @functools.cached_property
    def _starts(self) -> list[int]:
        return list(itertools.accumulate((len(sums) for sums in self.totals), initial=0))


def append_totals(totals: Array, sums: Array) -> Array:
    """Append the totals of further segments of one arm, added one by one in their order."""
    if len(sums) == 1:
        return np.concatenate((totals, totals[-1:] + sums))
    longer = np.concatenate((totals, sums))
    recent = longer[len(totals) - 1 :]
    np.add.accumulate(recent, out=recent)
    return longer


@functools.lru_cache(maxsize=64)
def create_bets(weights: tuple[float, ...], excluded: tuple[int, ...], num_stakes: int, rho: int) -> Bets:
    """Return the bets with u_m = M w_m of the remaining clients and stakes lambda_g / max(1, max u)."""
    remaining = remaining_weights(weights, excluded)
    units = (len(weights) - len(excluded)) * remaining[remaining > 0.0]
    stakes = 2.0 ** (-np.arange(num_stakes) / 2.0) / max(1.0, float(units.max()))
    return make_bets(units, stakes, float(rho))
