"""What a terminal gets that a pipe does not."""

import json
import os
import pty
import subprocess
import sys

from tutelage.cli.app import execute

LONG = ["simulate", "paper", "--teacher", "none", "--teacher", "twl", "--runs", "20", "--horizon", "200000"]


def on_terminal(*arguments, standard_output=None):
    """What the command writes to a terminal of 100 columns, and to a pipe if its output is one."""
    terminal, theirs = pty.openpty()
    command = [sys.executable, "-m", "tutelage", *arguments]
    environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": "100"}
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=standard_output or theirs, stderr=theirs, env=environment
    ) as running:
        os.close(theirs)
        shown = _read_all(terminal)
        out = running.stdout.read() if running.stdout else b""
        assert running.wait(timeout=60) == 0
    os.close(terminal)
    return shown.decode(), out.decode()


def _read_all(terminal):
    shown = b""
    while True:
        try:
            part = os.read(terminal, 4096)
        except OSError:  # Linux says so when the other end is closed
            return shown
        if not part:
            return shown
        shown += part


def test_progress_goes_to_the_terminal_and_json_to_the_pipe():
    """A bar with the remaining time on standard error; on standard output the document alone."""
    shown, out = on_terminal(*LONG, "--json", standard_output=subprocess.PIPE)
    assert "simulating" in shown
    assert "runs, remaining" in shown
    assert "\x1b[?25h" in shown  # the cursor is back
    assert json.loads(out)["runs"] == 20


def test_colours_are_for_terminals(capsys):
    """The list has colours there, and none where it is piped."""
    shown, _ = on_terminal("simulate", "--list")
    assert "\x1b[" in shown
    assert execute(["simulate", "--list"]) == 0
    assert "\x1b[" not in capsys.readouterr().out
