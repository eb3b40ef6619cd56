"""Runs of one teacher on one instance, for the benchmarks of BLT: regret, cost and when the teacher decides."""

import argparse
import contextlib
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

import numpy as np
from arguments import add_workers, make_parser

from tutelage.engine.simulation import simulate_run
from tutelage.instances import load
from tutelage.instances.base import Instance
from tutelage.policies import POLICIES
from tutelage.simulator import make_request
from tutelage.teachers import TEACHERS
from tutelage.teachers.base import Teacher

HORIZON = 50_000
LEVELLED = "leading_arm=levelled,rho=2,offset=2.5,slack=5,slack_share=0.1,push=2"  # BLT with a levelled leading arm
MIXES = {
    "UCB1": ("ucb1",),
    "eps-greedy": ("eps-greedy",),
    "Thompson": ("ts",),
    "mixed": ("ucb1", "ucb1", "eps-greedy", "eps-greedy", "ts"),
    "thirds": (*("ucb1",) * 5, *("eps-greedy",) * 5, *("ts",) * 5),
}


@dataclass(frozen=True)
class Task:
    """Runs of one teacher on one instance.

    ``instance`` is a SPEC, or the seed of a small random instance, or client 0's mean of the target in the
    paper's instance; ``mix`` is one of MIXES or a policy's SPEC.
    """

    instance: str | int | float
    mix: str
    teacher: str
    runs: int
    horizon: int = HORIZON


@dataclass(frozen=True)
class TaskResult:
    """Regret, cost and the round of the decision (NaN: none) of each run.

    ``wrong`` counts the targets that are further below the best arm than the teacher's tolerance allows.
    """

    regret: list[float]
    cost: list[float]
    decided_in: list[float]
    wrong: int

    @property
    def undecided(self) -> int:
        return int(np.isnan(self.decided_in).sum())


def make_small_instance(seed: int) -> Instance:
    """Return an instance of few clients with uneven weights and few arms, all means uniform."""
    rng = np.random.default_rng(seed)
    num_clients, num_arms = int(rng.integers(1, 6)), int(rng.integers(2, 5))
    weights = rng.random(num_clients) + 0.05
    return Instance("small", rng.random((num_clients, num_arms)), weights / weights.sum())


def make_poor_instance(mean: float) -> Instance:
    """Return the paper's instance with this mean of the target at client 0, and a higher one at the others."""
    means = load("paper").local_means.copy()
    means[1:, 4] = np.minimum(1.0, means[1:, 4] + (means[0, 4] - mean) / 4)
    means[0, 4] = mean
    return Instance("poor", means, np.full(5, 0.2))


def load_instance(task: Task) -> Instance:
    """Return the instance of a task."""
    if isinstance(task.instance, int):
        return make_small_instance(task.instance)
    return make_poor_instance(task.instance) if isinstance(task.instance, float) else load(task.instance)


def run_task(task: Task) -> TaskResult:
    """Simulate all runs of a task."""
    instance = load_instance(task)
    specs = MIXES.get(task.mix, (task.mix,))
    policies = [POLICIES.parse(specs[client % len(specs)]) for client in range(instance.num_clients)]
    teacher: Teacher = TEACHERS.parse(task.teacher)
    allowed = (instance.num_arms - 1) * getattr(teacher, "tolerance", 0.0)
    regret, cost, decided_in, wrong = [], [], [], 0
    request = make_request(
        instance,
        teacher,
        policies,
        horizon=task.horizon,
        runs=task.runs,
        seed=task.instance if isinstance(task.instance, int) else 1,
        checkpoints=1,
    )
    for run in range(task.runs):
        outcome = simulate_run(request, 0, run)
        regret.append(float(outcome.pulls[:, -1].sum(axis=0) @ instance.gaps))
        cost.append(float(outcome.costs[:, -1].sum()))
        decided_in.append(np.nan if outcome.decided_in is None else outcome.decided_in)
        wrong += outcome.target is not None and bool(instance.gaps[outcome.target] > allowed)
    return TaskResult(regret, cost, decided_in, wrong)


def join_results(results: list[TaskResult]) -> TaskResult:
    """Return the runs of several instances as one result."""
    return TaskResult(
        [value for result in results for value in result.regret],
        [value for result in results for value in result.cost],
        [value for result in results for value in result.decided_in],
        sum(result.wrong for result in results),
    )


HEADING = f"{'':34} {'regret':>9} {'cost':>16}      {'decided (last)':16} undecided wrong"


def format_row(name: str, result: TaskResult) -> str:
    """Return a line of a table below ``HEADING``."""

    def mean(values: list[float]) -> str:
        error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
        return f"{np.mean(values):8.0f} +- {error:<4.0f}"

    decided = [round for round in result.decided_in if not np.isnan(round)]
    when = f"{np.mean(decided):6.0f} ({np.max(decided):.0f})" if decided else "     -"
    return f"{name:34} {mean(result.regret)} {mean(result.cost)}  {when:16} {result.undecided:9} {result.wrong:5}"


def make_task_parser(description: str | None) -> argparse.ArgumentParser:
    """Return a parser with ``--quick`` and ``--workers``."""
    parser = make_parser(description)
    parser.add_argument("--quick", action="store_true", help="a tenth of the runs, to see whether it works")
    add_workers(parser)
    return parser


@contextlib.contextmanager
def start_pool(workers: int) -> Iterator[Executor]:
    """Yield a pool of processes."""
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield pool
