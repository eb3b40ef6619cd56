"""The picture of an agent's check: how it shares its pulls under each constant, and how it leaves arms afterwards."""

from typing import TYPE_CHECKING, Any

import numpy as np

from tutelage.inference import half_width_of_band
from tutelage.plots.matplotlib_import import load_matplotlib

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tutelage.measurement.agent_check import AgentCheck
    from tutelage.measurement.agent_verdicts import History, Sharing

_MOST_COLOUR, _LEAST_COLOUR, _EVEN_COLOUR = "#d55e00", "#0072b2", "#777777"
_POINTS = 60  # of a confidence band


def draw_check(found: "AgentCheck") -> "Figure":
    """Draw a column for each constant: eta above, the pulls of the least and most pulled arm; iota below."""
    load_matplotlib()
    from matplotlib.figure import Figure

    measures = found.measures
    columns = len(measures.sharings)
    figure = Figure(figsize=(3.2 * columns, 5.6), layout="constrained")
    above, below = figure.subplots(2, columns, sharey="row", squeeze=False)
    for axes, sharing in zip(above, measures.sharings, strict=True):
        _draw_sharing(axes, sharing)
    for axes, history in zip(below, measures.histories, strict=True):
        _draw_history(axes, history)
    above[0].set_ylabel("pulls of an arm")
    above[0].legend(loc="upper left", fontsize="x-small")
    below[0].set_ylabel("pulls of all other arms")
    below[0].legend(loc="upper left", fontsize="x-small")
    return figure


def _draw_sharing(axes: Any, sharing: "Sharing") -> None:
    """Draw all runs, their mean with a band of 95 %, and the straight lines of eta."""
    taus = np.arange(1, sharing.least.shape[1] + 1)
    shown = np.unique(np.linspace(0, taus.size - 1, _POINTS).astype(int))
    a, b, c, d = sharing.lines()
    kinds = (
        ("most pulled arm", sharing.most, _MOST_COLOUR, np.minimum(taus, c * taus + d), "eta-high"),
        ("least pulled arm", sharing.least, _LEAST_COLOUR, np.maximum(0.0, a * taus - b), "eta-low"),
    )
    for label, curves, colour, line, name in kinds:
        mean, half = curves[:, shown].mean(axis=0), half_width_of_band(curves[:, shown].astype(np.float64))
        axes.plot(taus, curves.T, color=colour, alpha=0.15, linewidth=0.5)
        axes.plot(taus[shown], mean, color=colour, linewidth=1.2, label=f"{label}, mean and 95 %")
        axes.fill_between(taus[shown], mean - half, mean + half, color=colour, alpha=0.3, linewidth=0)
        axes.plot(taus, line, color=colour, linestyle="--", linewidth=1.0, label=name)
    axes.plot(taus, taus / sharing.num_arms, color=_EVEN_COLOUR, linestyle=":", label="even share")
    axes.set_title(f"all arms show {sharing.constant:g}", fontsize="medium")
    axes.set_xlabel("pulls")


def _draw_history(axes: Any, history: "History") -> None:
    """Draw pulls of other arms in the rounds after the history, and iota, the most of them."""
    rounds = np.arange(1, history.curves.shape[1] + 1)
    axes.plot(rounds, history.curves.T, color=_LEAST_COLOUR, alpha=0.4, linewidth=0.6)
    axes.plot([], [], color=_LEAST_COLOUR, label="one run")
    axes.axhline(history.together.max() * history.length, color=_MOST_COLOUR, linestyle="--", label="iota")
    axes.set_title(f"after {history.length} pulls of each arm at {history.constant:g}", fontsize="medium")
    axes.set_xlabel("rounds in which the others show 0")
