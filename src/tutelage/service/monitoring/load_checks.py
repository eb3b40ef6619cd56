"""Campaigns of which the server has no view, and the reason, so that lists and metrics can show it."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from tutelage.service.campaigns.handoff import Readers
from tutelage.service.campaigns.messages import Refusal
from tutelage.service.campaigns.rebuilding import rebuild
from tutelage.service.monitoring.status import StatusItem
from tutelage.service.monitoring.status.unservable import describe_unservable
from tutelage.stores.base import CampaignNotFound, Reader, StoreError, pages

RETRY_SECONDS = 60.0  # before a campaign that could not be served is tried again


@dataclass(frozen=True)
class UnservableCampaign:
    """A campaign without a view, and the status item shown in its place."""

    name: str
    item: StatusItem


class UnservableRefusal(Refusal):
    """No retry helps: this release cannot load the campaign, or its ledger is damaged."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__("unavailable", reason)
        self.campaign = UnservableCampaign(name, describe_unservable(name, reason))


def find_fault(reader: Reader, name: str) -> str | None:
    """Load a campaign from all of its rows; return why that fails, or None if it works or is deleted."""
    try:
        stored, snapshot = reader.load(name)
        rebuild(stored, 0, snapshot, pages(reader, name, snapshot.position if snapshot else 0))
    except StoreError:
        raise
    except CampaignNotFound:
        return None
    except Exception as error:  # noqa: BLE001 - damaged rows may lead to any exception
        return str(error) or type(error).__name__
    return None


class LoadChecks:
    """Which campaigns cannot be served.  Each is checked at most once a minute, in a reader's thread."""

    def __init__(self, readers: Readers, clock: Callable[[], float]) -> None:
        self._readers, self._clock = readers, clock
        self._checks: dict[str, tuple[float, asyncio.Task[str | None]]] = {}

    def faults(self) -> dict[str, str]:
        """The reason for each campaign that is known to be unservable."""
        return {name: reason for name in list(self._checks) if (reason := self._fault(name)) is not None}

    def _fault(self, name: str) -> str | None:
        started, task = self._checks[name]
        if self._clock() - started >= RETRY_SECONDS and task.done():
            del self._checks[name]
            return None
        return task.result() if task.done() else None

    def forget(self, name: str) -> None:
        """The campaign has been served, or is deleted."""
        self._checks.pop(name, None)

    async def check(self, name: str) -> str | None:
        """Why the campaign cannot be served, or None.  The check goes on if its caller is cancelled."""
        self.faults()
        _, task = self._checks.get(name, (0.0, None))
        if task is None:
            task = asyncio.ensure_future(self._readers.read(lambda reader: find_fault(reader, name)))
            self._checks[name] = self._clock(), task
            task.add_done_callback(lambda done: self._end(name, done))
        return await asyncio.shield(task)

    def _end(self, name: str, task: asyncio.Task[str | None]) -> None:
        if task.cancelled() or task.exception():  # without a result
            self.forget(name)
