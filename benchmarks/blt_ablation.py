"""Measure every combination of {intervals, bets} x {zeros, ones, levels}, and write docs/blt-ablation.md.

    python benchmarks/blt_ablation.py [--quick] [--workers N]

It compares how TWL and BLT decide with what is revealed while they learn: on the paper's instance and on random
ones, with UCB1 clients and with mixed clients.  ``--quick`` prints the page of a few runs.
"""

from collections.abc import Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from table import read_version
from taught_runs import HORIZON, Task, TaskResult, make_task_parser, run_task, start_pool

from tutelage.atomic_files import write_atomically
from tutelage.inference import Difference, compare_pairs, interval_of_share, select_differences
from tutelage.metrics import summarize_runs
from tutelage.text import format_count, format_p

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "blt-ablation.md"
TEMPLATE = Path(__file__).with_name("blt-ablation-page.md")
VARIANTS = {
    "intervals, zeros": "ablation_teachers:Intervals(reveal=zeros)",
    "intervals, ones": "ablation_teachers:Intervals(reveal=ones)",
    "intervals, levels": "ablation_teachers:Intervals(reveal=levels)",
    "bets, zeros": "ablation_teachers:Bets(reveal=zeros,rho=1)",
    "bets, ones": "ablation_teachers:Bets(reveal=ones,rho=1)",
    "bets, levels": "ablation_teachers:Bets(reveal=levels)",
}
WHOLE = "bets, levels"  # BLT
KINDS = ("UCB1", "mixed")


class Cases(NamedTuple):
    """Instances of one kind, and how many runs of each."""

    title: str
    specs: tuple[str, ...]
    runs: int


def list_cases(instances: int, runs: int) -> list[Cases]:
    """Return the paper's instance with ``runs`` runs, and two sets of random instances with two runs of each."""
    seeds = range(instances)
    return [
        Cases("The paper's instance", ("paper",), runs),
        Cases("Uniform random instances", tuple(f"uniform:seed={seed}" for seed in seeds), 2),
        Cases("Planted instances with a gap of 0.05", tuple(f"planted:gap=0.05,seed={seed}" for seed in seeds), 2),
    ]


def measure(pool: Executor, cases: Cases, mix: str, horizon: int = HORIZON) -> dict[str, list[TaskResult]]:
    """Simulate every variant on every instance with one kind of clients."""
    tasks = [Task(spec, mix, teacher, cases.runs, horizon) for teacher in VARIANTS.values() for spec in cases.specs]
    results = list(pool.map(run_task, tasks))
    size = len(cases.specs)
    return {name: results[place * size : (place + 1) * size] for place, name in enumerate(VARIANTS)}


def write_section(cases: Cases, mix: str, found: dict[str, list[TaskResult]]) -> str:
    """Return the heading and the table of one kind of instances with one kind of clients."""
    values = {quantity: _take_samples(found, quantity) for quantity in ("regret", "cost")}
    compared = select_differences(compare_pairs(values, list(found)), WHOLE)
    differences = {(each.teacher, each.quantity): each for each in compared}
    size, whole = len(cases.specs), list(found).index(WHOLE)
    lines = [
        "| decides by, reveals | regret | cost | decided | wrong | regret, more than BLT | cost, more than BLT |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for place, (name, results) in enumerate(found.items()):
        means = [_format_mean(each[place], float(each[whole].mean())) for each in values.values()]
        more = [_format_difference(differences.get((name, quantity))) for quantity in values]
        lines.append(f"| {' | '.join([name, *means, *_format_decisions(results), *more])} |")
    runs = format_count(cases.runs, "run") + (f" of each of {size} instances" if size > 1 else "")
    clients = {"UCB1": "five UCB1 clients", "mixed": "two UCB1, two ε-greedy and one Thompson sampling client"}[mix]
    return f"## {cases.title}, {mix} clients\n\n{runs}, {clients}:\n\n" + "\n".join(lines)


def _take_samples(found: dict[str, list[TaskResult]], quantity: str) -> NDArray[np.float64]:
    """Return the runs of one instance, or the means of several, for each variant: [N, S]."""
    rows = [[getattr(each, quantity) for each in results] for results in found.values()]
    values = np.array(rows, dtype=np.float64)  # [N, instances, runs]
    samples: NDArray[np.float64] = values[:, 0] if values.shape[1] == 1 else values.mean(axis=2)
    return samples


def _format_mean(values: NDArray[np.float64], of_blt: float) -> str:
    over = summarize_runs(values)
    width = "" if over.half_width is None else f" ± {over.half_width:,.0f}"
    return f"{over.mean:,.0f}{width} ({over.mean / of_blt:.3g} x)"


def _format_decisions(results: Sequence[TaskResult]) -> tuple[str, str]:
    rounds = np.array([round for result in results for round in result.decided_in])
    decided, wrong = rounds[~np.isnan(rounds)], sum(result.wrong for result in results)
    when = f", round {np.median(decided):,.0f}" if decided.size else ""
    return (
        f"{decided.size} of {rounds.size}{when}",
        f"{wrong} (≤ {100 * interval_of_share(wrong, rounds.size)[1]:.2g} %)",
    )


def _format_difference(difference: Difference | None) -> str:
    if difference is None:
        return ""
    low, high = difference.low, difference.high
    return f"{difference.mean:,.0f} ({low:,.0f} to {high:,.0f}), {format_p(difference.p)}"


def write_page(sections: Sequence[str], horizon: int) -> str:
    """Return the page: benchmarks/blt-ablation-page.md with a table for each kind of instances and clients."""
    return TEMPLATE.read_text(encoding="utf-8").format(
        command="python benchmarks/blt_ablation.py",
        version=read_version(),
        horizon=horizon,
        tables="\n\n".join(sections),
    )


def main() -> None:
    """Measure everything and write the page."""
    options = make_task_parser(__doc__).parse_args()
    sections = []
    with start_pool(options.workers) as pool:
        for cases in list_cases(*((3, 4) if options.quick else (10, 20))):
            for mix in KINDS:
                sections.append(write_section(cases, mix, measure(pool, cases, mix)))
                print(sections[-1], flush=True)
    if not options.quick:
        write_atomically(PAGE, write_page(sections, HORIZON).encode())
        print(f"Wrote {PAGE.relative_to(ROOT)}.")


if __name__ == "__main__":
    main()
