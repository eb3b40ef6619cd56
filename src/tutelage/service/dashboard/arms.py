"""The arms' picture: estimates with their intervals, or the evidence against each arm where a teacher bets.

Shapes: K arms.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tutelage.service.dashboard.axes import Scale, line, room, svg, text, tick_label, ticks
from tutelage.service.display import short
from tutelage.service.monitoring.figures import Array, Figures
from tutelage.text import counted

MOST_ARMS_DRAWN = 24
_ROW = 23.0
_LEAST_WIDTH = 0.1  # of the range of rewards
_MOST_EVIDENCE = 1.1  # that is drawn: whatever has reached 1 has ruled out


@dataclass(frozen=True, eq=False)
class ArmView:
    """The arms in the order of their estimates, those in play first.

    ``middle``, ``lower``, ``upper`` [K] are in [0, 1], NaN where unknown; ``epochs`` [K] says of which epoch
    a bound is, 0 for none; ``bound`` is what an arm's upper bound must reach, None before the first.
    """

    order: tuple[int, ...]
    active: frozenset[int]
    middle: Array
    lower: Array
    upper: Array
    epochs: tuple[int, ...]
    bound: float | None


def arm_view(figures: Figures) -> ArmView:
    """Each arm with the bounds of the last epoch that looked at it: its own, if it is ruled out."""
    taken, told = figures.taken, figures.told
    size = len(taken.arms)
    known = len(told.epochs) == size
    lower = np.array(told.lower, dtype=np.float64) if known else taken.lower.copy()
    upper = np.array(told.upper, dtype=np.float64) if known else taken.upper.copy()
    newest = np.isfinite(taken.lower)
    lower[newest], upper[newest] = taken.lower[newest], taken.upper[newest]
    middle = np.where(np.isfinite(lower), (lower + upper) / 2, taken.estimates)
    active = frozenset(taken.active_arms)
    ranks = np.where(np.isfinite(middle), middle, -np.inf)
    order = sorted(range(size), key=lambda arm: (arm not in active, -ranks[arm], arm))
    bounds = [lower[arm] for arm in active if np.isfinite(lower[arm])]
    epochs = told.epochs if known else (0,) * size
    return ArmView(tuple(order), active, middle, lower, upper, epochs, float(max(bounds)) if bounds else None)


def arms_chart(figures: Figures, view: ArmView, *, is_narrow: bool = False) -> str:
    """The arms' estimates with their intervals, at most ``MOST_ARMS_DRAWN``; narrow: those in play alone.

    Of a teacher that bets it shows instead how near each arm is to being ruled out.
    """
    taken = figures.taken
    drawn = view.order[:MOST_ARMS_DRAWN]
    if is_narrow:
        drawn = tuple(arm for arm in drawn if arm in view.active)
    if has_evidence(figures):
        return _evidence_chart(figures, drawn, view, is_narrow=is_narrow)
    values = [
        v for arm in drawn for v in (view.lower[arm], view.upper[arm], view.middle[arm]) if np.isfinite(v)
    ]
    if not values:
        return ""
    least = _LEAST_WIDTH * (taken.high - taken.low)
    ends = room(taken.to_sender(min(values)), taken.to_sender(max(values)), least)
    scale = _scale(*ends, is_narrow=is_narrow)
    at = ticks(scale.low, scale.high, 3 if is_narrow else 6)
    parts = _rows(figures, drawn, view, scale, at, [tick_label(tick) for tick in at])
    for number, arm in enumerate(drawn):
        y, kind = _place(number), _kind(figures, view, arm)
        if np.isfinite(view.lower[arm]):
            lower, upper = taken.to_sender(view.lower[arm]), taken.to_sender(view.upper[arm])
            parts.append(line(scale(lower), y, scale(upper), y, f"interval {kind}"))
        if np.isfinite(view.middle[arm]):
            middle = scale(taken.to_sender(view.middle[arm]))
            parts.append(f'<circle cx="{middle:.1f}" cy="{y:.1f}" r="4.5" class="dot {kind}"/>')
    bound = None if view.bound is None else taken.to_sender(view.bound)
    return _drawn(parts, len(drawn), scale, bound, "Estimates of {} with their intervals; see the table")


def has_evidence(figures: Figures) -> bool:
    """Whether the teacher bets, and has no intervals."""
    taken = figures.taken
    return bool(np.isfinite(taken.evidence).any()) and not bool(np.isfinite(taken.lower).any())


def _evidence_chart(figures: Figures, drawn: Sequence[int], view: ArmView, *, is_narrow: bool) -> str:
    """log W against each arm as a share of the logarithm of its threshold, which is the dashed line."""
    scale = _scale(0.0, _MOST_EVIDENCE, is_narrow=is_narrow)
    at = (0.0, 0.5, 1.0) if is_narrow else (0.0, 0.25, 0.5, 0.75, 1.0)
    parts = _rows(figures, drawn, view, scale, at, [f"{100 * tick:g} %" for tick in at])
    for number, arm in enumerate(drawn):
        evidence = float(np.clip(figures.taken.evidence[arm], 0.0, _MOST_EVIDENCE))
        if np.isfinite(evidence):
            y, kind = _place(number), _kind(figures, view, arm)
            parts.append(line(scale(0.0), y, scale(evidence), y, f"interval {kind}"))
            parts.append(f'<circle cx="{scale(evidence):.1f}" cy="{y:.1f}" r="4.5" class="dot {kind}"/>')
    return _drawn(parts, len(drawn), scale, 1.0, "The evidence against {}; see the table")


def _scale(low: float, high: float, *, is_narrow: bool) -> Scale:
    return Scale(low, high, 110.0, 340.0) if is_narrow else Scale(low, high, 150.0, 640.0)


def _place(number: int) -> float:
    return 20 + _ROW * number


def _kind(figures: Figures, view: ArmView, arm: int) -> str:
    """The class of an arm in the style sheet."""
    return "target" if figures.taken.target == arm else "active" if arm in view.active else "gone"


def _rows(
    figures: Figures,
    drawn: Sequence[int],
    view: ArmView,
    scale: Scale,
    at: Sequence[float],
    labels: Sequence[str],
) -> list[str]:
    """The axis below and the arms' names."""
    parts, bottom = [], 12 + _ROW * len(drawn)
    for tick, label in zip(at, labels, strict=True):
        parts += [
            line(scale(tick), 6, scale(tick), bottom, "grid"),
            text(scale(tick), bottom + 18, label, "tick", "middle"),
        ]
    for number, arm in enumerate(drawn):
        name = short(figures.taken.arms[arm], int(scale.start / 8))
        kind = _kind(figures, view, arm)
        parts.append(text(scale.start - 10, _place(number) + 4, name, f"name {kind}", "end"))
    return parts


def _drawn(parts: list[str], rows: int, scale: Scale, bound: float | None, label: str) -> str:
    """The picture, with the bound to beat."""
    bottom = 12 + _ROW * rows
    if bound is not None:
        parts.append(line(scale(bound), 2, scale(bound), bottom, "bound"))
    return svg(scale.end + 20, bottom + 26, parts, label.format(counted(rows, "arm")))
