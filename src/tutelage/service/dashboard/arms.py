"""The chart of the arms: estimates with their intervals or, if the teacher bets, the evidence against each.

Shapes: K arms.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tutelage.service.dashboard.axes import Axis, line, name_label, pad_range, svg, text, ticks
from tutelage.service.monitoring.campaign_view import Array, CampaignView
from tutelage.text import format_axis_number, format_count, shorten_names

MAX_ARMS_DRAWN = 24
_ROW = 23.0
_MINIMUM_WIDTH = 0.1  # of the range of rewards
_MAX_EVIDENCE = 1.1  # drawn; an arm is ruled out at 1


@dataclass(frozen=True, eq=False)
class ArmEstimates:
    """The arms in the order of their estimates, active ones first.

    ``middle``, ``lower``, ``upper`` [K] are in [0, 1], NaN where unknown; ``directives`` [K] are the numbers
    of the consultations that the bounds come from, 0 for none.  An arm whose upper bound is below
    ``threshold`` is ruled out; it is None before the first bounds.
    """

    order: tuple[int, ...]
    active: frozenset[int]
    middle: Array
    lower: Array
    upper: Array
    directives: tuple[int, ...]
    threshold: float | None


def estimate_arms(view: CampaignView) -> ArmEstimates:
    """Combine the bounds of the last consultation that looked at each arm."""
    metrics, ledger = view.metrics, view.ledger
    size = len(metrics.arms)
    known = len(ledger.directives) == size
    lower = np.array(ledger.lower, dtype=np.float64) if known else metrics.lower.copy()
    upper = np.array(ledger.upper, dtype=np.float64) if known else metrics.upper.copy()
    newest = np.isfinite(metrics.lower)
    lower[newest], upper[newest] = metrics.lower[newest], metrics.upper[newest]
    middle = np.where(np.isfinite(lower), (lower + upper) / 2, metrics.estimates)
    active = frozenset(metrics.active_arms)
    ranks = np.where(np.isfinite(middle), middle, -np.inf)
    order = sorted(range(size), key=lambda arm: (arm not in active, -ranks[arm], arm))
    bounds = [lower[arm] for arm in active if np.isfinite(lower[arm])]
    directives = ledger.directives if known else (0,) * size
    threshold = float(max(bounds)) if bounds else None
    return ArmEstimates(tuple(order), active, middle, lower, upper, directives, threshold)


def draw_arms(view: CampaignView, estimates: ArmEstimates, *, is_narrow: bool = False) -> str:
    """Draw at most ``MAX_ARMS_DRAWN`` arms; the narrow chart has only the active ones.

    For a teacher that bets it shows how near each arm is to being ruled out.
    """
    metrics = view.metrics
    drawn = estimates.order[:MAX_ARMS_DRAWN]
    if is_narrow:
        drawn = tuple(arm for arm in drawn if arm in estimates.active)
    if has_evidence(view):
        return _draw_evidence(view, drawn, estimates, is_narrow=is_narrow)
    bounds = (estimates.lower, estimates.upper, estimates.middle)
    values = [each[arm] for arm in drawn for each in bounds if np.isfinite(each[arm])]
    if not values:
        return ""
    width = _MINIMUM_WIDTH * (metrics.high - metrics.low)
    ends = pad_range(metrics.to_reward(min(values)), metrics.to_reward(max(values)), width)
    axis = _make_axis(*ends, is_narrow=is_narrow)
    at = ticks(axis.low, axis.high, 3 if is_narrow else 6)
    parts = _draw_frame(view, drawn, estimates, axis, at, [format_axis_number(tick) for tick in at])
    for number, arm in enumerate(drawn):
        y, kind = _row_y(number), _css_class(view, estimates, arm)
        if np.isfinite(estimates.lower[arm]):
            lower, upper = metrics.to_reward(estimates.lower[arm]), metrics.to_reward(estimates.upper[arm])
            parts.append(line(axis(lower), y, axis(upper), y, f"interval {kind}"))
        if np.isfinite(estimates.middle[arm]):
            middle = axis(metrics.to_reward(estimates.middle[arm]))
            parts.append(f'<circle cx="{middle:.1f}" cy="{y:.1f}" r="4.5" class="dot {kind}"/>')
    threshold = None if estimates.threshold is None else metrics.to_reward(estimates.threshold)
    return _finish(parts, len(drawn), axis, threshold, "Estimates of {} with their intervals; see the table")


def has_evidence(view: CampaignView) -> bool:
    """Whether the teacher bets and has no intervals."""
    metrics = view.metrics
    return bool(np.isfinite(metrics.arm_evidence).any()) and not bool(np.isfinite(metrics.lower).any())


def _draw_evidence(view: CampaignView, drawn: Sequence[int], estimates: ArmEstimates, *, is_narrow: bool) -> str:
    """log W against each arm as a share of the logarithm of its threshold, which is the dashed line."""
    axis = _make_axis(0.0, _MAX_EVIDENCE, is_narrow=is_narrow)
    at = (0.0, 0.5, 1.0) if is_narrow else (0.0, 0.25, 0.5, 0.75, 1.0)
    parts = _draw_frame(view, drawn, estimates, axis, at, [f"{100 * tick:g} %" for tick in at])
    for number, arm in enumerate(drawn):
        evidence = float(np.clip(view.metrics.arm_evidence[arm], 0.0, _MAX_EVIDENCE))
        if np.isfinite(evidence):
            y, kind = _row_y(number), _css_class(view, estimates, arm)
            parts.append(line(axis(0.0), y, axis(evidence), y, f"interval {kind}"))
            parts.append(f'<circle cx="{axis(evidence):.1f}" cy="{y:.1f}" r="4.5" class="dot {kind}"/>')
    return _finish(parts, len(drawn), axis, 1.0, "Evidence against {}; see the table")


def _make_axis(low: float, high: float, *, is_narrow: bool) -> Axis:
    return Axis(low, high, 110.0, 340.0) if is_narrow else Axis(low, high, 150.0, 740.0)


def _row_y(number: int) -> float:
    return 20 + _ROW * number


def _css_class(view: CampaignView, estimates: ArmEstimates, arm: int) -> str:
    """The class of an arm in the style sheet."""
    return "target" if view.metrics.target == arm else "active" if arm in estimates.active else "ruled-out"


def _draw_frame(
    view: CampaignView,
    drawn: Sequence[int],
    estimates: ArmEstimates,
    axis: Axis,
    at: Sequence[float],
    labels: Sequence[str],
) -> list[str]:
    """Draw the axis below and the arms' names."""
    parts, bottom = [], 12 + _ROW * len(drawn)
    for tick, label in zip(at, labels, strict=True):
        parts += [
            line(axis(tick), 6, axis(tick), bottom, "grid"),
            text(axis(tick), bottom + 18, label, "tick", "middle"),
        ]
    for number, arm in enumerate(drawn):
        name, kind = view.metrics.arms[arm], _css_class(view, estimates, arm)
        short = shorten_names(view.metrics.arms, int(axis.start / 8))[name]
        parts.append(
            name_label(axis.start - 10, _row_y(number) + 4, name, short, axis.start - 14, f"name {kind}", "end")
        )
    return parts


def _finish(parts: list[str], rows: int, axis: Axis, threshold: float | None, description: str) -> str:
    """Add the dashed line at which arms are ruled out."""
    bottom = 12 + _ROW * rows
    if threshold is not None:
        parts.append(line(axis(threshold), 2, axis(threshold), bottom, "bound"))
    return svg(axis.end + 20, bottom + 26, parts, description.format(format_count(rows, "arm")))
