"""What a terminal gets that a pipe does not."""

import json
import subprocess

from tests.cli.commands import run_on_terminal
from tutelage.cli.app import execute

LONG = ["simulate", "paper", "--teacher", "none", "--teacher", "twl", "--runs", "20", "--horizon", "200000"]


def test_progress_goes_to_the_terminal_and_json_to_the_pipe():
    """A bar with the remaining time on standard error; on standard output only the document."""
    shown, out = run_on_terminal(*LONG, "--json", standard_output=subprocess.PIPE)
    assert "simulating" in shown
    assert "runs, remaining" in shown
    assert "\x1b[?25h" in shown  # the cursor is back
    assert json.loads(out)["runs"] == 20


def test_colours_are_for_terminals(capsys):
    """The list has colours there, and none where it is piped."""
    shown, _ = run_on_terminal("simulate", "--list")
    assert "\x1b[" in shown
    assert execute(["simulate", "--list"]) == 0
    assert "\x1b[" not in capsys.readouterr().out
