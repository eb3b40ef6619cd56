"""The bets of ``betting.py`` on rows of numbers, one pair of arms at a time.

A row is a list, which is faster than an array for few clients and pairs, or an array in what the engine compiles
(``routine.py``).  The result is that of ``betting.py``, bit for bit (tests/teachers/blt/test_betting_scalar.py), where
both compute logarithms in the same way; numba and numpy need not, and then differ in the last digit.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tutelage.teachers.blt.betting import FARTHEST, LEAST, MOST, Array, Bets, excess_of

MOST_CLIENTS = 32  # of whom numpy adds four numbers each in the order of `add_up`
MOST_TERMS = 30  # pairs times clients; above it arrays are faster

Row = Any  # of numbers: a list or an array


class PairStep(NamedTuple):
    """One grid step of one pair, as ``betting.GridStep`` for many: [M] sums of rewards, and pulls."""

    before_j: Row
    before_k: Row
    after_j: Row
    after_k: Row
    pulls_j: float
    pulls_k: float
    length_j: float
    length_k: float


def log_gain_of_few(steps: Sequence[PairStep], bets: Bets, tolerance: float) -> Array:
    """Compute ``betting.log_gain`` for these steps, float64 [P, G], of at most ``MOST_CLIENTS`` clients."""
    excess = excess_of(bets, tolerance)
    units, changes = bets.listed
    size = 4 * len(units)
    moves: list[float] = []
    times: list[float] = []
    for step in steps:
        own_moves, own_times = [0.0] * size, [0.0] * size
        list_terms(step, units, changes, bets.rho, bets.total_units, excess, own_moves, own_times)
        moves += own_moves
        times += own_times
    logs = np.array(moves).reshape(-1, 1, size) * bets.stakes
    np.log1p(logs, out=logs)
    logs *= np.array(times).reshape(-1, 1, size)
    if bets.exponents is not None:
        logs *= bets.exponents
    return np.add.reduce(logs, axis=2)  # type: ignore[no-any-return]


def list_terms(
    step: PairStep, units: Row, changes: Any, rho: float, total_units: float, excess: float, moves: Row, times: Row
) -> None:
    """Write the terms of log W [4 M]: by how much a bet of stake 1 moves in a pull, and in how many pulls.

    Pulls of j and k that won come first, then those that lost.  ``changes`` [2, M] is ``Bets.signed``.
    """
    size = len(units)
    for m in range(size):
        moves[m] = (step.before_j[m] + 0.5) / (step.pulls_j + 1.0)
        moves[size + m] = (step.before_k[m] + 0.5) / (step.pulls_k + 1.0)
    _predict(moves, units, rho, total_units, excess, times)
    for m in range(size):
        up_j, up_k = changes[0][m], changes[1][m]
        lost_j, lost_k = moves[m] * -up_j, moves[size + m] * -up_k
        moves[m], moves[size + m] = lost_j + up_j, lost_k + up_k
        moves[2 * size + m], moves[3 * size + m] = lost_j, lost_k
        won_j, won_k = step.after_j[m] - step.before_j[m], step.after_k[m] - step.before_k[m]
        times[m], times[size + m] = won_j, won_k
        times[2 * size + m], times[3 * size + m] = step.length_j - won_j, step.length_k - won_k


def add_up(row: Row, first: int, size: int) -> float:
    """Add ``size`` numbers of a row, at most 128, in numpy's order: its result, bit for bit."""
    total, i, end = 0.0, first, first + size
    if size >= 8:
        a, b, c, d = row[i], row[i + 1], row[i + 2], row[i + 3]
        e, f, g, h = row[i + 4], row[i + 5], row[i + 6], row[i + 7]
        i += 8
        while i + 8 <= end:
            a, b, c, d = a + row[i], b + row[i + 1], c + row[i + 2], d + row[i + 3]
            e, f, g, h = e + row[i + 4], f + row[i + 5], g + row[i + 6], h + row[i + 7]
            i += 8
        total = ((a + b) + (c + d)) + ((e + f) + (g + h))
    while i < end:
        total += row[i]
        i += 1
    return total


def _predict(means: Row, units: Row, rho: float, total_units: float, excess: float, places: Row) -> None:
    """Replace p and q, the first 2 M of ``means`` [4 M], by ``betting.null_means``, c and d.

    The rest of ``means``, and ``places`` [4 M], are for intermediate results.
    """
    size = len(units)
    for m in range(size):
        p, q = means[m], means[size + m]
        places[m], places[size + m] = p * (1.0 - p), q * (1.0 - q)
        places[2 * size + m] = units[m] * (p - q)
    spread_j, spread_k = add_up(places, 0, size) / rho, add_up(places, size, size)
    h = spread_j / (spread_j + spread_k)
    rest = 1.0 - h
    x = (add_up(places, 2 * size, size) + excess) / total_units
    for m in range(size):
        c, d = means[m] - h * x, means[size + m] + rest * x
        if c < LEAST or d < LEAST or c > MOST or d > MOST:
            x = _find_clipped_root(means, units, h, excess, places)
            break
    for m in range(size):
        means[m], means[size + m] = _clip(means[m] - x * h), _clip(means[size + m] + x * rest)


def _clip(mean: float) -> float:
    return min(max(mean, LEAST), MOST)


def _find_clipped_root(means: Row, units: Row, h: float, excess: float, places: Row) -> float:
    """As in ``betting``: the difference is linear between two places where clipping starts or stops."""
    size, rest = len(units), 1.0 - h
    for m in range(size):
        places[m], places[size + m] = (LEAST - means[m]) / -h, (MOST - means[m]) / -h
        places[2 * size + m], places[3 * size + m] = (LEAST - means[size + m]) / rest, (MOST - means[size + m]) / rest
    _sort(places)
    low, high = 0, 4 * size - 1
    while high - low > 1:
        middle = (low + high) // 2
        if _difference(means, units, h, places[middle]) + excess > 0.0:
            low = middle
        else:
            high = middle
    left, right = places[low], places[high]
    up, down = _difference(means, units, h, left) + excess, _difference(means, units, h, right) + excess
    return min(left + (right - left) * (up / (up - down)), FARTHEST)  # type: ignore[no-any-return]


def _difference(means: Row, units: Row, h: float, x: float) -> float:
    """Return sum u c - sum u d for p and q in ``means``."""
    size, rest = len(units), 1.0 - h
    for m in range(size):
        means[2 * size + m] = (_clip(means[m] - x * h) - _clip(means[size + m] + x * rest)) * units[m]
    return add_up(means, 2 * size, size)


def _sort(row: Row) -> None:
    """Sort a row of few numbers in place; numba could sort it otherwise only with a list of its own."""
    for place in range(1, len(row)):
        value, left = row[place], place
        while left > 0 and row[left - 1] > value:
            row[left] = row[left - 1]
            left -= 1
        row[left] = value
