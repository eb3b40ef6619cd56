"""How far the paper's bounds are above simulation, as the table of docs/theory.md.

    python benchmarks/bounds.py [--runs 40] [--instances 100]

Of each teacher and kind of clients: the mean of the runs on the paper's instance, and one run on each of the
first uniform instances on which the bound is not empty within 100,000 rounds; each at the least horizon at
which it is not empty, seed 2.
"""

import argparse
import itertools

import numpy as np

from tutelage.instances import Instance, load
from tutelage.lab import make_request, run
from tutelage.theory import guarantee

MIXED = "1*ucb1,1*eps-greedy,1*ucb1,1*eps-greedy(c=2,d=.5),1*ucb1"
CASES = {
    "`tal(gamma1=1,gamma2=0)`, UCB1": ("tal(gamma1=1,gamma2=0)", "ucb1"),
    "`twl(gamma1=1,gamma2=0)`, UCB1": ("twl(gamma1=1,gamma2=0)", "ucb1"),
    "`tal(gamma1=0,gamma2=0)`, UCB1": ("tal(gamma1=0,gamma2=0)", "ucb1"),
    "`tal(gamma1=0,gamma2=0)`, ε-greedy": ("tal(gamma1=0,gamma2=0)", "eps-greedy"),
    "`twl(gamma1=0,gamma2=0)`, mixed": ("twl(gamma1=0,gamma2=0)", MIXED),
}
LONGEST, SEED = 100_000, 2


def ratios(instance: Instance, teacher: str, clients: str, runs: int) -> tuple[float, float] | None:
    """Bound over the mean of the runs, of regret and cost; None where the bound is empty for too long."""
    asked = make_request(instance, teacher, clients, horizon=1, runs=1, seed=SEED, checkpoints=1)
    horizon = guarantee(instance, asked.teachers[0], asked.policies, 1).needed_horizon
    if horizon > LONGEST:
        return None
    bound = guarantee(instance, asked.teachers[0], asked.policies, horizon)
    request = make_request(instance, teacher, clients, horizon=horizon, runs=runs, seed=SEED, checkpoints=1)
    regret, cost = run(request).totals(0)
    return bound.regret.value / regret.mean(), bound.cost.value / cost.mean()


def main() -> None:
    """Measure and print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=40, help="runs on the paper's instance (40)")
    parser.add_argument("--instances", type=int, default=100, help="random instances (100)")
    options = parser.parse_args()
    print(f"| teacher and clients | paper's instance | smallest of {options.instances} | median | largest |")
    print("|---|---|---|---|---|")
    for name, (teacher, clients) in CASES.items():
        paper = ratios(load("paper"), teacher, clients, options.runs)
        drawn = (
            ratios(load(f"uniform:clients=5,arms=5,seed={seed}"), teacher, clients, 1)
            for seed in itertools.count()
        )
        found = np.array(list(itertools.islice((each for each in drawn if each), options.instances)))
        spread = (np.min(found, axis=0), np.median(found, axis=0), np.max(found, axis=0))
        cells = (
            "-" if pair is None else ", ".join(f"{each:.3g}" for each in pair) for pair in (paper, *spread)
        )
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
