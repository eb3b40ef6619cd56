"""The panels of a campaign's page, rendered from a view."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from tutelage.service.dashboard import charts
from tutelage.service.dashboard.arms import MAX_ARMS_DRAWN, ArmEstimates, draw_arms, estimate_arms, has_evidence
from tutelage.service.dashboard.charts import ChartWindow, CounterLine
from tutelage.service.dashboard.grid import blamed_clients, find_behind, find_strays, make_grid
from tutelage.service.dashboard.templating import BrowserTab, environment, make_tab
from tutelage.service.monitoring.campaign_view import CampaignView, Metrics
from tutelage.service.monitoring.forecast import MINIMUM_SECONDS
from tutelage.service.monitoring.status import DEFAULTS, StatusItem, Thresholds, status_of
from tutelage.text import UNKNOWN, format_count, format_duration, format_percent

TOP_PANELS = ("head", "banner", "numbers")
PANELS = (*TOP_PANELS, "quota", "behind", "arms", "share", "cost", "regret", "events")
_MAX_EVENTS, _MANY_ROWS = 12, 24


def choose_columns(metrics: Metrics) -> dict[str, tuple[str, ...]]:
    """The panels below the top ones, by columns that are about equally high."""
    if _has_many_rows(metrics):
        return {"left": ("quota", "arms"), "right": ("behind", "share", "cost", "regret", "events")}
    return {"left": ("quota", "arms", "share"), "right": ("behind", "cost", "regret", "events")}


def _has_many_rows(metrics: Metrics) -> bool:
    """Whether the panels of clients and of arms are so high together that the other column takes the shares."""
    return len(metrics.clients) + min(len(metrics.arms), MAX_ARMS_DRAWN) > _MANY_ROWS


@dataclass(frozen=True)
class CampaignPanels:
    """A page's panels, each with a hash of its content, at a position of the ledger."""

    position: int
    tab: BrowserTab
    panels: Mapping[str, str]
    marks: Mapping[str, str]


@dataclass(frozen=True)
class KeyNumber:
    """One of the numbers at the top of the page; ``progress`` is a share in [0, 1], if it has a bar."""

    value: str
    label: str
    progress: float | None = None


def render_panels(view: CampaignView, thresholds: Thresholds = DEFAULTS, range_name: str = "") -> CampaignPanels:
    """Render all panels of a campaign's page; ``range_name`` is the time range of its charts."""
    status = status_of(view, thresholds)
    estimates, window = estimate_arms(view), charts.choose_window(view, range_name)
    common = {"view": view, "metrics": view.metrics, "status": status, "worst": status[0]}
    contexts: dict[str, dict[str, Any]] = {
        "head": {"age": _format_age(view)},
        "banner": {},
        "numbers": {"numbers": _key_numbers(view, estimates)},
        "quota": {"grid": make_grid(view, status)},
        "behind": _behind_panel(view, status, thresholds),
        "arms": {
            "chart": _both_widths(draw_arms(view, estimates), draw_arms(view, estimates, is_narrow=True)),
            "estimates": estimates,
            "bets": has_evidence(view),
            "pulls": view.metrics.pulls.sum(axis=0),
        },
        "share": _share_panel(view, window),
        "cost": _cost_panel(view, window),
        "regret": _regret_panel(view, estimates, window),
        "events": {"events": view.ledger.events[:_MAX_EVENTS], "count": len(view.ledger.events)},
    }
    templates = environment().get_template("panels.html").module
    panels = {name: str(getattr(templates, name)(**common, **contexts[name])) for name in PANELS}
    marks = {name: hashlib.sha256(panel.encode()).hexdigest()[:10] for name, panel in panels.items()}
    return CampaignPanels(view.metrics.position, make_tab(view.metrics.name, status[0]), panels, marks)


def format_rate(view: CampaignView) -> str:
    """Pulls per second in the last minute, or per minute if they are few."""
    rate = view.activity.pulls_per_second
    return f"{rate:,.0f}/s" if rate >= 1 or rate == 0 else f"{60 * rate:.2g}/min"


def _both_widths(wide: str, narrow: str) -> Markup:
    """A chart for a screen and one for a phone; the style sheet shows one of them."""
    if not wide:
        return Markup()
    both = f'<div class="wide">{wide}</div><div class="narrow">{narrow}</div>'
    return Markup(both)  # noqa: S704 - made by charts, which escape


def _format_age(view: CampaignView) -> str:
    started = view.ledger.started
    return format_duration(max(view.now - started, 0.0)) if started is not None else ""


def _key_numbers(view: CampaignView, estimates: ArmEstimates) -> list[KeyNumber]:
    metrics, activity, seconds = view.metrics, view.activity, view.server.commit_seconds
    regret = float(charts.estimate_regret(estimates, metrics.pulls.sum(axis=0, keepdims=True), metrics.target)[0][0])
    has_estimates = bool(np.isfinite(estimates.middle).any())
    rate = ""
    if activity.minute_seconds >= MINIMUM_SECONDS:
        rate = f", {60 * activity.minute_cost / activity.minute_seconds:+,.0f}/min"
    beyond = f", and {metrics.beyond_horizon:,} beyond the horizon" if metrics.beyond_horizon else ""
    return [
        _quota_number(view),
        KeyNumber(f"{metrics.round:,}", f"of {metrics.horizon:,} rounds", metrics.round / metrics.horizon),
        KeyNumber(f"{len(metrics.active_arms):,} of {len(metrics.arms):,}", f"active arms{_count_in_quota(metrics)}"),
        KeyNumber(f"{metrics.cost:,.0f}", f"cost{rate}"),
        KeyNumber(f"{regret:,.0f}" if has_estimates else UNKNOWN, "estimated regret"),
        KeyNumber(f"{int(metrics.pulls.sum()) - metrics.beyond_horizon:,}", f"pulls, {format_rate(view)}{beyond}"),
        KeyNumber(
            f"{metrics.replays:,}",
            f"replayed, {metrics.bypassed:,} bypassed pulls"
            + (f", {format_count(metrics.conflicts, 'conflict')}" if metrics.conflicts else ""),
        ),
        KeyNumber(format_duration(seconds), "commit time (99th percentile)")
        if seconds is not None
        else KeyNumber(UNKNOWN, "commit time: no recent commits"),
    ]


def _count_in_quota(metrics: Metrics) -> str:
    """How many arms the quota has, if it leaves out active ones."""
    count = int(metrics.in_quota.sum())
    return f", {count:,} in the quota" if 0 < count < len(metrics.active_arms) else ""


def _quota_number(view: CampaignView) -> KeyNumber:
    """The share of the quota that is met, or the consultation that decided."""
    metrics, decision = view.metrics, view.ledger.decision
    if metrics.target is not None and decision is not None:
        return KeyNumber("decided", f"by consultation {decision.directive}; no more pulls are required")
    label = f"of the quota for consultation {metrics.directive}"
    if metrics.status == "registering":
        return KeyNumber(format_percent(0.0), label, 0.0)
    if not metrics.in_quota.any():
        return KeyNumber(UNKNOWN, "no pulls are required")
    return KeyNumber(format_percent(metrics.quota_share), label, metrics.quota_share)


def _behind_panel(view: CampaignView, status: Sequence[StatusItem], thresholds: Thresholds) -> dict[str, Any]:
    if view.metrics.taught_arm is None:
        behind = find_behind(view, blamed_clients(status), thresholds)
        return {"behind": behind, "strays": None, "seconds": 0.0, "has_pulls": True}
    return {
        "behind": [],
        "strays": find_strays(view),
        "seconds": view.activity.taught_seconds,
        "has_pulls": bool(view.activity.taught_pulls.any()),
    }


def _share_panel(view: CampaignView, window: ChartWindow | None) -> dict[str, Any]:
    width = charts.RIGHT_WIDTH if _has_many_rows(view.metrics) else charts.LEFT_WIDTH
    chart, caption = charts.draw_shares(view, window, width)
    narrow, narrow_caption = charts.draw_shares(view, window, is_narrow=True)
    return {
        "chart": _both_widths(chart, narrow),
        "caption": caption,
        "narrow_caption": narrow_caption,
        "seconds": window.span if window else None,
    }


def _cost_panel(view: CampaignView, window: ChartWindow | None) -> dict[str, Any]:
    """The chart, and the cost before and after the decision."""
    metrics, decision = view.metrics, view.ledger.decision
    values = view.activity.points.costs[window.points] if window else np.zeros(1)
    mark = decision.time - view.now if decision else None
    chart = _draw_counter(window, CounterLine("Cost so far", values, mark=mark))
    learning = decision.cost if decision else metrics.cost
    if metrics.target is not None and decision is None:
        learning = 0.0
    return {"chart": chart, "learning": learning, "teaching": metrics.cost - learning}


def _regret_panel(view: CampaignView, estimates: ArmEstimates, window: ChartWindow | None) -> dict[str, Any]:
    if window is None or not np.isfinite(estimates.middle).any():
        return {"chart": "", "has_band": False}
    pulls = view.activity.points.arm_pulls[window.points]
    values, lower, upper = charts.estimate_regret(estimates, pulls, view.metrics.target)
    has_band = bool(np.isfinite(estimates.lower).any())
    band = (lower, upper) if has_band else (None, None)
    return {"chart": _draw_counter(window, CounterLine("Estimated regret", values, *band)), "has_band": has_band}


def _draw_counter(window: ChartWindow | None, counter: CounterLine) -> Markup:
    return _both_widths(charts.draw_counter(window, counter), charts.draw_counter(window, counter, is_narrow=True))
