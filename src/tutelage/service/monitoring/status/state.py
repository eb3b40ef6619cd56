"""What a state is, and which there are, worst first."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from tutelage.service.monitoring.figures import Figures
from tutelage.service.monitoring.forecast import Forecast
from tutelage.service.monitoring.thresholds import Thresholds

Colour = Literal["red", "amber", "green", "grey", "note", "plain"]

CANNOT_BE_SERVED = "cannot be served"  # there are no figures of such a campaign

# Worst first.  "cut off" is also told by the page itself, when it gets no answer.
ORDER: tuple[tuple[str, Colour], ...] = (
    (CANNOT_BE_SERVED, "red"),
    ("store lagging", "red"),
    ("cannot end", "red"),
    ("no data", "red"),
    ("stalled", "red"),
    ("avoids an arm", "red"),
    ("conflict", "red"),
    ("cut off", "amber"),
    ("store lagging", "amber"),
    ("no data", "amber"),
    ("cannot end", "amber"),
    ("slow", "amber"),
    ("replays", "amber"),
    ("given up", "amber"),
    ("horizon reached", "grey"),
    ("stopped", "grey"),
    ("follower", "note"),
    ("decided", "green"),
    ("learning", "plain"),
    ("registering", "plain"),
)
ALERTS = tuple(dict.fromkeys(kind for kind, colour in ORDER if colour in ("red", "amber")))
DEFAULTS = Thresholds()


@dataclass(frozen=True)
class State:
    """One thing that is so: its word, its colour, a sentence, and what helps.

    ``headline`` says it without numbers that run, for a title; ``remedy`` what to do, ``command`` the line
    to type for it, empty if there is none.  ``client`` is who causes it.
    """

    kind: str
    colour: Colour
    headline: str
    sentence: str
    remedy: str = ""
    command: str = ""
    client: int | None = None


ReadJob = Callable[[Figures, Forecast, Thresholds], State | None]
