"""When the quota will be met, and which pairs keep it from being met, at the rates of the last minutes.

Shapes: M clients, K arms.
"""

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tutelage.service.monitoring.campaign_view import Array, CampaignView, Metrics

Flags = NDArray[np.bool_]
MINIMUM_SECONDS = 10.0  # of recorded activity before anything is forecast


@dataclass(frozen=True, eq=False)
class Forecast:
    """Time and rounds until the quota is met: inf where a pair makes no pulls, NaN where nothing is known.

    ``client_seconds`` [M] is the time until each client has met the quota, ``seconds`` until all have;
    ``slowest_arms`` [M] are the arms that take each client that long.
    ``rounds`` [M] is each client's round by then.
    """

    client_seconds: Array
    seconds: float
    rounds: Array
    slowest_arms: NDArray[np.int64]


@functools.lru_cache(1)  # several status items ask for that of one view
def compute_forecast(view: CampaignView) -> Forecast:
    """Extrapolate the pulls of the last minutes."""
    metrics, activity = view.metrics, view.activity
    if activity.window_seconds < MINIMUM_SECONDS or not metrics.missing.any():
        rounds: Array = metrics.rounds.astype(np.float64)
        nothing: Array = np.full(len(metrics.clients), np.nan if metrics.missing.any() else 0.0)
        unknown = metrics.missing.argmax(axis=1)
        return Forecast(nothing, float(nothing[0]) if nothing.size else np.nan, nothing + rounds, unknown)
    pulls = activity.window_pulls
    with np.errstate(divide="ignore", invalid="ignore"):
        seconds = np.where(metrics.missing > 0, metrics.missing / (pulls / activity.window_seconds), 0.0)
        share = pulls / pulls.sum(axis=1, keepdims=True)
        needs: Array = np.where(metrics.missing > 0, metrics.missing / share, 0.0)
    if metrics.mode == "any":
        arm = min(np.flatnonzero(metrics.in_quota), key=lambda arm: float(seconds[:, arm].max()))
        by_client, needed = seconds[:, arm], needs[:, arm]
        slowest = np.full(len(by_client), arm, dtype=np.int64)
    else:
        by_client, needed = seconds.max(axis=1), needs.max(axis=1)
        slowest = seconds.argmax(axis=1)
    final_rounds: Array = needed + metrics.rounds
    return Forecast(by_client, float(by_client.max()), final_rounds, slowest)


def is_blocked(metrics: Metrics, blocked: Flags) -> bool:
    """Whether the quota cannot be met as long as these pairs [M, K] make no pulls.

    A quota for ``all`` arms counts as blocked only once nothing else is missing: until then it waits for the
    other pairs as well.
    """
    stuck: Flags = (metrics.missing > 0) & blocked
    if metrics.mode == "any":
        by_arm: Flags = np.any(stuck, axis=0)
        return bool(by_arm[metrics.in_quota].all()) and bool(metrics.in_quota.any())
    return bool(stuck.any()) and not bool(((metrics.missing > 0) & ~blocked).any())
