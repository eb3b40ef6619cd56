"""Play the same sweeps by one worker, by threads, by processes and by a local Dask cluster, and compare the times.

    python benchmarks/executors.py [--workers 2] [--turns 3]

There are sweeps of long runs, of BLT, and of short runs, which are sent several at a time, and single runs of many
clients, stepping and leaping, which threads and Dask workers share.  Each is played once before it is timed, so that
kernels are compiled and workers have started; the least time of the turns counts.  Every executor must give the same
bytes.
"""

import argparse
import importlib
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from tutelage import make_request, simulate_request
from tutelage.request import Engine, SimulationRequest
from tutelage.results import SimulationResult
from tutelage.simulator import DEFAULT_CHECKPOINTS

FIVE = "2*ucb1,2*eps-greedy,1*ts"


def make_many_clients(engine: Engine) -> SimulationRequest:
    """Return a request of one run of 20,000 clients."""
    return make_request(
        "planted:clients=20000,arms=10,gap=.05",
        "tal(gamma1=0,gamma2=0)",
        "8000*ucb1,8000*eps-greedy,4000*ts",
        horizon=10_000,
        runs=1,
        seed=1,
        checkpoints=10 if engine == "step" else DEFAULT_CHECKPOINTS,
        engine=engine,
    )


LONG_RUNS = "TWL and none, T = 50,000, 100 runs each"
LEAPING_CLIENTS = "TAL(0,0), 20,000 clients leap, T = 10,000, one run"
SWEEPS: dict[str, Callable[[], SimulationRequest]] = {
    LONG_RUNS: lambda: make_request("paper", ["twl", "none"], FIVE, runs=100, seed=1),
    "BLT, T = 50,000, 40 runs": lambda: make_request("paper", "blt", FIVE, runs=40, seed=1),
    "TWL and none, T = 500, 2,000 runs each": lambda: make_request(
        "paper", ["twl", "none"], FIVE, horizon=500, runs=2000, seed=1, checkpoints=1
    ),
    "TAL(0,0), 20,000 clients step, T = 10,000, one run": lambda: make_many_clients("step"),
    LEAPING_CLIENTS: lambda: make_many_clients("leap"),
}
COMPARED = ("pulls", "regret", "cost", "target", "decided_in", "event_round", "event_active")


def play(request: SimulationRequest, workers: int, executor: str, turns: int) -> tuple[float, SimulationResult]:
    """Return the least seconds of the turns, and the result."""
    result = simulate_request(request, workers=workers, executor=executor)
    seconds = []
    for _ in range(turns):
        began = time.perf_counter()
        simulate_request(request, workers=workers, executor=executor)
        seconds.append(time.perf_counter() - began)
    return min(seconds), result


@contextmanager
def start_dask(workers: int) -> Iterator[str]:
    """Start a scheduler and worker processes of one thread, and yield the address as ``--executor`` takes it."""
    distributed: Any = importlib.import_module("distributed")
    with distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster:
        yield cluster.scheduler_address.replace("tcp://", "dask://")


def main() -> None:
    """Measure and print everything."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--workers", type=int, default=2, help="threads, processes or Dask workers")
    parser.add_argument("--turns", type=int, default=3, help="measurements, of which the least counts")
    options = parser.parse_args()
    print(f"Load before: {os.getloadavg()[0]:.1f}\n")
    print("| sweep | executor | seconds | times one worker |\n|---|---|---|---|")
    with start_dask(options.workers) as dask:
        for name, make in SWEEPS.items():
            request = make()
            alone, expected = play(request, 1, "threads", options.turns)
            print(f"| {name} | one thread | {alone:.2f} | |", flush=True)
            for label, executor in (("threads", "threads"), ("processes", "processes"), ("dask", dask)):
                workers = 2 * options.workers if executor == dask else options.workers  # there: calls under way
                seconds, result = play(request, workers, executor, options.turns)
                for field in COMPARED:
                    if not np.array_equal(getattr(result, field), getattr(expected, field)):
                        raise ValueError(f"{executor} gives other values of {field} than one thread.")
                print(f"| {name} | {options.workers} {label} | {seconds:.2f} | {alone / seconds:.2f} |", flush=True)
    print(f"\nLoad after: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
