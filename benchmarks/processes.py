"""Measure commands from outside: wall time, imports and peak memory of processes of their own."""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from measurements import Samples

ROOT = Path(__file__).parents[1]

# Linux counts the memory of the parent in the peak of a new process, so a small parent is put in between.
_STARTER = """
import json, os, subprocess, sys, time
began = time.perf_counter()
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
errors = process.stderr.read().decode(errors="replace")
_, status, usage = os.wait4(process.pid, 0)
seconds = time.perf_counter() - began
print(json.dumps([os.waitstatus_to_exitcode(status), seconds, usage.ru_maxrss, errors]))
"""


class MeasurementError(Exception):
    """A command that could not be measured; the message says why."""


def tutelage_command() -> tuple[str, ...]:
    """Return the installed command of this interpreter's environment, or ``python -m tutelage``."""
    script = Path(sys.executable).with_name("tutelage")
    return (str(script),) if script.is_file() else (sys.executable, "-m", "tutelage")


def python_command(program: str, *arguments: str) -> tuple[str, ...]:
    """Return the command that runs a program with this interpreter."""
    return (sys.executable, "-c", program, *arguments)


@contextlib.contextmanager
def limit_cores(number: int) -> Iterator[int]:
    """Keep this process and those it starts on ``number`` cores; yield how many it may use, 0 if unknown."""
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
    """Run a command to its end.  Raises :class:`MeasurementError` with the last line of its errors."""
    done = subprocess.run(  # noqa: S603 -- commands of this folder only
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


def _check(status: int, errors: str) -> None:
    if status != 0:
        lines = errors.strip().splitlines() or ["without a message"]
        raise MeasurementError(f"exit status {status}, {lines[-1]}")


def measure_seconds(command: Sequence[str], repeats: int) -> Samples:
    """Measure the wall time of a process, after one run that warms the caches."""
    run(command)
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        run(command)
        times.append(time.perf_counter() - began)
    return Samples(tuple(times))


def list_imports(command: Sequence[str]) -> set[str]:
    """Return the top-level packages that a ``tutelage`` command and its worker processes import."""
    errors = run(command, PYTHONPROFILEIMPORTTIME="1").stderr
    lines = [line for line in errors.splitlines() if line.startswith("import time:")]
    packages = {line.rpartition("|")[2].strip().partition(".")[0] for line in lines}
    if "tutelage" not in packages:
        raise MeasurementError("Python did not report what the command imported")
    return packages


def measure_peak_mebibytes(command: Sequence[str], repeats: int) -> Samples:
    """Measure the peak resident memory of a process.  Raises :class:`MeasurementError` where unsupported."""
    return Samples(tuple(measure_seconds_and_memory(command)[1] for _ in range(repeats)))


def measure_seconds_and_memory(command: Sequence[str]) -> tuple[float, float]:
    """Measure the wall time and the peak resident memory of one process, in seconds and MiB.

    Raises :class:`MeasurementError` where unsupported.
    """
    if not hasattr(os, "wait4"):
        raise MeasurementError("this system does not report the memory of a process that has ended")
    unit = 1 if sys.platform == "darwin" else 1024
    status, seconds, peak, errors = json.loads(run(python_command(_STARTER, *command)).stdout)
    _check(status, errors)
    return seconds, peak * unit / 2**20
