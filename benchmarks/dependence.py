"""Measure how often BLT's bets win by chance when rewards of different clients share shocks (docs/dependence.md).

    python benchmarks/dependence.py [--runs R] [--horizon T] [--workers N]

Five clients of equal weight and two equal arms with means of 1/2, so that every bet is fair: W of an ordered
pair of arms reaches y with probability at most 1 / y if clients are independent.  Clients choose arms in step
(three pulls of one arm and one of the other, all clients the same arm in each round, which is as if the shock
belonged to the r-th pull of an arm), at random, or are UCB1 clients that BLT teaches.
"""

import argparse
import itertools
from collections.abc import Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from arguments import add_workers, make_parser
from numpy.typing import NDArray
from scipy import stats
from taught_runs import start_pool

from tutelage.distributions.correlated import Correlated
from tutelage.engine.simulation import simulate_run
from tutelage.instances.base import Instance
from tutelage.policies import POLICIES
from tutelage.policies.base import Learner, PolicyBase
from tutelage.simulator import make_request
from tutelage.teachers.base import Evidence
from tutelage.teachers.blt.betting import log_mean
from tutelage.teachers.blt.teacher import BLT, BltState

# Clients, what has a shock of its own, and the correlations.  In step, a round has only one arm.
SETTINGS = {
    ("in step", "round"): (0.0, 0.25, 0.5),
    ("at random", "round"): (0.0, 0.25, 0.5),
    ("at random", "arm"): (0.25, 0.5),
    ("UCB1", "round"): (0.0, 0.25, 0.5),
    ("UCB1", "arm"): (0.25, 0.5),
}
LEVELS = (100, 1000)
_BATCH = 100  # runs of one task


def choose(round: int, learner: Learner, parameters: NDArray[np.float64], stream: Any) -> int:
    """Arm 1 in every fourth round, else arm 0."""
    return 1 if round % 4 == 0 else 0


@dataclass(frozen=True)
class InStep(PolicyBase):
    """Three pulls of arm 0, then one of arm 1, at all clients in the same rounds."""

    choose = staticmethod(choose)


CLIENTS = {"in step": InStep(), "at random": POLICIES.parse("eps-constant(epsilon=1)"), "UCB1": POLICIES.parse("ucb1")}


@dataclass(frozen=True)
class RecordingBLT(BLT):
    """BLT that never gives up, and whose states are seen."""

    def advance(self, state: BltState, evidence: Evidence) -> BltState:
        """Advance, and remember the largest W of each ordered pair."""
        state = super().advance(state, evidence)
        np.maximum(_GREATEST, log_mean(state.log_wealth), out=_GREATEST)
        return state


_GREATEST = np.zeros((2, 2))


@dataclass(frozen=True)
class Setting:
    """Clients and their shocks."""

    clients: str
    shocks: str
    correlation: float
    horizon: int


def greatest_wealth(setting: Setting, runs: int, batch: int) -> list[float]:
    """Return log sup W of arm 0 against arm 1 in each run of a batch."""
    rewards = Correlated(setting.correlation, shocks="arm" if setting.shocks == "arm" else "round")
    instance = Instance("two equal arms", np.full((5, 2), 0.5), np.full(5, 0.2), rewards)
    request = make_request(
        instance,
        RecordingBLT(hope=np.inf),
        CLIENTS[setting.clients],
        horizon=setting.horizon,
        runs=runs,
        seed=batch,
        checkpoints=1,
    )
    found = []
    for run in range(runs):
        _GREATEST[...] = 0.0
        simulate_run(request, 0, run)
        found.append(float(_GREATEST[0, 1]))
    return found


def measure(pool: Executor, setting: Setting, runs: int) -> Iterator[str]:
    """Yield, for each level, the share of runs in which W of arm 0 against arm 1 reaches it, with its 95 % interval."""
    batches = range(max(1, runs // _BATCH))
    results = pool.map(partial(greatest_wealth, setting, min(runs, _BATCH)), batches)
    greatest = np.array(list(itertools.chain.from_iterable(results)))
    for level in LEVELS:
        reached = greatest >= np.log(level)
        low, high = stats.binomtest(int(reached.sum()), len(reached)).proportion_ci(method="exact")
        yield f"{reached.mean():.4f} [{low:.4f}, {high:.4f}]"


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = make_parser(__doc__)
    parser.add_argument("--runs", type=int, default=2000, metavar="R", help="runs of each setting (%(default)s)")
    parser.add_argument("--horizon", type=int, default=1000, metavar="T", help="rounds of a run (%(default)s)")
    add_workers(parser)
    return parser.parse_args()


def main() -> None:
    """Print a line for each setting."""
    arguments = parse_arguments()
    print(f"{arguments.runs} runs of {arguments.horizon} rounds; P(sup W >= y) for W of arm 0 against arm 1")
    print(f"{'clients':10} {'shock of each':14} {'r':>5}  " + "  ".join(f"{f'y = {level}':25}" for level in LEVELS))
    with start_pool(arguments.workers) as pool:
        for (clients, shocks), correlations in SETTINGS.items():
            for correlation in correlations:
                setting = Setting(clients, shocks, correlation, arguments.horizon)
                shares = "  ".join(f"{share:25}" for share in measure(pool, setting, arguments.runs))
                print(f"{clients:10} {shocks:14} {correlation:5.2f}  {shares}".rstrip(), flush=True)


if __name__ == "__main__":
    main()
