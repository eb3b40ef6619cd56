"""The next consultation waits for a client that is silent or needs much longer than the others.

Shapes: M clients, K arms.
"""

import math
from dataclasses import dataclass

import numpy as np

from tutelage.service.monitoring.campaign_view import CampaignView
from tutelage.service.monitoring.forecast import Flags, compute_forecast
from tutelage.service.monitoring.status.kind import StatusItem, describe_others, status_kind
from tutelage.service.settings_field import setting
from tutelage.text import format_duration, format_name

_MINIMUM_SECONDS = 60.0  # of pulls behind a forecast that names a client, and of that forecast


@dataclass(frozen=True, kw_only=True)
class SlowThresholds:
    """When a client counts as slow."""

    slow_intervals: float = setting(
        5.0, above=0, metavar="TIMES", help="Mark a client slow after this many times its usual interval between pulls."
    )
    slow_seconds: float = setting(
        10.0, minimum=0, metavar="SECONDS", help="Minimum silence, in seconds, before a client is marked slow."
    )
    slow_forecast: float = setting(
        3.0,
        minimum=1,
        metavar="TIMES",
        help="Mark a client slow when its forecast time to meet the quota exceeds the clients' median by this factor.",
    )


@status_kind("slow", gauge="a client that the campaign waits for is silent or much slower than the others")
def slow(view: CampaignView, thresholds: SlowThresholds) -> StatusItem | None:
    """Name the slowest client that the quota waits for, while other clients pull.

    Warning: A client whose pulls are still missing has been silent for over 10 s and over 5 times its
    usual interval (known after 10 pulls), or is forecast to need over a minute and over 3 times the
    clients' median (known after a minute of pulls).
    Action: Check that client before it stalls the campaign.
    """
    metrics = view.metrics
    if not metrics.is_learning or metrics.is_evidence.sum() < 2 or not view.activity.window_pulls.any():
        return None
    if bool(find_slow_by_interval(view, thresholds)[metrics.is_evidence].all()):
        return None  # no single client is to blame
    behind: Flags = np.any(metrics.missing > 0, axis=1)
    found = _find_by_silence(view, behind, thresholds) or _find_by_forecast(view, behind, thresholds)
    if found is None:
        return None
    client, details, others = found
    more = f" {describe_others(others, 'other client')}." if others else ""
    name = format_name(metrics.clients[client])
    return slow.item("warning", f"{name} is slow.", details + more, f"Check {name}.", client=client)


def find_slow_by_interval(view: CampaignView, thresholds: SlowThresholds) -> Flags:
    """The clients [M] that have been silent for many times their usual interval."""
    limit = np.fmax(thresholds.slow_seconds, thresholds.slow_intervals * view.activity.usual_interval)
    slow: Flags = view.activity.silence > limit
    return slow


def _find_by_silence(view: CampaignView, behind: Flags, thresholds: SlowThresholds) -> tuple[int, str, int] | None:
    """The client that has been silent longest, the details, and the number of other silent clients."""
    activity = view.activity
    silent = behind & activity.is_interval_known & find_slow_by_interval(view, thresholds)
    if not silent.any():
        return None
    client = int(np.where(silent, activity.silence, -1).argmax())
    details = (
        f"It has been silent for {format_duration(activity.silence[client])}; its usual interval between "
        f"pulls is {format_duration(activity.usual_interval[client])}."
    )
    return client, details, int(silent.sum()) - 1


def _find_by_forecast(view: CampaignView, behind: Flags, thresholds: SlowThresholds) -> tuple[int, str, int] | None:
    """The client that will need longest, the details, and the number of others that will need as long."""
    metrics, forecast = view.metrics, compute_forecast(view)
    known = forecast.client_seconds[metrics.is_evidence & np.isfinite(forecast.client_seconds)]
    if not known.size or view.activity.window_seconds < _MINIMUM_SECONDS:
        return None
    median = float(np.median(known))
    limit = np.fmax(_MINIMUM_SECONDS, thresholds.slow_forecast * median)
    late = behind & (forecast.client_seconds > limit)
    if not late.any():
        return None
    client = int(np.where(late, forecast.client_seconds, -1).argmax())
    seconds = forecast.client_seconds[client]
    consultation = f"consultation {metrics.directive}"
    if math.isfinite(seconds):
        needs = f"At its current rate it needs {format_duration(seconds)} to meet the quota of {consultation}"
    else:
        needs = f"At its current rate it will never meet the quota of {consultation}"
    details = f"{needs}; half of the clients need at most {format_duration(median)}."
    return client, details, int(late.sum()) - 1
