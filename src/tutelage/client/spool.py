"""The spool: reports of bypassed pulls that wait to be delivered."""

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

from tutelage.client.pull_messages import Pull, parse_report

try:
    import fcntl
except ImportError:  # on Windows two processes on one file are not detected
    _HAS_LOCKS = False
else:
    _HAS_LOCKS = True

LOG = logging.getLogger("tutelage.client")
MOST_REPORTS = 100_000
_SLACK = 1_000  # lines of delivered reports that may stay in the file


class Spool:
    """Reports of bypassed pulls, in a file of JSON lines, or only in memory without a path.

    The file outlives the process, even a killed one; a power failure may lose its last lines.  Lines that are
    not valid reports are moved to ``NAME.damaged`` next to it.  A report may be delivered twice, which has no
    effect.  At most ``most`` reports are held; ``lost`` counts the newer ones, which are dropped.  Raises
    ``OSError`` if the file cannot be used when it is opened, never later.
    """

    def __init__(self, path: str | Path | None = None, most: int = MOST_REPORTS) -> None:
        self.path, self.most, self.lost = None if path is None else _real(path), most, 0
        self._lock = threading.Lock()
        self._waiting: dict[str, Pull] = {}
        self._lines, self._is_behind = 0, False  # lines in the file; whether it lacks some
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
        """Add reports."""
        with self._lock:
            held = {pull["id"]: pull for pull in pulls[: max(0, self.most - len(self._waiting))]}
            if len(held) < len(pulls):
                self.lost += len(pulls) - len(held)
                LOG.error(
                    "%d reports are lost: %d are waiting, the most that are kept.", len(pulls) - len(held), self.most
                )
            self._waiting |= held
            if held:
                self._write(list(held.values()))

    def first(self, most: int) -> list[Pull]:
        """Return the oldest reports."""
        with self._lock:
            return list(itertools.islice(self._waiting.values(), most))

    def remove(self, pulls: Iterable[Pull]) -> None:
        """Remove reports, which have been delivered."""
        with self._lock:
            for pull in pulls:
                self._waiting.pop(pull["id"], None)
            if not self._waiting or self._lines > 2 * len(self._waiting) + _SLACK:
                self._write([])

    def postpone(self, pulls: Iterable[Pull]) -> None:
        """Move reports behind all others."""
        with self._lock:
            for pull in pulls:
                if self._waiting.pop(pull["id"], None):
                    self._waiting[pull["id"]] = pull

    def close(self) -> None:
        """Release the file for other clients."""
        if self._held is not None:
            self._held.close()

    def _write(self, added: Sequence[Pull]) -> None:
        """Bring the file up to date; if the disk fails, the next change tries again from memory."""
        try:
            if self._is_behind or not added:
                self._rewrite()
            else:
                self._append(added)
        except OSError as error:
            if not self._is_behind:
                LOG.error("%s cannot be written; reports are only in memory: %s", self.path, error)  # noqa: TRY400
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
            aside = path.with_name(f"{path.name}.damaged")
            with aside.open("ab") as file:
                file.writelines(damaged)
            LOG.error("%d lines of %s are not reports; they are now in %s.", len(damaged), path, aside)


def _parsed(line: bytes) -> Pull | None:
    """Return the report in a line, or None if no server would accept it: it would hold up the others."""
    with contextlib.suppress(ValueError, RecursionError):
        return parse_report(json.loads(line))
    return None


def _real(path: str | Path) -> Path:
    """Return the file behind links, so that it is not opened twice.

    Raises ``OSError`` for a folder or a device, which a file would replace.
    """
    real = Path(os.path.realpath(path))
    if real.exists() and not real.is_file():
        raise OSError(errno.EINVAL, "is not a regular file, as a spool must be", str(path))
    return real


def _hold(path: Path) -> Any:
    """Lock a file next to ``path`` until the process ends."""
    file = path.with_name(f"{path.name}.lock").open("a")
    if _HAS_LOCKS:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.close()
            raise OSError(error.errno, "is already used as a spool by this or another process", str(path)) from None
    return file
