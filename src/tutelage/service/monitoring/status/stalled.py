"""Which clients are silent, and when a campaign is stalled: its quota waits only for silent clients.

Shapes: M clients, K arms.
"""

from dataclasses import dataclass

import numpy as np

from tutelage.service.campaigns.series import Counts
from tutelage.service.monitoring.campaign_view import CampaignView
from tutelage.service.monitoring.forecast import Flags, is_blocked
from tutelage.service.monitoring.status.commands import exclude_action
from tutelage.service.monitoring.status.kind import StatusItem, describe_deciding_pair, status_kind
from tutelage.service.monitoring.status.no_data import CHECK_PLATFORM
from tutelage.service.settings_field import setting
from tutelage.text import format_count, format_duration, format_name, join_words


@dataclass(frozen=True, kw_only=True)
class SilenceThresholds:
    """When a client counts as silent."""

    stalled_intervals: float = setting(
        20.0,
        above=0,
        metavar="TIMES",
        help="Count a client as silent after this many times its usual interval between pulls.",
    )
    stalled_seconds: float = setting(
        60.0, minimum=0, metavar="SECONDS", help="Minimum silence, in seconds, before a client counts as silent."
    )


def find_silent_clients(view: CampaignView, thresholds: SilenceThresholds) -> Flags:
    """The clients [M], without excluded ones, that have been silent for too long to wait for."""
    activity = view.activity
    limit = np.fmax(thresholds.stalled_seconds, thresholds.stalled_intervals * activity.usual_interval)
    silent: Flags = (activity.silence > limit) & view.metrics.is_evidence
    return silent


def waits_for_silent_clients(view: CampaignView, thresholds: SilenceThresholds) -> bool:
    """Whether the quota cannot be met unless clients that have fallen silent pull again."""
    silent = find_silent_clients(view, thresholds)
    return is_blocked(view.metrics, np.broadcast_to(silent[:, None], view.metrics.missing.shape))


@status_kind(
    "stalled", gauge="all clients that the campaign waits for are silent, as counted in tutelage_clients_silent"
)
def stalled(view: CampaignView, thresholds: SilenceThresholds) -> StatusItem | None:
    """Name the silent client with the largest number of missing pulls.

    Critical: All missing pulls belong to clients that have been silent for over 60 s and over 20 times
    their usual interval between pulls.
    Action: Get the client to pull again, or exclude it with `tutelage campaign exclude`: decisions then
    rest on the other clients. If no client pulls at all, none is named: check the platform.
    """
    metrics, silent = view.metrics, find_silent_clients(view, thresholds)
    if not metrics.is_learning or not waits_for_silent_clients(view, thresholds):
        return None
    if bool((silent == metrics.is_evidence).all()):
        return _describe_silence_of_all(view)
    blockers = silent & (metrics.missing > 0).any(axis=1)
    client = int(np.where(blockers, metrics.missing.max(axis=1), -1).argmax())
    arm = int(metrics.missing[client].argmax())
    other_clients = int(blockers.sum()) - 1
    name, missing = format_name(metrics.clients[client]), int(metrics.missing[client, arm])
    arms = f"“{format_name(metrics.arms[arm])}”{_describe_other_arms(metrics.missing[client])}"
    silent_clients = format_count(other_clients, "other silent client")
    sources = f"{name} and {silent_clients}" if other_clients else f"{name} only"
    rest = "; all other clients have met the quota" if metrics.mode == "all" else ""
    action, command = exclude_action(metrics, client, f"Get {name} to pull again")
    return stalled.item(
        "critical",
        f"Stalled by {name} and {silent_clients}." if other_clients else f"Stalled by {name}.",
        f"No pull for {format_duration(view.activity.silence[client])}. Consultation {metrics.directive} "
        f"waits for {format_count(missing, 'more pull')} of {arms} from {sources}{rest}.",
        action,
        command,
        client,
        arm=arm,
    )


def _describe_other_arms(missing: Counts) -> str:
    """The arms besides one of those with the most missing pulls, whose numbers [K] these are."""
    others = np.sort(missing)[:-1]
    equal, fewer = int((others == missing.max()).sum()), int(((others > 0) & (others < missing.max())).sum())
    parts = [f"as many of {format_count(equal, 'other arm')}"] if equal else []
    parts += [f"fewer of {format_count(fewer, 'other arm')}"] if fewer else []
    return f" (and {join_words(parts, 'and')})" if parts else ""


def _describe_silence_of_all(view: CampaignView) -> StatusItem:
    """No single client is to blame, and excluding one would not help."""
    metrics = view.metrics
    seconds = float(view.activity.silence[metrics.is_evidence].min())
    return stalled.item(
        "critical",
        "Stalled: no client pulls.",
        f"No client that is not excluded has pulled an arm for {format_duration(seconds)}. "
        f"{describe_deciding_pair(metrics)}.",
        CHECK_PLATFORM,
        silent_seconds=seconds,
    )
