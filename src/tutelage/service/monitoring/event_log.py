"""What a campaign's ledger says to people: its events, the bounds on each arm, the decision.

Shapes: K arms.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from tutelage.stores.base import EntryRow
from tutelage.text import format_count, format_name

MAX_EVENTS = 200
_PLAIN_EVENTS = {"stopped": "Stopped", "exported": "Exported"}


@dataclass(frozen=True)
class LedgerEvent:
    """Something that happened.  ``round`` is None if none is stored."""

    position: int
    time: float
    round: int | None
    sentence: str


@dataclass(frozen=True)
class TargetDecision:
    """The decision on a target: when it was made, at which position of the ledger, and the cost until then.

    ``pulls_since`` [K] are the pulls of each arm after it, None if no record reaches back so far.
    """

    position: int
    time: float
    round: int
    directive: int
    cost: float
    pulls_since: tuple[int, ...] | None = None


@dataclass(frozen=True, eq=False)
class LedgerSummary:
    """What the ledger says, the newest event first.

    ``lower`` and ``upper`` [K] are the bounds of the last consultation that looked at each arm, whose numbers
    are ``directives`` [K] (0: none).  ``started`` is when the campaign was first started, ``resumed`` when it
    was last started.
    """

    events: tuple[LedgerEvent, ...] = ()
    started: float | None = None
    resumed: float | None = None
    decision: TargetDecision | None = None
    lower: tuple[float | None, ...] = ()
    upper: tuple[float | None, ...] = ()
    directives: tuple[int, ...] = ()

    def add_pulls_since(self, pulls: tuple[int, ...] | None) -> "LedgerSummary":
        """Return the summary with the pulls made since the decision."""
        if self.decision is None:
            return self
        return replace(self, decision=replace(self.decision, pulls_since=pulls))


class EventLog:
    """Reads the entries of a ledger in order; ``position`` is that of the last of the ``num_read``."""

    def __init__(self, arms: Sequence[str]) -> None:
        self.position = self.num_read = 0
        self._events: deque[LedgerEvent] = deque(maxlen=MAX_EVENTS)
        self._arms = tuple(arms)
        self._active: tuple[str, ...] = self._arms
        self._target: str | None = None
        self._lower: list[float | None] = [None] * len(self._arms)
        self._upper: list[float | None] = [None] * len(self._arms)
        self._directives = [0] * len(self._arms)
        self._num_registered, self._quiet_since, self._num_bypassed = 0, 0, 0
        self._started: float | None = None
        self._resumed: float | None = None
        self._decision: TargetDecision | None = None

    def summarize(self) -> LedgerSummary:
        """Return what the entries read so far say."""
        return LedgerSummary(
            tuple(reversed(self._events)),
            self._started,
            self._resumed,
            self._decision,
            tuple(self._lower),
            tuple(self._upper),
            tuple(self._directives),
        )

    def read(self, entries: Iterable[EntryRow]) -> None:
        """Read the ledger's next entries."""
        for entry in entries:
            self.position = entry.position
            self.num_read += 1
            content = msgspec.json.decode(entry.content)
            if entry.kind in ("decided", "excluded"):
                self._read_decision(entry, content)
            elif entry.kind == "bypassed":
                self._read_bypass(entry)
            elif entry.kind == "registered":
                self._num_registered += 1
            elif entry.kind == "started":
                self._read_start(entry)
            elif entry.kind in _PLAIN_EVENTS:
                self._add(entry, None, f"{_PLAIN_EVENTS[entry.kind]}{_name_actor(entry)}")

    def _add(self, entry: EntryRow, round: int | None, sentence: str) -> None:
        self._quiet_since = self._num_bypassed = 0
        self._events.append(LedgerEvent(entry.position, entry.time / 1e6, round, sentence))

    def _read_start(self, entry: EntryRow) -> None:
        self._resumed = entry.time / 1e6
        if self._started is None:
            self._started = entry.time / 1e6
            more = f", {format_count(self._num_registered, 'client')} registered" if self._num_registered else ""
            self._add(entry, 1, f"Started{_name_actor(entry)}{more}")
        else:
            self._add(entry, None, f"Started again{_name_actor(entry)}")

    def _read_bypass(self, entry: EntryRow) -> None:
        count = self._num_bypassed + 1
        if count > 1:
            self._events.pop()
        self._add(entry, None, f"{format_count(count, 'adjustment')} reported as bypassed")
        self._num_bypassed = count

    def _read_decision(self, entry: EntryRow, content: dict[str, Any]) -> None:
        number, active, target = content["directive"], tuple(content["active_arms"]), content["target"]
        for arm, (lower, upper) in enumerate(zip(content["lower"], content["upper"], strict=True)):
            if lower is not None:
                self._lower[arm], self._upper[arm], self._directives[arm] = lower, upper, number
        gone, back = set(self._active) - set(active), set(active) - set(self._active)
        if target is None:
            self._decision = None
        elif target != self._target:
            self._decision = TargetDecision(entry.position, entry.time / 1e6, content["round"], number, content["cost"])
        if entry.kind == "excluded":
            sentence = f"Client {format_name(content['client'])} excluded{_name_actor(entry)}" + (
                f": {format_count(len(back), 'arm')} active again" if back else ""
            )
        elif target is not None and target != self._target:
            sentence = f"Consultation {number}: decided on {format_name(target)}"
        elif gone or back:
            sentence = f"Consultation {number}: {format_count(len(gone), 'arm')} ruled out, {len(active)} left"
        else:
            sentence = f"Consultation {number}: no arm ruled out"
        is_quiet = entry.kind == "decided" and not gone and not back and target == self._target
        self._add_consultation(entry, content["round"], sentence, number if is_quiet else 0)
        self._active, self._target = active, target

    def _add_consultation(self, entry: EntryRow, round: int, sentence: str, quiet: int) -> None:
        """Merge consecutive consultations that changed nothing into one event."""
        first = self._quiet_since
        if quiet and first:
            self._events.pop()
            sentence = f"Consultations {first} to {quiet}: no arm ruled out"
        self._add(entry, round, sentence)
        self._quiet_since = (first or quiet) if quiet else 0


def _name_actor(entry: EntryRow) -> str:
    """Return " by KEY", if a key asked for what an entry records."""
    return f" by {format_name(entry.key)}" if entry.key else ""
