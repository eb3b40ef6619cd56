"""The table of clients and arms, the clients that are behind, and those that stray from the target.

Shapes: M clients, K arms.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from tutelage.service.dashboard.charts import draw_overview
from tutelage.service.monitoring.campaign_view import Array, CampaignView, Metrics
from tutelage.service.monitoring.status import StatusItem, Thresholds
from tutelage.service.monitoring.status.slow import find_slow_by_interval
from tutelage.text import format_count, format_name, round_percents, shorten_name

MAX_CELLS = 600
FEW_CLIENTS, FEW_ARMS, MAX_ROWS = 12, 24, 10
LEVEL_MET = 7  # of the colour of a pair that has met its quota
HEADS = ((3, "least"), (8, "low"))  # longest arm name, in columns, for a head of this CSS class


@dataclass(frozen=True)
class GridCell:
    """One client and arm: its text, its colour level, whether the arm is active, and its tooltip."""

    text: str
    level: int
    is_active: bool
    tooltip: str


@dataclass(frozen=True)
class PullGrid:
    """The table: ``arms`` are (name, is active), ``rows`` (client, is blamed, cells).

    ``clients_omitted`` counts the clients that only the ``overview`` shows, ``arms_omitted`` the active arms
    that do not fit.  ``head`` is the CSS class of the arms' names, by the longest.
    """

    by_quota: bool
    subtitle: str
    arms: Sequence[tuple[str, bool]]
    rows: Sequence[tuple[str, bool, Sequence[GridCell]]]
    clients_omitted: int
    arms_omitted: int
    overview: str
    met: int
    pairs: int
    quota: str
    head: str


def make_grid(view: CampaignView, status: Sequence[StatusItem]) -> PullGrid:
    """Pulls against the quota, the slowest client first; without a quota, each client's pulls by arm."""
    metrics = view.metrics
    by_quota = bool(metrics.in_quota.any())
    shares = _compute_shares(metrics, by_quota=by_quota)
    levels = _compute_levels(metrics, shares, by_quota=by_quota)
    clients = _order_clients(view, by_quota=by_quota)
    size = len(metrics.arms)
    is_large = shares.size > MAX_CELLS
    listed, arms, arms_omitted = clients, list(range(size)), 0
    if is_large:
        listed = clients[:FEW_CLIENTS]
        weights = (metrics.missing if by_quota else metrics.pulls)[listed].sum(axis=0)
        order = sorted(metrics.active_arms, key=lambda arm: (arm != metrics.taught_arm, -int(weights[arm]), arm))
        arms, arms_omitted = order[:FEW_ARMS], max(len(order) - FEW_ARMS, 0)
    rest = clients[len(listed) :]
    active = frozenset(metrics.active_arms)
    overview = draw_overview(levels[rest], active) if rest else ""
    blamed = blamed_clients(status)
    rows = [
        (metrics.clients[client], client in blamed, _make_cells(metrics, client, arms, shares, levels))
        for client in listed
    ]
    in_quota = metrics.in_quota
    return PullGrid(
        by_quota,
        f"for consultation {metrics.directive}, slowest client first" if by_quota else "share of each client's pulls",
        [(metrics.arms[arm], arm in active) for arm in arms],
        rows,
        len(rest),
        arms_omitted,
        Markup(overview),  # noqa: S704 - made of numbers only
        int((metrics.missing[metrics.is_evidence][:, in_quota] == 0).sum()),
        int(metrics.is_evidence.sum() * in_quota.sum()),
        format_quota(metrics),
        next((kind for columns, kind in HEADS if all(_fits(metrics.arms[arm], columns) for arm in arms)), ""),
    )


def _fits(name: str, columns: int) -> bool:
    return shorten_name(name, columns) == format_name(name)


def format_quota(metrics: Metrics) -> str:
    """Format the quota: ``613``, or ``613 to 700`` if it differs between arms."""
    counts = metrics.quota[metrics.in_quota]
    if not counts.size:
        return ""
    low, high = int(counts.min()), int(counts.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _compute_shares(metrics: Metrics, *, by_quota: bool) -> Array:
    """The share of each pair [M, K]: of its quota (or of the largest), or of its client's pulls."""
    if by_quota:
        quota = np.where(metrics.in_quota, metrics.quota, metrics.quota.max())
        of_quota: Array = np.minimum(metrics.evidence_pulls / quota, 1.0)
        return of_quota
    shares: Array = metrics.pulls / np.maximum(metrics.rounds, 1)[:, None]
    return shares


def _compute_levels(metrics: Metrics, shares: Array, *, by_quota: bool) -> NDArray[np.int64]:
    if not by_quota:
        return np.full(shares.shape, LEVEL_MET, dtype=np.int64)
    levels: NDArray[np.int64] = np.floor(shares * LEVEL_MET).astype(np.int64)
    levels[(levels == LEVEL_MET) & (shares < 1)] = LEVEL_MET - 1
    levels[~metrics.is_evidence] = LEVEL_MET
    return levels


def _order_clients(view: CampaignView, *, by_quota: bool) -> list[int]:
    metrics = view.metrics
    if by_quota:
        missing = metrics.missing.sum(axis=1)
    else:
        missing = view.activity.taught_pulls.sum(axis=1)
        if metrics.taught_arm is not None:
            missing = missing - view.activity.taught_pulls[:, metrics.taught_arm]
    return sorted(range(len(metrics.clients)), key=lambda client: (-int(missing[client]), client))


def _make_cells(
    metrics: Metrics, client: int, arms: Sequence[int], shares: Array, levels: NDArray[np.int64]
) -> list[GridCell]:
    """A client's row; the percentages of its pulls add up to 100."""
    by_quota = bool(metrics.in_quota.any())
    percents = [math.floor(100 * share) for share in shares[client]] if by_quota else []
    percents = percents or round_percents(shares[client].tolist())
    active = frozenset(metrics.active_arms)
    return [_make_cell(metrics, client, arm, percents[arm], levels, is_active=arm in active) for arm in arms]


def _make_cell(
    metrics: Metrics, client: int, arm: int, percent: int, levels: NDArray[np.int64], *, is_active: bool
) -> GridCell:
    level, by_quota = int(levels[client, arm]), bool(metrics.in_quota.any())
    is_met = by_quota and is_active and metrics.missing[client, arm] == 0
    text = "✓" if is_met else f"{percent}"
    if not metrics.is_evidence[client] and by_quota:
        text = "·"
    names = f"{format_name(metrics.clients[client])}, {format_name(metrics.arms[arm])}"
    tooltip = f"{names}: {format_count(int(metrics.pulls[client, arm]), 'pull')}"
    if metrics.missing[client, arm]:
        tooltip += f", {int(metrics.missing[client, arm]):,} missing"
    return GridCell(text, level, is_active, tooltip)


@dataclass(frozen=True)
class BehindClient:
    """A client with missing pulls of ``num_missing`` of the ``num_arms`` arms in the quota.

    ``missing`` pulls are of its slowest ``arm``; ``silence`` is None unless it is unusually long.
    """

    client: str
    arm: str
    missing: int
    num_missing: int
    num_arms: int
    silence: float | None
    is_blamed: bool


@dataclass(frozen=True)
class StrayClient:
    """A client that pulls other arms than the taught one: their share of its pulls, and the main one."""

    client: str
    share: float
    arm: str


def blamed_clients(status: Sequence[StatusItem]) -> frozenset[int]:
    """The clients that a critical status item names."""
    return frozenset(item.client for item in status if item.client is not None and item.severity == "critical")


def find_behind(view: CampaignView, blamed: Collection[int], thresholds: Thresholds) -> list[BehindClient]:
    """The clients with the most missing pulls of any arm."""
    metrics, activity = view.metrics, view.activity
    most = metrics.missing.max(axis=1, initial=0)
    order = sorted(np.flatnonzero(most).tolist(), key=lambda client: (client not in blamed, -int(most[client])))
    is_slow = find_slow_by_interval(view, thresholds)
    return [
        BehindClient(
            metrics.clients[client],
            metrics.arms[int(metrics.missing[client].argmax())],
            int(most[client]),
            int((metrics.missing[client] > 0).sum()),
            int(metrics.in_quota.sum()),
            float(activity.silence[client]) if is_slow[client] else None,
            client in blamed,
        )
        for client in order[:MAX_ROWS]
    ]


def find_strays(view: CampaignView) -> list[StrayClient]:
    """The clients that pulled other arms than the taught one in the last minute, since the decision, worst first."""
    metrics, minute = view.metrics, view.activity.taught_pulls
    elsewhere = minute.copy()
    elsewhere[:, metrics.taught_arm] = 0
    made, away = minute.sum(axis=1), elsewhere.sum(axis=1)
    shares = away / np.maximum(made, 1)
    order = sorted(np.flatnonzero(away).tolist(), key=lambda client: -float(shares[client]))
    return [
        StrayClient(metrics.clients[client], float(shares[client]), metrics.arms[int(elsewhere[client].argmax())])
        for client in order[:MAX_ROWS]
    ]
