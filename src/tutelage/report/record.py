"""What a report page records about itself: what it was made from, and the hashes of the files next to it.

A finished experiment is recognised by comparing hashes only; no result is loaded.  The last line of a page is
the hash of everything above it, so a page that was cut or changed is recognised too.
"""

import hashlib
import json
import re
from collections.abc import Iterable
from importlib import resources
from pathlib import Path

import msgspec

from tutelage.report.summary import PanelSummary
from tutelage.versions import package_version

_LAST_LINE = re.compile(rb"<!-- sha256 of all above: ([0-9a-f]{64}) -->\n\Z")
_RECORD = re.compile(rb'<script type="application/json" id="record">([^<]*)</script>')
_CHUNK = 1 << 20


class PageRecord(msgspec.Struct, frozen=True):
    """What a page was made from: ``cells`` and ``pictures`` map file names to their sha256."""

    fingerprint: str
    cells: dict[str, str]
    pictures: dict[str, str]
    panels: list[PanelSummary]


def seal_page(page: str) -> bytes:
    """Return the page with its last line."""
    above = page.encode("utf-8", "backslashreplace")  # a path that is not UTF-8 contains lone surrogates
    return above + f"<!-- sha256 of all above: {hash_bytes(above)} -->\n".encode()


def read_record(page: Path) -> PageRecord | None:
    """Read the record of a page; None if the page is missing or was changed."""
    try:
        content = page.read_bytes()
    except OSError:
        return None
    last = _LAST_LINE.search(content, max(0, len(content) - 200))
    if last is None or hash_bytes(content[: last.start()]) != last[1].decode():
        return None
    found = _RECORD.search(content)
    try:
        return None if found is None else msgspec.json.decode(found[1], type=PageRecord)
    except msgspec.MsgspecError:  # the page of another version
        return None


def compute_page_fingerprint(fingerprint: str) -> str:
    """Hash an experiment's fingerprint together with everything that judges, draws and lays it out."""
    folders = (resources.files("tutelage").joinpath(name) for name in ("experiments", "plots", "report"))
    files = sorted(
        (file for folder in folders for file in folder.iterdir() if file.is_file()), key=lambda file: file.name
    )
    layout = [hash_bytes(file.read_bytes()) for file in files]
    return hash_bytes(
        json.dumps([fingerprint, layout, package_version("matplotlib"), package_version("bokeh")]).encode()
    )


def hash_bytes(content: bytes) -> str:
    """Return the sha256 of the content of a file."""
    return hashlib.sha256(content).hexdigest()


def hash_files(paths: Iterable[Path]) -> dict[str, str]:
    """Return the sha256 of files by their names; an empty text for a file that cannot be read."""
    return {path.name: _hash_file(path) for path in paths}


def _hash_file(path: Path) -> str:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
    except OSError:
        return ""
    return digest.hexdigest()
