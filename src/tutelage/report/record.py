"""What a page holds about itself: what it was made from, and the hashes of the files that belong to it.

So a finished experiment is known as such by reading bytes alone; no result is loaded.  The page's last line
is the hash of all above it: one that was cut or changed is none.
"""

import hashlib
import json
import re
from collections.abc import Iterable
from importlib import resources
from pathlib import Path
from typing import Any

from tutelage import results

_LAST_LINE = re.compile(rb"<!-- sha256 of all above: ([0-9a-f]{64}) -->\n\Z")
_RECORD = re.compile(rb'<script type="application/json" id="record">([^<]*)</script>')
_PIECE = 1 << 20


def sealed(page: str) -> bytes:
    """The page with its last line."""
    above = page.encode("utf-8", "backslashreplace")  # a path that is not UTF-8 holds halves of pairs
    return above + f"<!-- sha256 of all above: {hashlib.sha256(above).hexdigest()} -->\n".encode()


def read(page: Path) -> dict[str, Any] | None:
    """The record of a page, or None where there is no page or it is not as it was written."""
    try:
        content = page.read_bytes()
    except OSError:
        return None
    last = _LAST_LINE.search(content, max(0, len(content) - 200))
    if last is None or hashlib.sha256(content[: last.start()]).hexdigest() != last[1].decode():
        return None
    found = _RECORD.search(content)
    record = None if found is None else json.loads(found[1])
    return record if isinstance(record, dict) else None


def fingerprint(played: str) -> str:
    """The hash of a played experiment's fingerprint and of all that it is drawn and laid out with."""
    package = resources.files("tutelage")
    looks = [
        package.joinpath("plots", "tutelage.mplstyle").read_text(encoding="utf-8"),
        package.joinpath("report", "page.html").read_text(encoding="utf-8"),
        results.version("matplotlib"),
        results.version("bokeh"),
    ]
    return hashlib.sha256(json.dumps([played, looks]).encode()).hexdigest()


def sum_of(content: bytes) -> str:
    """The sha256 of what is yet to be written."""
    return hashlib.sha256(content).hexdigest()


def sums(paths: Iterable[Path]) -> dict[str, str]:
    """The sha256 of files by their names; of one that cannot be read, nothing."""
    return {path.name: _sum(path) for path in paths}


def _sum(path: Path) -> str:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while piece := file.read(_PIECE):
                digest.update(piece)
    except OSError:
        return ""
    return digest.hexdigest()
