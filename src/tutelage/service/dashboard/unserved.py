"""Campaigns that have no figures: why not, judged from the ledger, so that lists and metrics can say it."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from tutelage.service.campaigns.messages import Refusal
from tutelage.service.campaigns.rebuilding import rebuilt
from tutelage.service.dashboard.reading import Reading
from tutelage.service.monitoring.status import CANNOT_BE_SERVED, State
from tutelage.stores.base import CampaignNotFound, Reader, StoreError, pages

KEPT_SECONDS = 60.0  # before a campaign that could not be served is tried again
_RESTORE = (
    "If it began under another release, that one can serve it; otherwise restore a backup. "
    "To see where the ledger is damaged:"
)


@dataclass(frozen=True)
class Unserved:
    """A campaign without figures, and what is so of it instead."""

    name: str
    state: State


class CannotBeServed(Refusal):
    """No retry helps: this release cannot go on with the campaign, or its ledger is damaged."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__("unavailable", why)
        self.unserved = Unserved(
            name,
            State(
                CANNOT_BE_SERVED,
                "red",
                "This campaign cannot be served.",
                why,
                _RESTORE,
                f"tutelage ledger verify {name}",
            ),
        )


def out_of_sight(name: str, why: str) -> Unserved:
    """A campaign that there is no answer for now."""
    state = State("cut off", "amber", "There are no figures now.", why, "They come once there is an answer.")
    return Unserved(name, state)


def fault_of(reader: Reader, name: str) -> str | None:
    """Why a campaign cannot be served, from all of its rows; None if it can, or is gone."""
    try:
        stored, snapshot = reader.load(name)
        rebuilt(stored, 0, snapshot, pages(reader, name, snapshot.position if snapshot else 0))
    except StoreError:
        raise
    except CampaignNotFound:
        return None
    except Exception as error:  # noqa: BLE001 - whatever damaged rows lead to
        return str(error) or type(error).__name__
    return None


class Verdicts:
    """Which campaigns cannot be served.  Each is judged at most once a minute, in a thread of readers."""

    def __init__(self, readers: Reading, clock: Callable[[], float]) -> None:
        self._readers, self._clock = readers, clock
        self._asked: dict[str, tuple[float, asyncio.Task[str | None]]] = {}

    def known(self) -> dict[str, str]:
        """Why, of each that cannot be served as far as is known."""
        return {name: why for name in list(self._asked) if (why := self._known(name)) is not None}

    def _known(self, name: str) -> str | None:
        asked, task = self._asked[name]
        if self._clock() - asked >= KEPT_SECONDS and task.done():
            del self._asked[name]
            return None
        return task.result() if task.done() else None

    def forget(self, name: str) -> None:
        """It has been served, or is gone."""
        self._asked.pop(name, None)

    async def judge(self, name: str) -> str | None:
        """Why it cannot be served; None if it can.  Whoever stops waiting leaves the work to others."""
        self.known()
        _, task = self._asked.get(name, (0.0, None))
        if task is None:
            task = asyncio.ensure_future(self._readers.read(lambda reader: fault_of(reader, name)))
            self._asked[name] = self._clock(), task
            task.add_done_callback(lambda done: self._end(name, done))
        return await asyncio.shield(task)

    def _end(self, name: str, task: asyncio.Task[str | None]) -> None:
        if task.cancelled() or task.exception():  # nothing was found out
            self.forget(name)
