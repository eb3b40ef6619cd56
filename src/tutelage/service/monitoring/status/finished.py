"""Every client has reached the horizon."""

from tutelage.service.monitoring.campaign_view import CampaignView
from tutelage.service.monitoring.status.kind import StatusItem, status_kind
from tutelage.text import format_name


@status_kind("finished", colour="grey")
def finished(view: CampaignView, thresholds: object) -> StatusItem | None:
    """Say how the campaign ended.

    Info: Every client that is not excluded has reached the horizon.
    Action: Nothing. Pulls are answered with the observed reward, and counted separately.
    """
    metrics = view.metrics
    if metrics.phase != "finished":
        return None
    if metrics.target is not None:
        end = f"it ended with a decision on “{format_name(metrics.arms[metrics.target])}”"
    elif metrics.provisional_arm is not None:
        arm = format_name(metrics.arms[metrics.provisional_arm])
        end = f"it ended without a decision, and clients were led to “{arm}”, which is not proven best"
    else:
        end = "it ended without a decision"
    details = f"All clients have made {metrics.horizon:,} pulls; {end}."
    return finished.item("info", "Finished.", details)
