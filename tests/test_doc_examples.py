"""Every code block of the documentation that can run is run.

Blocks are fenced and name their language.  ``sh`` and ``python`` blocks of a page run in order, in one empty
folder, each in a process of its own.  A block
that cannot run here has ``<!-- not run: REASON -->`` on the line before its fence.
``toml``, ``json``, ``text`` and other blocks are not programs; TOML and JSON must be well-formed.
"""

import json
import os
import re
import socket
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(
    r"(?:^<!-- not run: (?P<reason>[^\n]+) -->\n)?^```(?P<language>[\w+-]*)\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
LANGUAGES = {"sh", "python", "toml", "json", "text", "promql", "nginx", "ini", "sql", "javascript"}


@dataclass(frozen=True)
class Block:
    """A code block of a page: its language, its text, and why it is not run, if it is not."""

    line: int
    language: str
    code: str
    reason: str | None


def blocks_of(page):
    """The fenced blocks of a page."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(text.count("\n", 0, found.start("language")) + 1, found["language"], found["code"], found["reason"])
        for found in FENCE.finditer(text)
    ]


def page_name(page):
    """Return the page's path from the root."""
    return page.relative_to(ROOT).as_posix()


every_page = pytest.mark.parametrize("page", PAGES, ids=page_name)


@every_page
def test_blocks_name_their_language(page):
    """A block has a known language; no code is indented instead of fenced."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    assert "```" not in text, "a fence that is not closed or not at the beginning of a line"
    assert not re.search(r"^\n {4}\S", text, re.MULTILINE), "an indented block: fence it"
    assert {block.language for block in blocks_of(page)} <= LANGUAGES


@every_page
def test_data_blocks_are_well_formed(page):
    """TOML and JSON blocks can be read."""
    for block in blocks_of(page):
        if block.reason is None and block.language in {"toml", "json"}:
            {"toml": tomllib.loads, "json": json.loads}[block.language](block.code)


def runnable(page):
    """Return the blocks of a page that are run."""
    return [block for block in blocks_of(page) if block.language in {"sh", "python"} and block.reason is None]


@pytest.mark.parametrize("page", [page for page in PAGES if runnable(page)], ids=page_name)
def test_blocks_run(page, tmp_path):
    """The programs of a page run one after the other, in a folder of their own, without an error.

    A server that a page starts in the background listens on a free port, and is ended with its block.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TUTELAGE_")}
    environment |= {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "TUTELAGE_PORT": port,
        "TUTELAGE_SERVER": f"http://127.0.0.1:{port}",
    }
    for block in runnable(page):
        code = block.code.replace(".venv/bin/", "").replace("8321", port)
        if block.language == "sh":
            command = ["bash", "-euo", "pipefail", "-c", f"trap 'kill $(jobs -p) 2> /dev/null || :' EXIT\n{code}"]
        else:
            command = [sys.executable, "-c", code]
        ran = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600, check=False
        )
        assert ran.returncode == 0, f"{page_name(page)}:{block.line}\n{ran.stdout}{ran.stderr}"
