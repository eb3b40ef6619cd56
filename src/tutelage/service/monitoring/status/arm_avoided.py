"""A client pulls, but never an arm that the next consultation needs."""

from dataclasses import dataclass

import numpy as np

from tutelage.service.monitoring.campaign_view import CampaignView
from tutelage.service.monitoring.forecast import Flags, is_blocked
from tutelage.service.monitoring.status.commands import exclude_action
from tutelage.service.monitoring.status.kind import StatusItem, describe_others, status_kind
from tutelage.service.monitoring.status.stalled import SilenceThresholds, find_silent_clients
from tutelage.service.settings_field import setting
from tutelage.text import format_count, format_name, format_rough_duration


@dataclass(frozen=True, kw_only=True)
class AvoidanceThresholds(SilenceThresholds):
    """When an arm counts as avoided."""

    avoided_pulls: int = setting(
        20,
        minimum=1,
        metavar="N",
        help="Report an avoided arm after this many pulls of a client per required arm, none of them of that arm.",
    )


@status_kind("arm avoided", gauge="a client pulls often but never chooses an arm (option) that it has to try")
def arm_avoided(view: CampaignView, thresholds: AvoidanceThresholds) -> StatusItem | None:
    """Name the client-arm pair with the largest number of missing pulls.

    Critical: A client made 20 pulls per required arm in the last five minutes, and none of one required
    arm.
    Action: Find out why the client cannot pull that arm, or exclude the client.
    """
    metrics = view.metrics
    avoided = _find_avoided(view, thresholds) & ~find_silent_clients(view, thresholds)[:, None]
    if not metrics.is_learning or not avoided.any():
        return None
    if metrics.mode == "any" and not is_blocked(metrics, avoided):
        return None
    client, arm = divmod(int(np.where(avoided, metrics.missing, -1).argmax()), len(metrics.arms))
    others = describe_others(int(avoided.sum()) - 1, "other client-arm pair")
    name = format_name(metrics.clients[client])
    action, command = exclude_action(metrics, client, f"Find out why {name} does not pull it")
    if metrics.is_evidence.sum() > 1 and avoided[metrics.is_evidence, arm].all():
        action, command = "All clients avoid this arm, so excluding one does not help: find out why.", ""
    return arm_avoided.item(
        "critical",
        f"{name} never pulls “{format_name(metrics.arms[arm])}”.",
        f"It made {format_count(int(view.activity.window_pulls[client].sum()), 'pull')} in the last "
        f"{format_rough_duration(view.activity.window_seconds)}, none of them of this arm; consultation "
        f"{metrics.directive} needs {int(metrics.missing[client, arm]):,} of it.{others and f' {others}.'}",
        action,
        command,
        client,
        arm=arm,
    )


def _find_avoided(view: CampaignView, thresholds: AvoidanceThresholds) -> Flags:
    """The pairs [M, K] of a client that pulls and an arm that is required of it and that it never pulls."""
    metrics, window = view.metrics, view.activity.window_pulls
    enough = thresholds.avoided_pulls * max(int(metrics.in_quota.sum()), 1)
    avoided: Flags = (window == 0) & (window.sum(axis=1) >= enough)[:, None] & (metrics.missing > 0)
    return avoided
