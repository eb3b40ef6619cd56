"""The command line measured from outside: wall time, imports and peak memory of processes of their own."""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from figures import Samples

ROOT = Path(__file__).parents[1]

# Linux counts the memory of whoever starts a process into that process's peak: a small one stands between.
_STARTER = """
import json, os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
said = process.stderr.read().decode(errors="replace")
_, status, usage = os.wait4(process.pid, 0)
print(json.dumps([os.waitstatus_to_exitcode(status), usage.ru_maxrss, said]))
"""


class Failed(Exception):
    """A command that could not be measured; the message says why."""


def tutelage() -> tuple[str, ...]:
    """The installed command of this interpreter's environment, else ``python -m tutelage``."""
    script = Path(sys.executable).with_name("tutelage")
    return (str(script),) if script.is_file() else (sys.executable, "-m", "tutelage")


def python(program: str, *arguments: str) -> tuple[str, ...]:
    """A program for this interpreter."""
    return (sys.executable, "-c", program, *arguments)


@contextlib.contextmanager
def cores(number: int) -> Iterator[int]:
    """Keep this process, and those it starts, on so many cores; gives how many it may use, 0 if unknown."""
    if not hasattr(os, "sched_setaffinity"):  # macOS and Windows have no such call
        yield 0
        return
    before = os.sched_getaffinity(0)
    chosen = sorted(before)[-number:]
    os.sched_setaffinity(0, chosen)
    try:
        yield len(chosen)
    finally:
        os.sched_setaffinity(0, before)


def run(command: Sequence[str], **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end.  Raises :class:`Failed` with the last line that it said."""
    done = subprocess.run(  # noqa: S603 -- what this file and lab.py make up
        command,
        cwd=ROOT,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    _check(done.returncode, done.stderr)
    return done


def _check(status: int, said: str) -> None:
    if status != 0:
        lines = said.strip().splitlines() or ["it said nothing"]
        raise Failed(f"exit status {status}, {lines[-1]}")


def seconds(command: Sequence[str], repeats: int) -> Samples:
    """Wall time from start to end of a process, after one run that warms the caches."""
    run(command)
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        run(command)
        times.append(time.perf_counter() - began)
    return Samples(tuple(times))


def imported(command: Sequence[str]) -> set[str]:
    """The top-level packages that a ``tutelage`` command imports, in the processes of its workers too."""
    said = run(command, PYTHONPROFILEIMPORTTIME="1").stderr
    lines = [line for line in said.splitlines() if line.startswith("import time:")]
    packages = {line.rpartition("|")[2].strip().partition(".")[0] for line in lines}
    if "tutelage" not in packages:
        raise Failed("Python did not say what the command imported")
    return packages


def peak_mebibytes(command: Sequence[str], repeats: int) -> Samples:
    """The most resident memory that a process ever held.  Raises :class:`Failed` where none is counted."""
    if not hasattr(os, "wait4"):
        raise Failed("this system does not count the memory of a process that has ended")
    unit = 1 if sys.platform == "darwin" else 1024
    peaks = []
    for _ in range(repeats):
        status, peak, said = json.loads(run(python(_STARTER, *command)).stdout)
        _check(status, said)
        peaks.append(peak * unit / 2**20)
    return Samples(tuple(peaks))
