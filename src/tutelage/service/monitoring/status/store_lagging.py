"""The store is slow, or rejects writes."""

from dataclasses import dataclass

from tutelage.service.monitoring.campaign_view import CampaignView
from tutelage.service.monitoring.status.kind import StatusItem, status_kind
from tutelage.service.settings_field import setting
from tutelage.text import format_count


@dataclass(frozen=True, kw_only=True)
class LagThresholds:
    """When the store counts as slow."""

    lag_seconds: float = setting(
        0.25, above=0, metavar="SECONDS", help="Warn when the 99th-percentile commit time exceeds this many seconds."
    )
    lag_critical_seconds: float = setting(
        10.0,
        above=0,
        metavar="SECONDS",
        help="Report a critical problem when the 99th-percentile commit time exceeds this many seconds.",
    )
    waiting_pulls: int = setting(5_000, minimum=1, metavar="N", help="Warn when this many pulls wait to be stored.")


@status_kind(
    "store lagging",
    gauge="the database rejects writes, the 99th-percentile commit time is over --lag-seconds, or --waiting-pulls "
    "pulls wait",
)
def store_lagging(view: CampaignView, thresholds: LagThresholds) -> StatusItem | None:
    """Look at the last write failure, the commit times and the queue.

    Critical: The 99th-percentile commit time of the last 30 s is over 10 s, or the store rejects writes.
    Action: Free disk space or repair the database. Requests are refused until then; senders retry, or
    reveal the observed reward.

    Warning: The 99th-percentile commit time of the last 30 s is over 250 ms, or 5,000 pulls are waiting.
    Action: Check what else writes to that disk, or send larger batches.
    """
    server = view.server
    seconds = server.commit_seconds or 0.0
    if server.failure is not None:
        action = "Free disk space or repair the database. Clients' requests are refused until then."
        return store_lagging.item("critical", "The store rejects writes.", server.failure, action)
    if seconds <= thresholds.lag_seconds and server.waiting_pulls < thresholds.waiting_pulls:
        return None
    queue = f"; {format_count(server.waiting_pulls, 'pull')} waiting to be written" if server.waiting_pulls else ""
    return store_lagging.item(
        "critical" if seconds > thresholds.lag_critical_seconds else "warning",
        "The store is slow.",
        f"99th-percentile commit time in the last 30 s: {seconds * 1000:,.0f} ms{queue}.",
        "Check what else writes to this disk, or send larger batches.",
    )
