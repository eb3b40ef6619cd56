"""No client pulls, except excluded ones, so learning makes no progress."""

import math
from dataclasses import dataclass

from tutelage.service.monitoring.campaign_view import CampaignView
from tutelage.service.monitoring.status.kind import StatusItem, status_kind
from tutelage.service.settings_field import setting
from tutelage.text import format_duration

CHECK_PLATFORM = "Check whether the platform still sends its pulls to this server."


@dataclass(frozen=True, kw_only=True)
class IdleThresholds:
    """When data counts as missing."""

    idle_seconds: float = setting(
        120.0, above=0, metavar="SECONDS", help="Report missing data after this many seconds without a pull."
    )


@status_kind("no data", gauge="no client of the campaign has sent a pull for --idle-seconds")
def no_data(view: CampaignView, thresholds: IdleThresholds) -> StatusItem | None:
    """Compare the shortest silence of any client that is not excluded with the threshold.

    Critical: No client has pulled for 2 minutes, except excluded ones, and learning waits for pulls.
    Action: Check whether the platform still sends its pulls to this server.

    Warning: The same, while learning does not wait for pulls.
    Action: Check whether the platform still sends its pulls to this server.
    """
    metrics, silence = view.metrics, view.activity.silence
    if metrics.status != "running" or metrics.is_finished or view.at_round is not None:
        return None
    seconds = float(silence[metrics.is_evidence].min(initial=math.inf))
    if not thresholds.idle_seconds < seconds < math.inf:
        return None
    excluded_pull = (silence[~metrics.is_evidence] <= thresholds.idle_seconds).any()
    more = ", except excluded clients" if excluded_pull else ""
    return no_data.item(
        "critical" if metrics.missing.any() and metrics.is_learning else "warning",
        "No data.",
        f"No client has pulled an arm for {format_duration(seconds)}{more}.",
        CHECK_PLATFORM,
        silent_seconds=seconds,
    )
