"""What an operator must know about a campaign: one file for each kind of status item, one line below.

The page, ``/metrics``, ``GET /v1/campaigns/NAME/status`` and ``tutelage campaign show`` show the same items.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from tutelage.service.monitoring.campaign_view import CampaignView
from tutelage.service.monitoring.status.arm_avoided import AvoidanceThresholds, arm_avoided
from tutelage.service.monitoring.status.decided import decided
from tutelage.service.monitoring.status.dependence import dependence
from tutelage.service.monitoring.status.finished import finished
from tutelage.service.monitoring.status.follower import follower
from tutelage.service.monitoring.status.horizon_too_short import horizon_too_short
from tutelage.service.monitoring.status.id_conflict import id_conflict
from tutelage.service.monitoring.status.kind import SEVERITIES, Severity, StatusItem, StatusKind
from tutelage.service.monitoring.status.learning import learning
from tutelage.service.monitoring.status.no_data import IdleThresholds, no_data
from tutelage.service.monitoring.status.outdated import AgeThresholds, outdated
from tutelage.service.monitoring.status.registering import registering
from tutelage.service.monitoring.status.replays import ReplayThresholds, replays
from tutelage.service.monitoring.status.slow import SlowThresholds, slow
from tutelage.service.monitoring.status.stalled import stalled
from tutelage.service.monitoring.status.stopped import stopped
from tutelage.service.monitoring.status.store_lagging import LagThresholds, store_lagging
from tutelage.service.monitoring.status.undecidable import undecidable
from tutelage.service.monitoring.status.unservable import unservable
from tutelage.text import name_place

__all__ = [
    "DEFAULTS",
    "KINDS",
    "SEVERITIES",
    "Severity",
    "StatusItem",
    "StatusKind",
    "Thresholds",
    "alerts_of",
    "find_worst",
    "rank",
    "status_of",
]

# Within one severity the kinds are shown in this order.
KINDS: tuple[StatusKind, ...] = (
    unservable,
    outdated,
    store_lagging,
    horizon_too_short,
    no_data,
    stalled,
    arm_avoided,
    id_conflict,
    slow,
    replays,
    dependence,
    undecidable,
    finished,
    stopped,
    follower,
    decided,
    learning,
    registering,
)


@dataclass(frozen=True, kw_only=True)
class Thresholds(AgeThresholds, ReplayThresholds, IdleThresholds, LagThresholds, AvoidanceThresholds, SlowThresholds):
    """The settings of the server that decide when a status item is shown."""


DEFAULTS = Thresholds()
_NAMES = tuple(kind.name for kind in KINDS)
_ALERT_KINDS = tuple(kind for kind in KINDS if kind.is_alert)
# Kinds that are only effects of another: one cause is one item.
_EFFECTS = {no_data.name: frozenset({stalled.name, slow.name})}
_EFFECTS_OF_FAILURE = frozenset({no_data.name, stalled.name, slow.name, arm_avoided.name})  # of the store


def rank(item: StatusItem) -> tuple[int, int]:
    """The place of an item in a list, the most severe first."""
    return SEVERITIES.index(item.severity), _NAMES.index(item.kind)


def status_of(view: CampaignView, thresholds: Thresholds = DEFAULTS) -> list[StatusItem]:
    """The status items of a campaign, the most severe first; never empty."""
    return [_name_server(item, view.server.command_server) for item in _find_items(view, thresholds, KINDS)]


def alerts_of(view: CampaignView, thresholds: Thresholds = DEFAULTS) -> set[str]:
    """The names of the kinds of alerts of which the campaign has an item."""
    return {item.kind for item in _find_items(view, thresholds, _ALERT_KINDS)}


def find_worst(view: CampaignView, thresholds: Thresholds = DEFAULTS) -> StatusItem:
    """The first of :func:`status_of`, without the server in its commands: in half of the time if it is an alert."""
    found = _find_items(view, thresholds, _ALERT_KINDS)
    return found[0] if found and found[0].is_alert else _find_items(view, thresholds, KINDS)[0]


def _find_items(view: CampaignView, thresholds: Thresholds, kinds: Iterable[StatusKind]) -> list[StatusItem]:
    """The items of these kinds without those that are only the effect of another one's cause."""
    found = [item for kind in kinds if (item := kind.check(view, thresholds)) is not None]
    found.sort(key=rank)
    blamed = {item.client for item in found if item.severity == "critical"}
    effects = {item.kind: _EFFECTS.get(item.kind, frozenset()) for item in found}
    if view.server.failure is not None:
        effects[store_lagging.name] = _EFFECTS_OF_FAILURE
    hidden = frozenset[str]().union(*effects.values())
    is_idle = any(item.kind in {no_data.name, stalled.name} and item.client is None for item in found)
    return [
        item
        for item in found
        if item.kind not in hidden and (item.kind != slow.name or not (is_idle or item.client in blamed))
    ]


def _name_server(item: StatusItem, server: str) -> StatusItem:
    """Make the commands of an item act on the server that shows it."""
    action, command = (name_place(text, "campaign", "--server", server) for text in (item.action, item.command))
    return replace(item, action=action, command=command)
