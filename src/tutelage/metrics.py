"""Regret, and statistics of regret and cost over runs.

Shapes: R runs, M clients, C checkpoints, K arms.  Sums over arms and clients are added in index order, so the
same pulls give the same last digit everywhere.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tutelage.inference import interval_of_mean


def compute_pseudo_regret(pulls: NDArray[np.integer[Any]], gaps: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return sum_k N_k Delta_k, shape [...], from pulls [..., K] and gaps [K].

    This is the regret of Shi et al. with rewards replaced by their expectations: a client that pulls only
    the best arm has regret 0, whatever rewards it drew.
    """
    regret = np.zeros(pulls.shape[:-1])
    for arm, gap in enumerate(gaps.tolist()):
        regret += pulls[..., arm] * gap
    return regret


def compute_phased_regret(
    pulls: NDArray[np.integer[Any]], rounds: NDArray[np.int64], phases: Sequence[tuple[int, NDArray[np.float64]]]
) -> NDArray[np.float64]:
    """Return the pseudo-regret [..., C] of an instance whose gaps change between phases.

    ``pulls`` [..., C, K] are cumulative up to each of the ``rounds`` [C].  ``phases`` are pairs
    (after, gaps [K]); the gaps apply from round after + 1 on, and each pull is charged the gap of its own
    phase.  The first ``after`` is 0; every other one must be among the rounds or beyond the last.
    """
    regret = compute_pseudo_regret(pulls, phases[0][1])
    for (_, before), (after, gaps) in itertools.pairwise(phases):
        start = int(np.searchsorted(rounds, after))
        if start < rounds.size:
            since = pulls[..., start:, :] - pulls[..., start : start + 1, :]
            regret[..., start:] += compute_pseudo_regret(since, gaps) - compute_pseudo_regret(since, before)
    return regret


def sum_over_clients(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum over the first axis in client order: [...] from [M, ...]."""
    total = np.zeros(values.shape[1:])
    for each in values:
        total += each
    return total


@dataclass(frozen=True)
class RunStatistics:
    """Mean, standard deviation and percentiles of one quantity over runs.

    ``q10`` to ``q90`` are percentiles by linear interpolation; that range is called "80 % of runs".
    ``mean_low`` to ``mean_high`` is the 95 % confidence interval of the mean, by Student's t.  ``sd`` divides by
    R - 1.  A single run has neither sd nor interval (None).
    """

    mean: float
    sd: float | None
    q10: float
    q50: float
    q90: float
    mean_low: float | None
    mean_high: float | None

    @property
    def half_width(self) -> float | None:
        """Half the width of the confidence interval of the mean."""
        return None if self.mean_high is None else self.mean_high - self.mean


def summarize_runs(values: NDArray[np.float64]) -> RunStatistics:
    """Compute the statistics of values [R], R at least 1."""
    q10, q50, q90 = np.quantile(values, (0.1, 0.5, 0.9), method="linear").tolist()
    mean = math.fsum(values.tolist()) / values.size
    sd = float(values.std(ddof=1)) if values.size > 1 else None
    return RunStatistics(mean, sd, q10, q50, q90, *(interval_of_mean(values) or (None, None)))


def compute_pull_share(arms: tuple[int, ...], before: NDArray[Any], after: NDArray[Any]) -> float:
    """Return the share of the pulls between two cumulative counts [..., K] that went to these arms.

    NaN where there were no pulls.
    """
    new = after.astype(np.int64) - before
    total = int(new.sum())
    return float(new[..., list(arms)].sum()) / total if total else math.nan
