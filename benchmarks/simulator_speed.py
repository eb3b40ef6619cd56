"""Measure the speed and memory of the simulator on this machine, with targets and rivals, as one table.

    python benchmarks/simulator_speed.py [--quick] [--json FILE]        (or: make bench ARGS=--quick)

There are four parts: client-steps per second of the engine on one core with compiled kernels; single runs over long
horizons; two cores compared with one; and wall times, imports and peak memory of the command line.  What takes
seconds is measured several times, and the table shows medians with the extremes.  ``--quick`` leaves out what takes
minutes.  The exit status is 0 whether or not targets are reached.
"""

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import processes
from engine_speed import HORIZON, NUM_CHECKPOINTS, measure_leaping_gain, measure_long, measure_speeds
from executors import LEAPING_CLIENTS, LONG_RUNS, SWEEPS, play
from leaping import measure_longest_runs
from measurements import MEBIBYTES, SECONDS, SPEEDUP, Measurement, Requirement, RivalResult, Samples, Unit, format_table
from other_libraries import play_plain_taught

from tutelage import instances
from tutelage.versions import package_version

RUNS = 100
MANY_RUNS = 1_000
A_MILLION_CLIENTS = (
    "simulate",
    "planted:clients=1000000,arms=10,gap=.05",
    *("--teacher", "tal(gamma1=0,gamma2=0)"),
    *("--clients", "400000*ucb1,400000*eps-greedy,200000*ts"),
    *("--horizon", "10_000", "--runs", "1", "--seed", "1", "--engine", "leap"),
)


@dataclass(frozen=True)
class Effort:
    """How often and for how long everything is measured."""

    turns: int  # of the speeds
    seconds: float  # of one measurement of a rival's speed
    engine_runs: int  # in one measurement of the engine's
    commands: int
    helps: int
    memories: int
    references: int  # runs of the plain-Python reference
    minutes: bool  # whether to measure what takes minutes


THOROUGH = Effort(turns=7, seconds=1.0, engine_runs=20, commands=5, helps=10, memories=3, references=3, minutes=True)
QUICK = Effort(turns=3, seconds=0.3, engine_runs=10, commands=3, helps=5, memories=1, references=1, minutes=False)

NOTES = f"""\
reached: whether the median reaches the target.
x better: the ratio of the medians; above 1, Tutelage is faster or smaller than the rival.
/s: client-steps per second of processor time on one core, with rewards of 0 or 1.  Tutelage simulates the
  paper's 5 clients up to T = {HORIZON:,}, or 200 clients of a random instance with 5 arms, with {NUM_CHECKPOINTS}
  checkpoints when it steps and logarithmic ones when it leaps.  Without a teacher the other libraries simulate the
  first of the paper's clients, at most as long; with Alg. 1 they simulate all.  See benchmarks/other_libraries.py.
plain Python: the clients and servers of tests/reference.py.  "from 1 run": the time of one run, times {RUNS},
  halved as if two cores shared the work evenly.
leap: the engine that leaps; rounds that clients leap over count as if they were played.  "T = 1,000,000" and
  longer are measured for all 5 clients, PyMAB's for the first.
one run: processor time of one run of the paper's instance, the smaller of two measurements.
python -c pass, and importing the packages: not rivals, but the minimum for any such command.
SMPyBandits imports scipy.special.btdtri.  Where scipy lacks it, betaincinv, which computes the same, replaces
  it; no policy measured here calls it."""


def measure_commands(effort: Effort) -> list[Measurement | Requirement]:
    """Measure wall times, imports and memory of ``tutelage``, each in a process of its own."""
    simulate = [*processes.tutelage_command(), "simulate", "paper", "--teacher", "twl(gamma1=1,gamma2=0)"]
    simulate += ["--clients", "ucb1", "--horizon", str(HORIZON), "--seed", "1"]
    help_command = [*processes.tutelage_command(), "--help"]
    results: list[Measurement | Requirement] = [
        measure_runs(simulate, effort),
        *measure_warm_commands(effort),
        _measure(
            "tutelage --help",
            SECONDS,
            0.3,
            lambda: processes.measure_seconds(help_command, effort.helps),
            lambda: RivalResult(
                "python -c pass", processes.measure_seconds(processes.python_command("pass"), effort.helps)
            ),
        ),
    ]
    _print_progress("what is imported")
    return [
        *results,
        _check_imports("--help imports no numba", help_command, "numba"),
        _check_imports("--help imports no xarray", help_command, "xarray"),
        _check_imports("simulate without --out imports no xarray", [*simulate, "--runs", "1"], "xarray"),
        measure_memory(simulate, effort),
        *(measure_long_commands() if effort.minutes else []),
    ]


def measure_warm_commands(effort: Effort) -> list[Measurement]:
    """Measure two commands whose kernels are in the cache."""
    _print_progress("commands whose kernels are compiled")
    simulate = [*processes.tutelage_command(), "simulate", "paper", "--clients", "ucb1", "--horizon", str(HORIZON)]
    commands = (
        ("10 runs, ucb1, twl, command line", ["--teacher", "twl", "--runs", "10"], 1.0),
        (f"{RUNS} runs, ucb1, blt, command line", ["--teacher", "blt", "--runs", str(RUNS)], 2.5),
    )
    return [
        Measurement(
            what, SECONDS, processes.measure_seconds([*simulate, "--seed", "1", *options], effort.commands), limit
        )
        for what, options, limit in commands
    ]


def measure_long_commands() -> list[Measurement]:
    """Measure ``reproduce`` and one run of a million clients, once each, with compiled kernels."""
    results, tutelage = [], processes.tutelage_command()
    for options, limit, warms_up in (["--runs", "4"], 20.0, True), ([], 45.0, False):
        what = " ".join(["tutelage reproduce", *options])
        _print_progress(what)
        reproduce = [*tutelage, "reproduce", *options]
        results.append(_measure(what, SECONDS, limit, partial(_measure_reproduction, reproduce, warms_up)))
    _print_progress("one run of 1,000,000 clients")
    seconds = memory = None
    note = ""
    try:
        seconds, memory = processes.measure_seconds_and_memory([*tutelage, *A_MILLION_CLIENTS])
    except processes.MeasurementError as failure:
        note = str(failure)
    what = "1,000,000 clients, 10 arms, T = 10,000, leap, one run"
    return [
        *results,
        Measurement(what, SECONDS, None if seconds is None else Samples((seconds,)), 90.0, note=note),
        Measurement(
            "    peak memory of it", MEBIBYTES, None if memory is None else Samples((memory,)), 4096.0, note=note
        ),
    ]


def _measure_reproduction(command: Sequence[str], warms_up: bool) -> Samples:
    """Measure ``reproduce`` in an empty folder, as results that are there are used again."""
    for _ in range(2 if warms_up else 1):
        with tempfile.TemporaryDirectory() as folder:
            seconds, _ = processes.measure_seconds_and_memory([*command, "--out", folder])
    return Samples((seconds,))


def measure_two_cores(turns: int) -> list[Measurement]:
    """Measure how many times faster two threads are than one, for runs and for the clients of one run."""
    results = []
    for sweep in LONG_RUNS, LEAPING_CLIENTS:
        _print_progress(f"two threads: {sweep}")
        request = SWEEPS[sweep]()
        pairs = [[play(request, workers, "threads", 1)[0] for workers in (1, 2)] for _ in range(turns)]
        ratios = Samples(tuple(one / two for one, two in pairs))
        results.append(Measurement(f"two threads against one: {sweep}", SPEEDUP, ratios, 1.8))
    return results


def measure_runs(simulate: Sequence[str], effort: Effort) -> Measurement:
    """Measure 100 runs of TWL on two cores, and the plain-Python reference."""
    _print_progress(f"{RUNS} runs through the command line")
    local_means = instances.load("paper").local_means.tolist()

    def reference() -> RivalResult:
        times = []
        for _ in range(effort.references):
            began = time.perf_counter()
            play_plain_taught("ucb1", "AlgorithmTwo", (1.0, 0.0), local_means, HORIZON)
            times.append((time.perf_counter() - began) * RUNS / 2)
        return RivalResult("plain Python, Alg. 2, from 1 run", Samples(tuple(times)))

    with processes.limit_cores(2) as number:
        return _measure(
            f"{RUNS} runs, ucb1, twl(gamma1=1,gamma2=0)" + (f", {number} cores" if number else ""),
            SECONDS,
            3.0,
            lambda: processes.measure_seconds([*simulate, "--runs", str(RUNS), "--workers", "2"], effort.commands),
            reference,
        )


def measure_memory(simulate: Sequence[str], effort: Effort) -> Measurement:
    """Measure the peak memory of many runs that are written to a file."""
    _print_progress(f"memory of {MANY_RUNS:,} runs")
    with tempfile.TemporaryDirectory() as folder:
        options = ["--checkpoints", str(NUM_CHECKPOINTS), "--out", str(Path(folder) / "out.nc"), "--force"]
        packages = "import numba, xarray, h5netcdf"
        return _measure(
            f"peak memory, {MANY_RUNS:,} runs, {NUM_CHECKPOINTS} checkpoints, --out",
            MEBIBYTES,
            1024.0,
            lambda: processes.measure_peak_mebibytes([*simulate, "--runs", str(MANY_RUNS), *options], effort.memories),
            lambda: RivalResult(
                packages, processes.measure_peak_mebibytes(processes.python_command(packages), effort.memories)
            ),
        )


def _measure(
    what: str, unit: Unit, target: float, measure: Callable[[], Samples], rival: Callable[[], RivalResult] | None = None
) -> Measurement:
    try:
        return Measurement(what, unit, measure(), target, (rival(),) if rival else ())
    except processes.MeasurementError as failure:
        return Measurement(what, unit, None, target, note=str(failure))


def _check_imports(what: str, command: Sequence[str], package: str) -> Requirement:
    try:
        return Requirement(what, package not in processes.list_imports(command))
    except processes.MeasurementError as failure:
        return Requirement(what, None, f"could not be determined: {failure}")


def _print_progress(sentence: str) -> None:
    print(f"... {sentence}", file=sys.stderr, flush=True)


def describe_machine() -> dict[str, Any]:
    """Return the versions of the packages and the kind of machine."""
    names = ("tutelage", "numpy", "numba", "scipy", "mabwiser", "pymab", "river", "SMPyBandits")
    versions = {name: package_version(name) for name in names}
    return {
        "python": platform.python_version(),
        **{name: number for name, number in versions.items() if number != "unknown"},
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, "unknown")


def main() -> None:
    """Measure and print everything."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="repeat less often and for less time")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every measured value to FILE")
    options = parser.parse_args()
    if options.json and not options.json.absolute().parent.is_dir():
        parser.error(f"--json {options.json} is in a folder that does not exist: create it first.")
    effort = QUICK if options.quick else THOROUGH
    about, notes = describe_machine(), NOTES
    results = measure_commands(effort)
    with processes.limit_cores(1) as pinned:
        began, worked = time.perf_counter(), time.process_time()
        speeds = measure_speeds(effort.turns, effort.seconds, effort.engine_runs)
        speeds += [measure_leaping_gain(effort.turns), *measure_long(effort.references), *measure_longest_runs(2)]
        share = (time.process_time() - worked) / (time.perf_counter() - began)
    notes += f"\nWhile speeds were measured, this process used {share:.0%} of a core; other processes used the rest."
    notes += f"\nLoad of the machine at the end: {os.getloadavg()[0]:.1f}."
    with processes.limit_cores(2) as cores:
        doubled = measure_two_cores(effort.turns) if cores == 2 else []
    results = [*speeds, *doubled, *results]
    if not pinned:
        notes += "\nThis system cannot pin a process to cores: the processes were not pinned."
    print(", ".join(f"{name} {value}" for name, value in about.items()))
    print(f"\n{format_table(results)}\n\n{notes}")
    if options.json:
        document = {
            "machine": about,
            "quick": options.quick,
            "share_of_core": share,
            "results": [each.as_json() for each in results],
        }
        options.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
