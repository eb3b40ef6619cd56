"""The figures that the lab is to reach, measured on this machine beside rivals, as one table.

    python benchmarks/lab.py [--quick] [--json FILE]        (or: make bench ARGS=--quick)

Three parts: client-steps a second of the engine on one core, kernels warm; wall times and imports of the
command line; and its peak memory.  Machines are noisy: everything is measured several times, and the table
shows medians with the extremes.  Nothing here decides a test: the exit status is 0 whatever is reached.
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
from pathlib import Path
from typing import Any

import commands
import rivals
from figures import MEBIBYTES, SECONDS, Beside, Claim, Figure, Samples, Unit, table
from speed import HORIZON, NUM_CHECKPOINTS, speeds

from tutelage import instances
from tutelage.versions import package_version

RUNS = 100
MANY_RUNS = 1_000


@dataclass(frozen=True)
class Effort:
    """How often and how long things are measured."""

    turns: int  # of the speeds
    seconds: float  # of one measurement of a rival's speed
    engine_runs: int  # in one measurement of the engine's
    commands: int
    helps: int
    memories: int
    references: int  # runs of the plain-Python reference


THOROUGH = Effort(turns=7, seconds=1.0, engine_runs=20, commands=5, helps=10, memories=3, references=3)
QUICK = Effort(turns=3, seconds=0.3, engine_runs=10, commands=3, helps=5, memories=1, references=1)

NOTES = f"""\
reached: by the median.
x better: the ratio of the medians; above 1, Tutelage is quicker or smaller than who stands below it.
/s: client-steps a second on one core, every reward drawn 0 or 1.  Tutelage plays the paper's 5 clients to
  T = {HORIZON:,}, with {NUM_CHECKPOINTS} checkpoints.  Without a teacher the others play the first of these
  clients, at most as long; under Alg. 1 they play all of it.  benchmarks/rivals.py says how each is set up.
plain Python: the clients and servers of tests/reference.py.  "from 1 run": the time of one run, times {RUNS},
  halved as if two cores shared the work evenly.
python -c pass, and importing the packages: no rivals, but the least that any such command takes.
SMPyBandits imports scipy.special.btdtri.  Where scipy has it no longer, betaincinv, which computes the same,
  stands in its place; no policy measured here calls it."""


def command_line(effort: Effort) -> list[Figure | Claim]:
    """Wall times, imports and memory of ``tutelage``, each in a process of its own."""
    simulate = [*commands.tutelage(), "simulate", "paper", "--teacher", "twl(gamma1=1,gamma2=0)"]
    simulate += ["--clients", "ucb1", "--horizon", str(HORIZON), "--seed", "1"]
    asking = [*commands.tutelage(), "--help"]
    results: list[Figure | Claim] = [
        hundred_runs(simulate, effort),
        _figure(
            "tutelage --help",
            SECONDS,
            0.5,
            lambda: commands.seconds(asking, effort.helps),
            lambda: Beside("python -c pass", commands.seconds(commands.python("pass"), effort.helps)),
        ),
    ]
    _tell("what is imported")
    return [
        *results,
        _is_free_of("--help imports no numba", asking, "numba"),
        _is_free_of("--help imports no xarray", asking, "xarray"),
        _is_free_of("simulate without --out imports no xarray", [*simulate, "--runs", "1"], "xarray"),
        memory(simulate, effort),
    ]


def hundred_runs(simulate: Sequence[str], effort: Effort) -> Figure:
    """100 runs of TWL on two cores, beside the plain-Python reference."""
    _tell(f"{RUNS} runs through the command line")
    local_means = instances.load("paper").local_means.tolist()

    def reference() -> Beside:
        times = []
        for _ in range(effort.references):
            began = time.perf_counter()
            rivals.play_plain_taught("ucb1", "AlgorithmTwo", (1.0, 0.0), local_means, HORIZON)
            times.append((time.perf_counter() - began) * RUNS / 2)
        return Beside("plain Python, Alg. 2, from 1 run", Samples(tuple(times)))

    with commands.cores(2) as number:
        return _figure(
            f"{RUNS} runs, ucb1, twl(gamma1=1,gamma2=0)" + (f", {number} cores" if number else ""),
            SECONDS,
            3.0,
            lambda: commands.seconds([*simulate, "--runs", str(RUNS), "--workers", "2"], effort.commands),
            reference,
        )


def memory(simulate: Sequence[str], effort: Effort) -> Figure:
    """Peak memory of many runs that are written to a file."""
    _tell(f"memory of {MANY_RUNS:,} runs")
    with tempfile.TemporaryDirectory() as folder:
        kept = ["--checkpoints", str(NUM_CHECKPOINTS), "--out", str(Path(folder) / "out.nc")]
        packages = "import numba, xarray, h5netcdf"
        return _figure(
            f"peak memory, {MANY_RUNS:,} runs, {NUM_CHECKPOINTS} checkpoints, --out",
            MEBIBYTES,
            1024.0,
            lambda: commands.peak_mebibytes([*simulate, "--runs", str(MANY_RUNS), *kept], effort.memories),
            lambda: Beside(packages, commands.peak_mebibytes(commands.python(packages), effort.memories)),
        )


def _figure(
    what: str, unit: Unit, wanted: float, measure: Callable[[], Samples], beside: Callable[[], Beside]
) -> Figure:
    try:
        return Figure(what, unit, measure(), wanted, (beside(),))
    except commands.Failed as failure:
        return Figure(what, unit, None, wanted, note=str(failure))


def _is_free_of(what: str, command: Sequence[str], package: str) -> Claim:
    try:
        return Claim(what, package not in commands.imported(command))
    except commands.Failed as failure:
        return Claim(what, None, f"not found out: {failure}")


def _tell(sentence: str) -> None:
    print(f"... {sentence}", file=sys.stderr, flush=True)


def machine() -> dict[str, Any]:
    """What was measured, and on what."""
    names = ("tutelage", "numpy", "numba", "scipy", "mabwiser", "river", "SMPyBandits")
    versions = {name: package_version(name) for name in names}
    return {
        "python": platform.python_version(),
        **{name: told for name, told in versions.items() if told != "unknown"},
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
    """Measure everything and print it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer and shorter repeats")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every measured value to FILE")
    options = parser.parse_args()
    if options.json and not options.json.absolute().parent.is_dir():
        parser.error(f"--json {options.json} lies in a folder that does not exist: create it first.")
    effort = QUICK if options.quick else THOROUGH
    about, notes = machine(), NOTES
    results = command_line(effort)
    with commands.cores(1) as pinned:
        began, worked = time.perf_counter(), time.process_time()
        results = [*speeds(effort.turns, effort.seconds, effort.engine_runs), *results]
        share = (time.process_time() - worked) / (time.perf_counter() - began)
    notes += (
        f"\nWhile speeds were measured, this process had {share:.0%} of a core; the rest went to other work."
    )
    if not pinned:
        notes += "\nThis system cannot keep a process on chosen cores: the figures are of unpinned processes."
    print(", ".join(f"{name} {told}" for name, told in about.items()))
    print(f"\n{table(results)}\n\n{notes}")
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
