"""An experiment that is killed leaves no partial cell and continues where it stopped."""

import errno
import io
import os
import signal
import subprocess
import sys
import time

import pytest

from tutelage import experiments, results, simulator
from tutelage.engine.simulation import simulate_run
from tutelage.experiments.parsing import parse_experiment
from tutelage.experiments.run_journal import RunJournal

pytestmark = pytest.mark.skipif(os.name == "nt", reason="no such signals there")

# The first horizon takes a moment, the second would take hours: the signal always comes in between.
ENDLESS = """
name = "endless"
runs = 2
engine = "step"
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
    from tutelage import atomic_files, experiments
    from tutelage.experiments.parsing import parse_experiment
    from tutelage.results import netcdf

    seen = 0

    def write(path, content):
        global seen
        seen += 1
        if seen == int(sys.argv[3]):
            os.fsync = die
        atomic_files.write_atomically(path, content)

    def die(descriptor):
        os.ftruncate(descriptor, 1000)
        os.kill(os.getpid(), signal.SIGKILL)

    netcdf.write_atomically = write
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


_KILL_AFTER = """if True:
    import os, signal, sys
    from tutelage import experiments
    from tutelage.experiments.parsing import parse_experiment
    from tutelage.experiments.run_journal import RunJournal

    append, seen = RunJournal.append, 0

    def append_and_die(self, request, outcome):
        global seen
        append(self, request, outcome)
        seen += 1
        if seen == int(sys.argv[3]):
            with self.path.open("ab") as file:
                file.write(bytes(9) * 20)  # the beginning of a record that was never completed
            os.kill(os.getpid(), signal.SIGKILL)

    RunJournal.append = append_and_die
    experiments.run_experiment(parse_experiment(sys.argv[1], "small.toml"), sys.argv[2], workers=1)
"""


@pytest.mark.parametrize(("at", "left"), [(1, 23), (9, 15)])
def test_finished_runs_of_an_interrupted_cell_are_not_simulated_again(small, python, tmp_path, monkeypatch, at, left):
    """Of a cell that a kill interrupts only the other runs are simulated, and its file has the same bytes."""
    ended = python("-c", _KILL_AFTER, small, tmp_path, at, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    (journal,) = (tmp_path / "cells").glob("*.runs")
    simulated, sentences = [], []
    append = RunJournal.append
    monkeypatch.setattr(RunJournal, "append", lambda *run: [simulated.append(run), append(*run)])
    experiments.run_experiment(parse_experiment(small, "small.toml"), tmp_path, announce=sentences.append)
    assert len(simulated) == left
    whole = 24 if at == 1 else 18
    (sentence,) = sentences
    assert f"{whole} runs ({whole - left} of them finished before): about " in sentence
    assert not journal.exists()
    fresh = experiments.run_experiment(parse_experiment(small, "small.toml"), tmp_path / "fresh")
    for cell in fresh.cells:
        assert (tmp_path / "cells" / cell.path.name).read_bytes() == cell.path.read_bytes()


class FullDisk(io.FileIO):
    """A file to which only 7 bytes more can be written."""

    room = 7

    def write(self, content):
        if not self.room:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = super().write(bytes(content)[: self.room])
        self.room -= written
        return written


def test_a_full_disk_costs_one_record(tmp_path):
    """What was written of it is cut off by the next one, and the file is opened again after it was closed."""
    request = simulator.make_request("paper", "twl", horizon=30, runs=3, seed=1)
    outcomes = [simulate_run(request, 0, run) for run in range(3)]
    path = tmp_path / "cell.runs"
    with RunJournal(path, "digest") as journal:
        journal.append(0, outcomes[0])
        journal.file.close()
        journal.file = FullDisk(path, "r+")
        journal.file.seek(journal.size)
        with pytest.raises(OSError, match=r"cannot be written: No space left on device: .*cell\.runs"):
            journal.append(1, outcomes[1])
        assert path.stat().st_size == journal.size + 7
        journal.append(2, outcomes[1])
    with journal:
        journal.append(3, outcomes[2])
    found = RunJournal(path, "digest").outcomes
    assert {number: [each.run for each in runs] for number, runs in found.items()} == {0: [0], 2: [1], 3: [2]}


def test_a_run_that_is_twice_in_a_journal_counts_once(tmp_path):
    """Where no lock keeps two processes from writing, they may write the same run."""
    request = simulator.make_request("paper", "twl", horizon=30, runs=2, seed=1)
    outcome = simulate_run(request, 0, 1)
    with RunJournal(tmp_path / "cell.runs", "digest") as journal:
        journal.append(0, outcome)
        journal.append(0, outcome)
    found = RunJournal(tmp_path / "cell.runs", "digest")
    assert [each.run for each in found.outcomes[0]] == [1]
    assert found.num_runs == 1


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
        assert (running.returncode, printed) == (130, "")
        assert error.splitlines()[-1] == "Interrupted; the same command goes on from here."
    left = sorted((out / "cells").iterdir())
    stored = [path for path in left if path.suffix == ".nc"]
    assert len(stored) == 2
    assert {path.with_suffix(".nc") for path in left} == set(stored)  # a journal may be left of a cell that is stored
    short = text.replace(", 1_000_000_000", "")
    result = experiments.run_experiment(parse_experiment(short, "endless.toml"), out)
    assert [cell.is_new for cell in result.cells] == [False, False]
    assert sorted((out / "cells").iterdir()) == stored
