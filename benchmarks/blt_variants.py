"""Measure BLT, its leading arm levelled, with and without head start and hope (docs/blt.md, "Later improvements").

    python benchmarks/blt_variants.py [--quick] [--workers N]

First on the paper's instance, then on 100 uniform random ones, both with four kinds of clients and fixed
seeds.
"""

from concurrent.futures import Executor

import numpy as np
from taught_runs import (
    HEADING,
    HORIZON,
    LEVELLED,
    Task,
    TaskResult,
    format_row,
    join_results,
    make_task_parser,
    run_task,
    start_pool,
)

VARIANTS = {
    "without": f"blt({LEVELLED},head_start=0,hope=inf,stakes=14)",
    "head start": f"blt({LEVELLED},hope=inf)",
    "hope": f"blt({LEVELLED},head_start=0,stakes=14)",
    "both": f"blt({LEVELLED})",
}
KINDS = ("UCB1", "eps-greedy", "Thompson", "mixed")


def measure_paper(pool: Executor, runs: int) -> None:
    """Compare the variants on the paper's instance."""
    print(f"The paper's instance, T = {HORIZON}, {runs} runs")
    print(HEADING)
    tasks = [Task("paper", mix, teacher, runs) for mix in KINDS for teacher in VARIANTS.values()]
    names = [f"{mix}, {name}" for mix in KINDS for name in VARIANTS]
    for name, result in zip(names, pool.map(run_task, tasks), strict=True):
        print(format_row(name, result), flush=True)
    print()


def measure_uniform(pool: Executor, instances: int, runs: int) -> None:
    """Compare the variants on random instances, and count those with no more regret and no more cost."""
    print(f"{instances} uniform random instances of 5 x 5, T = {HORIZON}, {runs} runs each")
    print(f"{HEADING}  no more of both")
    specs = [f"uniform:seed={seed}" for seed in range(instances)]
    for mix in KINDS:
        plain: list[TaskResult] = []
        for name, teacher in VARIANTS.items():
            results = list(pool.map(run_task, [Task(spec, mix, teacher, runs) for spec in specs]))
            plain = plain or results
            pairs = zip(results, plain, strict=True)
            share = np.mean([is_no_more(new.regret, old.regret, new.cost, old.cost) for new, old in pairs])
            print(f"{format_row(f'{mix}, {name}', join_results(results))}  {share:.0%}", flush=True)


def is_no_more(regret: list[float], old_regret: list[float], cost: list[float], old_cost: list[float]) -> bool:
    """Whether neither mean has grown."""
    return bool(np.mean(regret) <= np.mean(old_regret) and np.mean(cost) <= np.mean(old_cost))


def main() -> None:
    """Measure and print."""
    options = make_task_parser(__doc__).parse_args()
    with start_pool(options.workers) as pool:
        measure_paper(pool, 40 if options.quick else 400)
        measure_uniform(pool, *((10, 3) if options.quick else (100, 10)))


if __name__ == "__main__":
    main()
