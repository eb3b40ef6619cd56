"""Rewards of different clients depend on each other, so the teacher's guarantee does not hold."""

from tutelage.service.monitoring.campaign_view import CampaignView
from tutelage.service.monitoring.status.kind import StatusItem, status_kind


@status_kind(
    "dependence",
    gauge="rewards of different clients rise and fall together, although the campaign assumes that they do not",
)
def dependence(view: CampaignView, thresholds: object) -> StatusItem | None:
    """Show what the test for dependence between clients has noticed.

    Warning: Rewards that different clients get at about the same time rise and fall together, or against each
    other, although the teacher assumes that they are independent. If they are and means are constant, this is
    shown with probability at most 0.1 %.
    Action: Do not rely on the error probability of the target. Create a campaign with a teacher that allows
    for dependence, as in `blt(dependence=any)`, and look for what clients share: load, weather, customers. See
    [dependence](dependence.md).
    """
    finding = view.dependence
    if finding is None or finding.noticed_after is None or finding.correlation is None:
        return None
    return dependence.item(
        "warning",
        "Rewards of different clients depend on each other.",
        f"Their mean correlation within a round is {finding.correlation:.2g}; it was noticed after "
        f"{finding.noticed_after:,} rounds. The error probability of the target assumes that they are independent.",
        "Create a campaign with a teacher that allows for dependence, as in blt(dependence=any), and look for what "
        "clients share: load, weather, customers.",
    )
