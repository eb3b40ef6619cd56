"""The table of clients and arms, who is behind, who strays.

Shapes: M clients, K arms.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from tutelage.service.dashboard.charts import overview
from tutelage.service.display import short, shown
from tutelage.service.monitoring.durations import whole_percents
from tutelage.service.monitoring.figures import Array, Figures, Taken
from tutelage.service.monitoring.status import State
from tutelage.service.monitoring.thresholds import Thresholds

MOST_CELLS = 600
FEW_CLIENTS, FEW_ARMS, MOST_ROWS = 12, 24, 10
MET = 7
HEADS = ((3, "least"), (8, "low"))  # columns of an arm's name that a head of this height has room for


@dataclass(frozen=True)
class Cell:
    """One client and arm: what stands in it, the level of its colour, and whether the arm is in play."""

    words: str
    level: int
    active: bool
    title: str


@dataclass(frozen=True)
class Grid:
    """The table: ``arms`` are (name, in play), ``rows`` (client, caught, cells).

    ``left_out`` counts the clients that only the ``overview`` shows, ``arms_left_out`` the arms in play
    that the table has no room for.  ``head`` is the class of the arms' names, by the longest.
    """

    by_quota: bool
    subtitle: str
    arms: Sequence[tuple[str, bool]]
    rows: Sequence[tuple[str, bool, Sequence[Cell]]]
    left_out: int
    arms_left_out: int
    overview: str
    met: int
    pairs: int
    quota: str
    head: str


def grid_of(figures: Figures, states: Sequence[State]) -> Grid:
    """Pulls against the quota, slowest client first; with no quota, each client's share by arm."""
    taken = figures.taken
    by_quota = bool(taken.listed.any())
    shares = _shares(taken, by_quota=by_quota)
    levels = _levels(taken, shares, by_quota=by_quota)
    clients = _order(figures, by_quota=by_quota)
    size = len(taken.arms)
    is_large = shares.size > MOST_CELLS
    shown, arms, arms_left = clients, list(range(size)), 0
    if is_large:
        shown = clients[:FEW_CLIENTS]
        worst = taken.missing[shown].sum(axis=0) if by_quota else taken.pulls[shown].sum(axis=0)
        active = sorted(taken.active_arms, key=lambda arm: (arm != taken.led_to, -int(worst[arm]), arm))
        arms, arms_left = active[:FEW_ARMS], max(len(active) - FEW_ARMS, 0)
    rest = clients[len(shown) :]
    playing = frozenset(taken.active_arms)
    picture = overview(levels[rest], playing) if rest else ""
    caught = {state.client for state in states if state.client is not None and state.colour == "red"}
    rows = [
        (
            taken.clients[client],
            client in caught,
            _cells(taken, client, arms, shares, levels),
        )
        for client in shown
    ]
    listed = taken.listed
    return Grid(
        by_quota,
        f"epoch {taken.directive} · slowest client first" if by_quota else "each client's share by arm",
        [(taken.arms[arm], arm in playing) for arm in arms],
        rows,
        len(rest),
        arms_left,
        Markup(picture),  # noqa: S704 - it is made of numbers
        int((taken.missing[taken.counted][:, listed] == 0).sum()),
        int(taken.counted.sum() * listed.sum()),
        quota_words(taken),
        next((kind for most, kind in HEADS if all(_fits(taken.arms[arm], most) for arm in arms)), ""),
    )


def _fits(name: str, most: int) -> bool:
    return short(name, most) == shown(name)


def quota_words(taken: Taken) -> str:
    """``613``, or ``613 to 700`` where arms differ."""
    counts = taken.quota[taken.listed]
    if not counts.size:
        return ""
    low, high = int(counts.min()), int(counts.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _shares(taken: Taken, *, by_quota: bool) -> Array:
    """How far each pair [M, K] is: of the quota (without one: of the largest), or of its client's pulls."""
    if by_quota:
        quota = np.where(taken.listed, taken.quota, taken.quota.max())
        of_quota: Array = np.minimum(taken.collected / quota, 1.0)
        return of_quota
    shares: Array = taken.pulls / np.maximum(taken.rounds, 1)[:, None]
    return shares


def _levels(taken: Taken, shares: Array, *, by_quota: bool) -> NDArray[np.int64]:
    if not by_quota:
        return np.full(shares.shape, MET, dtype=np.int64)
    levels: NDArray[np.int64] = np.floor(shares * MET).astype(np.int64)
    levels[(levels == MET) & (shares < 1)] = MET - 1
    levels[~taken.counted] = MET
    return levels


def _order(figures: Figures, *, by_quota: bool) -> list[int]:
    taken = figures.taken
    if by_quota:
        missing = taken.missing.sum(axis=1)
    else:
        missing = figures.recent.minute.sum(axis=1)
        if taken.led_to is not None:
            missing = missing - figures.recent.minute[:, taken.led_to]
    return sorted(range(len(taken.clients)), key=lambda client: (-int(missing[client]), client))


def _cells(
    taken: Taken, client: int, arms: Sequence[int], shares: Array, levels: NDArray[np.int64]
) -> list[Cell]:
    """A client's row; percents of its pulls add up to 100."""
    by_quota = bool(taken.listed.any())
    percents = [math.floor(100 * share) for share in shares[client]] if by_quota else []
    percents = percents or whole_percents(shares[client].tolist())
    playing = frozenset(taken.active_arms)
    return [_cell(taken, client, arm, percents[arm], levels, active=arm in playing) for arm in arms]


def _cell(
    taken: Taken, client: int, arm: int, percent: int, levels: NDArray[np.int64], *, active: bool
) -> Cell:
    level, by_quota = int(levels[client, arm]), bool(taken.listed.any())
    is_met = by_quota and active and taken.missing[client, arm] == 0
    words = "✓" if is_met else f"{percent}"
    if not taken.counted[client] and by_quota:
        words = "·"
    title = (
        f"{shown(taken.clients[client])}, {shown(taken.arms[arm])}: {int(taken.pulls[client, arm]):,} pulls"
    )
    if taken.missing[client, arm]:
        title += f", {int(taken.missing[client, arm]):,} missing"
    return Cell(words, level, active, title)


@dataclass(frozen=True)
class Behind:
    """A client that is waited for; ``silent`` is None where that is nothing special."""

    client: str
    arm: str
    missing: int
    short: int
    listed: int
    silent: float | None
    caught: bool


def behind(figures: Figures, caught: Collection[int | None], thresholds: Thresholds) -> list[Behind]:
    """The clients that miss most, by their slowest arm."""
    taken, recent = figures.taken, figures.recent
    most = taken.missing.max(axis=1, initial=0)
    order = sorted(
        np.flatnonzero(most).tolist(), key=lambda client: (client not in caught, -int(most[client]))
    )
    long = np.fmax(thresholds.slow_seconds, thresholds.slow_intervals * recent.usual_interval)
    return [
        Behind(
            taken.clients[client],
            taken.arms[int(taken.missing[client].argmax())],
            int(most[client]),
            int((taken.missing[client] > 0).sum()),
            int(taken.listed.sum()),
            float(recent.silent[client]) if recent.silent[client] > long[client] else None,
            client in caught,
        )
        for client in order[:MOST_ROWS]
    ]


def strays(figures: Figures) -> list[tuple[str, float, str]]:
    """Clients that pull other arms than the one they are led to: what share of late, and mostly which."""
    taken, minute = figures.taken, figures.recent.minute
    elsewhere = minute.copy()
    elsewhere[:, taken.led_to] = 0
    made, away = minute.sum(axis=1), elsewhere.sum(axis=1)
    shares = away / np.maximum(made, 1)
    order = sorted(np.flatnonzero(away).tolist(), key=lambda client: -float(shares[client]))
    return [
        (taken.clients[client], float(shares[client]), taken.arms[int(elsewhere[client].argmax())])
        for client in order[:MOST_ROWS]
    ]
