"""The teacher expects no decision before the horizon, and leads clients to the best arm so far."""

from tutelage.service.display import format_name
from tutelage.service.monitoring.campaign_view import CampaignView
from tutelage.service.monitoring.forecast import Forecast
from tutelage.service.monitoring.status.kind import StatusCase, StatusItem, StatusKind
from tutelage.text import counted

_OPTIONS = "a longer horizon, fewer arms or, with `blt`, a tolerance"


def check_undecidable(view: CampaignView, forecast: Forecast, thresholds: object) -> StatusItem | None:
    """Name the arm that clients are led to."""
    metrics = view.metrics
    if metrics.phase != "undecidable" or metrics.provisional_arm is None:
        return None
    arm = f"“{format_name(metrics.arms[metrics.provisional_arm])}”"
    return StatusItem(
        "undecidable",
        "warning",
        f"No decision expected; clients are led to {arm}, which is not proven best.",
        f"The teacher does not expect to tell the {counted(len(metrics.active_arms), 'arm')} in play apart "
        f"by round {metrics.horizon:,}. It leads all clients to {arm}, the best arm so far, without a "
        f"guarantee.",
        f"Nothing, if that arm is good enough. For a proven one, create a campaign with "
        f"{_OPTIONS.replace('`', '')}.",
    )


UNDECIDABLE = StatusKind(
    "undecidable",
    (
        StatusCase(
            "warning",
            "The teacher expects no decision before the horizon and leads all clients to the best arm so "
            "far, as `blt` does when arms are nearly equal.",
            "Nothing, if that arm is good enough; it is not proven to be the best. For a proven one, "
            f"create a campaign with {_OPTIONS}.",
        ),
    ),
    check_undecidable,
)
