"""What is known of a database file before SQLite opens it: its place, its lock, its first hundred bytes.

The file is read here by other means than SQLite, and closing it would drop the locks that this process's
own connections hold: so only whoever has the lock file, and no connection yet, looks into it.
"""

import fcntl
import os
import pwd
import shlex
import sqlite3
import stat
import sys
from dataclasses import dataclass
from pathlib import Path

from tutelage.errors import InputError
from tutelage.stores.base import StoreBroken, StoreInUse
from tutelage.stores.schema import APPLICATION_ID, VERSION

MAGIC = b"SQLite format 3\0"
MODE = 0o640  # of new files: they hold what clients did
_EFFECTIVE = os.access in os.supports_effective_ids

#: File systems whose other side is another machine: neither locks nor shared memory can be trusted there.
NETWORK = frozenset(
    {
        "9p",
        "acfs",
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "coda",
        "curlftpfs",
        "davfs",
        "fuse",
        "fuse.ceph",
        "fuse.curlftpfs",
        "fuse.davfs2",
        "fuse.gcsfuse",
        "fuse.glusterfs",
        "fuse.goofys",
        "fuse.juicefs",
        "fuse.mfs",
        "fuse.rclone",
        "fuse.s3fs",
        "fuse.sshfs",
        "fuse.vmhgfs-fuse",
        "gfs2",
        "glusterfs",
        "gpfs",
        "lustre",
        "ncp",
        "ncpfs",
        "nfs",
        "nfs4",
        "ocfs2",
        "orangefs",
        "prl_fs",
        "pvfs2",
        "smb2",
        "smb3",
        "smbfs",
        "vboxsf",
        "virtiofs",
        "vmhgfs",
        "wekafs",
    }
)


def file_system(path: Path, mounts: Path = Path("/proc/self/mounts")) -> str | None:
    """The type of the file system that holds a path, by its longest mount point; None if unknown."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return None
    best: tuple[int, str] | None = None
    for line in lines:
        fields = line.split(" ")
        point = Path(fields[1].encode("utf-8", "surrogateescape").decode("unicode_escape"))
        # Of two on the same point the later hides the earlier.
        if path.is_relative_to(point) and (best is None or len(point.parts) >= best[0]):
            best = len(point.parts), fields[2]
    return best[1] if best else None


def check_place(path: Path) -> None:
    """Raises InputError where a database file cannot live."""
    check_way(path)
    if not path.parent.is_dir():
        raise InputError(
            f"There is no folder {path.parent}: create it, or name another place for the database."
        )
    if found := status(path):
        _check_kind(path, found)
    status(_beside(path, "-journal"))  # the longest name of all beside it
    kind = file_system(path)
    if kind in NETWORK:
        raise InputError(
            f"{path} lies on a network file system ({kind}), where SQLite's locks cannot be trusted: "
            "put it on a local disk, or use PostgreSQL."
        )


def status(path: Path) -> os.stat_result | None:
    """What the system says of a file; None if it is not there.  Raises InputError if it does not say."""
    try:
        return path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise InputError(f"{path} cannot be used ({error.strerror}): name another file.") from None


def _check_kind(path: Path, found: os.stat_result) -> None:
    """Raises InputError for a folder, a device and the like, and for a file that has several names.

    The lock and the log go by the name: two servers that each use another one would not see one another.
    """
    if stat.S_ISDIR(found.st_mode):
        raise InputError(f"{path} is a folder: name a file in it.")
    if not stat.S_ISREG(found.st_mode):
        raise InputError(f"{path} is no regular file: name another one.")
    if found.st_nlink > 1:
        raise InputError(
            f"{path} has {found.st_nlink} names (hard links), and the last pulls may lie beside another one: "
            "keep the name that has a -wal file beside it, or any if none has, and remove the others; "
            f"`find / -xdev -samefile {shlex.quote(str(path))}` lists them."
        )


def check_unlocked(path: Path) -> None:
    """Looks at a file before the lock is made beside it: nothing is left beside one that is not ours.

    Where the lock file is already, there may be connections, and the file must not be read yet.
    """
    if status(path) and not _beside(path, ".lock").exists():
        check_file(path)


def library_faults(version: tuple[int, ...] = sqlite3.sqlite_version_info) -> tuple[str, ...]:
    """What is known to corrupt files in this version of the SQLite library, as sentences.

    https://www.sqlite.org/wal.html, "The WAL-Reset Bug": 3.7.0 to 3.51.2, mended in 3.44.6 and 3.50.7 too.
    A checkpoint must begin when the one before it has left nothing to move, and another connection must
    commit just then.  Here one connection alone checkpoints while others are open, each time after a commit
    of its own, so that there is something to move: whoever writes keys beside it cannot begin the log anew.
    """
    mended = version >= (3, 51, 3) or (3, 44, 6) <= version < (3, 45) or (3, 50, 7) <= version < (3, 51)
    if mended or version < (3, 7):
        return ()
    name = ".".join(map(str, version[:3]))
    sentence = (
        f"SQLite {name} has the WAL-reset bug, which can damage a file that several programs write at once. "
        "Tutelage's own commands may run beside the server; let no other program write to the file, "
        "and update SQLite to 3.51.3, 3.50.7, 3.44.6 or newer."
    )
    return (sentence,)


def check_way(path: Path) -> None:
    """Raises InputError if a folder on the way to a file may not be entered."""
    for folder in reversed(path.parents):
        if not folder.is_dir():
            return
        if not os.access(folder, os.X_OK, effective_ids=_EFFECTIVE):
            owner = _user(folder.stat().st_uid)
            raise InputError(
                f"{path} cannot be reached by {_user(os.geteuid())}: run this as {owner}, "
                f"to whom the folder {folder} belongs."
            )


def create(path: Path) -> None:
    """Makes an empty file that strangers cannot read; SQLite gives the log beside it the same permissions."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, MODE))
    except OSError as error:
        raise StoreBroken(unusable(path, "written", error)) from None


def unusable(path: Path, what: str, error: OSError | None = None) -> str:
    """Why a database cannot be read, written or opened: whose file it is, and the remedy."""
    beside = [path, *(path.with_name(path.name + ending) for ending in (".lock", "-wal", "-shm"))]
    foreign = [file for file in beside if _is_foreign(file)]
    if foreign:
        owner, user = _user(foreign[0].stat().st_uid), _user(os.geteuid())
        files = shlex.join(str(file) for file in beside if file.exists())
        other = "" if owner == "root" else f"run this as {owner}, or "
        return (
            f"{foreign[0]} belongs to {owner} and cannot be {what} by {user}: {other}"
            f"give it to {user}, as root, with `chown {user} {files}`."
        )
    reason = f" ({error.strerror})" if error is not None else ""
    if not os.access(path.parent, os.W_OK | os.X_OK, effective_ids=_EFFECTIVE):
        return (
            f"{path} cannot be {what}{reason}: make its folder, which belongs to "
            f"{_user(path.parent.stat().st_uid)}, writable to {_user(os.geteuid())}."
        )
    own = [file for file in beside if file.exists() and not _is_usable(file)]
    if own:
        files = shlex.join(map(str, own))
        return f"{path} cannot be {what}{reason}: make it writable with `chmod u+rw {files}`."
    return f"{path} or a file beside it cannot be {what}{reason}: see their permissions and the disk."


def _is_foreign(file: Path) -> bool:
    """Whether a file is another user's, and this one may not write it."""
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
    """The lock on NAME.lock beside the real file: whoever holds it serves, or changes the schema."""

    def __init__(self, path: Path) -> None:
        self.path = _beside(path, ".lock")
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, MODE)
        except OSError as error:
            raise StoreBroken(unusable(path, "written", error)) from None
        content = os.pread(self._file, 32, 0).decode("ascii", "replace").strip("\0\n ")
        if content and not content.isdecimal():
            os.close(self._file)
            raise InputError(
                f"{self.path} is another program's file, and a lock of that name is needed: "
                f"name another file than {path}."
            )
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(self._file, 32, 0).decode("ascii", "replace").strip() or "?"
            os.close(self._file)
            raise StoreInUse(
                f"{path} is in use by process {holder}: stop that server first, "
                "or give this one another file."
            ) from None
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"{os.getpid()}\n".encode("ascii"), 0)

    def release(self) -> None:
        """Lets the next one in; the file stays, since removing it would let two in."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


@dataclass(frozen=True)
class Header:
    """The first hundred bytes of a database file, as far as they matter here."""

    pages: int
    page_size: int
    application_id: int
    version: int


def read_header(path: Path) -> Header | None:
    """The header of a file; None of an empty one.  Raises InputError if it is no SQLite database."""
    try:
        with path.open("rb") as file:
            data = file.read(100)
    except OSError as error:
        raise StoreBroken(unusable(path, "read", error)) from None
    if not data:
        return None
    if len(data) < 100 or not data.startswith(MAGIC):
        raise InputError(f"{path} is no SQLite database: name another file.")
    page_size = int.from_bytes(data[16:18])
    # The page count is good if the last writer was new enough to keep it.
    pages = int.from_bytes(data[28:32]) if data[24:28] == data[92:96] else 0
    return Header(
        pages=pages,
        page_size=65536 if page_size == 1 else page_size,
        application_id=int.from_bytes(data[68:72]),
        version=int.from_bytes(data[60:64]),
    )


def check_file(path: Path) -> bool:
    """Looks at a file before SQLite does: whether it holds a database at all.

    Raises InputError for one that is not ours or too new, and Broken for one that was cut off.  A file with a
    journal beside it is in the midst of a transaction: what its header says is not final.
    """
    header = read_header(path)
    if _filled(path, "-journal"):
        return True
    if header is None:
        return False
    check_identity(path, header.application_id, header.version)
    if not _filled(path, "-wal"):
        check_size(path, header.pages, header.page_size)
    return True


def check_identity(path: Path, application_id: int, version: int) -> None:
    """Raises InputError for another program's database, or one of a newer Tutelage."""
    if application_id != APPLICATION_ID:
        raise InputError(f"{path} is a database of another program: name another file.")
    if version > VERSION:
        raise InputError(
            f"{path} has schema {version}, and this Tutelage knows {VERSION} at most: "
            "install the newer Tutelage that wrote it, or restore a backup."
        )


def check_size(path: Path, pages: int, page_size: int) -> None:
    """Raises Broken for a file that is shorter than its page count says."""
    size = path.stat().st_size
    if size < pages * page_size:
        raise StoreBroken(
            f"{path} was cut off: it has {size} bytes, and {pages} pages of {page_size} bytes are "
            f"{pages * page_size}: restore a backup."
        )


def _filled(path: Path, ending: str) -> bool:
    beside = _beside(path, ending)
    return beside.exists() and beside.stat().st_size > 0


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


def sync_folder(path: Path) -> None:
    """Makes a new file's name last."""
    if sys.platform == "win32":
        return
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
