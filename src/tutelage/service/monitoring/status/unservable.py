"""The server cannot load the campaign, and therefore has no view of it."""

from tutelage.service.monitoring.campaign_view import CampaignView
from tutelage.service.monitoring.status.kind import StatusItem, status_kind


def describe_unservable(name: str, reason: str) -> StatusItem:
    """The item of a campaign that this release cannot load, or whose ledger is damaged."""
    return unservable.item(
        "critical",
        "This campaign cannot be served.",
        reason,
        "If it was created by another release, use that release; otherwise restore a backup. "
        "To find where the ledger is damaged:",
        f"tutelage ledger verify {name}",
    )


@status_kind(
    "cannot be served", gauge="the server cannot load the campaign: another release made it, or its data is damaged"
)
def unservable(view: CampaignView, thresholds: object) -> None:
    """It does not follow from a campaign's view.

    Critical: This release does not have the rules under which the campaign was created, or its settings
    or its ledger cannot be read.
    Action: The page gives the reason. Use the release that created the campaign, or restore a
    [backup](operating.md#backup-and-restore); `tutelage ledger verify` says where a ledger is damaged.
    The server tries again once a minute; other campaigns are not affected.
    """
