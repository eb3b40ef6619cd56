"""Another server leads the campaign."""

from tutelage.service.monitoring.campaign_view import CampaignView
from tutelage.service.monitoring.status.kind import StatusItem, status_kind
from tutelage.stores.address import without_password


@status_kind("follower", colour="blue")
def follower(view: CampaignView, thresholds: object) -> StatusItem | None:
    """Say who leads, and where the data comes from.

    Info: Another server leads this campaign.
    Action: Nothing. The data is read from the ledger; replays and conflicts are counted by the leader.
    """
    server = view.server
    if server.leads:
        return None
    who = f"It is led by {without_password(server.leader)}" if server.leader else "No server leads it at the moment"
    return follower.item(
        "info",
        "This server does not lead the campaign.",
        f"{who}. The data shown was read from the ledger; replays and conflicts are counted by the leader.",
    )
