"""The states of a campaign, worst first: one pure function of its figures.

The page, ``/metrics`` and ``tutelage campaign show`` all tell them.  docs/dashboard.md says what each asks
of an operator.
"""

from tutelage.service.monitoring.status.listing import states_of
from tutelage.service.monitoring.status.state import ALERTS, CANNOT_BE_SERVED, DEFAULTS, ORDER, Colour, State
from tutelage.service.monitoring.status.waiting import silent_clients

__all__ = [
    "ALERTS",
    "CANNOT_BE_SERVED",
    "DEFAULTS",
    "ORDER",
    "Colour",
    "State",
    "silent_clients",
    "states_of",
]
