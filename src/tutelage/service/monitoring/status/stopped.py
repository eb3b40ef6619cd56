"""An operator has stopped the campaign."""

from tutelage.service.monitoring.campaign_view import CampaignView
from tutelage.service.monitoring.forecast import Forecast
from tutelage.service.monitoring.status.commands import start_command
from tutelage.service.monitoring.status.kind import StatusCase, StatusItem, StatusKind


def check_stopped(view: CampaignView, forecast: Forecast, thresholds: object) -> StatusItem | None:
    """Show how to continue."""
    metrics = view.metrics
    if metrics.phase != "stopped":
        return None
    return StatusItem(
        "stopped",
        "info",
        "Stopped.",
        "New pulls are refused.",
        "To continue it:",
        start_command(metrics),
        info_colour="grey",
    )


STOPPED = StatusKind(
    "stopped",
    (StatusCase("info", "An operator stopped the campaign.", "`tutelage campaign start` continues it."),),
    check_stopped,
)
