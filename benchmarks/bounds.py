"""How far the paper's bounds are above simulation, as the table of docs/theory.md.

    python benchmarks/bounds.py [--runs R] [--instances N] [--seed S] [--workers N]

Of each teacher and kind of clients: the mean of the runs on the paper's instance, and one run on each of the
first uniform instances on which the bound is not empty within 100,000 rounds; each at the least horizon at
which it is not empty.  The same version prints the same table for the same runs, instances and seed.
"""

import argparse
import itertools
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tutelage.instances import Instance, load
from tutelage.lab import make_request, simulate_request
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
class Setting:
    """How much is played, from which seed."""

    runs: int
    instances: int
    seed: int
    workers: int | None


@dataclass(frozen=True)
class Compared:
    """A horizon, and there the bound over the mean of the runs, of regret and of cost."""

    horizon: int
    ratios: tuple[float, float]


def compare(instance: Instance, case: tuple[str, str], runs: int, setting: Setting) -> Compared | None:
    """At the least horizon at which the bound is not empty; None where that is too long."""
    teacher, clients = case
    asked = make_request(instance, teacher, clients, horizon=1, runs=1, seed=setting.seed, checkpoints=1)
    horizon = guarantee(instance, asked.teachers[0], asked.policies, 1).needed_horizon
    if horizon > LONGEST:
        return None
    bound = guarantee(instance, asked.teachers[0], asked.policies, horizon)
    request = make_request(
        instance, teacher, clients, horizon=horizon, runs=runs, seed=setting.seed, checkpoints=1
    )
    regret, cost = simulate_request(request, workers=setting.workers).totals(0)
    return Compared(horizon, (bound.regret.value / regret.mean(), bound.cost.value / cost.mean()))


def on_uniform(case: tuple[str, str], setting: Setting) -> Iterator[Compared]:
    """One run on each uniform instance, from its seed 0 on, that does not take too long."""
    for seed in itertools.count():
        found = compare(load(f"uniform:clients=5,arms=5,seed={seed}"), case, 1, setting)
        if found is not None:
            yield found


def row(case: tuple[str, str], setting: Setting) -> tuple[str, ...]:
    """The cells of one teacher and kind of clients."""
    paper = compare(load("paper"), case, setting.runs, setting)
    drawn = list(itertools.islice(on_uniform(case, setting), setting.instances))
    ratios = np.array([each.ratios for each in drawn])
    horizon, on_paper = ("-", "-") if paper is None else (f"{paper.horizon:,}", _pair(paper.ratios))
    return (horizon, on_paper, *(_pair(of(ratios, axis=0)) for of in (np.min, np.median, np.max)))


def _pair(ratios: tuple[float, float]) -> str:
    return ", ".join(f"{each:.3g}" for each in ratios)


def main() -> None:
    """Measure and print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=RUNS, help=f"runs on the paper's instance ({RUNS})")
    parser.add_argument("--instances", type=int, default=INSTANCES, help=f"random instances ({INSTANCES})")
    parser.add_argument("--seed", type=int, default=SEED, help=f"where all random numbers come from ({SEED})")
    parser.add_argument(
        "--workers", type=int, default=os.cpu_count(), help="runs at a time, as many as cores"
    )
    options = parser.parse_args()
    setting = Setting(options.runs, options.instances, options.seed, options.workers)
    print(f"{setting.runs} runs on the paper's instance, seed {setting.seed}", file=sys.stderr)
    smallest = f"smallest of {setting.instances}"
    print(f"| teacher and clients | T | paper's instance | {smallest} | median | largest |")
    print("|---|---:|---|---|---|---|")
    for name, case in CASES.items():
        print(f"| {name} | {' | '.join(row(case, setting))} |", flush=True)


if __name__ == "__main__":
    main()
