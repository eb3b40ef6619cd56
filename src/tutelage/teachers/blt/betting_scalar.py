"""The bets of ``betting.py`` in plain floats, which are faster than arrays for few clients and pairs.

Nearly always only one or two pairs have a step.  Both give the same result, bit for bit
(tests/teachers/blt/test_betting_scalar.py): numpy adds fewer than eight numbers one after the other.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from tutelage.teachers.blt.betting import FARTHEST, LEAST, MOST, Array, Bets, excess_of

MOST_CLIENTS = 7  # numpy adds more of them in another order
MOST_TERMS = 30  # pairs times clients; above it arrays are faster

Row = Sequence[float]


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
    units, (up_j, up_k) = bets.listed
    moves: list[float] = []
    times: list[float] = []
    for step in steps:
        p = [(total + 0.5) / (step.pulls_j + 1.0) for total in step.before_j]
        q = [(total + 0.5) / (step.pulls_k + 1.0) for total in step.before_k]
        c, d = null_means_of_pair(p, q, units, bets, excess)
        lost_j = [mean * -up for mean, up in zip(c, up_j, strict=True)]
        lost_k = [mean * -up for mean, up in zip(d, up_k, strict=True)]
        moves += [lost + up for lost, up in zip(lost_j, up_j, strict=True)]
        moves += [lost + up for lost, up in zip(lost_k, up_k, strict=True)]
        moves += lost_j
        moves += lost_k
        won_j = [after - before for after, before in zip(step.after_j, step.before_j, strict=True)]
        won_k = [after - before for after, before in zip(step.after_k, step.before_k, strict=True)]
        times += won_j
        times += won_k
        times += [step.length_j - won for won in won_j]
        times += [step.length_k - won for won in won_k]
    shape = (len(steps), 1, 4 * len(units))
    logs = np.array(moves).reshape(shape) * bets.stakes
    np.log1p(logs, out=logs)
    logs *= np.array(times).reshape(shape)
    if bets.exponents is not None:
        logs *= bets.exponents
    return np.add.reduce(logs, axis=2)  # type: ignore[no-any-return]


def null_means_of_pair(p: Row, q: Row, units: Row, bets: Bets, excess: float) -> tuple[Row, Row]:
    """Compute ``betting.null_means`` for one pair: c and d, [M] each."""
    spread_j = spread_k = lead = 0.0
    for unit, one, other in zip(units, p, q, strict=True):
        spread_j += one * (1.0 - one)
        spread_k += other * (1.0 - other)
        lead += unit * (one - other)
    spread_j /= bets.rho
    h = spread_j / (spread_j + spread_k)
    rest = 1.0 - h
    x = (lead + excess) / bets.total_units
    c, d = [one - h * x for one in p], [other + rest * x for other in q]
    if min(c) < LEAST or min(d) < LEAST or max(c) > MOST or max(d) > MOST:
        return _clipped(p, q, units, h, excess)
    return c, d


def _clipped(p: Row, q: Row, units: Row, h: float, excess: float) -> tuple[Row, Row]:
    """As in ``betting``: the difference is linear between two places where clipping starts or stops."""
    rest = 1.0 - h
    places = sorted(
        [(edge - one) / -h for edge in (LEAST, MOST) for one in p]
        + [(edge - other) / rest for edge in (LEAST, MOST) for other in q]
    )

    def difference(x: float) -> float:
        total = 0.0
        for unit, one, other in zip(units, p, q, strict=True):
            c, d = one - x * h, other + x * rest
            c = LEAST if c < LEAST else min(c, MOST)
            d = LEAST if d < LEAST else min(d, MOST)
            total += (c - d) * unit
        return total + excess

    left, right = _around_root(places, difference)
    up, down = difference(left), difference(right)
    x = min(left + (right - left) * (up / (up - down)), FARTHEST)
    return ([min(max(one - x * h, LEAST), MOST) for one in p], [min(max(other + x * rest, LEAST), MOST) for other in q])


def _around_root(places: Row, difference: Callable[[float], float]) -> tuple[float, float]:
    low, high = 0, len(places) - 1
    while high - low > 1:
        middle = (low + high) // 2
        if difference(places[middle]) > 0.0:
            low = middle
        else:
            high = middle
    return places[low], places[high]
