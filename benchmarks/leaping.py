"""Measure how long one run takes with each engine, as two tables of docs/speed.md.

    python benchmarks/leaping.py [--horizons 1000000,10000000,100000000] [--longest SECONDS] [--turns N]

All runs are of the paper's instance, in one process, with compiled kernels and logarithmic checkpoints.  There are two
parts, both in processor time: seconds of a whole run with a teacher over long horizons, and milliseconds of a run up
to T = 50,000 for each teacher.
"""

import sys
import time
from collections.abc import Sequence
from functools import partial

from arguments import make_parser
from measurements import GROWTH, SECONDS, Measurement, Samples

from tutelage.engine.simulation import simulate_run
from tutelage.simulator import make_request

TWL = "twl(gamma1=1,gamma2=0)"
TAUGHT = (
    (TWL, "ucb1"),
    (TWL, "eps-greedy"),
    ("tal(gamma1=0,gamma2=0)", "ts"),
    ("blt", "ucb1"),
    ("blt", "eps-greedy"),
    ("blt", "ts"),
)
LIMITS = (0.5, 0.5, 2.0, 5.0, 5.0, 5.0)  # seconds of one run at the longest horizon
GROWTH_LIMIT = 10.0  # from the shortest to the longest horizon
POLICIES = ("ucb1", "eps-greedy", "ts")
ENGINES = ("step", "leap")
HORIZONS = (10**6, 10**7, 10**8)
SHORT_HORIZON = 50_000
SHORT_RUNS = 5  # in one measurement at that horizon
SHORT_TEACHERS = ("none", "known", "tal(gamma1=0,gamma2=0)", "tal(gamma1=1,gamma2=0)", TWL, "ng", "na", "blt")
CHECKPOINTS = "logarithmic"


def measure_run(teacher: str, policy: str, horizon: int, engine: str, turns: int, runs: int = 1) -> float:
    """Return the seconds of processor time of one run, the fewest of ``turns`` measurements with compiled kernels."""
    make = partial(make_request, "paper", teacher, policy, seed=1, checkpoints=CHECKPOINTS, engine=engine)
    simulate_run(make(horizon=1000, runs=1), 0, 0)
    request = make(horizon=horizon, runs=runs)
    seconds = []
    for _ in range(turns):
        began = time.process_time()
        for run in range(runs):
            simulate_run(request, 0, run)
        seconds.append((time.process_time() - began) / runs)
    return min(seconds)


def measure_taught(horizons: Sequence[int], longest: float, turns: int) -> list[str]:
    """Return the rows of runs with a teacher; stepping is left out where it would take more than ``longest`` seconds.

    How long it would take is estimated from the horizon before, in proportion to the rounds.
    """
    rows = ["| teacher | policy | T | `step`, seconds | `leap`, seconds | ratio |", "|---|---|---|---|---|---|"]
    for teacher, policy in TAUGHT:
        rate = 0.0  # seconds per round of stepping
        for horizon in horizons:
            leaping = measure_run(teacher, policy, horizon, "leap", turns)
            stepped = ratio = "-"
            if rate * horizon <= longest:
                stepping = measure_run(teacher, policy, horizon, "step", 1)
                rate = stepping / horizon
                stepped, ratio = f"{stepping:.2f}", f"{stepping / leaping:.3g}"
            rows.append(f"| `{teacher}` | `{policy}` | {horizon:,} | {stepped} | {leaping:.3f} | {ratio} |")
            print(rows[-1], flush=True)
    return rows


def measure_longest_runs(turns: int) -> list[Measurement]:
    """Return the processor times of one run at the longest horizon, and their growth from the shortest one."""
    results = []
    for (teacher, policy), limit in zip(TAUGHT, LIMITS, strict=True):
        print(f"... {policy}, {teacher}, T = {HORIZONS[-1]:,}", file=sys.stderr, flush=True)
        short, long = (measure_run(teacher, policy, horizon, "leap", turns) for horizon in (HORIZONS[0], HORIZONS[-1]))
        what = f"{policy}, {teacher}, T = {HORIZONS[-1]:,}, leap, one run"
        results.append(Measurement(what, SECONDS, Samples((long,)), limit))
        results.append(Measurement(f"    over T = {HORIZONS[0]:,}", GROWTH, Samples((long / short,)), GROWTH_LIMIT))
    return results


def measure_short_runs(turns: int) -> list[str]:
    """Return the rows of short runs: milliseconds of each teacher, with each policy and engine."""
    heading = [f"`{policy}` `{engine}`" for policy in POLICIES for engine in ENGINES]
    rows = [f"| teacher | {' | '.join(heading)} |", f"|---|{'---|' * len(heading)}"]
    for teacher in SHORT_TEACHERS:
        seconds = [
            measure_run(teacher, policy, SHORT_HORIZON, engine, turns, SHORT_RUNS)
            for policy in POLICIES
            for engine in ENGINES
        ]
        rows.append(f"| `{teacher}` | {' | '.join(f'{1000 * each:.3g}' for each in seconds)} |")
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    """Measure and print both tables."""
    parser = make_parser(__doc__)
    parser.add_argument("--horizons", default=",".join(map(str, HORIZONS)), help="horizons T, increasing (%(default)s)")
    parser.add_argument(
        "--longest", type=float, default=30.0, metavar="SECONDS", help="longest run that is stepped (%(default)s)"
    )
    parser.add_argument("--turns", type=int, default=3, metavar="N", help="measurements, of which the fastest counts")
    arguments = parser.parse_args()
    horizons = [int(each) for each in arguments.horizons.split(",")]
    tables = [measure_taught(horizons, arguments.longest, arguments.turns), measure_short_runs(arguments.turns)]
    print()
    print("\n\n".join("\n".join(table) for table in tables))


if __name__ == "__main__":
    main()
