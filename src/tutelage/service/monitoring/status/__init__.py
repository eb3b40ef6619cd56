"""What an operator must know about a campaign: one file for each kind of status item, one line below.

The page, ``/metrics``, ``GET /v1/campaigns/NAME/status`` and ``tutelage campaign show`` show the same items.
"""

from dataclasses import dataclass

from tutelage.service.monitoring.campaign_view import CampaignView
from tutelage.service.monitoring.forecast import compute_forecast
from tutelage.service.monitoring.status.arm_avoided import ARM_AVOIDED, AvoidanceThresholds
from tutelage.service.monitoring.status.decided import DECIDED
from tutelage.service.monitoring.status.finished import FINISHED
from tutelage.service.monitoring.status.follower import FOLLOWER
from tutelage.service.monitoring.status.horizon_too_short import HORIZON_TOO_SHORT
from tutelage.service.monitoring.status.id_conflict import ID_CONFLICT
from tutelage.service.monitoring.status.kind import SEVERITIES, Severity, StatusItem, StatusKind
from tutelage.service.monitoring.status.learning import LEARNING
from tutelage.service.monitoring.status.no_data import NO_DATA, IdleThresholds
from tutelage.service.monitoring.status.outdated import OUTDATED, AgeThresholds
from tutelage.service.monitoring.status.registering import REGISTERING
from tutelage.service.monitoring.status.replays import REPLAYS, ReplayThresholds
from tutelage.service.monitoring.status.slow import SLOW, SlowThresholds
from tutelage.service.monitoring.status.stalled import STALLED
from tutelage.service.monitoring.status.stopped import STOPPED
from tutelage.service.monitoring.status.store_lagging import STORE_LAGGING, LagThresholds
from tutelage.service.monitoring.status.undecidable import UNDECIDABLE
from tutelage.service.monitoring.status.unservable import UNSERVABLE

__all__ = [
    "DEFAULTS",
    "KINDS",
    "SEVERITIES",
    "Severity",
    "StatusItem",
    "StatusKind",
    "Thresholds",
    "rank",
    "status_of",
]

# Within one severity the kinds are shown in this order.
KINDS: tuple[StatusKind, ...] = (
    UNSERVABLE,
    OUTDATED,
    STORE_LAGGING,
    HORIZON_TOO_SHORT,
    NO_DATA,
    STALLED,
    ARM_AVOIDED,
    ID_CONFLICT,
    SLOW,
    REPLAYS,
    UNDECIDABLE,
    FINISHED,
    STOPPED,
    FOLLOWER,
    DECIDED,
    LEARNING,
    REGISTERING,
)


@dataclass(frozen=True, kw_only=True)
class Thresholds(
    AgeThresholds, ReplayThresholds, IdleThresholds, LagThresholds, AvoidanceThresholds, SlowThresholds
):
    """The settings of the server that decide when a status item is shown."""


DEFAULTS = Thresholds()
_NAMES = tuple(kind.name for kind in KINDS)


def rank(item: StatusItem) -> tuple[int, int]:
    """The place of an item in a list, the most severe first."""
    return SEVERITIES.index(item.severity), _NAMES.index(item.kind)


def status_of(view: CampaignView, thresholds: Thresholds = DEFAULTS) -> list[StatusItem]:
    """The status items of a campaign, the most severe first; never empty."""
    forecast = compute_forecast(view)
    found = [item for kind in KINDS if (item := kind.check(view, forecast, thresholds)) is not None]
    found.sort(key=rank)
    blamed = {item.client for item in found if item.severity == "critical"}
    is_idle = any(item.kind in {NO_DATA.name, STALLED.name} and item.client is None for item in found)
    return [item for item in found if item.kind != SLOW.name or not (is_idle or item.client in blamed)]
