"""The picture of an agent's check: how it shares its pulls under each constant."""

from typing import TYPE_CHECKING

import numpy as np

from tutelage.plots.matplotlib_import import load_matplotlib

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tutelage.measurement.agent_check import AgentCheck


def draw_sharing(found: "AgentCheck") -> "Figure":
    """Draw a panel for each constant: pulls of the least and most pulled arm in all runs, and the lines of eta."""
    load_matplotlib()
    from matplotlib.figure import Figure

    sharings = found.measures.sharings
    figure = Figure(figsize=(3.0 * len(sharings), 3.0), layout="constrained")
    for axes, sharing in zip(np.atleast_1d(figure.subplots(1, len(sharings), sharey=True)), sharings, strict=True):
        taus = np.arange(1, sharing.least.shape[1] + 1)
        a, b, c, d = sharing.lines()
        axes.plot(taus, sharing.most.T, color="#d55e00", alpha=0.25, linewidth=0.6)
        axes.plot(taus, sharing.least.T, color="#0072b2", alpha=0.25, linewidth=0.6)
        axes.plot(taus, np.minimum(taus, c * taus + d), color="#d55e00", label="most pulled arm, eta-high")
        axes.plot(taus, np.maximum(0.0, a * taus - b), color="#0072b2", label="least pulled arm, eta-low")
        axes.plot(taus, taus / sharing.num_arms, color="#777777", linestyle=":", label="even share")
        axes.set_title(f"all arms show {sharing.constant:g}")
        axes.set_xlabel("pulls")
    axes = figure.axes[0]
    axes.set_ylabel("pulls of an arm")
    axes.legend(loc="upper left", fontsize="small")
    return figure
