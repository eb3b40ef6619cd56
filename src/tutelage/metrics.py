"""Regret, cost and what is said about many runs of them.

Shapes: R runs, M clients, C checkpoints, K arms.  A sum over arms or clients is taken in their order, so that
the same pulls give the same last digit everywhere.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


def pseudo_regret(pulls: NDArray[np.integer[Any]], gaps: NDArray[np.float64]) -> NDArray[np.float64]:
    """sum_k N_k Delta_k, [...] from pulls [..., K] and gaps [K], arms in order.

    Shi et al.'s regret, the expectation over rewards taken: it is 0 for a client that only pulls the best
    arm, however unlucky its rewards were.
    """
    regret = np.zeros(pulls.shape[:-1])
    for arm, gap in enumerate(gaps.tolist()):
        regret += pulls[..., arm] * gap
    return regret


def phased_regret(
    pulls: NDArray[np.integer[Any]],
    rounds: NDArray[np.int64],
    phases: Sequence[tuple[int, NDArray[np.float64]]],
) -> NDArray[np.float64]:
    """Pseudo-regret [..., C] where the gaps change: each pull counts with the gaps of its own phase.

    ``pulls`` [..., C, K] are those up to each of the ``rounds`` [C]; ``phases`` are (after, gaps [K]): from
    round after + 1 on these gaps hold.  Every ``after`` but the first, 0, must be among the rounds or
    beyond them.
    """
    regret = pseudo_regret(pulls, phases[0][1])
    for (_, before), (after, gaps) in itertools.pairwise(phases):
        start = int(np.searchsorted(rounds, after))
        if start < rounds.size:
            since = pulls[..., start:, :] - pulls[..., start : start + 1, :]
            regret[..., start:] += pseudo_regret(since, gaps) - pseudo_regret(since, before)
    return regret


def over_clients(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sum over the first axis, clients in order: [...] from [M, ...]."""
    total = np.zeros(values.shape[1:])
    for each in values:
        total += each
    return total


@dataclass(frozen=True)
class OverRuns:
    """One number a run, over all runs.

    ``q10`` to ``q90`` is the band called "80 % of runs": percentiles by linear interpolation, no confidence
    interval of the mean.  ``sd`` divides by R - 1 and is None for a single run.
    """

    mean: float
    sd: float | None
    q10: float
    q50: float
    q90: float


def over_runs(values: NDArray[np.float64]) -> OverRuns:
    """Mean, standard deviation and 10th, 50th and 90th percentile of values [R], R at least 1."""
    q10, q50, q90 = np.quantile(values, (0.1, 0.5, 0.9), method="linear").tolist()
    mean = math.fsum(values.tolist()) / values.size
    sd = float(values.std(ddof=1)) if values.size > 1 else None
    return OverRuns(mean, sd, q10, q50, q90)


def share_on(arms: tuple[int, ...], before: NDArray[Any], after: NDArray[Any]) -> float:
    """The share of the pulls between two states [..., K] that went to these arms; NaN without pulls."""
    made = after.astype(np.int64) - before
    total = int(made.sum())
    return float(made[..., list(arms)].sum()) / total if total else math.nan
