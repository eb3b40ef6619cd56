"""Reports that wait to be delivered."""

import contextlib
import errno
import itertools
import json
import logging
import os
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tutelage.client.messages import Pull, as_report

try:
    import fcntl
except ImportError:  # Windows: nothing tells two processes apart
    _HAS_LOCKS = False
else:
    _HAS_LOCKS = True

LOG = logging.getLogger("tutelage.client")
MOST_REPORTS = 100_000
_SLACK = 1_000  # delivered lines that may stay in the file


class Spool:
    """Pulls to be reported as bypassed, kept in a file of JSON lines; without a path in memory alone.

    The file outlives the process, also a killed one; a power failure may take its last lines.  Lines that
    are no reports, or none that a server takes, are put into a file beside it, ``NAME.damaged``.  A report
    may be delivered twice, which the server does not mind.  ``lost`` counts those that there was no room
    for: beyond ``most`` the newest are not kept.  Raises ``OSError`` if the file
    cannot be used when it is opened, never later.
    """

    def __init__(self, path: str | Path | None = None, most: int = MOST_REPORTS) -> None:
        self.path, self.most, self.lost = None if path is None else _real(path), most, 0
        self._lock = threading.Lock()
        self._waiting: dict[str, Pull] = {}
        self._lines, self._is_behind = 0, False  # how many the file has; whether it lacks some
        self._held: Any = None
        if self.path is not None:
            self._held = _hold(self.path)
            self._read(self.path)
            self._rewrite()

    def __len__(self) -> int:
        return len(self._waiting)

    def __contains__(self, id: str) -> bool:
        return id in self._waiting

    def add(self, pulls: Sequence[Pull]) -> None:
        """Keep these until they are delivered."""
        with self._lock:
            kept = {pull["id"]: pull for pull in pulls[: max(0, self.most - len(self._waiting))]}
            if len(kept) < len(pulls):
                self.lost += len(pulls) - len(kept)
                LOG.error("Reports that are lost: %d; %d wait already.", len(pulls) - len(kept), self.most)
            self._waiting |= kept
            if kept:
                self._write(list(kept.values()))

    def first(self, most: int) -> list[Pull]:
        """The oldest ones."""
        with self._lock:
            return list(itertools.islice(self._waiting.values(), most))

    def remove(self, pulls: Iterable[Pull]) -> None:
        """These have been delivered."""
        with self._lock:
            for pull in pulls:
                self._waiting.pop(pull["id"], None)
            if not self._waiting or self._lines > 2 * len(self._waiting) + _SLACK:
                self._write([])

    def postpone(self, pulls: Iterable[Pull]) -> None:
        """Put these behind the others."""
        with self._lock:
            for pull in pulls:
                if self._waiting.pop(pull["id"], None):
                    self._waiting[pull["id"]] = pull

    def close(self) -> None:
        """Leave the file to others."""
        if self._held is not None:
            self._held.close()

    def _write(self, added: Sequence[Pull]) -> None:
        """Bring the file up to date; if the disk fails, memory has all, and the next change tries again."""
        try:
            if self._is_behind or not added:
                self._rewrite()
            else:
                self._append(added)
        except OSError as error:
            if not self._is_behind:
                LOG.error("%s cannot be written, reports are in memory alone: %s", self.path, error)  # noqa: TRY400
            self._is_behind = True
        else:
            self._is_behind = False

    def _append(self, pulls: Sequence[Pull]) -> None:
        if self.path is None:
            return
        with self.path.open("a", encoding="utf-8") as file:
            file.write("".join(json.dumps(pull) + "\n" for pull in pulls))
        self._lines += len(pulls)

    def _rewrite(self) -> None:
        if self.path is None:
            return
        unfinished = self.path.with_name(f"{self.path.name}.part")
        with unfinished.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(pull) + "\n" for pull in self._waiting.values())
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(self.path)
        self._lines = len(self._waiting)

    def _read(self, path: Path) -> None:
        if not path.exists():
            return
        damaged = []
        for line in path.read_bytes().splitlines(keepends=True):
            pull = _parsed(line)
            if pull is None:
                damaged.append(line)
            else:
                self._waiting[pull["id"]] = pull
        if damaged:
            beside = path.with_name(f"{path.name}.damaged")
            with beside.open("ab") as file:
                file.writelines(damaged)
            LOG.error("Lines that are no reports: %d of %s; they are now in %s.", len(damaged), path, beside)


def _parsed(line: bytes) -> Pull | None:
    """The report in a line; one that no request could hold or no server takes would keep the others back."""
    with contextlib.suppress(ValueError, RecursionError):
        return as_report(json.loads(line))
    return None


def _real(path: str | Path) -> Path:
    """The file itself, so that nobody takes it twice, once through a link.

    Raises ``OSError`` for what is no file of lines: a folder or a device, which would be replaced by one.
    """
    real = Path(os.path.realpath(path))
    if real.exists() and not real.is_file():
        raise OSError(errno.EINVAL, "is no regular file, and no spool", str(path))
    return real


def _hold(path: Path) -> Any:
    """A lock that ends with the process, on a file beside ``path``."""
    file = path.with_name(f"{path.name}.lock").open("a")
    if _HAS_LOCKS:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.close()
            raise OSError(
                error.errno, "in use already as a spool, by this process or another", str(path)
            ) from None
    return file
