"""Measure the ratio of the paper's bounds to simulations, as the table of docs/theory.md.

    python benchmarks/theory_bounds.py [--runs R] [--instances N] [--seed S] [--workers N]

For each teacher and kind of clients the bound is compared with the mean of the runs on the paper's instance,
and with one run on each of the first uniform instances whose bound is not empty within 100,000 rounds; always
at the smallest horizon at which the bound is not empty.  The same version prints the same table for the same
runs, instances and seed.
"""

import itertools
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from arguments import add_seed, add_workers, make_parser

from tutelage.instances import Instance, load
from tutelage.simulator import make_request, simulate_request
from tutelage.theory import guarantee

MIXED = "1*ucb1,1*eps-greedy,1*ucb1,1*eps-greedy(c=2,d=.5),1*ucb1"
CASES = {
    "`tal(gamma1=1,gamma2=0)`, UCB1": ("tal(gamma1=1,gamma2=0)", "ucb1"),
    "`twl(gamma1=1,gamma2=0)`, UCB1": ("twl(gamma1=1,gamma2=0)", "ucb1"),
    "`tal(gamma1=0,gamma2=0)`, UCB1": ("tal(gamma1=0,gamma2=0)", "ucb1"),
    "`tal(gamma1=0,gamma2=0)`, ε-greedy": ("tal(gamma1=0,gamma2=0)", "eps-greedy"),
    "`twl(gamma1=0,gamma2=0)`, mixed": ("twl(gamma1=0,gamma2=0)", MIXED),
}
LONGEST, RUNS, INSTANCES, SEED = 100_000, 40, 100, 2


@dataclass(frozen=True)
class Settings:
    """How much is simulated, from which seed."""

    runs: int
    instances: int
    seed: int
    workers: int | None


@dataclass(frozen=True)
class BoundRatio:
    """A horizon, and the bound at it divided by the mean of the runs, for regret and for cost."""

    horizon: int
    ratios: tuple[float, float]


def compare(instance: Instance, case: tuple[str, str], runs: int, settings: Settings) -> BoundRatio | None:
    """Compare at the smallest horizon at which the bound is not empty; None if that is too long."""
    teacher, clients = case
    request = make_request(instance, teacher, clients, horizon=1, runs=1, seed=settings.seed, checkpoints=1)
    horizon = guarantee(instance, request.teachers[0], request.policies, 1).needed_horizon
    if horizon is None or horizon > LONGEST:
        return None
    bound = guarantee(instance, request.teachers[0], request.policies, horizon)
    request = make_request(instance, teacher, clients, horizon=horizon, runs=runs, seed=settings.seed, checkpoints=1)
    regret, cost = simulate_request(request, workers=settings.workers).totals(0)
    return BoundRatio(horizon, (bound.regret.value / regret.mean(), bound.cost.value / cost.mean()))


def compare_uniform(case: tuple[str, str], settings: Settings) -> Iterator[BoundRatio]:
    """Compare one run on each uniform instance that does not take too long, from seed 0 on."""
    for seed in itertools.count():
        found = compare(load(f"uniform:clients=5,arms=5,seed={seed}"), case, 1, settings)
        if found is not None:
            yield found


def make_row(case: tuple[str, str], settings: Settings) -> tuple[str, ...]:
    """Return the cells of one teacher and kind of clients."""
    paper = compare(load("paper"), case, settings.runs, settings)
    drawn = list(itertools.islice(compare_uniform(case, settings), settings.instances))
    ratios = np.array([each.ratios for each in drawn])
    horizon, on_paper = ("-", "-") if paper is None else (f"{paper.horizon:,}", _format_pair(paper.ratios))
    return (horizon, on_paper, *(_format_pair(of(ratios, axis=0)) for of in (np.min, np.median, np.max)))


def _format_pair(ratios: tuple[float, float]) -> str:
    return ", ".join(f"{each:.3g}" for each in ratios)


def main() -> None:
    """Measure and print a Markdown table."""
    parser = make_parser(__doc__)
    parser.add_argument("--runs", type=int, default=RUNS, help="runs on the paper's instance (%(default)s)")
    parser.add_argument("--instances", type=int, default=INSTANCES, help="number of random instances (%(default)s)")
    add_seed(parser, SEED)
    add_workers(parser)
    options = parser.parse_args()
    settings = Settings(options.runs, options.instances, options.seed, options.workers)
    print(f"{settings.runs} runs on the paper's instance, seed {settings.seed}", file=sys.stderr)
    smallest = f"smallest of {settings.instances}"
    print(f"| teacher and clients | T | paper's instance | {smallest} | median | largest |")
    print("|---|---:|---|---|---|---|")
    for name, case in CASES.items():
        print(f"| {name} | {' | '.join(make_row(case, settings))} |", flush=True)


if __name__ == "__main__":
    main()
