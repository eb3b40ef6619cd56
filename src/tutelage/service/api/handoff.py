"""Between the event loop and the threads: the writer, which changes campaigns, and those that read."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from tutelage.service.api.problems import Problem
from tutelage.service.campaigns.engine import Engine
from tutelage.service.campaigns.jobs import CreateJob, Job, PullJob
from tutelage.service.campaigns.messages import NotLeader
from tutelage.stores.base import Reader, Store, StoreBroken, StoreError

Found = TypeVar("Found")
_READING_THREADS = 4
LED_ELSEWHERE_SECONDS = 1.0  # so long another leader is not asked of the store again


class Handoff:
    """Jobs go over with :meth:`ask`; a group's results come back in one call of the loop."""

    def __init__(self, store: Store, *, address: str = "", most_waiting: int = 50_000) -> None:
        self.engine = Engine(store, self._deliver, address=address)
        self.most_waiting, self.waiting = most_waiting, 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._elsewhere: dict[str, tuple[float, NotLeader]] = {}

    def start(self) -> None:
        """Begin, in the loop that will wait."""
        self._loop = asyncio.get_running_loop()
        self.engine.start()

    async def stop(self) -> None:
        """Finish what has come in."""
        await asyncio.to_thread(self.engine.stop)

    async def ask(self, job: Job) -> Any:
        """The job's result; raises its error, and :class:`Problem` if too many pulls wait already."""
        size = _size(job)
        asked, found = self._elsewhere.get(job.name, (0.0, None))
        if found and time.monotonic() - asked < LED_ELSEWHERE_SECONDS and not isinstance(job, CreateJob):
            raise NotLeader(found.name, found.address)
        if size and self.waiting and self.waiting + size > self.most_waiting:
            raise Problem("busy", f"{self.waiting} pulls wait for the disk already: try again.")
        if not self.engine.is_alive:
            raise Problem("unavailable", "The server is stopping.")
        self.waiting += size
        assert self._loop is not None  # noqa: S101 - start() came first
        job.waiter = self._loop.create_future()
        self.engine.submit(job)
        try:
            return await job.waiter
        except NotLeader as error:
            if error.address:
                self._elsewhere[job.name] = time.monotonic(), error
            raise

    def _deliver(self, jobs: Sequence[Job]) -> None:
        """Called in the writer's thread."""
        assert self._loop is not None  # noqa: S101 - start() came first
        with contextlib.suppress(RuntimeError):  # the loop has ended, and with it whoever waited
            self._loop.call_soon_threadsafe(self._settle, jobs)

    def _settle(self, jobs: Sequence[Job]) -> None:
        for job in jobs:
            self.waiting -= _size(job)
            if job.waiter.done():  # the sender has gone
                continue
            if job.error is None:
                job.waiter.set_result(job.result)
            else:
                job.waiter.set_exception(job.error)


def _size(job: Job) -> int:
    """The pulls of a job: whatever else is asked is not what fills the queue."""
    return len(job.pulls) if isinstance(job, PullJob) else 0


class Readers:
    """Threads that read the store, each on a connection of its own.

    ``broken`` is told of a failure after which the store cannot be trusted any more.
    """

    def __init__(
        self,
        store: Store,
        broken: Callable[[StoreBroken], object] = lambda _: None,
        *,
        threads: int = _READING_THREADS,
    ) -> None:
        self._store, self._broken, self._local = store, broken, threading.local()
        self._opened: list[Reader] = []
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="tutelage-reader")

    async def read(self, look: Callable[[Reader], Found]) -> Found:
        """What ``look`` finds."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._read, look)

    def _read(self, look: Callable[[Reader], Found]) -> Found:
        reader: Reader | None = getattr(self._local, "reader", None)
        if reader is None:
            reader = self._local.reader = self._store.reader()
            self._opened.append(reader)
        try:
            return look(reader)
        except StoreError as error:
            self._local.reader = None  # the next look connects anew
            if isinstance(error, StoreBroken):
                self._broken(error)
            raise

    def close(self) -> None:
        """End the threads and their connections."""
        self._threads.shutdown()
        for reader in self._opened:
            reader.close()
