"""A large share of the pulls that arrive had been answered before."""

from dataclasses import dataclass

from tutelage.service.monitoring.campaign_view import CampaignView
from tutelage.service.monitoring.status.kind import StatusItem, status_kind
from tutelage.service.settings_field import setting
from tutelage.text import format_percent, format_rough_duration


@dataclass(frozen=True, kw_only=True)
class ReplayThresholds:
    """When replays count as frequent."""

    replay_share: float = setting(
        0.05,
        minimum=0,
        maximum=1,
        metavar="SHARE",
        help="Warn when more than this share of the pulls, from 0 to 1, were sent before.",
    )
    replay_minimum: int = setting(
        20, minimum=1, metavar="N", help="Minimum number of repeated pulls before the server warns of them."
    )


@status_kind("replays", gauge="more than --replay-share of the pulls of the last five minutes had been sent before")
def replays(view: CampaignView, thresholds: ReplayThresholds) -> StatusItem | None:
    """Compare the replays of the last minutes with all pulls received.

    Warning: Over 5 % of the pulls of the last five minutes, and at least 20, had been answered before.
    Action: Responses reach the senders too late: check their timeouts and the network.
    """
    activity = view.activity
    received = activity.replays + int(activity.window_pulls.sum())
    if activity.replays < thresholds.replay_minimum:
        return None
    if activity.replays <= thresholds.replay_share * received:
        return None
    return replays.item(
        "warning",
        "Many pulls are sent more than once.",
        f"{format_percent(activity.replays / received)} of the pulls of the last "
        f"{format_rough_duration(activity.window_seconds)} had been answered before.",
        "Responses reach the senders too late: check their timeouts and the network.",
    )
