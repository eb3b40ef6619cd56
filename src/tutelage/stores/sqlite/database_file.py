"""Checks of a database file before SQLite opens it: its place, its lock and its first hundred bytes.

The file is read here without SQLite, and closing it would drop the locks of this process's own connections:
so the file is read only while this process holds the lock file and has no connection yet.
"""

import fcntl
import os
import pwd
import re
import shlex
import sqlite3
import stat
import sys
from dataclasses import dataclass
from pathlib import Path

from tutelage.errors import InputError
from tutelage.stores.base import StoreBroken, StoreInUse
from tutelage.stores.sql.schema import APPLICATION_ID, check_version

MAGIC = b"SQLite format 3\0"
MODE = 0o640  # of new files: they contain the clients' data
_EFFECTIVE = os.access in os.supports_effective_ids

#: Types of network file systems, where neither locks nor shared memory can be trusted.
NETWORK = re.compile(
    r"9p|acfs|afs|beegfs|ceph|cifs|coda|curlftpfs|davfs|gfs2|glusterfs|gpfs|lustre|ncp|ncpfs|nfs|nfs4|ocfs2|orangefs|"
    r"prl_fs|pvfs2|smb2|smb3|smbfs|vboxsf|virtiofs|vmhgfs|wekafs|"
    r"fuse(\.(ceph|curlftpfs|davfs2|gcsfuse|glusterfs|goofys|juicefs|mfs|rclone|s3fs|sshfs|vmhgfs-fuse))?"
)


def find_file_system(path: Path, mounts: Path = Path("/proc/self/mounts")) -> str | None:
    """Return the type of a path's file system, by its longest mount point; None if unknown."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return None
    best: tuple[int, str] | None = None
    for line in lines:
        fields = line.split(" ")
        point = Path(fields[1].encode("utf-8", "surrogateescape").decode("unicode_escape"))
        # Of two on the same mount point, the later hides the earlier.
        if path.is_relative_to(point) and (best is None or len(point.parts) >= best[0]):
            best = len(point.parts), fields[2]
    return best[1] if best else None


def check_place(path: Path) -> None:
    """Raise ``InputError`` if a database file cannot be at this path."""
    check_parents(path)
    if not path.parent.is_dir():
        raise InputError(f"The folder {path.parent} does not exist: create it, or put the database somewhere else.")
    if found := read_status(path):
        _check_type(path, found)
    read_status(_with_ending(path, "-journal"))  # the longest name next to it
    kind = find_file_system(path)
    if kind is not None and NETWORK.fullmatch(kind):
        raise InputError(
            f"{path} is on a network file system ({kind}), where SQLite's locks cannot be trusted: "
            "put it on a local disk, or use PostgreSQL."
        )


def read_status(path: Path) -> os.stat_result | None:
    """Return the result of ``stat``; None if the file does not exist.  Raises ``InputError`` if it fails."""
    try:
        return path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise InputError(f"{path} cannot be used ({error.strerror}): name another file.") from None


def _check_type(path: Path, found: os.stat_result) -> None:
    """Raise ``InputError`` for a folder, a device and the like, and for a file that has several names.

    The lock and the log belong to a name: two servers that use different names would not notice each other.
    """
    if stat.S_ISDIR(found.st_mode):
        raise InputError(f"{path} is a folder: name a file in it.")
    if not stat.S_ISREG(found.st_mode):
        raise InputError(f"{path} is not a regular file: name another one.")
    if found.st_nlink > 1:
        raise InputError(
            f"{path} has {found.st_nlink} names (hard links), and the last pulls may be in a -wal file of another "
            "name: keep the name that has a -wal file, or any name if none has, and remove the others; "
            f"`find / -xdev -samefile {shlex.quote(str(path))}` lists them."
        )


def check_unlocked(path: Path) -> None:
    """Check a file before its lock file is created: another program's file gets no lock file.

    If the lock file exists, there may be connections, and the file must not be read yet.
    """
    if read_status(path) and not _with_ending(path, ".lock").exists():
        check_file(path)


def find_library_faults(version: tuple[int, ...] = sqlite3.sqlite_version_info) -> tuple[str, ...]:
    """Return a sentence for each known fault of this version of SQLite that corrupts files.

    https://www.sqlite.org/wal.html, "The WAL-Reset Bug": 3.7.0 to 3.51.2, fixed also in 3.44.6 and 3.50.7.
    It needs a checkpoint that begins when the previous one has left nothing to move, and another connection
    that commits at that moment.  Here only one connection checkpoints while others are open, each time after
    a commit of its own, so there is something to move, and a command that writes keys cannot restart the log.
    """
    fixed = version >= (3, 51, 3) or (3, 44, 6) <= version < (3, 45) or (3, 50, 7) <= version < (3, 51)
    if fixed or version < (3, 7):
        return ()
    name = ".".join(map(str, version[:3]))
    sentence = (
        f"SQLite {name} has the WAL-reset bug, which can damage a file that several programs write at once. "
        "Tutelage's own commands may run while the server runs; let no other program write to the file, "
        "and update SQLite to 3.51.3, 3.50.7, 3.44.6 or newer."
    )
    return (sentence,)


def check_parents(path: Path) -> None:
    """Raise ``InputError`` if a folder above a file may not be entered."""
    for folder in reversed(path.parents):
        if not folder.is_dir():
            return
        if not os.access(folder, os.X_OK, effective_ids=_EFFECTIVE):
            owner = _user(folder.stat().st_uid)
            raise InputError(
                f"{path} cannot be reached by {_user(os.geteuid())}: run this as {owner}, "
                f"the owner of the folder {folder}."
            )


def create(path: Path) -> None:
    """Create an empty file that others cannot read; SQLite gives the log the same permissions."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, MODE))
    except OSError as error:
        raise StoreBroken(explain_unusable(path, "written", error)) from None


def explain_unusable(path: Path, what: str, error: OSError | None = None) -> str:
    """Return why a database cannot be read, written or opened: the owner of the file, and the remedy."""
    files = [path, *(path.with_name(path.name + ending) for ending in (".lock", "-wal", "-shm"))]
    foreign = [file for file in files if _is_foreign(file)]
    if foreign:
        owner, user = _user(foreign[0].stat().st_uid), _user(os.geteuid())
        names = shlex.join(str(file) for file in files if file.exists())
        other = "" if owner == "root" else f"run this as {owner}, or "
        return (
            f"{foreign[0]} belongs to {owner} and cannot be {what} by {user}: {other}"
            f"make {user} the owner, as root, with `chown {user} {names}`."
        )
    reason = f" ({error.strerror})" if error is not None else ""
    if not os.access(path.parent, os.W_OK | os.X_OK, effective_ids=_EFFECTIVE):
        return (
            f"{path} cannot be {what}{reason}: make its folder, which belongs to "
            f"{_user(path.parent.stat().st_uid)}, writable for {_user(os.geteuid())}."
        )
    own = [file for file in files if file.exists() and not _is_usable(file)]
    if own:
        names = shlex.join(map(str, own))
        return f"{path} cannot be {what}{reason}: make it writable with `chmod u+rw {names}`."
    return f"{path} or a file next to it cannot be {what}{reason}: check their permissions and the disk."


def _is_foreign(file: Path) -> bool:
    """Whether a file belongs to another user and this one may not write it."""
    try:
        owner = file.stat().st_uid
    except OSError:
        return False
    return owner != os.geteuid() and not _is_usable(file)


def _is_usable(file: Path) -> bool:
    return os.access(file, os.R_OK | os.W_OK, effective_ids=_EFFECTIVE)


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"


class Lock:
    """The lock on NAME.lock next to the real file; its holder may serve the file or change the schema."""

    def __init__(self, path: Path) -> None:
        self.path = _with_ending(path, ".lock")
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, MODE)
        except OSError as error:
            raise StoreBroken(explain_unusable(path, "written", error)) from None
        content = os.pread(self._file, 32, 0).decode("ascii", "replace").strip("\0\n ")
        if content and not content.isdecimal():
            os.close(self._file)
            raise InputError(
                f"{self.path} belongs to another program, but Tutelage needs a lock file of that name: "
                f"use a database other than {path}."
            )
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(self._file, 32, 0).decode("ascii", "replace").strip() or "?"
            os.close(self._file)
            raise StoreInUse(
                f"{path} is in use by process {holder}: stop that server first, or use another file."
            ) from None
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"{os.getpid()}\n".encode("ascii"), 0)

    def release(self) -> None:
        """Release the lock; the file stays, because removing it would let two processes in."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


@dataclass(frozen=True)
class Header:
    """The fields of the first hundred bytes of a database file that matter here."""

    pages: int
    page_size: int
    application_id: int
    version: int


def read_header(path: Path) -> Header | None:
    """Read a file's header; None for an empty file.  Raises ``InputError`` if it is not a SQLite database."""
    try:
        with path.open("rb") as file:
            data = file.read(100)
    except OSError as error:
        raise StoreBroken(explain_unusable(path, "read", error)) from None
    if not data:
        return None
    if len(data) < 100 or not data.startswith(MAGIC):
        raise InputError(f"{path} is not a SQLite database: name another file.")
    page_size = int.from_bytes(data[16:18])
    # The page count is valid if the last writer was new enough to update it.
    pages = int.from_bytes(data[28:32]) if data[24:28] == data[92:96] else 0
    return Header(
        pages=pages,
        page_size=65536 if page_size == 1 else page_size,
        application_id=int.from_bytes(data[68:72]),
        version=int.from_bytes(data[60:64]),
    )


def check_file(path: Path) -> bool:
    """Check a file without SQLite; return whether it holds a database at all.

    Raises ``InputError`` for a file of another program or version, and ``StoreBroken`` for one that was cut
    off.  A file with a journal is in a transaction, so its header is not final.
    """
    header = read_header(path)
    if _is_filled(path, "-journal"):
        return True
    if header is None:
        return False
    check_identity(path, header.application_id, header.version)
    if not _is_filled(path, "-wal"):
        check_size(path, header.pages, header.page_size)
    return True


def check_identity(path: Path, application_id: int, version: int) -> None:
    """Raise ``InputError`` for another program's database, or one of another version of Tutelage."""
    if application_id != APPLICATION_ID:
        raise InputError(f"{path} is a database of another program: name another file.")
    check_version(str(path), version)


def check_size(path: Path, pages: int, page_size: int) -> None:
    """Raise ``StoreBroken`` for a file that is shorter than its page count says."""
    size = path.stat().st_size
    if size < pages * page_size:
        raise StoreBroken(
            f"{path} was cut off: it has {size} bytes instead of {pages * page_size} "
            f"({pages} pages of {page_size} bytes): restore a backup."
        )


def _is_filled(path: Path, ending: str) -> bool:
    file = _with_ending(path, ending)
    return file.exists() and file.stat().st_size > 0


def _with_ending(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


def sync_folder(path: Path) -> None:
    """Make a new file's name survive a power failure."""
    if sys.platform == "win32":
        return
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
