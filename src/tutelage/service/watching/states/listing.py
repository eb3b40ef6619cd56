"""All that is so of a campaign."""

from tutelage.service.watching.figures import Figures
from tutelage.service.watching.forecast import foretell
from tutelage.service.watching.states.course import course
from tutelage.service.watching.states.ending import cannot_end
from tutelage.service.watching.states.sending import conflict, no_data, replays
from tutelage.service.watching.states.serving import cut_off, follower, lagging
from tutelage.service.watching.states.state import DEFAULTS, ORDER, Look, State
from tutelage.service.watching.states.waiting import avoided, slow, stalled
from tutelage.service.watching.thresholds import Thresholds

_LOOKS: tuple[Look, ...] = (
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
