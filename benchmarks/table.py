"""Every teacher against every kind of client on the paper's instance, as the page docs/table.md.

    python benchmarks/table.py [--runs R] [--seed S] [--workers N] [--quick]        (or: make table)

The same version writes the same page for the same runs and seed, byte for byte.
"""

import argparse
import os
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tutelage import instances
from tutelage.atomic_files import write_whole
from tutelage.lab import make_request, simulate_request
from tutelage.policies import POLICIES
from tutelage.request import make_problem
from tutelage.results import SimulationResult
from tutelage.seeding import teacher_generator
from tutelage.teachers import TEACHERS, side_by_side

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "table.md"
TEMPLATE = Path(__file__).with_name("table-page.md")
INSTANCE, HORIZON, RUNS, SEED = "paper", 50_000, 20, 0
QUICK_RUNS = 2
MIXED = "2*ucb1,2*eps-greedy,1*ts"
WATCHED = ("change-detector(teacher=blt)",)  # beside watch as it is, over TWL


@dataclass(frozen=True)
class Setting:
    """What is played, and where."""

    horizon: int = HORIZON
    runs: int = RUNS
    seed: int = SEED
    workers: int | None = None
    executor: str = "processes"  # BLT and watch are Python, which threads do not share out


@dataclass(frozen=True)
class Cell:
    """All runs of one teacher with one kind of client: mean regret and cost, how many decided, and wrongly.

    ``finished`` is None for a teacher that by its nature settles on no arm.
    """

    regret: float
    cost: float
    finished: int | None
    wrong: int


Rows = dict[str, tuple[Cell, ...]]


def all_clients() -> dict[str, str]:
    """The rows: every policy of the table, and a mix, each with its clients as a SPEC."""
    return {**{name: name for name in POLICIES}, "mixed": MIXED}


def all_teachers() -> tuple[str, ...]:
    """Those that ``tutelage simulate`` puts side by side, and whoever of the table is not among them."""
    defaults = [_shortest(TEACHERS.spec(teacher)) for teacher in side_by_side()]
    named = {spec.partition("(")[0] for spec in defaults}
    return (*defaults, *(name for name in TEACHERS if name not in named), *WATCHED)


def _shortest(spec: str) -> str:
    """The teacher's name alone where all parameters are at their defaults."""
    name = spec.partition("(")[0]
    return name if TEACHERS.parse(name) == TEACHERS.parse(spec) else spec


def measure(clients: Mapping[str, str], teachers: Sequence[str], setting: Setting) -> Rows:
    """A row for each kind of client, with a cell for each teacher."""
    rows = {}
    for number, (name, spec) in enumerate(clients.items(), 1):
        print(f"... {name}, {number} of {len(clients)}", file=sys.stderr, flush=True)
        request = make_request(
            INSTANCE,
            list(teachers),
            spec,
            horizon=setting.horizon,
            runs=setting.runs,
            seed=setting.seed,
            checkpoints=1,
        )
        outcome = simulate_request(request, workers=setting.workers, executor=setting.executor)
        rows[name] = tuple(_cell(outcome, teacher) for teacher in range(len(teachers)))
    return rows


def _cell(outcome: SimulationResult, teacher: int) -> Cell:
    regret, cost = outcome.totals(teacher)
    return Cell(
        regret=float(regret.mean()),
        cost=float(cost.mean()),
        finished=None if outcome.never_decides(teacher) else int((outcome.target[teacher] >= 0).sum()),
        wrong=int(outcome.is_wrong(teacher).sum()),
    )


def learns(spec: str) -> bool:
    """Whether a teacher begins without a target and wants to be asked for one."""
    teacher = TEACHERS.parse(spec)
    problem = make_problem(instances.load(INSTANCE), HORIZON, teacher)
    return teacher.directive(teacher.begin(problem, teacher_generator(SEED, 0))).quota is not None


def page(rows: Rows, teachers: Sequence[str], setting: Setting) -> str:
    """The page: benchmarks/table-page.md with its tables in their places, for those that learn and others."""
    spelled = {spec: TEACHERS.brief(TEACHERS.parse(spec)) for spec in teachers}
    tables = {}
    for part, wanted in (("learning", True), ("other", False)):
        columns = [column for column, spec in enumerate(teachers) if learns(spec) == wanted]
        heading = [teachers[column] for column in columns]
        chosen = {name: [cells[column] for column in columns] for name, cells in rows.items()}
        amounts = {name: [_amounts(cell) for cell in cells] for name, cells in chosen.items()}
        decided = {name: [_decided(cell, setting.runs) for cell in cells] for name, cells in chosen.items()}
        tables[f"{part}_amounts"] = _grid(heading, amounts)
        tables[f"{part}_decided"] = _grid(heading, decided)
    return TEMPLATE.read_text(encoding="utf-8").format(
        version=_version(),
        runs=setting.runs,
        seed=setting.seed,
        horizon=setting.horizon,
        mixed=MIXED,
        spelled_out=", ".join(f"`{spec}` is `{full}`" for spec, full in spelled.items() if spec != full),
        **tables,
    )


def _amounts(cell: Cell) -> str:
    return f"{cell.regret:,.0f} / {cell.cost:,.0f}"


def _decided(cell: Cell, runs: int) -> str:
    """Bold where not every run came to a right end; a dash for a teacher that has none."""
    if cell.finished is None:
        return "-"
    told = f"{cell.finished} / {cell.wrong}"
    return told if cell.finished == runs and cell.wrong == 0 else f"**{told}**"


def _grid(heading: Sequence[str], rows: Mapping[str, Sequence[str]]) -> str:
    """A Markdown table with a row for each kind of client."""
    lines = [("clients", *(f"`{spec}`" for spec in heading)), ("---", *("---:" for _ in heading))]
    lines += [(f"`{name}`" if name in POLICIES else name, *cells) for name, cells in rows.items()]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _version() -> str:
    """Of this folder, installed or not."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return str(project["version"])


def main() -> None:
    """Play everything and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=RUNS, help=f"runs of each teacher and client ({RUNS})")
    parser.add_argument("--seed", type=int, default=SEED, help=f"where all random numbers come from ({SEED})")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="processes, as many as cores")
    parser.add_argument(
        "--quick",
        action="store_true",
        help=f"{QUICK_RUNS} runs, printed, not written: does it work?",
    )
    options = parser.parse_args()
    runs = QUICK_RUNS if options.quick else options.runs
    setting, teachers = Setting(runs=runs, seed=options.seed, workers=options.workers), all_teachers()
    text = page(measure(all_clients(), teachers, setting), teachers, setting)
    if options.quick:
        print(text, end="")
    else:
        write_whole(PAGE, text.encode())
        print(f"{PAGE.relative_to(ROOT)} is written.")


if __name__ == "__main__":
    main()
