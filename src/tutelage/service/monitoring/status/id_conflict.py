"""A pull id arrived twice with different content."""

from tutelage.service.monitoring.campaign_view import CampaignView
from tutelage.service.monitoring.status.kind import StatusItem, status_kind
from tutelage.text import format_count, format_rough_duration


@status_kind(
    "id conflict", gauge="a request of the last five minutes reused the id of a stored pull with other content"
)
def id_conflict(view: CampaignView, thresholds: object) -> StatusItem | None:
    """Count the refused requests of the last minutes.

    Critical: In the last five minutes a request reused a stored pull id with a different client, arm or
    reward.
    Action: The request was refused. Either two senders generate the same ids, or a sender changes a pull
    when it retries: fix that sender.
    """
    activity = view.activity
    if not activity.conflicts:
        return None
    requests, time = (format_count(activity.conflicts, "request"), format_rough_duration(activity.window_seconds))
    return id_conflict.item(
        "critical",
        "A pull id was reused with different content.",
        f"{requests} in the last {time} reused a stored id with a different client, arm or reward.",
        "Either two senders generate the same ids, or a sender changes a pull when it retries: fix that sender.",
    )
