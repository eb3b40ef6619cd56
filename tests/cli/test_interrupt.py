"""Ctrl-C: at once, one line, exit status 130."""

import os
import signal
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.skipif(os.name == "nt", reason="no such signals there")
LONG = ["simulate", "paper", "--horizon", "1000000000", "--runs", "3", "--workers", "2", "--engine", "step"]


def interrupted(arguments, *, after, presses=1):
    """Start the command, press Ctrl-C (for its whole process group, as a terminal does) and wait."""
    running = subprocess.Popen(
        [sys.executable, "-m", "tutelage", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    time.sleep(after)
    for _ in range(presses):
        os.killpg(running.pid, signal.SIGINT)
        time.sleep(0.02)
    out, error = running.communicate(timeout=60)  # the runs themselves would take minutes
    return running, out, error


@pytest.fixture(scope="module", autouse=True)
def compiled(python):
    """Kernels compiled before, so that the runs are under way when Ctrl-C is pressed."""
    python("-m", "tutelage", "simulate", "paper", "--horizon", "10")


@pytest.mark.parametrize("presses", [1, 2, 3])
@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_while_compiled_code_runs(executor, presses):
    """Nothing is waited for, and pressing again makes no difference."""
    running, out, error = interrupted([*LONG, "--executor", executor], after=5, presses=presses)
    assert running.returncode == 130
    assert (out, error) == ("", "Interrupted.\n")
    deadline = time.monotonic() + 30
    while _group_lives(running.pid):  # worker processes end with their parent
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_while_starting():
    """Also before the command has read its arguments; a process that has not begun may die of the signal."""
    running, out, error = interrupted(LONG, after=0.3)
    assert (running.returncode, out, error) == (130, "", "Interrupted.\n") or (running.returncode == -signal.SIGINT)


_SWALLOWED = """if True:
    import os, signal, time
    from pathlib import Path
    from tutelage.cli import app, interrupts, main

    class Dropping:
        def __del__(self):  # Python drops what is raised here
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.1)

    def dropped(folder):
        Dropping()

    def caught(folder):
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.1)
        except KeyboardInterrupt:
            pass

    def turned(folder):
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.1)
        except KeyboardInterrupt:
            raise RuntimeError("a compiler's own")

    def saving(folder):
        interrupts.remove_unfinished_in(folder)
        with (folder / ".tutelage-mine.part").open("w"):
            caught(folder)
            time.sleep(60)

    def execute(arguments):
        globals()[arguments[0]](Path(arguments[1]))
        time.sleep(60)
        return 0

    app.execute = execute
    main()
"""


@pytest.mark.parametrize("way", ["dropped", "caught", "turned", "saving"])
def test_code_that_swallows_the_interrupt(python, way, tmp_path):
    """Finalisers, foreign code that catches all, compilers: the process ends all the same, with one line.

    Of files half written only its own is removed.
    """
    (tmp_path / ".tutelage-other.part").touch()
    ended = python("-c", _SWALLOWED, way, tmp_path, check=False, timeout=50)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "Interrupted.\n")
    assert [path.name for path in tmp_path.iterdir()] == [".tutelage-other.part"]


def test_little_is_imported_before_interrupts_are_handled(python):
    """The window in which Ctrl-C gives Python's own traceback is small."""
    listing = "import sys; before = set(sys.modules); import tutelage.cli; print(*set(sys.modules) - before)"
    imported = set(python("-c", listing).stdout.split())
    assert "tutelage.cli.interrupts" in imported
    assert not imported & {"typing", "contextlib", "dataclasses", "importlib.metadata", "pathlib", "threading"}


def test_an_interrupt_leaves_no_unfinished_file(tmp_path):
    """``--out`` is only there when it is complete."""
    running, *_ = interrupted([*LONG, "--out", str(tmp_path / "r.nc")], after=5)
    assert running.returncode == 130
    assert not list(tmp_path.iterdir())


def _group_lives(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
