"""An experiment that is killed leaves no partial cell and continues where it stopped."""

import os
import signal
import subprocess
import sys
import time

import pytest

from tutelage import experiments, results
from tutelage.experiments.parsing import parse_experiment

pytestmark = pytest.mark.skipif(os.name == "nt", reason="no such signals there")

# The first horizon takes a moment, the second would take hours: the signal always comes in between.
ENDLESS = """
name = "endless"
runs = 2
teachers = ["twl", "none"]
horizons = [200, 1_000_000_000]

[[instances]]
label = "it"
spec = "{spec}"
{seeds}

[[clients]]
label = "all"
spec = "ucb1"
"""
KINDS = [("paper", ""), ("uniform", 'seeds = "0..2"')]

_KILL_AT = """if True:
    import os, signal, sys
    from tutelage import experiments
    from tutelage.experiments.parsing import parse_experiment

    seen = 0

    def fsync(descriptor):
        global seen
        seen += 1
        if seen == int(sys.argv[3]):
            os.ftruncate(descriptor, 1000)
            os.kill(os.getpid(), signal.SIGKILL)

    os.fsync = fsync
    experiments.run_experiment(parse_experiment(sys.argv[1], "small.toml"), sys.argv[2])
"""


@pytest.mark.parametrize("at", [1, 5])
def test_killed_while_writing_a_cell(small, python, tmp_path, at):
    """After SIGKILL before a cell is complete, earlier cells are intact and this one is simulated again."""
    ended = python("-c", _KILL_AT, small, tmp_path, at, check=False)
    assert ended.returncode == -signal.SIGKILL
    cells = tmp_path / "cells"
    assert len(list(cells.glob(".tutelage-*.part"))) == 1
    whole = sorted(cells.glob("*.nc"))
    assert len(whole) == at - 1
    for path in whole:
        results.load(path)
    result = experiments.run_experiment(parse_experiment(small, "small.toml"), tmp_path)
    assert sorted(cell.path for cell in result.cells if not cell.is_new) == whole
    assert not result.notes
    assert not list(cells.glob(".*"))
    fresh = experiments.run_experiment(parse_experiment(small, "small.toml"), tmp_path / "fresh")
    for mine, its in zip(result.panels, fresh.panels, strict=True):
        assert mine.dataset.identical(its.dataset)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize(("spec", "seeds"), KINDS)
def test_interrupted_while_simulating(tmp_path, number, spec, seeds):
    """Complete cells stay, also with the command line, and the others do not exist."""
    text = ENDLESS.format(spec=spec, seeds=seeds)
    file, out = tmp_path / "endless.toml", tmp_path / "out"
    file.write_text(text, encoding="utf-8")
    running = subprocess.Popen(
        [sys.executable, "-m", "tutelage", "run", file, "--out", out],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 300
    while len(list(out.glob("cells/*.nc"))) < 2:
        assert running.poll() is None, running.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.killpg(running.pid, number)
    printed, error = running.communicate(timeout=60)
    if number == signal.SIGINT:
        assert (running.returncode, printed, error) == (130, "", "Interrupted.\n")
    assert [path.suffix for path in (out / "cells").iterdir()] == [".nc", ".nc"]
    short = text.replace(", 1_000_000_000", "")
    result = experiments.run_experiment(parse_experiment(short, "endless.toml"), out)
    assert [cell.is_new for cell in result.cells] == [False, False]
