"""What a campaign's ledger tells people: what happened, the bounds on each arm, the decision."""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from tutelage.service.display import shown
from tutelage.service.monitoring.figures import Event, Settled, Told
from tutelage.stores.base import EntryRow
from tutelage.text import counted

MOST_EVENTS = 200
_PLAIN = {"stopped": "Stopped", "exported": "Exported"}


class EventLog:
    """Told entry by entry, in the order of the ledger; ``position`` is that of the last."""

    def __init__(self, arms: Sequence[str]) -> None:
        self.position = 0
        self._events: deque[Event] = deque(maxlen=MOST_EVENTS)
        self._arms = tuple(arms)
        self._active: tuple[str, ...] = self._arms
        self._target: str | None = None
        self._lower: list[float | None] = [None] * len(self._arms)
        self._upper: list[float | None] = [None] * len(self._arms)
        self._epochs = [0] * len(self._arms)
        self._registered, self._quiet_since, self._bypassed = 0, 0, 0
        self._started: float | None = None
        self._resumed: float | None = None
        self._settled: Settled | None = None

    def told(self) -> Told:
        """The newest event first."""
        return Told(
            tuple(reversed(self._events)),
            self._started,
            self._resumed,
            self._settled,
            tuple(self._lower),
            tuple(self._upper),
            tuple(self._epochs),
        )

    def take(self, entries: Iterable[EntryRow]) -> None:
        """Go on with the ledger's next entries."""
        for entry in entries:
            self.position = entry.position
            content = msgspec.json.decode(entry.content)
            if entry.kind in ("decided", "excluded"):
                self._decide(entry, content)
            elif entry.kind == "bypassed":
                self._bypass(entry)
            elif entry.kind == "registered":
                self._registered += 1
            elif entry.kind == "started":
                self._start(entry)
            elif entry.kind in _PLAIN:
                self._tell(entry, None, _PLAIN[entry.kind])

    def _tell(self, entry: EntryRow, round: int | None, sentence: str) -> None:
        self._quiet_since = self._bypassed = 0
        self._events.append(Event(entry.position, entry.time / 1e6, round, sentence))

    def _start(self, entry: EntryRow) -> None:
        self._resumed = entry.time / 1e6
        if self._started is None:
            self._started = entry.time / 1e6
            more = f", {counted(self._registered, 'client')} registered" if self._registered else ""
            self._tell(entry, 1, f"Started{more}")
        else:
            self._tell(entry, None, "Started again")

    def _bypass(self, entry: EntryRow) -> None:
        count = self._bypassed + 1
        if count > 1:
            self._events.pop()
        self._tell(entry, None, f"{counted(count, 'adjustment')} reported as bypassed")
        self._bypassed = count

    def _decide(self, entry: EntryRow, content: dict[str, Any]) -> None:
        epoch, active, target = content["directive"], tuple(content["active_arms"]), content["target"]
        for arm, (lower, upper) in enumerate(zip(content["lower"], content["upper"], strict=True)):
            if lower is not None:
                self._lower[arm], self._upper[arm], self._epochs[arm] = lower, upper, epoch
        gone, back = set(self._active) - set(active), set(active) - set(self._active)
        if target is None:
            self._settled = None
        elif target != self._target:
            self._settled = Settled(
                entry.position, entry.time / 1e6, content["round"], epoch, content["cost"]
            )
        if entry.kind == "excluded":
            told = f"Client {shown(content['client'])} excluded" + (
                f": {counted(len(back), 'arm')} back" if back else ""
            )
        elif target is not None and target != self._target:
            told = f"Epoch {epoch}: decided for {shown(target)}"
        elif gone or back:
            told = f"Epoch {epoch}: {counted(len(gone), 'arm')} ruled out, {len(active)} left"
        else:
            told = f"Epoch {epoch}: none ruled out"
        quiet = entry.kind == "decided" and not gone and not back and target == self._target
        self._enter(entry, content["round"], told, epoch if quiet else 0)
        self._active, self._target = active, target

    def _enter(self, entry: EntryRow, round: int, told: str, quiet_epoch: int) -> None:
        """Consultations without news in a row are one event."""
        first = self._quiet_since
        if quiet_epoch and first:
            self._events.pop()
            told = f"Epochs {first} to {quiet_epoch}: none ruled out"
        self._tell(entry, round, told)
        self._quiet_since = (first or quiet_epoch) if quiet_epoch else 0


def with_pulls(told: Told, since: tuple[int, ...] | None) -> Told:
    """The same, with the pulls made since the decision."""
    return replace(told, settled=replace(told.settled, since=since)) if told.settled else told
