"""Runs the programs of a page when the site is built, and puts what they print and draw into it.

``sh`` and ``python`` blocks run in order in one empty folder.  The line ``<!-- output -->`` after a block is
replaced by what the block printed, and ``<!-- picture: FILE: TEXT -->`` by a picture that the block saved.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

_PART = re.compile(
    r"(?:^<!-- not run: [^\n]+ -->\n)?^```(?P<language>\w*)\n(?P<code>.*?)^```$"
    r"|^<!-- (?P<output>output) -->$|^<!-- picture: (?P<file>[^:\n]+): (?P<text>[^\n]+) -->$",
    re.MULTILINE | re.DOTALL,
)


def run_block(language: str, code: str, folder: Path) -> str:
    """Run a block, with a free port for 8321, and return what it printed; a block that fails ends the build."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        code = code.replace("8321", str(free.getsockname()[1]))
    search = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    command = ["bash", "-euo", "pipefail", "-c", code] if language == "sh" else [sys.executable, "-c", code]
    environment = os.environ | {"PATH": search, "COLUMNS": "80"}
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    if ran.returncode:
        raise SystemExit(f"This block of the first hour failed:\n{code}\n{ran.stdout}{ran.stderr}")
    return ran.stdout


def run_page(page: Path) -> None:
    """Run the blocks of a page, and write their output and pictures into it."""
    pictures = page.parent / "pictures" / page.stem
    pictures.mkdir(parents=True, exist_ok=True)
    printed = ""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)

        def replace(found: re.Match[str]) -> str:
            nonlocal printed
            if found["output"]:
                return f"```text\n{printed.rstrip()}\n```"
            if found["file"]:
                shutil.copy(folder / found["file"], pictures)
                return f"![{found['text']}](pictures/{page.stem}/{found['file']})"
            if found["language"] in {"sh", "python"} and not found[0].startswith("<!--"):
                printed = run_block(found["language"], found["code"], folder)
            return found[0]

        text = _PART.sub(replace, page.read_text(encoding="utf-8"))
    page.write_text(text, encoding="utf-8")
