"""Bets on which of two arms is better: the test martingales of BLT (proof in docs/blt.md).

Shapes: M clients that are not excluded, P ordered pairs of arms, G stakes.  Of a pair (j, k), j is the arm
that is bet to be better; it has rho times as many pulls as k.  Sums over clients run along the last
axis, so that a pair's sum is the same, bit for bit, whatever other pairs are computed with it.
"""

import bisect
import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

LEAST, MOST = 0.01, 0.99  # predictions stay within
NEVER = 1 << 62
_EDGES = np.array([LEAST, MOST])[:, None, None, None]
_MARGIN = 1e-13  # per client: over ten times what rounding can change in a sum of predictions, as numpy adds them
_MOST_TOLERANCE = 0.97  # c and d lie at most .98 apart
FARTHEST = 2.0  # the limit of x; without a tolerance predictions meet before


@dataclass(frozen=True, eq=False)
class Grid:
    """The pull counts n_0 = 0, n_1, ... at which capital is computed, and their positions among the cuts.

    ``cuts`` are the counts n_i and h + rho n_i, merged, h being the head start.  ``at[i]`` is the number of
    cuts that are completed with n_i pulls, ``at_leading[i]`` with h + rho n_i, and both are NEVER where a
    client cannot have both within the horizon; ``steps[done]`` and ``leading_steps[done]`` are the numbers of
    steps that ``done`` completed cuts allow.
    """

    counts: tuple[int, ...]
    cuts: tuple[int, ...]
    at: tuple[int, ...]
    at_leading: tuple[int, ...]
    steps: tuple[int, ...]
    leading_steps: tuple[int, ...]
    head_start: int


@functools.lru_cache(maxsize=16)
def make_grid(horizon: int, rho: int, growth: float, head_start: int = 0) -> Grid:
    """Return the grid n_{i+1} = n_i + max(1, floor(growth n_i)), up to the horizon."""
    counts = [0]
    while (following := counts[-1] + max(1, math.floor(growth * counts[-1]))) <= horizon:
        counts.append(following)
    cuts = sorted({count for n in counts for count in (n, head_start + rho * n) if 0 < count <= horizon})
    place = {count: index for index, count in enumerate((0, *cuts))}
    within = [n for n in counts if n == 0 or head_start + (1 + rho) * n <= horizon]
    at = (*(place[n] for n in within), NEVER)
    at_leading = (*(place.get(head_start + rho * n, NEVER) for n in within), NEVER)
    done = range(len(cuts) + 1)
    return Grid(
        counts=tuple(counts),
        cuts=tuple(cuts),
        at=at,
        at_leading=at_leading,
        steps=tuple(bisect.bisect_right(at, completed) - 1 for completed in done),
        leading_steps=tuple(bisect.bisect_right(at_leading, completed) - 1 for completed in done),
        head_start=head_start,
    )


@dataclass(frozen=True, eq=False)
class GridStep:
    """One grid step of P pairs: the sums before it and in it, first of the arms j, then of k.

    ``before`` [2, P, M] are the sums of rewards in the first ``pulls`` [2, P, 1] pulls, h + rho n_i and n_i;
    ``won`` those in the ``length`` pulls that follow, rho (n_{i+1} - n_i) and n_{i+1} - n_i.
    """

    before: Array
    won: Array
    pulls: Array
    length: Array


@dataclass(frozen=True, eq=False)
class Bets:
    """The amounts bet: ``units`` [M] are u_m = M w_m, ``stakes`` [G, 1] lambdas, at most 1 / max(1, max u).

    ``signed`` [2, 1, M] is the change of the bet per pull at stake 1: u / rho for j and -u for k.  With dependent
    clients the bets are ``sizes`` instead of u, and ``exponents`` [4 M] are alpha_m, once for each of j and k, won
    and lost; None for 1.
    """

    units: Array
    stakes: Array
    rho: float
    total_units: float
    signed: Array
    opposite: Array
    listed: tuple[list[float], tuple[list[float], list[float]]]  # units, and what is in ``signed``
    exponents: Array | None = None


def make_bets(
    units: Array, stakes: Array, rho: float, sizes: Array | None = None, exponents: Array | None = None
) -> Bets:
    """Return the bets of clients with ``units`` [M] at each of ``stakes`` [G].

    ``sizes`` [M] are the bets at stake 1, u if there are none, and ``exponents`` [M] alpha.
    """
    sizes = units if sizes is None else sizes
    signed = np.array((sizes / rho, -sizes))[:, None]
    listed = (units.tolist(), (signed[0, 0].tolist(), signed[1, 0].tolist()))
    repeated = None if exponents is None else np.tile(exponents, 4)
    return Bets(units, stakes[:, None], rho, float(np.add.reduce(units)), signed, -signed, listed, repeated)


def excess_of(bets: Bets, tolerance: float) -> float:
    """Return by how much sum u c - sum u d must be below 0: M tolerance, less a margin for rounding."""
    return bets.units.size * (min(tolerance, _MOST_TOLERANCE) - _MARGIN)


def log_gain(step: GridStep, bets: Bets, tolerance: float) -> Array:
    """Compute what the step adds to log W of each pair and stake, float64 [P, G].

    Of a client, with b = lambda u / rho, e = lambda u, n the step's length and s its sums,

        s_j log(1 + b (1 - c)) + (rho n - s_j) log(1 - b c) + s_k log(1 - e (1 - d)) + (n - s_k) log(1 + e d)

    For rewards of 0 and 1 this is the log of the product of 1 + b (X - c) and 1 - e (X - d) over the pulls,
    for others it is below (concavity).  With dependent clients it is multiplied by the client's alpha.
    """
    _, num_pairs, num_clients = step.before.shape
    predictions = null_means((step.before + 0.5) / (step.pulls + 1.0), bets, tolerance)
    moves, times = np.empty((2, num_pairs, 2, 2, num_clients))  # of a pair: won or not, j or k, client
    won, lost = moves.transpose(1, 2, 0, 3)
    np.multiply(predictions, bets.opposite, out=lost)
    np.add(lost, bets.signed, out=won)
    won, lost = times.transpose(1, 2, 0, 3)
    won[...] = step.won
    np.subtract(step.length, step.won, out=lost)
    logs = moves.reshape(num_pairs, 1, -1) * bets.stakes  # [P, G, 4 M]
    np.log1p(logs, out=logs)
    logs *= times.reshape(num_pairs, 1, -1)
    if bets.exponents is not None:
        logs *= bets.exponents
    return np.add.reduce(logs, axis=2)  # type: ignore[no-any-return]


def null_means(seen: Array, bets: Bets, tolerance: float) -> Array:
    """Compute predictions c, d under the null hypothesis nu_j <= nu_k - tolerance, close to the estimates.

    ``seen`` [2, P, M] are p and q, the result c and d: c = clip(p - x h) and d = clip(q + x (1 - h)), with h
    the share of j in the variance, and the x for which sum u c = sum u d - M tolerance, less a margin for
    rounding: sum u c is never below that.
    """
    spread_j, spread_k = np.add.reduce(seen * (1.0 - seen), axis=2)
    spread_j /= bets.rho
    slopes = np.empty((2, spread_j.size, 1))
    h, rest = slopes[:, :, 0]
    np.divide(spread_j, spread_j + spread_k, out=h)
    np.subtract(1.0, h, out=rest)
    np.negative(h, out=h)
    units = bets.units
    excess = excess_of(bets, tolerance)
    x = (np.add.reduce(units * (seen[0] - seen[1]), axis=1) + excess) / bets.total_units
    predictions = seen + slopes * x[:, None]
    if np.minimum.reduce(predictions, axis=None) < LEAST or np.maximum.reduce(predictions, axis=None) > MOST:
        beyond = (predictions < LEAST) | (predictions > MOST)
        some = np.flatnonzero(np.logical_or.reduce(beyond, axis=(0, 2)))
        predictions[:, some] = _clipped(seen[:, some], units, slopes[:, some], excess)
    return np.asarray(predictions)


def _clip(values: Array) -> Array:
    np.maximum(values, LEAST, out=values)
    return np.minimum(values, MOST, out=values)


def _clipped(seen: Array, units: Array, slopes: Array, excess: float) -> Array:
    """clip(seen + x slopes) [2, P, M], with the x at which sum u c - sum u d + excess changes its sign.

    This difference is decreasing and piecewise linear in x; the pieces meet where a term starts or stops
    being clipped, so it is linear between the two such places around the root.
    """
    places = ((_EDGES - seen) / slopes).transpose(2, 0, 1, 3).reshape(seen.shape[1], -1)

    def difference(x: Array) -> Array:
        c, d = _clip(seen[:, :, None] + x[:, :, None] * slopes[:, :, None])
        c -= d
        c *= units
        return np.asarray(np.add.reduce(c, axis=2) + excess)

    around = _around_root(np.sort(places, axis=1), difference)
    (left, right), (up, down) = around.T, difference(around).T
    x = np.minimum(left + (right - left) * (up / (up - down)), FARTHEST)
    return _clip(seen + x[:, None] * slopes)


def _around_root(places: Array, difference: Callable[[Array], Array]) -> Array:
    """Return the two of the sorted places [P, N] between which the difference changes its sign."""
    rows = np.arange(len(places))[:, None]
    low, high = np.zeros_like(rows), np.full_like(rows, places.shape[1] - 1)
    while np.any(high - low > 1):
        middle = (low + high) // 2
        above = difference(places[rows, middle]) > 0.0
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return places[rows, np.concatenate((low, high), axis=1)]


def log_mean(logs: Array) -> Array:
    """Compute log W from the log W of the stakes: the log of the mean of exp over the last axis."""
    most = np.maximum.reduce(logs, axis=-1)
    total = np.add.reduce(np.exp(logs - most[..., None]), axis=-1)
    return np.asarray(most + np.log(total / logs.shape[-1]))
