"""What a terminal gets that a pipe does not."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.cli.commands import run_on_terminal
from tutelage import progress_bar
from tutelage.cli.app import execute

LONG = ["simulate", "paper", "--teacher", "none", "--teacher", "twl", "--runs", "20", "--horizon", "200000"]


def test_progress_goes_to_the_terminal_and_json_to_the_pipe():
    """A bar with the remaining time on standard error; on standard output only the document."""
    shown, out = run_on_terminal(*LONG, "--json", standard_output=subprocess.PIPE)
    assert "simulating" in shown
    assert "runs, remaining" in shown
    assert "\x1b[?25h" in shown  # the cursor is back
    assert json.loads(out)["runs"] == 20


EXPERIMENT = """
name = "it"
runs = 3
horizons = [300]
teachers = ["none"]
instances = [{ label = "it", spec = "paper" }]
clients = [{ label = "all", spec = "ucb1" }]
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ["simulate", "paper", "--teacher", "none", "--runs", "3", "--horizon", "300"],
        ["plan", "paper", "--teacher", "tal", "--runs", "3", "--horizon", "300"],
        ["bound", "paper", "--runs", "3", "--horizon", "300"],
        ["run", "it.toml"],
        ["reproduce", "fig2a", "--runs", "3", "--horizon", "300"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_lines_of_progress_where_there_is_no_terminal(tmp_path, monkeypatch, capsys, arguments):
    """From time to time a line says how many runs are finished, on standard error."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "it.toml").write_text(EXPERIMENT)
    monkeypatch.setattr(progress_bar, "_LINE_SECONDS", 0.0)
    assert execute([*arguments, "--workers", "1"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert any(
        re.fullmatch(r"[\w .-]+: \d+ of \d+ runs \(\d+ %(, about \d+(\.\d+)? m?s left)?\)", line) for line in lines
    )


def test_the_table_has_lines_of_progress(monkeypatch, capsys):
    """They name the clients that are measured."""
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "benchmarks")
    import table

    monkeypatch.setattr(progress_bar, "_LINE_SECONDS", 0.0)
    settings = table.Settings(horizon=300, runs=2, workers=1, executor="threads")
    table.measure({"ucb1": "ucb1", "mixed": table.MIXED}, ("none",), settings)
    lines = capsys.readouterr().err.splitlines()
    assert any(line.startswith("ucb1: ") for line in lines)
    assert any(line.startswith("mixed: 3 of 4 runs (") for line in lines)


def test_a_line_says_how_much_is_left(monkeypatch, capsys):
    """The rate is that since the first report: runs of an earlier command took no time."""
    now = [1000.0]
    monkeypatch.setattr(progress_bar, "_LINE_SECONDS", 10.0)
    monkeypatch.setattr(progress_bar.time, "monotonic", lambda: now[0])
    with progress_bar.ProgressBar(0) as bar:
        for done, seconds in ((40.0, 0.0), (41.5, 5.0), (60.0, 5.0), (61.0, 1.0), (100.0, 90.0)):
            now[0] += seconds
            bar(done, total=100, what="fixed-all-twl")
        bar.describe("drawing fig2a")
        now[0] += 20
        bar.describe("drawing fig2b")
    assert capsys.readouterr().err == "fixed-all-twl: 60 of 100 runs (60 %, about 20 s left)\ndrawing fig2b\n"


def test_colours_are_for_terminals(capsys):
    """The list has colours there, and none where it is piped."""
    shown, _ = run_on_terminal("simulate", "--list")
    assert "\x1b[" in shown
    assert execute(["simulate", "--list"]) == 0
    assert "\x1b[" not in capsys.readouterr().out
