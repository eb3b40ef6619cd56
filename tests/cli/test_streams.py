"""Standard streams that are closed, full, or lack a character; a disk that is full."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tutelage.cli import app
from tutelage.errors import InputError

PLAYED = ["simulate", "paper", "--teacher", "none", "--horizon", "20", "--runs", "2"]

pytestmark = pytest.mark.skipif(os.name == "nt", reason="no such shell there")
needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="no such device there")


def redirected(redirection, arguments, **variables):
    """Run the command as a shell does with this redirection."""
    line = f'exec "$0" -m tutelage "$@" {redirection}'
    return subprocess.run(
        ["/bin/sh", "-c", line, sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | variables,
    )


def test_closed_standard_output(tmp_path):
    """The command works and says nothing; what it opens does not take the place of standard output."""
    saved = tmp_path / "r.nc"
    ended = redirected(">&-", [*PLAYED, "--out", str(saved)])
    assert (ended.returncode, ended.stderr) == (0, "")
    assert saved.stat().st_size


@pytest.mark.parametrize("redirection", ["2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_closed_standard_error(redirection):
    """An error keeps its status although it cannot be printed."""
    ended = redirected(redirection, ["simulate", "papr"])
    assert (ended.returncode, ended.stdout, ended.stderr) == (2, "", "")


@needs_full
def test_full_standard_error():
    """Likewise."""
    assert redirected("2>/dev/full", ["simulate", "papr"]).returncode == 2


@needs_full
@pytest.mark.parametrize(
    "arguments",
    [PLAYED, [*PLAYED, "--json"], ["simulate", "--list"], ["simulate", "--help"], ["--help"], ["--version"]],
)
def test_full_standard_output(arguments):
    """The sentence says what cannot be written."""
    ended = redirected(">/dev/full", arguments)
    assert ended.returncode == 1
    assert ended.stderr == "Standard output: cannot be written: No space left on device.\n"


def test_a_character_that_the_encoding_lacks(tmp_path):
    """A question mark stands for it."""
    table = tmp_path / "means.csv"
    table.write_text("☃,plain\n0.5,0.2\n0.3,0.4\n", encoding="utf-8")
    ended = redirected("", ["simulate", str(table), *PLAYED[2:]], PYTHONIOENCODING="ascii")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "? (arm 0)" in ended.stdout


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (OSError(28, "cannot be written: No space left on device", "/full/r.nc"), 1),
        (MemoryError("Unable to allocate 7 TiB"), 1),
        (InputError("There is no folder any more."), 2),
    ],
)
@pytest.mark.parametrize("form", ["table", "json"])
def test_a_result_that_cannot_be_saved_is_printed(error, status, form, tmp_path, capsys, monkeypatch):
    """Hours of work are not lost to a full disk."""

    def refuse(dataset, path):
        raise error

    monkeypatch.setattr(sys.modules["tutelage.cli.simulate"], "save", refuse)
    arguments = [*PLAYED, "--out", str(tmp_path / "r.nc"), *(["--json"] if form == "json" else [])]
    assert app.execute(arguments) == status
    printed = capsys.readouterr()
    if form == "json":
        assert json.loads(printed.out)["runs"] == 2
    else:
        assert "none" in printed.out
        assert "saved" not in printed.out
    assert str(error.args[-1]) in printed.err
    assert printed.err.count("\n") == 1


def test_an_ascii_locale(tmp_path):
    """Names and paths are UTF-8 all the same: in arguments, in files, in what is written and printed."""
    folder = tmp_path / "Zürich"
    folder.mkdir()
    (folder / "Mittel.csv").write_text("Äpfel,Birnen\n0.5,0.2\n0.3,0.4\n", encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "tutelage",
        "simulate",
        "Zürich/Mittel.csv",
        "--out",
        "Zürich/Läufe.nc",
        *PLAYED[2:],
    ]
    variables = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    ended = subprocess.run(command, capture_output=True, cwd=tmp_path, env=os.environ | variables, check=False)
    assert (ended.returncode, ended.stderr) == (0, b"")
    printed = ended.stdout.decode()
    assert "Äpfel (arm 0)" in printed
    assert printed.endswith("Every run is saved in Zürich/Läufe.nc.\n")
    assert (folder / "Läufe.nc").exists()
