"""Whether a decision can still come before the horizon.

A teacher that has given up by itself is another thing: it goes on leading (:mod:`.course`).

Shapes: M clients, K arms.
"""

import numpy as np

from tutelage.service.campaigns.series import Counts
from tutelage.service.display import shown
from tutelage.service.monitoring.figures import Figures, Taken
from tutelage.service.monitoring.forecast import Flags, Forecast
from tutelage.service.monitoring.status.commands import exclude_command, stop_command
from tutelage.service.monitoring.status.state import State
from tutelage.service.monitoring.thresholds import Thresholds
from tutelage.text import counted


def cannot_end(figures: Figures, forecast: Forecast, thresholds: Thresholds) -> State | None:
    """The horizon has no room for the next decision, some client has none, or will have none at its pace."""
    taken = figures.taken
    if not taken.is_learning or taken.provisional is not None:
        return None
    if not taken.reachable:
        return _out_of_reach(taken)
    if not taken.missing.any():
        return None
    return _out_of_rounds(taken) or _out_of_pace(taken, forecast)


def _out_of_reach(taken: Taken) -> State:
    return _in_vain(
        taken,
        f"The next decision needs more pulls than the horizon of {taken.horizon:,} rounds has room for.",
    )


def _in_vain(taken: Taken, sentence: str) -> State:
    """Nobody's exclusion would help."""
    return State(
        "cannot end",
        "red",
        "Learning cannot end.",
        f"{sentence} The teacher goes on changing rewards as while clients learn, to no end.",
        "Begin a campaign with a longer horizon or fewer arms. To show clients their own rewards until then:",
        stop_command(taken),
    )


def _out_of_rounds(taken: Taken) -> State | None:
    left = np.maximum(taken.horizon - taken.rounds, 0)
    short = _without_rounds(taken, left)
    if not short.any():
        return None
    client = int(np.where(short, taken.missing.sum(axis=1) - left, -np.inf).argmax())
    missing = taken.missing[client][taken.listed]
    misses = int(missing.min() if taken.mode == "any" else missing.sum())
    sentence = (
        f"{shown(taken.clients[client])} has {counted(int(left[client]), 'round')} left and misses "
        f"{counted(misses, 'pull')} of epoch {taken.directive}"
    )
    others = int(short.sum()) - 1
    if others + 1 == int(taken.counted.sum()):
        return _in_vain(taken, f"{sentence}{', and no other client has rounds enough' if others else ''}.")
    more = f"; {counted(others, 'other client')} likewise" if others else ""
    return State(
        "cannot end",
        "red",
        "Learning cannot end.",
        f"{sentence}{more}.",
        "Exclude it, so that the decision rests on the others:",
        exclude_command(taken, client),
        client,
    )


def _without_rounds(taken: Taken, left: Counts) -> Flags:
    """The clients [M] whose rounds end before the quota can be met, if that keeps it from being met."""
    if taken.mode == "any":
        short: Flags = taken.missing > left[:, None]
        by_client: Flags = np.any(short, axis=1)
        by_arm: Flags = np.any(short, axis=0)
        return by_client if by_arm[taken.listed].all() else np.zeros_like(by_client)
    by_sum: Flags = taken.missing.sum(axis=1) > left
    return by_sum


def _out_of_pace(taken: Taken, forecast: Forecast) -> State | None:
    late = np.isfinite(forecast.rounds) & (forecast.rounds > taken.horizon) & taken.counted
    if not late.any():
        return None
    client = int(np.where(late, forecast.rounds, -1).argmax())
    return State(
        "cannot end",
        "amber",
        "At this pace learning does not end.",
        f"{shown(taken.clients[client])} fills epoch {taken.directive} in its round "
        f"{forecast.rounds[client]:,.0f}; the horizon is {taken.horizon:,}.",
        f"See which arm {shown(taken.clients[client])} pulls too rarely.",
        client=client,
    )
