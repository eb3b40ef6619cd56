"""What senders do: nothing, the same again, or two things under one id."""

import math

from tutelage.service.monitoring.durations import about, duration, percent
from tutelage.service.monitoring.figures import Figures
from tutelage.service.monitoring.forecast import Forecast
from tutelage.service.monitoring.status.state import State
from tutelage.service.monitoring.thresholds import Thresholds
from tutelage.text import counted

SEE_TO_PLATFORM = "See whether the platform still sends its pulls here."


def no_data(figures: Figures, forecast: Forecast, thresholds: Thresholds) -> State | None:
    """No client that counts pulls; learning does not go on without."""
    taken, silent = figures.taken, figures.recent.silent
    if taken.status != "running" or taken.is_over or figures.at is not None:
        return None
    quiet = float(silent[taken.counted].min(initial=math.inf))
    if not thresholds.idle_seconds < quiet < math.inf:
        return None
    others = silent[~taken.counted] <= thresholds.idle_seconds
    who = "No client that counts" if others.any() else "No client"
    more = "; excluded ones do" if others.any() else ""
    return State(
        "no data",
        "red" if taken.missing.any() and taken.is_learning else "amber",
        "No data.",
        f"{who} has pulled an arm for {duration(quiet)}{more}.",
        SEE_TO_PLATFORM,
    )


def conflict(figures: Figures, forecast: Forecast, thresholds: Thresholds) -> State | None:
    """An id came twice, with two pulls."""
    recent = figures.recent
    if not recent.conflicts:
        return None
    return State(
        "conflict",
        "red",
        "An id came twice with different content.",
        f"{counted(recent.conflicts, 'request')} of the last {about(recent.span)} told another client, "
        "arm or reward under an id that is stored.",
        "Two senders make the same ids, or one changes a pull it sends again: mend that sender.",
    )


def replays(figures: Figures, forecast: Forecast, thresholds: Thresholds) -> State | None:
    """Many pulls come that were answered before."""
    recent = figures.recent
    sent = recent.replays + int(recent.window.sum())
    if recent.replays < thresholds.replay_least or recent.replays <= thresholds.replay_share * sent:
        return None
    return State(
        "replays",
        "amber",
        "Many pulls are sent again.",
        f"{percent(recent.replays / sent)} of the pulls of the last {about(recent.span)} came before.",
        "Answers do not reach their senders in time: see their deadlines and the network.",
    )
