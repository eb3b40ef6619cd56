"""The campaign has not started yet."""

from tutelage.service.monitoring.campaign_view import CampaignView
from tutelage.service.monitoring.status.commands import start_command
from tutelage.service.monitoring.status.kind import StatusItem, status_kind
from tutelage.text import format_count


@status_kind("registering")
def registering(view: CampaignView, thresholds: object) -> StatusItem | None:
    """Count the clients so far.

    Info: The campaign has not started; clients can be registered.
    Action: `tutelage campaign start` starts it.
    """
    metrics = view.metrics
    if metrics.phase != "registering":
        return None
    details = f"{format_count(len(metrics.clients), 'client')} registered so far."
    return registering.item("info", "Not started.", details, "To start it:", start_command(metrics))
