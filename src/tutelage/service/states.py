"""The states of a campaign, worst first: one pure function of its figures.

The page, ``/metrics`` and ``tutelage campaign show`` all tell them.  docs/dashboard.md says what each asks
of an operator.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tutelage.registry import split_call
from tutelage.service.display import quoted, shown
from tutelage.service.durations import about, duration, percent
from tutelage.service.figures import Figures, Settled, Taken
from tutelage.service.forecast import Flags, Forecast, foretell, is_blocked
from tutelage.service.thresholds import Thresholds
from tutelage.wording import counted

Colour = Literal["red", "amber", "green", "grey", "note", "plain"]

# Worst first.  "cut off" is also told by the page itself, when it gets no answer.
ORDER: tuple[tuple[str, Colour], ...] = (
    ("store lagging", "red"),
    ("cannot end", "red"),
    ("stalled", "red"),
    ("avoids an arm", "red"),
    ("conflict", "red"),
    ("cut off", "amber"),
    ("store lagging", "amber"),
    ("no data", "amber"),
    ("cannot end", "amber"),
    ("slow", "amber"),
    ("replays", "amber"),
    ("horizon reached", "grey"),
    ("stopped", "grey"),
    ("follower", "note"),
    ("decided", "green"),
    ("learning", "plain"),
    ("not started", "plain"),
)
ALERTS = tuple(dict.fromkeys(kind for kind, colour in ORDER if colour in ("red", "amber")))
_SURE = ("tal", "twl", "blt")  # whose decision is wrong with probability at most 1/T


@dataclass(frozen=True)
class State:
    """One thing that is so: its word, its colour, a sentence, and what helps.

    ``headline`` says it without numbers that run, for a title; ``remedy`` what to do, ``command`` the line
    to type for it, empty if there is none.  ``client`` is who causes it.
    """

    kind: str
    colour: Colour
    headline: str
    sentence: str
    remedy: str = ""
    command: str = ""
    client: int | None = None


DEFAULTS = Thresholds()


def states_of(figures: Figures, thresholds: Thresholds = DEFAULTS) -> list[State]:
    """All that is so, worst first; never empty."""
    forecast = foretell(figures)
    found = [state for look in _LOOKS if (state := look(figures, forecast, thresholds)) is not None]
    found.sort(key=lambda state: ORDER.index((state.kind, state.colour)))
    told = {state.client for state in found if state.colour == "red"}
    is_idle = any(state.kind == "no data" for state in found)
    return [state for state in found if state.kind != "slow" or not (is_idle or state.client in told)]


def retire_command(taken: Taken, client: int) -> tuple[str, str]:
    """What to do about a client that others wait for, and the line to type, as a shell reads it."""
    name = taken.clients[client]
    if int(taken.counted.sum()) < 2:
        return f"Bring {shown(name)} back: it is the last client that counts.", ""
    dashes = "-- " if name.startswith("-") else ""
    line = f"tutelage campaign retire {dashes}{taken.name} {quoted(name)}"
    return f"Bring {shown(name)} back, or retire it:", line


def silent_clients(figures: Figures, thresholds: Thresholds = DEFAULTS) -> Flags:
    """Which counted clients [M] have been silent for so long that nobody should wait for them."""
    recent, least = figures.recent, thresholds.stalled_seconds
    longest = np.fmax(least, thresholds.stalled_gaps * recent.usual_gap)
    silent: Flags = (recent.silent > longest) & figures.taken.counted
    return silent


def _avoids(figures: Figures, thresholds: Thresholds) -> Flags:
    """Which clients pull, but not that arm [M, K]."""
    taken, window = figures.taken, figures.recent.window
    least = thresholds.avoided_pulls * max(int(taken.listed.sum()), 1)
    avoids: Flags = (window == 0) & (window.sum(axis=1) >= least)[:, None] & (taken.missing > 0)
    return avoids


def _stalled(figures: Figures, forecast: Forecast, thresholds: Thresholds) -> State | None:
    taken = figures.taken
    silent = silent_clients(figures, thresholds)
    blockers = silent & (taken.missing > 0).any(axis=1)
    if not taken.is_learning or bool((blockers == taken.counted).all()):  # the latter is "no data"
        return None
    if not is_blocked(taken, silent[:, None] & np.ones_like(taken.missing, dtype=np.bool_)):
        return None
    client = int(np.where(blockers, taken.missing.max(axis=1), -1).argmax())
    arm = int(taken.missing[client].argmax())
    others, arms = int(blockers.sum()) - 1, int((taken.missing[client] > 0).sum()) - 1
    name, more = shown(taken.clients[client]), int(taken.missing[client, arm])
    of_arms = f"“{shown(taken.arms[arm])}”" + (f" and fewer of {counted(arms, 'other arm')}" if arms else "")
    alone = "alone" if not others else f"and of {counted(others, 'other silent client')}"
    rest = "; all other clients have met the quota" if taken.mode == "all" else ""
    remedy, command = retire_command(taken, client)
    return State(
        "stalled",
        "red",
        f"Stalled by {name}" + (f" and {counted(others, 'other')}." if others else "."),
        f"No pull for {duration(figures.recent.silent[client])}. Epoch {taken.epoch} waits for "
        f"{counted(more, 'more pull')} of {of_arms} by {name} {alone}{rest}.",
        remedy,
        command,
        client,
    )


def _avoided(figures: Figures, forecast: Forecast, thresholds: Thresholds) -> State | None:
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
    remedy, command = retire_command(taken, client)
    return State(
        "avoids an arm",
        "red",
        f"{name} avoids “{shown(taken.arms[arm])}”.",
        f"It made {counted(int(figures.recent.window[client].sum()), 'pull')} in "
        f"{about(figures.recent.span)}, none of them of this arm; epoch {taken.epoch} waits for "
        f"{int(taken.missing[client, arm]):,}.{more}",
        remedy.replace(f"Bring {name} back", f"Make {name} pull it"),
        command,
        client,
    )


def _cannot_end(figures: Figures, forecast: Forecast, thresholds: Thresholds) -> State | None:
    taken = figures.taken
    if not taken.is_learning:
        return None
    longer = "Let it run untaught, or begin a campaign with a longer horizon or fewer arms."
    if not taken.reachable:
        return State(
            "cannot end",
            "red",
            "Learning cannot end.",
            f"The next decision needs more pulls than the horizon of {taken.horizon:,} rounds has room for.",
            longer,
        )
    if not taken.missing.any():
        return None
    left = np.maximum(taken.horizon - taken.rounds, 0)
    short = _out_of_rounds(taken, left)
    if short.any():
        client = int(np.where(short, taken.missing.sum(axis=1) - left, -np.inf).argmax())
        remedy, command = retire_command(taken, client)
        return State(
            "cannot end",
            "red",
            "Learning cannot end.",
            f"{shown(taken.clients[client])} has {counted(int(left[client]), 'round')} left and misses "
            f"{counted(int(taken.missing[client].sum()), 'pull')} of epoch {taken.epoch}.",
            remedy.replace(f"Bring {shown(taken.clients[client])} back, or retire it:", "Retire it:"),
            command,
            client,
        )
    late = np.isfinite(forecast.rounds) & (forecast.rounds > taken.horizon) & taken.counted
    if not late.any():
        return None
    client = int(np.where(late, forecast.rounds, -1).argmax())
    return State(
        "cannot end",
        "amber",
        "At this pace learning does not end.",
        f"{shown(taken.clients[client])} fills epoch {taken.epoch} in its round "
        f"{forecast.rounds[client]:,.0f}; the horizon is {taken.horizon:,}.",
        f"See which arm {shown(taken.clients[client])} pulls too rarely.",
        client=client,
    )


def _out_of_rounds(taken: Taken, left: np.ndarray) -> Flags:
    """The clients [M] whose rounds end before the quota can be met, if that keeps it from being met."""
    if taken.mode == "any":
        short: Flags = taken.missing > left[:, None]
        by_client: Flags = np.any(short, axis=1)
        by_arm: Flags = np.any(short, axis=0)
        return by_client if by_arm[taken.listed].all() else np.zeros_like(by_client)
    by_sum: Flags = taken.missing.sum(axis=1) > left
    return by_sum


def _slow(figures: Figures, forecast: Forecast, thresholds: Thresholds) -> State | None:
    taken, recent = figures.taken, figures.recent
    if not taken.is_learning or taken.counted.sum() < 2:
        return None
    behind = (taken.missing > 0).any(axis=1)
    gap = np.fmax(thresholds.slow_seconds, thresholds.slow_gaps * recent.usual_gap)
    silent = behind & (recent.silent > gap)
    if silent.any():
        client = int(np.where(silent, recent.silent, -1).argmax())
        usual = recent.usual_gap[client]
        told = f"; its usual gap is {duration(usual)}" if math.isfinite(usual) else ""
        sentence = (
            f"{shown(taken.clients[client])} has been silent for {duration(recent.silent[client])}{told}."
        )
        others = int(silent.sum()) - 1
    else:
        known = forecast.client_seconds[taken.counted & np.isfinite(forecast.client_seconds)]
        middle = float(np.median(known)) if known.size else math.nan
        late = behind & (forecast.client_seconds > np.fmax(60.0, thresholds.slow_forecast * middle))
        if not late.any():
            return None
        client = int(np.where(late, forecast.client_seconds, -1).argmax())
        needs = forecast.client_seconds[client]
        takes = f"needs {duration(needs)}" if math.isfinite(needs) else "has no end in sight"
        sentence = (
            f"{shown(taken.clients[client])} {takes} to fill epoch {taken.epoch}; half of the clients need "
            f"at most {duration(middle)}."
        )
        others = int(late.sum()) - 1
    more = f" {counted(others, 'other client')} likewise." if others else ""
    name = shown(taken.clients[client])
    return State("slow", "amber", f"{name} is slow.", sentence + more, f"See to {name}.", client=client)


def _lagging(figures: Figures, forecast: Forecast, thresholds: Thresholds) -> State | None:
    server = figures.server
    disk = server.disk or 0.0
    if server.failure is not None:
        remedy = "Free the disk or mend the database; clients' requests are refused until then."
        return State("store lagging", "red", "The store takes nothing.", server.failure, remedy)
    if disk <= thresholds.lag_seconds and server.waiting < thresholds.waiting_pulls:
        return None
    queue = f"; {counted(server.waiting, 'pull')} wait" if server.waiting else ""
    return State(
        "store lagging",
        "red" if disk > thresholds.lag_red_seconds else "amber",
        "The store lags behind.",
        f"99 % of commits took up to {disk * 1000:,.0f} ms in the last half minute{queue}.",
        "See what else writes to this disk, or send larger batches.",
    )


def _no_data(figures: Figures, forecast: Forecast, thresholds: Thresholds) -> State | None:
    taken, silent = figures.taken, figures.recent.silent
    if taken.status != "running" or taken.is_over or not silent.size or figures.at is not None:
        return None
    if float(silent.min()) <= thresholds.idle_seconds:
        return None
    return State(
        "no data",
        "amber",
        "No data.",
        f"No client has pulled an arm for {duration(float(silent.min()))}.",
        "See whether the platform still sends its pulls here.",
    )


def _conflict(figures: Figures, forecast: Forecast, thresholds: Thresholds) -> State | None:
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


def _replays(figures: Figures, forecast: Forecast, thresholds: Thresholds) -> State | None:
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


def _cut_off(figures: Figures, forecast: Forecast, thresholds: Thresholds) -> State | None:
    age = figures.now - figures.time
    if age <= thresholds.cut_off_seconds:
        return None
    return State(
        "cut off",
        "amber",
        "These figures are old.",
        f"The server last told them {duration(age)} ago.",
        "See whether it is overloaded or has ended.",
    )


def _follower(figures: Figures, forecast: Forecast, thresholds: Thresholds) -> State | None:
    server = figures.server
    if server.leads:
        return None
    who = f"{server.leader} does" if server.leader else "no server does now"
    return State(
        "follower",
        "note",
        "This server does not lead the campaign.",
        f"At present {who}; what is shown was read from the ledger; replays and conflicts are counted there.",
    )


def _base(figures: Figures, forecast: Forecast, thresholds: Thresholds) -> State:
    """What a campaign is when nothing is wrong."""
    taken = figures.taken
    if taken.status == "enrolling":
        sentence = f"{counted(len(taken.clients), 'client')} so far."
        command = f"tutelage campaign start {taken.name}"
        return State("not started", "plain", "Not started.", sentence, "Begin with:", command)
    if taken.is_over:
        found = "with" if taken.target is not None else "without"
        arm = f" for “{shown(taken.arms[taken.target])}”" if taken.target is not None else ""
        sentence = f"All clients have made {taken.horizon:,} pulls; it ended {found} a decision{arm}."
        return State("horizon reached", "grey", "Finished.", sentence)
    if taken.status == "stopped":
        command = f"tutelage campaign start {taken.name}"
        return State("stopped", "grey", "Stopped.", "New pulls are refused.", "Go on with:", command)
    if taken.target is not None:
        return _decided(figures, taken.target)
    if not taken.missing.any():
        return State("learning", "plain", "Running.", f"The teacher says: {taken.sentence}.")
    soon = (
        f"; it will be full in {duration(forecast.seconds)} if clients go on as in the last "
        f"{about(figures.recent.span)}"
        if math.isfinite(forecast.seconds)
        else ""
    )
    return State(
        "learning", "plain", "Learning.", f"Epoch {taken.epoch} is {percent(taken.filled)} filled{soon}."
    )


def _decided(figures: Figures, target: int) -> State:
    taken, settled = figures.taken, figures.told.settled
    where = f"In round {settled.round:,}, epoch {settled.epoch}" if settled else "From the start"
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
    risk = f" Wrong with probability at most 1/T = {_small(1 / taken.horizon)}." if _is_sure(taken) else ""
    return State(
        "decided",
        "green",
        f"Decided for “{shown(taken.arms[target])}”.",
        f"{where}{bounds}.{risk}",
        _since(settled, target),
    )


def _small(share: float) -> str:
    """Two digits and no exponent: ``0.00002``."""
    return str(np.format_float_positional(share, precision=2, fractional=False, trim="-"))


def _is_sure(taken: Taken) -> bool:
    return split_call(taken.teacher, "teacher")[0] in _SURE and "tolerance" not in taken.teacher


def _since(settled: Settled | None, target: int) -> str:
    if settled is None:
        return ""
    evidence = f"The evidence is at position {settled.position:,} of the ledger."
    made = sum(settled.since) if settled.since else 0
    if not settled.since or not made:
        return evidence
    return f"Since then {percent(settled.since[target] / made)} of all pulls went there. {evidence}"


_Look = Callable[[Figures, Forecast, Thresholds], State | None]
_LOOKS: tuple[_Look, ...] = (
    _lagging,
    _cannot_end,
    _stalled,
    _avoided,
    _conflict,
    _cut_off,
    _no_data,
    _slow,
    _replays,
    _follower,
    _base,
)
