"""Which clients are silent, and whether the quota waits for them only.

Shapes: M clients, K arms.
"""

from dataclasses import dataclass

import numpy as np

from tutelage.service.monitoring.campaign_view import CampaignView
from tutelage.service.monitoring.forecast import Flags, is_blocked
from tutelage.service.settings_field import setting


@dataclass(frozen=True, kw_only=True)
class SilenceThresholds:
    """When a client counts as silent."""

    stalled_intervals: float = setting(
        20.0,
        above=0,
        metavar="TIMES",
        help="Count a client as silent after this many times its usual interval between pulls.",
    )
    stalled_seconds: float = setting(
        60.0, minimum=0, metavar="SECONDS", help="Minimum silence, in seconds, before a client counts as silent."
    )


def find_silent_clients(view: CampaignView, thresholds: SilenceThresholds) -> Flags:
    """The clients [M], without excluded ones, that have been silent for too long to wait for."""
    activity = view.activity
    limit = np.fmax(thresholds.stalled_seconds, thresholds.stalled_intervals * activity.usual_interval)
    silent: Flags = (activity.silence > limit) & view.metrics.is_evidence
    return silent


def waits_for_silent_clients(view: CampaignView, thresholds: SilenceThresholds) -> bool:
    """Whether the quota cannot be met unless clients that have fallen silent pull again."""
    silent = find_silent_clients(view, thresholds)
    return is_blocked(view.metrics, np.broadcast_to(silent[:, None], view.metrics.missing.shape))
