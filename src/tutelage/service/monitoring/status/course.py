"""Where a campaign is in its course; that is so besides whatever is wrong.

Shapes: K arms.
"""

import math

import numpy as np

from tutelage.service.display import shown
from tutelage.service.monitoring.durations import about, percent
from tutelage.service.monitoring.figures import Figures, Settled, Taken
from tutelage.service.monitoring.forecast import Forecast
from tutelage.service.monitoring.status.commands import start_command
from tutelage.service.monitoring.status.state import State
from tutelage.service.monitoring.status.waiting import waits_for_silent
from tutelage.service.monitoring.thresholds import Thresholds
from tutelage.text import counted


def course(figures: Figures, forecast: Forecast, thresholds: Thresholds) -> State:
    """Not started, learning, given up, decided, stopped or over: exactly one of them."""
    taken = figures.taken
    if taken.status == "registering":
        sentence = f"{counted(len(taken.clients), 'client')} so far."
        return State("registering", "plain", "Not started.", sentence, "Begin with:", start_command(taken))
    if taken.is_over:
        return _over(taken)
    if taken.status == "stopped":
        told = "New pulls are refused."
        return State("stopped", "grey", "Stopped.", told, "Go on with:", start_command(taken))
    if taken.target is not None:
        return _decided(figures, taken.target)
    if taken.provisional is not None:
        return _given_up(taken, taken.provisional)
    return _learning(figures, forecast, thresholds)


def _over(taken: Taken) -> State:
    if taken.target is not None:
        ended = f"it ended with a decision for “{shown(taken.arms[taken.target])}”"
    elif taken.provisional is not None:
        arm = shown(taken.arms[taken.provisional])
        ended = f"it ended without a decision, and clients were led to “{arm}”, which is not proved"
    else:
        ended = "it ended without a decision"
    sentence = f"All clients have made {taken.horizon:,} pulls; {ended}."
    return State("horizon reached", "grey", "Finished.", sentence)


def _given_up(taken: Taken, provisional: int) -> State:
    arm = f"“{shown(taken.arms[provisional])}”"
    return State(
        "given up",
        "amber",
        f"No decision; all are led to {arm}, unproved.",
        f"The teacher sees no hope of telling the {counted(len(taken.active_arms), 'arm')} in play apart by "
        f"round {taken.horizon:,}, and has given up. It leads all clients to {arm}, the best by then, and "
        "claims nothing of it.",
        "If that arm will do, there is nothing to do. For one that is proved, begin a campaign with a longer "
        "horizon, fewer arms or, with blt, a tolerance.",
    )


def _learning(figures: Figures, forecast: Forecast, thresholds: Thresholds) -> State:
    taken = figures.taken
    if not taken.missing.any():
        return State("learning", "plain", "Running.", f"The teacher says: {taken.sentence}.")
    soon = (
        f"; it will be full in {about(forecast.seconds)} if clients go on as in the last "
        f"{about(figures.recent.span)}"
        if math.isfinite(forecast.seconds) and not waits_for_silent(figures, thresholds)
        else ""
    )
    sentence = f"Epoch {taken.directive} is {percent(taken.filled)} filled{soon}."
    return State("learning", "plain", "Learning.", sentence)


def _decided(figures: Figures, target: int) -> State:
    taken, settled = figures.taken, figures.told.settled
    where = f"In round {settled.round:,}, epoch {settled.directive}" if settled else "From the start"
    lower, others = taken.lower[target], np.delete(taken.upper, target)
    bounds = ""
    if np.isfinite(lower) and np.isfinite(others).any():
        above = taken.to_sender(float(np.nanmax(others)))
        bounds = (
            f": its mean is at least {taken.to_sender(lower):.3f}, "
            f"that of every other arm then in play at most {above:.3f}"
        )
    elif np.isfinite(np.delete(taken.evidence, target)).any():
        bounds = ": the evidence against every other arm has reached what rules it out"
    risk = f" {taken.error_bound}" if taken.error_bound else ""
    return State(
        "decided",
        "green",
        f"Decided for “{shown(taken.arms[target])}”.",
        f"{where}{bounds}.{risk}",
        _since(settled, target),
    )


def _since(settled: Settled | None, target: int) -> str:
    if settled is None:
        return ""
    evidence = f"The evidence is at position {settled.position:,} of the ledger."
    made = sum(settled.since) if settled.since else 0
    if not settled.since or not made:
        return evidence
    return f"Since then {percent(settled.since[target] / made)} of all pulls went there. {evidence}"
