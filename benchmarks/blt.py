"""BLT measured beside TAL, TWL and the known target: regret, cost, when it decides, and whether rightly.

    python benchmarks/blt.py [--quick] [--only NAME] [--workers N]

docs/blt.md shows what this prints.  Everything is drawn from fixed seeds.
"""

import argparse
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

import numpy as np

from tutelage.engine.simulation import simulate_run
from tutelage.instances import load
from tutelage.instances.base import Instance
from tutelage.lab import make_request
from tutelage.policies import POLICIES
from tutelage.teachers import TEACHERS
from tutelage.teachers.base import Teacher

HORIZON = 50_000
MIXES = {
    "UCB1": ("ucb1",),
    "eps-greedy": ("eps-greedy",),
    "Thompson": ("ts",),
    "mixed": ("ucb1", "ucb1", "eps-greedy", "eps-greedy", "ts"),
}
RIVALS = ("twl(gamma1=1,gamma2=0)", "tal(gamma1=1,gamma2=0)", "tal(gamma1=0,gamma2=0)")
WANTED = {"UCB1": (620, 1950), "eps-greedy": (280, 1250), "Thompson": (380, 1500), "mixed": (410, 1500)}


@dataclass(frozen=True)
class Task:
    """Runs of one teacher on one instance.

    ``instance`` is a SPEC, or the seed of a small random one, or what the target is worth to client 0 of the
    paper's instance; ``mix`` is one of MIXES or a policy's SPEC.
    """

    instance: str | int | float
    mix: str
    teacher: str
    runs: int
    horizon: int = HORIZON


@dataclass(frozen=True)
class Outcome:
    """What each run gave: regret, cost, the round of the decision (nan: none).

    ``wrong`` counts the targets that are further below the best arm than a tolerance lets them be.
    """

    regret: list[float]
    cost: list[float]
    decided: list[float]
    wrong: int

    @property
    def undecided(self) -> int:
        return int(np.isnan(self.decided).sum())


def small_instance(seed: int) -> Instance:
    """Few clients with uneven weights and few arms, all means uniform."""
    rng = np.random.default_rng(seed)
    num_clients, num_arms = int(rng.integers(1, 6)), int(rng.integers(2, 5))
    weights = rng.random(num_clients) + 0.05
    return Instance("small", rng.random((num_clients, num_arms)), weights / weights.sum())


def poor_instance(worth: float) -> Instance:
    """The paper's, with the target worth so little to client 0, and that much more to the others."""
    means = load("paper").local_means.copy()
    means[1:, 4] = np.minimum(1.0, means[1:, 4] + (means[0, 4] - worth) / 4)
    means[0, 4] = worth
    return Instance("poor", means, np.full(5, 0.2))


def instance_of(task: Task) -> Instance:
    """The instance of a task."""
    if isinstance(task.instance, int):
        return small_instance(task.instance)
    return poor_instance(task.instance) if isinstance(task.instance, float) else load(task.instance)


def play(task: Task) -> Outcome:
    """Play all runs of a task."""
    instance = instance_of(task)
    specs = MIXES.get(task.mix, (task.mix,))
    policies = [POLICIES.parse(specs[client % len(specs)]) for client in range(instance.num_clients)]
    teacher: Teacher = TEACHERS.parse(task.teacher)
    allowed = (instance.num_arms - 1) * getattr(teacher, "tolerance", 0.0)
    regret, cost, decided, wrong = [], [], [], 0
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
        decided.append(np.nan if outcome.decided_in is None else outcome.decided_in)
        wrong += outcome.target is not None and bool(instance.gaps[outcome.target] > allowed)
    return Outcome(regret, cost, decided, wrong)


def row(name: str, outcome: Outcome) -> str:
    """A line of a table."""

    def mean(values: list[float]) -> str:
        error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
        return f"{np.mean(values):8.0f} +- {error:<4.0f}"

    decided = [round for round in outcome.decided if not np.isnan(round)]
    when = f"{np.mean(decided):6.0f} ({np.max(decided):.0f})" if decided else "     -"
    figures = f"{mean(outcome.regret)} {mean(outcome.cost)}  {when:16}"
    return f"{name:34} {figures} {outcome.undecided:9} {outcome.wrong:5}"


HEAD = f"{'':34} {'regret':>9} {'cost':>16}      {'decided (last)':16} undecided wrong"


def paper(pool: Executor, quick: bool) -> Iterator[str]:
    """The paper's instance, every kind of client."""
    runs = 20 if quick else 200
    teachers = ("blt", RIVALS[0], RIVALS[2], "known")
    tasks = [Task("paper", mix, teacher, runs) for mix in MIXES for teacher in teachers]
    yield f"The paper's instance, T = {HORIZON}, {runs} runs"
    yield HEAD
    for task, outcome in zip(tasks, pool.map(play, tasks), strict=True):
        yield row(f"{task.mix}, {task.teacher}", outcome)
        if task.teacher == "blt":
            regret, cost = WANTED[task.mix]
            reached = np.mean(outcome.regret) <= regret and np.mean(outcome.cost) <= cost
            yield f"    at most {regret} and {cost}: {'reached' if reached else 'MISSED'}"


def others(pool: Executor, quick: bool) -> Iterator[str]:
    """The paper's instance with clients on which nothing was tuned."""
    runs = 4 if quick else 40
    specs = ("kl-ucb", "moss", "boltzmann", "exp3", "eps-constant")
    tasks = [Task("paper", spec, teacher, runs) for spec in specs for teacher in ("blt", "known")]
    yield f"The paper's instance, other clients, T = {HORIZON}, {runs} runs"
    yield HEAD
    for task, outcome in zip(tasks, pool.map(play, tasks), strict=True):
        yield row(f"{task.mix}, {task.teacher}", outcome)


def lift(pool: Executor, quick: bool) -> Iterator[str]:
    """A client to which the target is worth next to nothing."""
    runs = 4 if quick else 40
    yield f"The paper's instance with a target worth little to client 0, mixed clients, {runs} runs"
    yield HEAD
    teachers = ("blt", "blt(lift=false)", "known")
    tasks = [Task(worth, "mixed", teacher, runs) for worth in (0.05, 0.01) for teacher in teachers]
    for task, outcome in zip(tasks, pool.map(play, tasks), strict=True):
        yield row(f"worth {task.instance}, {task.teacher}", outcome)


def uniform(pool: Executor, quick: bool) -> Iterator[str]:
    """Random instances: where BLT is better on both axes than every rival, and by how much."""
    instances, runs = (10, 3) if quick else (100, 10)
    yield f"{instances} uniform random instances of 5 x 5, T = {HORIZON}, {runs} runs each"
    for mix in MIXES:
        specs = [f"uniform:seed={seed}" for seed in range(instances)]
        tasks = [Task(spec, mix, teacher, runs) for spec in specs for teacher in ("blt", *RIVALS)]
        outcomes = list(pool.map(play, tasks))
        means = np.array([(np.mean(o.regret), np.mean(o.cost)) for o in outcomes]).reshape(instances, 4, 2)
        ahead = np.all(means[:, :1] < means[:, 1:], axis=(1, 2))
        best = means[:, 1:].min(axis=1).mean(axis=0) / means[:, 0].mean(axis=0)
        blt = outcomes[::4]
        regret, cost = means[:, 0].mean(axis=0)
        share = np.mean(ahead)
        yield (
            f"{mix:12} better in {share:.0%} ({'reached' if share >= 0.98 else 'MISSED'}, at least 98 %), "
            f"not in {np.flatnonzero(~ahead).tolist()}; BLT {regret:.0f}/{cost:.0f}, "
            f"the better of its rivals on each axis {best[0]:.1f}/{best[1]:.1f} times that; "
            f"{sum(o.undecided for o in blt)} of {instances * runs} runs undecided, "
            f"{sum(o.wrong for o in blt)} wrong"
        )


def near_ties(pool: Executor, quick: bool) -> Iterator[str]:
    """The same random instances, mixed clients, with and without a tolerance."""
    instances, runs = (10, 3) if quick else (100, 10)
    yield f"A tolerance of .01 on these instances, mixed clients, {runs} runs each"
    yield HEAD
    for teacher in ("blt", "blt(tolerance=0.01)"):
        tasks = [Task(f"uniform:seed={seed}", "mixed", teacher, runs) for seed in range(instances)]
        yield row(teacher, joined(list(pool.map(play, tasks))))
    yield f"Two arms exactly tied, {runs} runs"
    yield row("blt", play(Task("planted:gap=0,seed=1", "mixed", "blt", runs)))


def joined(outcomes: list[Outcome]) -> Outcome:
    """All runs of several instances as one."""
    return Outcome(
        [value for outcome in outcomes for value in outcome.regret],
        [value for outcome in outcomes for value in outcome.cost],
        [value for outcome in outcomes for value in outcome.decided],
        sum(outcome.wrong for outcome in outcomes),
    )


def large(pool: Executor, quick: bool) -> Iterator[str]:
    """Fifteen clients and arms, a gap of .03."""
    runs = 2 if quick else 10
    seeds = range(1 if quick else 4)
    yield f"15 x 15, gap .03, mixed clients, T = {HORIZON}, {len(seeds)} instances, {runs} runs each"
    yield HEAD
    specs = [f"planted:clients=15,arms=15,gap=.03,seed={seed}" for seed in seeds]
    found = {}
    for teacher in ("blt", RIVALS[0], "known"):
        found[teacher] = joined(list(pool.map(play, [Task(spec, "mixed", teacher, runs) for spec in specs])))
        yield row(teacher, found[teacher])
    blt, twl = found["blt"], found[RIVALS[0]]
    shares = np.mean(blt.regret) / np.mean(twl.regret), np.mean(blt.cost) / np.mean(twl.cost)
    reached = "reached" if max(shares) <= 0.1 else "MISSED"
    yield f"    {shares[0]:.3f} of TWL's regret, {shares[1]:.3f} of its cost, at most .1 of both: {reached}"


def wrong(pool: Executor, quick: bool) -> Iterator[str]:
    """Many small games, where chance has the most to say: is the target ever wrong?"""
    instances, runs, horizon = (100 if quick else 1000), 10, 2000
    tasks = [Task(seed, "mixed", "blt", runs, horizon) for seed in range(instances)]
    all_of = joined(list(pool.map(play, tasks, chunksize=10)))
    yield (
        f"{instances} small random instances with uneven weights, {runs} runs each of {horizon} rounds: "
        f"{len(all_of.decided) - all_of.undecided} decided, {all_of.wrong} wrong "
        f"(1 in {horizon} could be)"
    )


PARTS: dict[str, Callable[[Executor, bool], Iterator[str]]] = {
    "paper": paper,
    "others": others,
    "lift": lift,
    "uniform": uniform,
    "near-ties": near_ties,
    "large": large,
    "wrong": wrong,
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the runs: whether it works")
    parser.add_argument("--only", choices=PARTS, help="one part alone")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="processes, as many as cores")
    options = parser.parse_args()
    with ProcessPoolExecutor(options.workers, mp_context=get_context("spawn")) as pool:
        for name, part in PARTS.items():
            if options.only in (None, name):
                for line in part(pool, options.quick):
                    print(line, flush=True)
                print()


if __name__ == "__main__":
    main()
