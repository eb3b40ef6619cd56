"""Measure every teacher with every policy on the paper's instance, and write the page docs/table.md.

    python benchmarks/table.py [--runs R] [--seed S] [--workers N] [--quick]        (or: make table)
    python benchmarks/table.py --teacher blt                                        (some columns only)
    python benchmarks/table.py --add-missing                                        (or: make docs-tables)

The same version writes the same page for the same runs and seed, byte for byte.  ``--teacher`` measures the
columns of these teachers with the page's runs and seed, and keeps the others.  ``--add-missing`` measures
nothing: it keeps the page's numbers and adds new teachers and policies as "not measured".
"""

import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tutelage import instances
from tutelage.atomic_files import write_atomically
from tutelage.inference import compare_pairs, interval_of_share, select_differences
from tutelage.metrics import RunStatistics, summarize_runs
from tutelage.policies import POLICIES
from tutelage.progress_bar import ProgressBar
from tutelage.request import make_problem
from tutelage.results import SimulationResult
from tutelage.seeding import teacher_generator
from tutelage.simulator import make_request, simulate_request
from tutelage.teachers import TEACHERS, side_by_side
from tutelage.text import format_p

sys.path.insert(0, str(Path(__file__).parent))

from arguments import add_seed, add_workers, make_parser

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "table.md"
TEMPLATE = Path(__file__).with_name("table-page.md")
INSTANCE, HORIZON, RUNS, SEED = "paper", 50_000, 20, 0
QUICK_RUNS = 2
MIXED = "2*ucb1,2*eps-greedy,1*ts"
EXTRA_TEACHERS = ("change-detector(teacher=blt)",)  # besides the change detector with its default, TWL


@dataclass(frozen=True)
class Settings:
    """What is simulated, and where."""

    horizon: int = HORIZON
    runs: int = RUNS
    seed: int = SEED
    workers: int | None = None
    executor: str = "processes"  # BLT and the change detector are Python, for which threads do not help


class Cell(NamedTuple):
    """What the page shows of one teacher with one kind of clients."""

    amounts: str
    decisions: str


class Comparison(NamedTuple):
    """Which of the teachers that learn has the lowest regret and cost with one kind of clients, and by how much."""

    regret: str
    cost: str


NOT_MEASURED, NOT_COMPARED = Cell("not measured", "not measured"), Comparison("not measured", "not measured")


@dataclass(frozen=True)
class Measured:
    """The content of the page: cells by kind of clients and teacher, comparisons, and how they were measured."""

    version: str
    runs: int
    seed: int
    horizon: int
    cells: Mapping[str, Mapping[str, Cell]]
    comparisons: Mapping[str, Comparison]


def list_clients() -> dict[str, str]:
    """Return the rows: every policy, and a mix, each with the SPEC of its clients."""
    return {**{name: name for name in POLICIES}, "mixed": MIXED}


def list_teachers() -> tuple[str, ...]:
    """Return the columns: the teachers that ``tutelage simulate`` compares by default, then all others."""
    defaults = [TEACHERS.label(teacher) for teacher in side_by_side()]
    named = {spec.partition("(")[0] for spec in defaults}
    return (*defaults, *(name for name in TEACHERS if name not in named), *EXTRA_TEACHERS)


def measure(clients: Mapping[str, str], teachers: Sequence[str], settings: Settings) -> Measured:
    """Simulate all teachers with every kind of clients."""
    requests = {
        name: make_request(
            INSTANCE,
            list(teachers),
            spec,
            horizon=settings.horizon,
            runs=settings.runs,
            seed=settings.seed,
            checkpoints=1,
        )
        for name, spec in clients.items()
    }
    cells, comparisons, runs = {}, {}, settings.runs * len(teachers)
    learning = [is_learning(teacher) for teacher in teachers]
    with ProgressBar(runs * len(clients)) as bar:
        for number, (name, request) in enumerate(requests.items()):
            result = simulate_request(
                request,
                workers=settings.workers,
                executor=settings.executor,
                progress=lambda done, before=number * runs, name=name: bar(before + done, what=name),  # type: ignore[misc]
            )
            cells[name] = {teacher: _make_cell(result, n) for n, teacher in enumerate(teachers)}
            chosen = [n for n, learns in enumerate(learning) if learns]
            totals = np.array([result.totals(n) for n in range(len(teachers))])[chosen]
            comparisons[name] = _compare(totals, [teachers[n] for n in chosen])
    return Measured(read_version(), settings.runs, settings.seed, settings.horizon, cells, comparisons)


def _compare(totals: NDArray[np.float64], teachers: Sequence[str]) -> Comparison:
    """Compare the two lowest of the teachers [N] in regret and cost; ``totals`` [N, 2, R] has both."""
    if min(len(teachers), totals.shape[-1]) < 2:
        return NOT_COMPARED
    values = dict(zip(("regret", "cost"), totals.transpose(1, 0, 2), strict=True))
    differences, found = compare_pairs(values, teachers), []
    for quantity, each in values.items():
        lowest, following = (teachers[n] for n in np.argsort(each.mean(axis=1), kind="stable")[:2])
        (less,) = (
            each
            for each in select_differences(differences, lowest)
            if (each.quantity, each.teacher) == (quantity, following)
        )
        ends = f"{less.low:,.0f} to {less.high:,.0f}"
        found.append(f"{lowest}: {less.mean:,.0f} ({ends}) less than {following}, {format_p(less.p)}")
    return Comparison(*found)


def _make_cell(result: SimulationResult, teacher: int) -> Cell:
    amounts = " / ".join(_format_mean(summarize_runs(values)) for values in result.totals(teacher))
    if result.never_decides(teacher):
        return Cell(amounts, "-")
    decided, wrong = int((result.target[teacher] >= 0).sum()), int(result.is_wrong(teacher).sum())
    decisions = f"{decided} / {wrong}"
    return Cell(amounts, decisions if (decided, wrong) == (result.request.runs, 0) else f"**{decisions}**")


def _format_mean(over: RunStatistics) -> str:
    return f"{over.mean:,.0f}" + ("" if over.half_width is None else f" ± {over.half_width:,.0f}")


def read_page(text: str) -> Measured:
    """Read the content back from the text of a page."""
    found = re.search(r"--runs (\d+) --seed (\d+)`\) and was measured with version (\S+): .* of (\S+) rounds", text)
    if found is None:
        raise SystemExit(f"{PAGE.name} does not say how it was measured: run make table.")
    amounts: dict[Any, Any] = {}
    decisions: dict[Any, Any] = {}
    compared: dict[Any, Any] = {}
    parts = (amounts, decisions, compared, amounts, decisions)
    for part, table in zip(parts, re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE), strict=True):
        heading, _, *rows = [[cell.strip(" `") for cell in line[2:-2].split(" | ")] for line in table.splitlines()]
        for name, *values in rows:
            part.setdefault(name, {}).update(zip(heading[1:], values, strict=True))
    cells = {
        name: {teacher: Cell(row[teacher], decisions[name][teacher]) for teacher in row}
        for name, row in amounts.items()
    }
    comparisons = {name: Comparison(*row.values()) for name, row in compared.items()}
    return Measured(found[3], int(found[1]), int(found[2]), int(found[4].replace(",", "")), cells, comparisons)


def is_learning(spec: str) -> bool:
    """Whether a teacher begins without a target and asks for evidence."""
    teacher = TEACHERS.parse(spec)
    problem = make_problem(instances.load(INSTANCE), HORIZON, teacher)
    return teacher.directive(teacher.begin(problem, teacher_generator(SEED, 0))).quota is not None


def write_page(measured: Measured, clients: Iterable[str], teachers: Sequence[str]) -> str:
    """Return the page: benchmarks/table-page.md with two tables for teachers that learn and two for others."""
    learning = {spec: is_learning(spec) for spec in teachers}
    tables = {}
    for part in ("learning", "other"):
        chosen = [spec for spec in teachers if learning[spec] == (part == "learning")]
        rows = {name: [measured.cells.get(name, {}).get(spec, NOT_MEASURED) for spec in chosen] for name in clients}
        tables[f"{part}_amounts"] = _write_table(
            chosen, {name: [cell.amounts for cell in row] for name, row in rows.items()}
        )
        tables[f"{part}_decided"] = _write_table(
            chosen, {name: [cell.decisions for cell in row] for name, row in rows.items()}
        )
    compared = {name: measured.comparisons.get(name, NOT_COMPARED) for name in clients}
    tables["comparisons"] = _write_table(("lowest regret", "lowest cost"), compared, left=True)
    return TEMPLATE.read_text(encoding="utf-8").format(
        version=measured.version,
        runs=measured.runs,
        seed=measured.seed,
        horizon=measured.horizon,
        mixed=MIXED,
        allowed=f"{100 * interval_of_share(0, measured.runs)[1]:.0f} %",
        **tables,
    )


def _write_table(columns: Sequence[str], rows: Mapping[str, Sequence[str]], *, left: bool = False) -> str:
    """Return a Markdown table with a row for each kind of clients, and columns of numbers unless ``left``."""

    def lines() -> Iterator[Sequence[str]]:
        yield "clients", *(name if left else f"`{name}`" for name in columns)
        yield "---", *("---" if left else "---:" for _ in columns)
        for name, cells in rows.items():
            yield f"`{name}`" if name in POLICIES else name, *cells

    return "\n".join(f"| {' | '.join(line)} |" for line in lines())


def add_missing(text: str) -> str:
    """Return the page with its numbers, today's explanations, and new entries as not measured."""
    return write_page(read_page(text), list_clients(), list_teachers())


def renew(text: str, clients: Mapping[str, str], teachers: Sequence[str], workers: int | None) -> str:
    """Return the page with the columns of these teachers measured again, with the page's runs and seed.

    Comparisons need the runs of all teachers that learn: they remain only if all of these are measured.
    """
    page = read_page(text)
    new = measure(clients, teachers, Settings(page.horizon, page.runs, page.seed, workers))
    cells = {name: {**page.cells.get(name, {}), **row} for name, row in new.cells.items()}
    is_whole = all(spec in teachers for spec in list_teachers() if is_learning(spec))
    fresh = replace(page, cells=cells, comparisons=new.comparisons if is_whole else {})
    return write_page(fresh, list_clients(), list_teachers())


def read_version() -> str:
    """Return the version of this folder, whether it is installed or not."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return str(project["version"])


def main() -> None:
    """Measure everything and write the page."""
    parser = make_parser(__doc__)
    parser.add_argument("--runs", type=int, default=RUNS, metavar="R", help="runs of each combination (%(default)s)")
    add_seed(parser, SEED)
    add_workers(parser)
    parser.add_argument(
        "--quick", action="store_true", help=f"print the page of {QUICK_RUNS} runs, to see whether it works"
    )
    parser.add_argument(
        "--add-missing", action="store_true", help='add new entries as "not measured", without measuring'
    )
    parser.add_argument(
        "--teacher", choices=list_teachers(), action="append", help="measure this column of the page only; repeatable"
    )
    options = parser.parse_args()
    clients, teachers = list_clients(), list_teachers()
    if options.add_missing:
        text = add_missing(PAGE.read_text(encoding="utf-8"))
    elif options.teacher:
        text = renew(PAGE.read_text(encoding="utf-8"), clients, options.teacher, options.workers)
    else:
        runs = QUICK_RUNS if options.quick else options.runs
        measured = measure(clients, teachers, Settings(runs=runs, seed=options.seed, workers=options.workers))
        text = write_page(measured, clients, teachers)
    if options.quick:
        print(text, end="")
    elif text != PAGE.read_text(encoding="utf-8"):
        write_atomically(PAGE, text.encode())
        print(f"Wrote {PAGE.relative_to(ROOT)}.")


if __name__ == "__main__":
    main()
