"""Finished runs of a cell that is not complete: a file next to the cells, to which each run is appended.

After an interruption these runs are not simulated again.  A record is its length, a sha256 and the run as
MessagePack; what follows a record that is cut or damaged is not used.  The sha256 includes the cell's digest.
"""

import hashlib
import io
import threading
from pathlib import Path
from typing import Any, Self

import msgspec
import numpy as np

from tutelage.run_outcome import RunOutcome

_LENGTH, _SUM = 8, 32  # bytes


class RunJournal:
    """The journal of one cell; ``outcomes`` maps numbers of requests to the runs that it had when it was opened."""

    def __init__(self, path: Path, digest: str) -> None:
        self.path, self.digest = path, digest.encode()
        self.lock = threading.Lock()
        self.outcomes: dict[int, list[RunOutcome]] = {}
        self.size = self._read()
        self.file: io.FileIO | None = None  # open from the first run that is appended on

    @property
    def num_runs(self) -> int:
        """The number of runs that need not be simulated again."""
        return sum(map(len, self.outcomes.values()))

    def _read(self) -> int:
        """Read all whole records and return the size of them."""
        content = self.path.read_bytes() if self.path.exists() else b""
        start, seen = 0, set()
        while True:
            body = start + _LENGTH + _SUM
            end = body + int.from_bytes(content[start : start + _LENGTH], "big")
            if not body < end <= len(content) or content[body - _SUM : body] != self._sum(content[body:end]):
                return start
            request, outcome = msgspec.msgpack.decode(content[body:end], type=tuple[int, RunOutcome], dec_hook=_unpack)
            place = request, outcome.teacher, outcome.run
            if place not in seen:  # two processes may write where the file system has no locks
                self.outcomes.setdefault(request, []).append(outcome)
            seen.add(place)
            start = end

    def append(self, request: int, outcome: RunOutcome) -> None:
        """Write a run to the file, from any thread; raises ``OSError`` where that fails (a full disk)."""
        content = msgspec.msgpack.encode((request, outcome), enc_hook=_pack)
        record = len(content).to_bytes(_LENGTH, "big") + self._sum(content) + content
        try:
            with self.lock:
                self._write(record)
        except OSError as error:
            raise OSError(error.errno, f"cannot be written: {error.strerror}", str(self.path)) from error

    def _write(self, record: bytes) -> None:
        """Write a record after the last whole one; a part of one that could not be written is cut off by the next."""
        left = memoryview(record)
        try:
            if self.file is None:
                self.file = self.path.open("r+b" if self.path.exists() else "wb", buffering=0)
                self.file.truncate(self.size)
                self.file.seek(self.size)
            while left:
                left = left[self.file.write(left) :]
        except BaseException:
            self._close()
            raise
        self.size += len(record)

    def __enter__(self) -> Self:
        """Let the file be closed at the end."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file; the next run to be appended opens it again."""
        with self.lock:
            self._close()

    def _close(self) -> None:
        file, self.file = self.file, None
        if file is not None:
            file.close()

    def remove(self) -> None:
        """Remove the file, once the cell is complete."""
        with self.lock:
            self._close()
        self.path.unlink(missing_ok=True)

    def _sum(self, content: bytes) -> bytes:
        return hashlib.sha256(self.digest + content).digest()


def _pack(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, np.generic):
        return value.item()
    raise NotImplementedError(type(value).__name__)


def _unpack(kind: Any, value: Any) -> Any:
    kind, shape, content = value
    return np.frombuffer(content, kind).reshape(shape)
