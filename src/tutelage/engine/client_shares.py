"""Compiled calls for the clients of one run, divided among threads.

Clients of all kernels are played at the same time, in shares of some clients; shares that are expected to take longest
come first, so that no thread waits long for another.  What is recorded does not depend on shares or on their order:
that is added up by pieces (``run_record.py``), in the order of the calls.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tutelage.engine.compiled_loop import RoundRecord
from tutelage.engine.kernels import Kernel, RepeatedCalls
from tutelage.engine.memory import Memory
from tutelage.engine.run_record import PartSums, RunRecord

_MOST_IN_SHARE = 128  # of many clients
_SHARES_PER_WORKER = 4  # of few clients
_YIELD_EVERY = 0.05  # seconds
_LEAST_STEPS = 1 << 18  # of all clients in calls that are worth dividing: some milliseconds


@dataclass(frozen=True)
class ClientThreads:
    """Threads that play clients of one run at the same time; several runs may share them.

    ``seconds`` has the time that a client of each kernel took in the latest call.
    """

    pool: ThreadPoolExecutor
    count: int
    seconds: dict[Kernel, float] = field(default_factory=dict)


class ClientCall(NamedTuple):
    """A compiled call that takes ``clients``, ascending, to the round ``end`` at most."""

    kernel: RepeatedCalls
    clients: NDArray[np.int64]
    end: int


PlayShare = Callable[[ClientCall, RoundRecord], None]  # makes a compiled call that is recorded


class _Piece:
    """The clients of a call that lie in one piece: recorded together, once all shares have been played."""

    def __init__(self, record: RunRecord, memory: Memory, call: ClientCall, clients: NDArray[np.int64]) -> None:
        self.record, self.memory, self.call, self.clients = record, memory, call, clients
        self.lock = threading.Lock()
        self.num_left = 0
        self.part: RoundRecord | None = None
        self.sums: PartSums | None = None

    def divide(self, workers: int) -> list["_Share"]:
        """Return the clients in shares of which there are enough for the workers."""
        size = self.clients.size
        count = -(-size // _MOST_IN_SHARE) if self.record.sums_clients else min(size, _SHARES_PER_WORKER * workers)
        self.num_left = count
        return [_Share(self, clients) for clients in np.array_split(self.clients, count)]

    def open(self) -> RoundRecord:
        """Return where the shares are recorded."""
        with self.lock:
            if self.part is None:
                self.part = self.record.open_part(self.memory, self.clients)
            return self.part

    def close(self, part: RoundRecord) -> None:
        """Note that a share has been played."""
        with self.lock:
            self.num_left -= 1
            if self.num_left == 0:
                self.sums, self.part = self.record.close_part(part, self.memory, self.clients), None


class _Share(NamedTuple):
    piece: _Piece
    clients: NDArray[np.int64]


def play_in_threads(
    threads: ClientThreads,
    record: RunRecord,
    memory: Memory,
    calls: Sequence[ClientCall],
    new_player: Callable[[], PlayShare],
) -> Iterator[None]:
    """Play the calls in threads, yielding from time to time; each thread plays with a function of its own."""
    pieces = [_Piece(record, memory, call, clients) for call in calls for clients in record.cut(call.clients)]
    shares = [share for piece in pieces for share in piece.divide(threads.count)]
    largest: dict[RepeatedCalls, int] = {}  # share of each kernel; its shares keep the order of their pieces
    for share in shares:
        kernel = share.piece.call.kernel
        largest[kernel] = max(share.clients.size, largest.get(kernel, 0))
    expected = {kernel: threads.seconds.get(kernel.kernel, 0.0) * size for kernel, size in largest.items()}
    shares.sort(key=lambda share: -expected[share.piece.call.kernel])
    waiting = deque(shares)

    def play_shares() -> None:
        play = new_player()
        while True:
            try:
                share = waiting.popleft()
            except IndexError:
                return
            began, part, call = time.perf_counter(), share.piece.open(), share.piece.call
            play(ClientCall(call.kernel, share.clients, call.end), part)
            share.piece.close(part)
            threads.seconds[call.kernel.kernel] = (time.perf_counter() - began) / share.clients.size

    # this thread sleeps meanwhile: woken after each share, it would take a core from the threads that play
    try:
        futures = [threads.pool.submit(play_shares) for _ in range(threads.count)]
        is_played = False
        while not is_played:
            done, pending = wait(futures, _YIELD_EVERY, FIRST_EXCEPTION)
            for future in done:
                if not future.cancelled():
                    future.result()
            if not waiting:  # threads that play another run may begin late, with nothing left to do
                for future in pending:
                    future.cancel()
            is_played = not pending
            yield
    finally:
        waiting.clear()
    for piece in pieces:
        if piece.sums is not None:
            record.add_sums(piece.sums)


def is_worth_dividing(memory: Memory, calls: Sequence[ClientCall], *, has_many_clients: bool) -> bool:
    """Return whether calls have enough clients, or may take enough steps, for threads to save time."""
    if has_many_clients:
        return True
    steps = sum((call.end - int(memory.rounds[call.clients].min())) * call.clients.size for call in calls)
    return steps >= _LEAST_STEPS
