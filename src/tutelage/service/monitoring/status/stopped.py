"""An operator has stopped the campaign."""

from tutelage.service.monitoring.campaign_view import CampaignView
from tutelage.service.monitoring.status.commands import start_command
from tutelage.service.monitoring.status.kind import StatusItem, status_kind


@status_kind("stopped", colour="grey")
def stopped(view: CampaignView, thresholds: object) -> StatusItem | None:
    """Show how to continue.

    Info: An operator stopped the campaign.
    Action: `tutelage campaign start` continues it.
    """
    metrics = view.metrics
    if metrics.phase != "stopped":
        return None
    command = start_command(metrics)
    return stopped.item("info", "Stopped.", "New pulls are refused.", "To continue it:", command)
