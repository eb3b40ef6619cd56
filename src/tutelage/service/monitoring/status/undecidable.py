"""The teacher expects no decision before the horizon, and leads clients to the best arm so far."""

from tutelage.service.monitoring.campaign_view import CampaignView
from tutelage.service.monitoring.status.kind import StatusItem, status_kind
from tutelage.text import format_count, format_name


@status_kind(
    "undecidable",
    gauge="the server expects no decision before the campaign's planned end and leads all clients to the "
    "best arm so far",
)
def undecidable(view: CampaignView, thresholds: object) -> StatusItem | None:
    """Name the arm that clients are led to.

    Warning: The teacher expects no decision before the horizon and leads all clients to the best arm so
    far, as `blt` does when arms are nearly equal.
    Action: Nothing, if that arm is good enough; it is not proven to be the best. For a proven one,
    create a campaign with a longer horizon, fewer arms or, with `blt`, a tolerance.
    """
    metrics = view.metrics
    if metrics.phase != "undecidable" or metrics.provisional_arm is None:
        return None
    arm = f"“{format_name(metrics.arms[metrics.provisional_arm])}”"
    arms = format_count(len(metrics.active_arms), "arm")
    return undecidable.item(
        "warning",
        f"No decision expected; clients are led to {arm}, which is not proven best.",
        f"The teacher does not expect to tell the {arms} that are still active apart "
        f"by round {metrics.horizon:,}. It leads all clients to {arm}, the best arm so far, without a "
        "guarantee.",
        "Nothing, if that arm is good enough. For a proven one, create a campaign with a longer horizon, "
        "fewer arms or, with blt, a tolerance.",
    )
