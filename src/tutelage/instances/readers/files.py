"""Files of data: a file, a member of an archive, or a file in a folder; plain or gzipped."""

import gzip
import io
import json
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast

from tutelage.errors import InputError
from tutelage.instances.readers.workbook import WORKBOOKS, read_workbook
from tutelage.paths import find_path
from tutelage.validation import describe_error

# zipfile raises NotImplementedError for a compression or a version that it does not know.
_BROKEN = (OSError, EOFError, zlib.error, zipfile.BadZipFile, NotImplementedError, UnicodeDecodeError)


@dataclass(frozen=True)
class DataFile:
    """One file of data: ``path`` on disk, and the ``member`` of it if that is an archive."""

    path: Path
    member: str | None = None

    @property
    def name(self) -> str:
        """The file's own name in lower case, without ``.gz``."""
        return PurePosixPath(self.member or self.path.name).name.lower().removesuffix(".gz")

    @property
    def label(self) -> str:
        """The file in messages."""
        return f"{self.path}/{self.member}" if self.member else str(self.path)

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """The content as a stream of bytes, unpacked.  Raises ``InputError`` if it cannot be read."""
        try:
            with self._raw() as raw:
                packed = raw.peek(2)[:2] == b"\x1f\x8b" if hasattr(raw, "peek") else False
                if packed:
                    with gzip.open(raw) as stream:
                        yield cast(IO[bytes], stream)
                else:
                    yield raw
        except _BROKEN as error:
            raise InputError(
                f"{self.label!r} cannot be read ({describe_error(error)}); check the path or download it again."
            ) from error

    @contextmanager
    def _raw(self) -> Iterator[IO[bytes]]:
        if self.member is None:
            if self.path.suffix.lower() in WORKBOOKS:
                yield io.BytesIO(read_workbook(self.path).encode())
                return
            with self.path.open("rb") as stream:
                yield stream
            return
        with zipfile.ZipFile(self.path) as archive:
            if archive.getinfo(self.member).flag_bits & 1:
                raise InputError(f"{self.label!r} is encrypted; unpack it first and give the folder.")
            with archive.open(self.member) as stream:
                yield stream

    def find_sibling(self, name: str) -> "DataFile | None":
        """The file of that name in the same folder or archive (also gzipped), or None."""
        for wanted in (name, f"{name}.gz"):
            if self.member is None:
                if (self.path.parent / wanted).is_file():
                    return DataFile(self.path.parent / wanted)
            else:
                member = str(PurePosixPath(self.member).parent / wanted)
                if member in _members(self.path):
                    return DataFile(self.path, member)
        return None


def locate(path: str, names: Sequence[str], what: str) -> DataFile:
    """The file that a PATH stands for: itself, or one of the ``names`` in a folder or archive.

    ``names`` are patterns (``*.k7``) for the name in lower case without ``.gz``.  A folder is searched two
    levels deep, and the file nearest to the top is used; several at that level are an ``InputError``.
    """
    found = _find(path)
    if found.is_dir():
        inside = [item for pattern in ("*", "*/*") for item in sorted(found.glob(pattern)) if item.is_file()]
        files = [(len(item.relative_to(found).parts), DataFile(item)) for item in inside]
    elif found.suffix.lower() not in WORKBOOKS and _is_zip(found):
        members = [PurePosixPath(member) for member in _members(found)]
        files = [(len(item.parts), DataFile(found, str(item))) for item in members if item.parts[0] != "__MACOSX"]
    else:
        return DataFile(found)
    hits = [(depth, item) for depth, item in files if any(fnmatch(item.name, name) for name in names)]
    if not hits:
        raise InputError(f"{path!r} has no {what} ({', '.join(names)}); give the path of the file itself.")
    least = min(depth for depth, _ in hits)
    chosen = [item for depth, item in hits if depth == least]
    if len(chosen) > 1:
        listed = ", ".join(PurePosixPath(item.member or item.path.name).name for item in chosen[:5])
        raise InputError(f"{path!r} holds several files that could be the {what} ({listed}); give the path of one.")
    return chosen[0]


def _find(path: str) -> Path:
    """The path of an existing folder or ordinary file; a pipe could be read only once."""
    found = find_path(path)
    if not found.is_dir() and not found.is_file():
        raise InputError(f"{path!r} is not an ordinary file (a pipe?); write the data to a file and give its path.")
    return found


def _is_zip(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            return stream.read(4) in (b"PK\x03\x04", b"PK\x05\x06")
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be read ({describe_error(error)}); check the path.") from error


def _members(path: Path) -> list[str]:
    try:
        with zipfile.ZipFile(path) as archive:
            return [item.filename for item in archive.infolist() if item.filename and not item.is_dir()]
    except _BROKEN as error:
        raise InputError(
            f"The archive {str(path)!r} is damaged ({describe_error(error)}); download it again."
        ) from error


def read_text(path: str, what: str) -> str:
    """The whole of a small UTF-8 file that holds ``what``, without a byte-order mark."""
    found = _find(path)
    if found.is_dir():
        raise InputError(f"{path!r} is a folder, not a file of {what}; give the path of the file.")
    return decode(DataFile(found))


def decode(data: DataFile, fallback: str | None = None) -> str:
    """A whole file as text; one that is not UTF-8 is read as ``fallback`` or is an ``InputError``."""
    with data.open() as stream:
        content = stream.read()
    if b"\0" in content:
        raise InputError(f"{data.label!r} is not a text file; give a CSV, JSON or TOML file in UTF-8, or .xlsx.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if fallback:
            return content.decode(fallback)
        raise InputError(f"{data.label!r} is not UTF-8 at byte {error.start}; save it as UTF-8.") from None


def parse_json(text: str, where: str) -> Any:
    """Parse JSON.  Repeated keys, NaN and infinities are an ``InputError``."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = [key for key, _ in pairs]
        for key in keys:
            if keys.count(key) > 1:
                raise InputError(f"The key {key!r} appears twice in {where!r}: remove one.")
        return dict(pairs)

    def constant(word: str) -> Any:
        raise InputError(f"Invalid {word} in {where!r}: use a number for each mean.")

    try:
        return json.loads(text, object_pairs_hook=once, parse_constant=constant)
    except json.JSONDecodeError as error:
        raise InputError(f"{where!r} is not JSON: {error.msg} in line {error.lineno}, column {error.colno}.") from None
    except RecursionError:
        raise InputError(f"{where!r} is nested too deeply; give a list of rows of means.") from None
    except InputError:
        raise
    except ValueError:  # Python turns no text of more than 4300 digits into a whole number
        raise InputError(f"{where!r} holds a whole number of too many digits; shorten it.") from None
