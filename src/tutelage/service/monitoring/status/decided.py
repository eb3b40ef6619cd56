"""The teacher has decided on a target.

Shapes: K arms.
"""

import numpy as np

from tutelage.service.monitoring.campaign_view import CampaignView
from tutelage.service.monitoring.status.kind import StatusItem, status_kind
from tutelage.text import format_name, format_percent


@status_kind("decided", colour="green")
def decided(view: CampaignView, thresholds: object) -> StatusItem | None:
    """Say when, by which bounds, with which error probability, and where the evidence is.

    Info: There is a target.
    Action: Nothing. The message gives the round, the bounds, the error probability, the position of the
    evidence in the ledger, and the target's share of the pulls since.
    """
    metrics, decision = view.metrics, view.ledger.decision
    target = metrics.target
    if metrics.phase != "decided" or target is None:
        return None
    when = f"In round {decision.round:,}, consultation {decision.directive}" if decision else "From the start"
    parts = [f"{when}{_describe_bounds(view, target)}.", metrics.error_bound]
    if decision is not None:
        made = sum(decision.pulls_since or ())
        if decision.pulls_since and made:
            share = format_percent(decision.pulls_since[target] / made)
            parts.append(f"Since then {share} of all pulls went to the target.")
        parts.append(f"The evidence is at position {decision.position:,} of the ledger.")
    title = f"Decided on “{format_name(metrics.arms[target])}”."
    return decided.item("info", title, " ".join(filter(None, parts)), arm=target)


def _describe_bounds(view: CampaignView, target: int) -> str:
    metrics = view.metrics
    lower, others = metrics.lower[target], np.delete(metrics.upper, target)
    if np.isfinite(lower) and np.isfinite(others).any():
        return (
            f": its mean is at least {metrics.to_reward(lower):.3f}, that of every other arm then active at "
            f"most {metrics.to_reward(float(np.nanmax(others))):.3f}"
        )
    if np.isfinite(np.delete(metrics.arm_evidence, target)).any():
        return ": the evidence against every other arm has reached its threshold"
    return ""
