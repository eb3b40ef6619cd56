"""All that is so of a campaign."""

from tutelage.service.monitoring.figures import Figures
from tutelage.service.monitoring.forecast import foretell
from tutelage.service.monitoring.status.course import course
from tutelage.service.monitoring.status.ending import cannot_end
from tutelage.service.monitoring.status.sending import conflict, no_data, replays
from tutelage.service.monitoring.status.serving import cut_off, follower, lagging
from tutelage.service.monitoring.status.state import DEFAULTS, ORDER, ReadJob, State
from tutelage.service.monitoring.status.waiting import avoided, slow, stalled
from tutelage.service.monitoring.thresholds import Thresholds

_LOOKS: tuple[ReadJob, ...] = (
    lagging,
    cannot_end,
    stalled,
    avoided,
    conflict,
    cut_off,
    no_data,
    slow,
    replays,
    follower,
    course,
)


def states_of(figures: Figures, thresholds: Thresholds = DEFAULTS) -> list[State]:
    """All that is so, worst first; never empty."""
    forecast = foretell(figures)
    found = [state for look in _LOOKS if (state := look(figures, forecast, thresholds)) is not None]
    found.sort(key=lambda state: ORDER.index((state.kind, state.colour)))
    told = {state.client for state in found if state.colour == "red"}
    is_idle = any(state.kind in ("no data", "stalled") and state.client is None for state in found)
    return [state for state in found if state.kind != "slow" or not (is_idle or state.client in told)]
