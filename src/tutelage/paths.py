"""Paths that people give, with ``~`` replaced and checked; and a folder for users without a home."""

import atexit
import os
import shutil
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

from tutelage.errors import InputError
from tutelage.text import format_value


def expand_path(path: str | os.PathLike[str]) -> Path:
    """Replace ``~`` by the home folder.  Raises ``InputError`` where the text cannot be the name of a file."""
    text = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(text, str):
        raise InputError(f"Invalid path {format_value(path)}: use a text or a pathlib.Path.")
    try:
        usable = b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        usable = False
    if not usable:
        raise InputError(f"Invalid path {text!r}: it has a character that a file name cannot have. Check the path.")
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise InputError(
            f"Invalid path {text!r}: there is no home folder with this name. Write the path in full, or ./~ "
            "if the name of the folder itself begins with ~."
        ) from None


def is_file(path: str | os.PathLike[str]) -> bool:
    """Whether a text is the path of an existing file; it need not be a path at all."""
    return _holds(Path.is_file, path)


def is_folder(path: str | os.PathLike[str]) -> bool:
    """Whether a text is the path of an existing folder."""
    return _holds(Path.is_dir, path)


def exists(path: str | os.PathLike[str]) -> bool:
    """Whether a text is the path of anything that exists."""
    return _holds(Path.exists, path)


def _holds(condition: Callable[[Path], bool], path: str | os.PathLike[str]) -> bool:
    try:
        return condition(expand_path(path))
    except (InputError, OSError):
        return False


def find_path(path: str) -> Path:
    """The path of an existing file or folder, its ``~`` replaced.  Raises ``InputError`` if it does not exist."""
    found = expand_path(path)
    if not path.strip() or not exists(path):
        raise InputError(f"There is no file or folder {path!r}: check the path.")
    return found


def has_writable_home(variable: str = "XDG_CACHE_HOME", folder: str = ".cache") -> bool:
    """Whether a library can write to its usual folder in the user's home, or where the variable says instead."""
    try:
        path = Path(os.environ.get(variable) or Path.home() / folder)
    except RuntimeError:  # HOME is not set, and the system does not know the user
        return False
    existing = next((each for each in (path, *path.parents) if each.exists()), None)
    return path.is_absolute() and existing is not None and os.access(existing, os.W_OK | os.X_OK)


def make_private_folder() -> Path:
    """Return a folder for caches that no other user can write, among the temporary files.

    It is the same in every process of this user, unless another user has made one of its name.
    """
    user = os.getuid() if hasattr(os, "getuid") else 0
    path = Path(tempfile.gettempdir(), f"tutelage-{user}")
    path.mkdir(mode=0o700, exist_ok=True)
    found = path.lstat()
    if stat.S_ISDIR(found.st_mode) and found.st_uid == user and not found.st_mode & 0o077:
        return path
    path = Path(tempfile.mkdtemp(prefix="tutelage-"))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path
