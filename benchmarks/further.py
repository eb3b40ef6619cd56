"""BLT with and without its head start and its hope (docs/blt.md, "Two later improvements").

    python benchmarks/further.py [--quick] [--workers N]

First the paper's instance, then 100 uniform random ones, both for four kinds of clients, from fixed seeds.
"""

import argparse
import os
from concurrent.futures import Executor, ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
from blt import HEAD, HORIZON, MIXES, Outcome, Task, joined, play, row

VARIANTS = {
    "without": "blt(head_start=0,hope=inf,stakes=14)",
    "head start": "blt(hope=inf)",
    "hope": "blt(head_start=0,stakes=14)",
    "both": "blt",
}


def paper(pool: Executor, runs: int) -> None:
    """The paper's instance."""
    print(f"The paper's instance, T = {HORIZON}, {runs} runs")
    print(HEAD)
    tasks = [Task("paper", mix, teacher, runs) for mix in MIXES for teacher in VARIANTS.values()]
    names = [f"{mix}, {name}" for mix in MIXES for name in VARIANTS]
    for name, outcome in zip(names, pool.map(play, tasks), strict=True):
        print(row(name, outcome), flush=True)
    print()


def uniform(pool: Executor, instances: int, runs: int) -> None:
    """Random instances, and in how many of them both regret and cost are no more than without."""
    print(f"{instances} uniform random instances of 5 x 5, T = {HORIZON}, {runs} runs each")
    print(f"{HEAD}  no more on both axes")
    specs = [f"uniform:seed={seed}" for seed in range(instances)]
    for mix in MIXES:
        plain: list[Outcome] = []
        for name, teacher in VARIANTS.items():
            outcomes = list(pool.map(play, [Task(spec, mix, teacher, runs) for spec in specs]))
            plain = plain or outcomes
            pairs = zip(outcomes, plain, strict=True)
            share = np.mean([no_more(new.regret, old.regret, new.cost, old.cost) for new, old in pairs])
            print(f"{row(f'{mix}, {name}', joined(outcomes))}  {share:.0%}", flush=True)


def no_more(regret: list[float], old_regret: list[float], cost: list[float], old_cost: list[float]) -> bool:
    """Whether neither mean is more than it was."""
    return bool(np.mean(regret) <= np.mean(old_regret) and np.mean(cost) <= np.mean(old_cost))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the instances and runs")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="processes, as many as cores")
    options = parser.parse_args()
    with ProcessPoolExecutor(options.workers, mp_context=get_context("spawn")) as pool:
        paper(pool, 40 if options.quick else 400)
        uniform(pool, *((10, 3) if options.quick else (100, 10)))


if __name__ == "__main__":
    main()
