"""The server that tells the figures: its disk, how old they are, and whether it leads."""

from tutelage.service.monitoring.durations import duration
from tutelage.service.monitoring.figures import Figures
from tutelage.service.monitoring.forecast import Forecast
from tutelage.service.monitoring.status.state import State
from tutelage.service.monitoring.thresholds import Thresholds
from tutelage.text import counted


def lagging(figures: Figures, forecast: Forecast, thresholds: Thresholds) -> State | None:
    """Commits take long, pulls wait for them, or nothing is committed at all."""
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


def cut_off(figures: Figures, forecast: Forecast, thresholds: Thresholds) -> State | None:
    """The figures are old."""
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


def follower(figures: Figures, forecast: Forecast, thresholds: Thresholds) -> State | None:
    """Another server leads the campaign."""
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
