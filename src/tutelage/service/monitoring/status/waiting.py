"""Who the next decision waits for: clients that are silent, slow, or leave an arm out.

Shapes: M clients, K arms.
"""

import math

import numpy as np

from tutelage.service.display import shown
from tutelage.service.monitoring.durations import about, duration, percent
from tutelage.service.monitoring.figures import Figures, Taken
from tutelage.service.monitoring.forecast import Flags, Forecast, is_blocked
from tutelage.service.monitoring.status.commands import exclude_command
from tutelage.service.monitoring.status.sending import SEE_TO_PLATFORM
from tutelage.service.monitoring.status.state import DEFAULTS, State
from tutelage.service.monitoring.thresholds import Thresholds
from tutelage.text import counted

_LEAST_SECONDS = 60.0  # of pulls that a forecast which blames a client rests on, and of that forecast


def silent_clients(figures: Figures, thresholds: Thresholds = DEFAULTS) -> Flags:
    """Which counted clients [M] have been silent for so long that nobody should wait for them."""
    recent, least = figures.recent, thresholds.stalled_seconds
    longest = np.fmax(least, thresholds.stalled_intervals * recent.usual_interval)
    silent: Flags = (recent.silent > longest) & figures.taken.counted
    return silent


def waits_for_silent(figures: Figures, thresholds: Thresholds) -> bool:
    """Whether the quota does not fill unless clients pull again that have fallen silent."""
    silent = silent_clients(figures, thresholds)
    return is_blocked(figures.taken, np.broadcast_to(silent[:, None], figures.taken.missing.shape))


def stalled(figures: Figures, forecast: Forecast, thresholds: Thresholds) -> State | None:
    """All that is missing belongs to clients that have fallen silent."""
    taken, silent = figures.taken, silent_clients(figures, thresholds)
    if not taken.is_learning or not waits_for_silent(figures, thresholds):
        return None
    if bool((silent == taken.counted).all()):
        return _nobody_pulls(figures)
    blockers = silent & (taken.missing > 0).any(axis=1)
    client = int(np.where(blockers, taken.missing.max(axis=1), -1).argmax())
    arm = int(taken.missing[client].argmax())
    others, arms = int(blockers.sum()) - 1, int((taken.missing[client] > 0).sum()) - 1
    name, more = shown(taken.clients[client]), int(taken.missing[client, arm])
    of_arms = f"“{shown(taken.arms[arm])}”" + (f" and fewer of {counted(arms, 'other arm')}" if arms else "")
    alone = "alone" if not others else f"and of {counted(others, 'other silent client')}"
    rest = "; all other clients have met the quota" if taken.mode == "all" else ""
    remedy, command = _remedy(taken, client, f"Bring {name} back")
    return State(
        "stalled",
        "red",
        f"Stalled by {name}" + (f" and {counted(others, 'other')}." if others else "."),
        f"No pull for {duration(figures.recent.silent[client])}. Epoch {taken.directive} waits for "
        f"{counted(more, 'more pull')} of {of_arms} by {name} {alone}{rest}.",
        remedy,
        command,
        client,
    )


def _nobody_pulls(figures: Figures) -> State:
    """No client is to blame, and no exclusion would help."""
    taken = figures.taken
    quiet = float(figures.recent.silent[taken.counted].min())
    return State(
        "stalled",
        "red",
        "Stalled: nobody pulls.",
        f"No client that counts has pulled an arm for {duration(quiet)}; epoch {taken.directive} is "
        f"{percent(taken.filled)} filled.",
        SEE_TO_PLATFORM,
    )


def avoided(figures: Figures, forecast: Forecast, thresholds: Thresholds) -> State | None:
    """A client pulls, but not an arm that is awaited."""
    taken = figures.taken
    avoids = _avoids(figures, thresholds) & ~silent_clients(figures, thresholds)[:, None]
    if not taken.is_learning or not avoids.any():
        return None
    if taken.mode == "any" and not is_blocked(taken, avoids):
        return None
    client, arm = divmod(int(np.where(avoids, taken.missing, -1).argmax()), len(taken.arms))
    pairs = int(avoids.sum()) - 1
    name = shown(taken.clients[client])
    more = f" The same is so of {counted(pairs, 'other pair')} of client and arm." if pairs else ""
    remedy, command = _remedy(taken, client, f"Make {name} pull it")
    return State(
        "avoids an arm",
        "red",
        f"{name} avoids “{shown(taken.arms[arm])}”.",
        f"It made {counted(int(figures.recent.window[client].sum()), 'pull')} in "
        f"{about(figures.recent.span)}, none of them of this arm; epoch {taken.directive} waits for "
        f"{int(taken.missing[client, arm]):,}.{more}",
        remedy,
        command,
        client,
    )


def _avoids(figures: Figures, thresholds: Thresholds) -> Flags:
    """Which clients pull, but not that arm [M, K]."""
    taken, window = figures.taken, figures.recent.window
    least = thresholds.avoided_pulls * max(int(taken.listed.sum()), 1)
    avoids: Flags = (window == 0) & (window.sum(axis=1) >= least)[:, None] & (taken.missing > 0)
    return avoids


def _remedy(taken: Taken, client: int, better: str) -> tuple[str, str]:
    """What to do about a client that others wait for, and the line to type if that does not help."""
    if int(taken.counted.sum()) < 2:
        return f"{better}: it is the last client that counts.", ""
    return f"{better}, or exclude it:", exclude_command(taken, client)


def slow(figures: Figures, forecast: Forecast, thresholds: Thresholds) -> State | None:
    """A client that is waited for is silent for long, or will be the last by far, while others pull."""
    taken = figures.taken
    if not taken.is_learning or taken.counted.sum() < 2 or not figures.recent.window.any():
        return None
    behind: Flags = np.any(taken.missing > 0, axis=1)
    found = _slow_by_silence(figures, behind, thresholds) or _slow_by_forecast(
        figures, forecast, behind, thresholds
    )
    if found is None:
        return None
    client, sentence, others = found
    more = f" {counted(others, 'other client')} likewise." if others else ""
    name = shown(taken.clients[client])
    return State("slow", "amber", f"{name} is slow.", sentence + more, f"See to {name}.", client=client)


def _slow_by_silence(figures: Figures, behind: Flags, thresholds: Thresholds) -> tuple[int, str, int] | None:
    """The client that is silent for longest, what is said of it, and how many others are silent."""
    recent = figures.recent
    gap = np.fmax(thresholds.slow_seconds, thresholds.slow_intervals * recent.usual_interval)
    silent = behind & recent.is_usual & (recent.silent > gap)
    if not silent.any():
        return None
    client = int(np.where(silent, recent.silent, -1).argmax())
    silence, usual = duration(recent.silent[client]), duration(recent.usual_interval[client])
    name = shown(figures.taken.clients[client])
    sentence = f"{name} has been silent for {silence}; its usual gap is {usual}."
    return client, sentence, int(silent.sum()) - 1


def _slow_by_forecast(
    figures: Figures, forecast: Forecast, behind: Flags, thresholds: Thresholds
) -> tuple[int, str, int] | None:
    """The client that needs longest, what is said of it, and how many others need as long."""
    taken = figures.taken
    known = forecast.client_seconds[taken.counted & np.isfinite(forecast.client_seconds)]
    if not known.size or figures.recent.span < _LEAST_SECONDS:
        return None
    middle = float(np.median(known))
    late = behind & (forecast.client_seconds > np.fmax(_LEAST_SECONDS, thresholds.slow_forecast * middle))
    if not late.any():
        return None
    client = int(np.where(late, forecast.client_seconds, -1).argmax())
    needs = forecast.client_seconds[client]
    takes = f"needs {duration(needs)}" if math.isfinite(needs) else "has no end in sight"
    sentence = (
        f"{shown(taken.clients[client])} {takes} to fill epoch {taken.directive}; half of the clients need "
        f"at most {duration(middle)}."
    )
    return client, sentence, int(late.sum()) - 1
