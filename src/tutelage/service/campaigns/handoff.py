"""Hand-over between the event loop and the threads: the writer, which changes campaigns, and the readers."""

import asyncio
import contextlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from tutelage.service.campaigns.messages import NotLeader, Refusal
from tutelage.service.campaigns.writer import MOST_CACHED, ActionJob, CreateJob, Job, PullJob, Writer
from tutelage.service.tracing import Tracing
from tutelage.stores.base import Reader, Store, StoreBroken, StoreError

Result = TypeVar("Result")
_READER_THREADS = 4
LED_ELSEWHERE_SECONDS = 1.0  # how long the leader of a campaign is remembered


class Handoff:
    """Passes jobs to the writer's thread; all results of a group come back in one call of the event loop."""

    def __init__(
        self, store: Store, *, address: str = "", most_waiting: int = 50_000, most_cached: int = MOST_CACHED
    ) -> None:
        self.writer = Writer(store, self._deliver, address=address, most_cached=most_cached)
        self.most_waiting, self.waiting = most_waiting, 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._elsewhere: dict[str, tuple[float, NotLeader]] = {}
        self.acts: Counter[str] = Counter()  # carried out for each campaign, here or by the leader
        self.tracing: Tracing | None = None

    def start(self) -> None:
        """Start the writer; results come to the running event loop."""
        self._loop = asyncio.get_running_loop()
        self.writer.start()

    async def stop(self) -> None:
        """Finish the jobs that were passed and end the writer."""
        await asyncio.to_thread(self.writer.stop)

    async def ask(self, job: Job) -> Any:
        """Return the job's result or raise its error.

        Raises a ``busy`` :class:`Refusal` if too many pulls are waiting, ``unavailable`` while stopping.
        """
        size = _count_pulls(job)
        asked_at, answer = self._elsewhere.get(job.name, (0.0, None))
        is_recent = time.monotonic() - asked_at < LED_ELSEWHERE_SECONDS
        if answer and is_recent and not isinstance(job, CreateJob):
            raise NotLeader(answer.name, answer.address)
        if size and self.waiting and self.waiting + size > self.most_waiting:
            raise Refusal("busy", f"{self.waiting} pulls are already waiting for the disk: try again.")
        if not self.writer.is_alive:
            raise Refusal("unavailable", "The server is stopping.")
        self.waiting += size
        assert self._loop is not None  # noqa: S101 - start() came first
        job.waiter = self._loop.create_future()
        asked = time.time_ns()
        self.writer.submit(job)
        try:
            result = await job.waiter
        except NotLeader as error:
            if error.address:
                self._elsewhere[job.name] = time.monotonic(), error
            raise
        finally:
            if self.tracing and job.times:
                self.tracing.record(job.name, asked, job.times)
        self.acts[job.name] += isinstance(job, ActionJob)
        return result

    def _deliver(self, jobs: Sequence[Job]) -> None:
        """Return the results to the event loop; called in the writer's thread."""
        assert self._loop is not None  # noqa: S101 - start() came first
        with contextlib.suppress(RuntimeError):  # the loop has ended, and nobody waits any more
            self._loop.call_soon_threadsafe(self._settle, jobs)

    def _settle(self, jobs: Sequence[Job]) -> None:
        for job in jobs:
            self.waiting -= _count_pulls(job)
            if job.waiter.done():  # the sender has disconnected
                continue
            if job.error is None:
                job.waiter.set_result(job.result)
            else:
                job.waiter.set_exception(job.error)


def _count_pulls(job: Job) -> int:
    """Only pulls count towards the limit of the queue."""
    return len(job.pulls) if isinstance(job, PullJob) else 0


class Readers:
    """Threads that read the store, each with its own connection.

    ``on_broken`` is called with a failure after which the store cannot be trusted any more.
    """

    def __init__(
        self,
        store: Store,
        on_broken: Callable[[StoreBroken], object] = lambda _: None,
        *,
        threads: int = _READER_THREADS,
    ) -> None:
        self._store, self._on_broken, self._local = store, on_broken, threading.local()
        self._opened: list[Reader] = []
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="tutelage-reader")

    async def read(self, query: Callable[[Reader], Result]) -> Result:
        """Call ``query`` with a reader in one of the threads, and return its result."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._read, query)

    def _read(self, query: Callable[[Reader], Result]) -> Result:
        reader: Reader | None = getattr(self._local, "reader", None)
        if reader is None:
            reader = self._local.reader = self._store.reader()
            self._opened.append(reader)
        try:
            return query(reader)
        except StoreError as error:
            self._local.reader = None  # the next query connects again
            if isinstance(error, StoreBroken):
                self._on_broken(error)
            raise

    def close(self) -> None:
        """End the threads and their connections."""
        self._threads.shutdown()
        for reader in self._opened:
            reader.close()
