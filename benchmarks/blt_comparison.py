"""Measure regret, cost and decisions of BLT, compared with TAL, TWL and the known target.

    python benchmarks/blt_comparison.py [--quick] [--only NAME] [--workers N]

docs/blt.md shows what this prints.  All random numbers come from fixed seeds.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import Executor

import numpy as np
from taught_runs import (
    HEADING,
    HORIZON,
    LEVELLED,
    Task,
    format_row,
    join_results,
    make_task_parser,
    run_task,
    start_pool,
)

from tutelage.policies import POLICIES

RIVALS = ("twl(gamma1=1,gamma2=0)", "tal(gamma1=1,gamma2=0)", "tal(gamma1=0,gamma2=0)")
TARGETS = {"UCB1": (500, 1200), "eps-greedy": (225, 1110), "Thompson": (265, 1020), "mixed": (320, 1060)}
BOTH = ("blt", f"blt({LEVELLED})")  # the leading arm free, and levelled


def measure_paper(pool: Executor, quick: bool) -> Iterator[str]:
    """Compare on the paper's instance, with every kind of client."""
    runs = 20 if quick else 200
    teachers = ("blt", RIVALS[0], RIVALS[2], "known")
    tasks = [Task("paper", mix, teacher, runs) for mix in TARGETS for teacher in teachers]
    yield f"The paper's instance, T = {HORIZON}, {runs} runs"
    yield HEADING
    for task, result in zip(tasks, pool.map(run_task, tasks), strict=True):
        yield format_row(f"{task.mix}, {task.teacher}", result)
        if task.teacher == "blt":
            regret, cost = TARGETS[task.mix]
            reached = np.mean(result.regret) <= regret and np.mean(result.cost) <= cost
            yield f"    regret at most {regret} and cost at most {cost}: {'reached' if reached else 'MISSED'}"


def measure_other_policies(pool: Executor, quick: bool) -> Iterator[str]:
    """Compare on the paper's instance with policies for which nothing was tuned."""
    runs = 4 if quick else 40
    specs = ("kl-ucb", "moss", "boltzmann", "exp3", "eps-constant")
    tasks = [Task("paper", spec, teacher, runs) for spec in specs for teacher in ("blt", "known")]
    yield f"The paper's instance, other policies, T = {HORIZON}, {runs} runs"
    yield HEADING
    for task, result in zip(tasks, pool.map(run_task, tasks), strict=True):
        yield format_row(f"{task.mix}, {task.teacher}", result)


def measure_grenoble(pool: Executor, quick: bool) -> Iterator[str]:
    """Compare a free and a levelled leading arm in the radio network, each policy at a third of the clients."""
    runs = 4 if quick else 40
    yield f"grenoble:clients=15,seed=0, 5 UCB1, 5 eps-greedy, 5 Thompson, T = {HORIZON}, {runs} runs"
    yield HEADING
    tasks = [Task("grenoble:clients=15,seed=0", "thirds", teacher, runs) for teacher in (*BOTH, "known")]
    for task, result in zip(tasks, pool.map(run_task, tasks), strict=True):
        yield format_row(task.teacher.replace(LEVELLED, "levelled"), result)


def measure_policies(pool: Executor, quick: bool) -> Iterator[str]:
    """Compare a free with a levelled leading arm, run by run, for every policy."""
    runs, horizon = 40 if quick else 400, 10_000
    yield f"The paper's instance, free as a share of levelled, T = {horizon}, {runs} runs, 95 % intervals of ratios"
    for spec in POLICIES:
        free, levelled = pool.map(run_task, [Task("paper", spec, teacher, runs, horizon) for teacher in BOTH])
        ratios = [(free.regret, levelled.regret), (free.cost, levelled.cost)]
        (regret, *of_regret), (cost, *of_cost) = (_interval_of_ratio(new, old) for new, old in ratios)
        verdict = "MORE" if max(of_regret[0], of_cost[0]) > 1.08 else "no significant increase above 8 %"
        yield (
            f"{spec:14} regret {regret:5.3f} [{of_regret[0]:5.3f}, {of_regret[1]:5.3f}]  "
            f"cost {cost:5.3f} [{of_cost[0]:5.3f}, {of_cost[1]:5.3f}]  "
            f"undecided {free.undecided} and {levelled.undecided}, wrong {free.wrong} and {levelled.wrong}: {verdict}"
        )


def _interval_of_ratio(new: list[float], old: list[float]) -> tuple[float, float, float]:
    """Return the ratio of two means over the same runs, with a 95 % interval (by linearisation)."""
    ratio = np.mean(new) / np.mean(old)
    error = np.std(np.array(new) - ratio * np.array(old), ddof=1) / np.sqrt(len(new)) / np.mean(old)
    return float(ratio), float(ratio - 1.96 * error), float(ratio + 1.96 * error)


def measure_lift(pool: Executor, quick: bool) -> Iterator[str]:
    """Compare where the target has a mean near 0 at one client."""
    runs = 4 if quick else 40
    yield f"The paper's instance with a low mean of the target at client 0, mixed clients, {runs} runs"
    yield HEADING
    teachers = ("blt", "blt(lift=false)", "known")
    tasks = [Task(mean, "mixed", teacher, runs) for mean in (0.05, 0.01) for teacher in teachers]
    for task, result in zip(tasks, pool.map(run_task, tasks), strict=True):
        yield format_row(f"mean {task.instance}, {task.teacher}", result)


def measure_uniform(pool: Executor, quick: bool) -> Iterator[str]:
    """Count the random instances on which BLT has less regret and less cost than every rival."""
    instances, runs = (10, 3) if quick else (100, 10)
    yield f"{instances} uniform random instances of 5 x 5, T = {HORIZON}, {runs} runs each"
    for mix in TARGETS:
        specs = [f"uniform:seed={seed}" for seed in range(instances)]
        tasks = [Task(spec, mix, teacher, runs) for spec in specs for teacher in ("blt", *RIVALS)]
        results = list(pool.map(run_task, tasks))
        means = np.array([(np.mean(result.regret), np.mean(result.cost)) for result in results]).reshape(
            instances, 4, 2
        )
        ahead = np.all(means[:, :1] < means[:, 1:], axis=(1, 2))
        best = means[:, 1:].min(axis=1).mean(axis=0) / means[:, 0].mean(axis=0)
        blt = results[::4]
        regret, cost = means[:, 0].mean(axis=0)
        share = np.mean(ahead)
        yield (
            f"{mix:12} better on {share:.0%} of them ({'reached' if share >= 0.98 else 'MISSED'}, at least 98 %), "
            f"not on {np.flatnonzero(~ahead).tolist()}; BLT {regret:.0f}/{cost:.0f}, "
            f"its best rivals {best[0]:.1f}/{best[1]:.1f} times that; "
            f"{sum(result.undecided for result in blt)} of {instances * runs} runs undecided, "
            f"{sum(result.wrong for result in blt)} wrong"
        )


def measure_near_ties(pool: Executor, quick: bool) -> Iterator[str]:
    """Compare BLT with and without a tolerance on the same random instances, mixed clients."""
    instances, runs = (10, 3) if quick else (100, 10)
    yield f"A tolerance of 0.01 on these instances, mixed clients, {runs} runs each"
    yield HEADING
    for teacher in ("blt", "blt(tolerance=0.01)"):
        tasks = [Task(f"uniform:seed={seed}", "mixed", teacher, runs) for seed in range(instances)]
        yield format_row(teacher, join_results(list(pool.map(run_task, tasks))))
    yield f"Two arms exactly tied, {runs} runs"
    yield format_row("blt", run_task(Task("planted:gap=0,seed=1", "mixed", "blt", runs)))


def measure_large(pool: Executor, quick: bool) -> Iterator[str]:
    """Compare with fifteen clients and arms and a gap of 0.03."""
    runs = 2 if quick else 10
    seeds = range(1 if quick else 4)
    yield f"15 x 15, gap 0.03, mixed clients, T = {HORIZON}, {len(seeds)} instances, {runs} runs each"
    yield HEADING
    specs = [f"planted:clients=15,arms=15,gap=.03,seed={seed}" for seed in seeds]
    found = {}
    for teacher in ("blt", RIVALS[0], "known"):
        found[teacher] = join_results(list(pool.map(run_task, [Task(spec, "mixed", teacher, runs) for spec in specs])))
        yield format_row(teacher, found[teacher])
    blt, twl = found["blt"], found[RIVALS[0]]
    shares = np.mean(blt.regret) / np.mean(twl.regret), np.mean(blt.cost) / np.mean(twl.cost)
    reached = "reached" if max(shares) <= 0.1 else "MISSED"
    yield f"    {shares[0]:.3f} of TWL's regret and {shares[1]:.3f} of its cost, at most 0.1 of both: {reached}"


def count_wrong(pool: Executor, quick: bool) -> Iterator[str]:
    """Count wrong targets on many small instances, where chance matters most."""
    instances, runs, horizon = (100 if quick else 1000), 10, 2000
    yield f"{instances} small random instances with uneven weights, {runs} runs each of {horizon} rounds"
    yield HEADING
    for teacher in BOTH:
        tasks = [Task(seed, "mixed", teacher, runs, horizon) for seed in range(instances)]
        total = join_results(list(pool.map(run_task, tasks, chunksize=10)))
        yield format_row(teacher.replace(LEVELLED, "levelled"), total)
    yield f"    at most 1 in {horizon} may be wrong"


PARTS: dict[str, Callable[[Executor, bool], Iterator[str]]] = {
    "paper": measure_paper,
    "grenoble": measure_grenoble,
    "policies": measure_policies,
    "others": measure_other_policies,
    "lift": measure_lift,
    "uniform": measure_uniform,
    "near-ties": measure_near_ties,
    "large": measure_large,
    "wrong": count_wrong,
}


def main() -> None:
    """Measure and print."""
    parser = make_task_parser(__doc__)
    parser.add_argument("--only", choices=PARTS, metavar="NAME", help=f"one part only: {', '.join(PARTS)}")
    options = parser.parse_args()
    with start_pool(options.workers) as pool:
        for name, part in PARTS.items():
            if options.only in (None, name):
                for line in part(pool, options.quick):
                    print(line, flush=True)
                print()


if __name__ == "__main__":
    main()
