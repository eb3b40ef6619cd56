"""When a quota will be full, and who keeps it from filling, if clients go on as they did of late.

Shapes: M clients, K arms.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tutelage.service.monitoring.figures import Array, Figures, Taken

Flags = NDArray[np.bool_]
LEAST_SPAN = 10.0  # seconds that must have been seen before anything is foretold


@dataclass(frozen=True, eq=False)
class Forecast:
    """Seconds and pulls that are still needed: inf where a pair makes none, NaN where nothing is known.

    ``client_seconds`` [M] is when each client has met the quota; ``seconds`` when all have.
    ``rounds`` [M] is each client's round by then.
    """

    client_seconds: Array
    seconds: float
    rounds: Array


def foretell(figures: Figures) -> Forecast:
    """The forecast from the pulls of the window."""
    taken, recent = figures.taken, figures.recent
    if recent.span < LEAST_SPAN or not taken.missing.any():
        rounds: Array = taken.rounds.astype(np.float64)
        nothing: Array = np.full(len(taken.clients), np.nan if taken.missing.any() else 0.0)
        return Forecast(nothing, float(nothing[0]) if nothing.size else np.nan, nothing + rounds)
    with np.errstate(divide="ignore", invalid="ignore"):
        seconds = np.where(taken.missing > 0, taken.missing / (recent.window / recent.span), 0.0)
        share = recent.window / recent.window.sum(axis=1, keepdims=True)
        needs: Array = np.where(taken.missing > 0, taken.missing / share, 0.0)
    if taken.mode == "any":
        arm = min(np.flatnonzero(taken.listed), key=lambda arm: float(seconds[:, arm].max()))
        by_client, needed = seconds[:, arm], needs[:, arm]
    else:
        by_client, needed = seconds.max(axis=1), needs.max(axis=1)
    by_then: Array = needed + taken.rounds
    return Forecast(by_client, float(by_client.max()), by_then)


def is_blocked(taken: Taken, blocked: Flags) -> bool:
    """Whether a quota cannot fill while these pairs [M, K] make no pulls, and all others make all they can.

    Of a quota for ``all`` listed arms it is also asked that nothing else is missing: until then the others
    are what is waited for.
    """
    stuck: Flags = (taken.missing > 0) & blocked
    if taken.mode == "any":
        by_arm: Flags = np.any(stuck, axis=0)
        return bool(by_arm[taken.listed].all()) and bool(taken.listed.any())
    return bool(stuck.any()) and not bool(((taken.missing > 0) & ~blocked).any())
