"""The data shown is old, because the server has not updated it."""

from dataclasses import dataclass

from tutelage.service.monitoring.campaign_view import CampaignView
from tutelage.service.monitoring.status.kind import StatusItem, status_kind
from tutelage.service.settings_field import setting
from tutelage.text import format_duration


@dataclass(frozen=True, kw_only=True)
class AgeThresholds:
    """When a view counts as out of date."""

    outdated_seconds: float = setting(
        5.0,
        minimum=2,
        metavar="SECONDS",
        help="Mark the data of a page out of date when it is older than this many seconds.",
    )


@status_kind("outdated", gauge="the metrics of the campaign are older than --outdated-seconds")
def outdated(view: CampaignView, thresholds: AgeThresholds) -> StatusItem | None:
    """Compare the age of the metrics with the threshold.

    Warning: The page received no response for 5 s, or the server did not update the campaign's data for 5
    s.
    Action: The page says how old its data is. Check whether the server is overloaded or has stopped.
    """
    age = view.now - view.measured
    if age <= thresholds.outdated_seconds:
        return None
    return outdated.item(
        "warning",
        "This data is out of date.",
        f"The server last updated it {format_duration(age)} ago.",
        "Check whether the server is overloaded or has stopped.",
    )


def describe_unreachable(reason: str) -> StatusItem:
    """The item of a campaign for which there is no data at the moment."""
    return outdated.item(
        "warning", "No data available at the moment.", reason, "It will appear once the server answers."
    )
