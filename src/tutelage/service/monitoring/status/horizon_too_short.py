"""The horizon leaves no room for a decision.

A teacher that has already stopped trying by itself is another kind, ``undecidable``.

Shapes: M clients, K arms.
"""

import numpy as np

from tutelage.service.campaigns.series import Counts
from tutelage.service.monitoring.campaign_view import CampaignView, Metrics
from tutelage.service.monitoring.forecast import Flags, compute_forecast
from tutelage.service.monitoring.status.commands import exclude_command, stop_command
from tutelage.service.monitoring.status.kind import StatusItem, describe_others, status_kind
from tutelage.text import format_count, format_name

_TITLE = "The horizon is too short for a decision."


@status_kind(
    "horizon too short",
    gauge="the next consultation needs more pulls than clients can or, at the current rate, will make before the "
    "planned end",
)
def horizon_too_short(view: CampaignView, thresholds: object) -> StatusItem | None:
    """Compare the rounds that are left with the pulls that the quota still needs.

    Critical: The next consultation needs more pulls than the horizon allows, or a client has fewer
    rounds left than pulls missing.
    Action: Exclude the client that is named. If none is named, create a campaign with a longer horizon
    or fewer arms; `tutelage plan` computes a sufficient horizon. Until then rewards are adjusted to no
    effect: after `tutelage campaign stop` clients see the observed rewards.

    Warning: At the rates of the last five minutes the quota will be met only beyond the horizon.
    Action: Check which arm that client pulls too rarely.
    """
    metrics = view.metrics
    if not metrics.is_learning or metrics.provisional_arm is not None:
        return None
    if not metrics.reachable:
        return _describe_hopeless(
            metrics, f"The next consultation needs more pulls than the horizon of {metrics.horizon:,} rounds allows."
        )
    if not metrics.missing.any():
        return None
    return _check_rounds(metrics) or _check_rates(view)


def _describe_hopeless(metrics: Metrics, details: str) -> StatusItem:
    """Excluding a client would not help."""
    return horizon_too_short.item(
        "critical",
        _TITLE,
        f"{details} The teacher keeps adjusting rewards as in the learning phase, to no effect.",
        "Create a campaign with a longer horizon or fewer arms. To show clients their own rewards until then:",
        stop_command(metrics),
    )


def _check_rounds(metrics: Metrics) -> StatusItem | None:
    rounds_left = np.maximum(metrics.horizon - metrics.rounds, 0)
    short = _find_short_clients(metrics, rounds_left)
    if not short.any():
        return None
    client = int(np.where(short, metrics.missing.sum(axis=1) - rounds_left, -np.inf).argmax())
    missing = metrics.missing[client][metrics.in_quota]
    needed = int(missing.min() if metrics.mode == "any" else missing.sum())
    rounds = format_count(int(rounds_left[client]), "round")
    details = (
        f"{format_name(metrics.clients[client])} has {rounds} left but still needs "
        f"{format_count(needed, 'pull')} for consultation {metrics.directive}"
    )
    others = int(short.sum()) - 1
    if others + 1 == int(metrics.is_evidence.sum()):
        return _describe_hopeless(
            metrics, f"{details}{', and no other client has enough rounds left' if others else ''}."
        )
    more = f"; {describe_others(others, 'other client')}" if others else ""
    return horizon_too_short.item(
        "critical",
        _TITLE,
        f"{details}{more}.",
        "Exclude it, so that decisions rest on the other clients:",
        exclude_command(metrics, client),
        client,
    )


def _find_short_clients(metrics: Metrics, rounds_left: Counts) -> Flags:
    """The clients [M] whose rounds end before the quota can be met, if that keeps it from being met."""
    if metrics.mode == "any":
        short: Flags = metrics.missing > rounds_left[:, None]
        by_client: Flags = np.any(short, axis=1)
        by_arm: Flags = np.any(short, axis=0)
        return by_client if by_arm[metrics.in_quota].all() else np.zeros_like(by_client)
    by_sum: Flags = metrics.missing.sum(axis=1) > rounds_left
    return by_sum


def _check_rates(view: CampaignView) -> StatusItem | None:
    if not view.activity.window_pulls.any():  # no rate, no forecast
        return None
    metrics, forecast = view.metrics, compute_forecast(view)
    late = np.isfinite(forecast.rounds) & (forecast.rounds > metrics.horizon) & metrics.is_evidence
    if not late.any():
        return None
    client = int(np.where(late, forecast.rounds, -1).argmax())
    name = format_name(metrics.clients[client])
    return horizon_too_short.item(
        "warning",
        "At the current rate there will be no decision before the horizon.",
        f"{name} will have made the pulls for consultation {metrics.directive} in its round "
        f"{forecast.rounds[client]:,.0f}; the horizon is {metrics.horizon:,}.",
        f"Check which arm {name} pulls too rarely.",
        client=client,
    )
