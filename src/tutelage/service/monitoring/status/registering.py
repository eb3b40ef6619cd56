"""The campaign has not started yet."""

from tutelage.service.monitoring.campaign_view import CampaignView
from tutelage.service.monitoring.forecast import Forecast
from tutelage.service.monitoring.status.commands import start_command
from tutelage.service.monitoring.status.kind import StatusCase, StatusItem, StatusKind
from tutelage.text import counted


def check_registering(view: CampaignView, forecast: Forecast, thresholds: object) -> StatusItem | None:
    """Count the clients so far."""
    metrics = view.metrics
    if metrics.phase != "registering":
        return None
    details = f"{counted(len(metrics.clients), 'client')} registered so far."
    return StatusItem("registering", "info", "Not started.", details, "To start it:", start_command(metrics))


REGISTERING = StatusKind(
    "registering",
    (
        StatusCase(
            "info",
            "The campaign has not started; clients can be registered.",
            "`tutelage campaign start` starts it.",
        ),
    ),
    check_registering,
)
