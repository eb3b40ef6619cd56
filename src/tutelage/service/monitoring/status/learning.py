"""The campaign is running and has not decided yet."""

import math

from tutelage.service.monitoring.campaign_view import CampaignView
from tutelage.service.monitoring.forecast import compute_forecast
from tutelage.service.monitoring.status.kind import StatusItem, describe_deciding_pair, status_kind
from tutelage.service.monitoring.status.stalled import SilenceThresholds, waits_for_silent_clients
from tutelage.text import format_rough_duration


@status_kind("learning")
def learning(view: CampaignView, thresholds: SilenceThresholds) -> StatusItem | None:
    """Say which client and arm the next consultation waits for most, and when the quota will be met.

    Info: The campaign collects pulls for the next consultation of the teacher.
    Action: Nothing. The message says when the quota will be met at the current rate.
    """
    metrics = view.metrics
    if metrics.phase != "learning":
        return None
    if not metrics.missing.any():
        return learning.item("info", "Running.", f"Teacher: {metrics.sentence}.")
    details = describe_deciding_pair(metrics)
    seconds = compute_forecast(view).seconds
    if math.isfinite(seconds) and not waits_for_silent_clients(view, thresholds):
        details += (
            f"; the rest will take {format_rough_duration(seconds)} at the rate of the last "
            f"{format_rough_duration(view.activity.window_seconds)}"
        )
    client, arm = metrics.deciding_pair or (None, None)
    return learning.item("info", "Learning.", f"{details}.", client=client, arm=arm)
