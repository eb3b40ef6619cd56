"""Measure how long one run takes with each engine, as a table of docs/speed.md.

    python benchmarks/leaping.py [--horizons 1000000,10000000,100000000] [--longest SECONDS] [--turns N]

There are two parts, both on the paper's instance, in one process, on one core, with compiled kernels: seconds of
a whole run with a teacher; and client-steps per second of clients without a teacher.  With the engine ``leap``
these are effective: rounds that clients leap over count as if they were played.
"""

import sys
import time
from collections.abc import Callable, Sequence
from functools import partial

from arguments import make_parser
from measurements import GROWTH, SECONDS, Measurement, Samples

from tutelage.engine.simulation import simulate_run
from tutelage.simulator import make_request

TAUGHT = (
    ("twl(gamma1=1,gamma2=0)", "ucb1"),
    ("twl(gamma1=1,gamma2=0)", "eps-greedy"),
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
CHECKPOINTS = "logarithmic"


def measure_run(
    teacher: str,
    policy: str,
    horizon: int,
    engine: str,
    turns: int,
    runs: int = 1,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """Return the fewest seconds of ``turns`` measurements of one run; the kernels are compiled before."""
    make = partial(make_request, "paper", teacher, policy, seed=1, checkpoints=CHECKPOINTS, engine=engine)
    simulate_run(make(horizon=1000, runs=1), 0, 0)
    request = make(horizon=horizon, runs=runs)
    seconds = []
    for _ in range(turns):
        began = clock()
        for run in range(runs):
            simulate_run(request, 0, run)
        seconds.append((clock() - began) / runs)
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
        short, long = (
            measure_run(teacher, policy, horizon, "leap", turns, clock=time.process_time)
            for horizon in (HORIZONS[0], HORIZONS[-1])
        )
        what = f"{policy}, {teacher}, T = {HORIZONS[-1]:,}, leap, one run"
        results.append(Measurement(what, SECONDS, Samples((long,)), limit))
        results.append(Measurement(f"    over T = {HORIZONS[0]:,}", GROWTH, Samples((long / short,)), GROWTH_LIMIT))
    return results


def measure_untaught(turns: int) -> list[str]:
    """Return the rows of clients without a teacher."""
    rows = ["| policy | `step`, million/s | `leap`, million/s |", "|---|---|---|"]
    for policy in POLICIES:
        steps = SHORT_HORIZON * make_request("paper", "none", policy).instance.num_clients
        rates = [
            steps / measure_run("none", policy, SHORT_HORIZON, engine, turns, SHORT_RUNS) / 1e6 for engine in ENGINES
        ]
        rows.append(f"| `{policy}` | {rates[0]:.3g} | {rates[1]:.3g} |")
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
    tables = [measure_taught(horizons, arguments.longest, arguments.turns), measure_untaught(arguments.turns)]
    print()
    print("\n\n".join("\n".join(table) for table in tables))


if __name__ == "__main__":
    main()
