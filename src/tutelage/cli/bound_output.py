"""What ``tutelage bound`` prints for people: bounds with their parts, and simulated values."""

from collections import Counter
from collections.abc import Iterator

from rich.table import Table

from tutelage.bound_comparison import BoundComparison
from tutelage.cli.floor_table import create_floor_table, explain_floors, name_unknown
from tutelage.cli.printing import Printer
from tutelage.cli.result_tables import create_table
from tutelage.registry import parameters_of
from tutelage.request import SimulationRequest
from tutelage.results import SimulationResult, describe_floors
from tutelage.teachers import TEACHERS
from tutelage.teachers.base import Teacher, describe_assumptions
from tutelage.text import format_count, format_table_number
from tutelage.theory import Bound, Guarantee

_THEOREMS = {  # by the paper's label
    "thm:tal_general": "TAL, or TWL with gamma1 = gamma2 = 0, with any clients that explore and can be led",
    "thm:tal_UCB": "TAL with UCB1 clients",
    "thm:tal_epsilon": "TAL, or TWL, with gamma1 = gamma2 = 0 and epsilon-greedy clients",
    "thm:twl_UCB": "TWL with UCB1 clients",
    "lem:tal_teaching_UCB": "UCB1 clients with a target known from the start",
    "blt": "BLT with balanced clients",
}
_PSI_MAX = (
    "the last epoch of learning: each epoch halves the confidence intervals, and from this one on they separate the "
    "best arm from the second-best"
)
_T_1 = "the round by which every client has pulled every arm often enough for epoch psi_max"
_COLUMNS = [
    ("learning", "part due to pulls of active arms, for which gamma1 or levelled rewards are revealed"),
    ("teaching", "part due to pulls of other arms than the target, for which gamma2 or 0 is revealed"),
    ("remainder", "part due to the rare runs in which the other parts do not hold"),
    ("bound", "the sum: an upper bound on the expected total over all clients"),
    ("simulated", "mean of the runs"),
    ("ratio", "bound divided by simulated"),
]


def print_bounds(made: BoundComparison) -> None:
    """Print bounds, floors and simulated values to standard output."""
    printer = Printer()
    request, promised, result = made.request, made.guarantee, made.result
    printer.print_definitions(_describe_request(request, promised, result))
    printer.print("", _create_rows(promised, result), "")
    printer.print_definitions(_COLUMNS if result else _COLUMNS[:4])
    printer.print("", *_describe_bounds(promised))
    _print_floors(printer, made)


def _print_floors(printer: Printer, made: BoundComparison) -> None:
    regret, cost = (float(values.mean()) for values in made.result.totals(0)) if made.result else (None, None)
    floors = describe_floors(made.floors, regret, cost)
    if not floors:
        printer.print("", "No floor (least regret or cost) is known for this teacher with these clients.")
        return
    measured = None if regret is None or cost is None else (regret, cost)
    printer.print("", create_floor_table("what must be paid", floors, measured), "")
    printer.print_definitions([*explain_floors(floors, list(dict.fromkeys(floor.name for floor in floors)))])
    unknown = name_unknown(made.request.policies)
    if unknown:
        printer.print("", unknown)


def _describe_request(
    request: SimulationRequest, promised: Guarantee, result: SimulationResult | None
) -> list[tuple[str, str]]:
    instance = request.instance
    clients = Counter(request.client_specs)
    definitions = [
        ("instance", instance.name),
        *((name, fact) for name, fact in instance.notes if name == "read as"),
        ("gap", f"{instance.min_gap:.6g} between the means of the best and the second-best arm"),
        ("clients", ", ".join(f"{count} x {spec}" for spec, count in clients.items())),
        ("teacher", TEACHERS.label(request.teachers[0])),
        ("horizon", f"{request.horizon:,} rounds"),
        ("theorem", _name_theorem(promised)),
    ]
    if promised.last_epoch is not None:
        definitions += [
            *_describe_gammas(request.teachers[0]),
            ("psi_max", f"{promised.last_epoch}, {_PSI_MAX}"),
            ("T_1", f"{promised.learning_time:,}, {_T_1}"),
        ]
    if promised.condition:
        definitions.append(("condition", promised.condition))
    if promised.decides_by != promised.learning_time:
        definitions.append(
            ("decides by", f"round {promised.decides_by:,}, because it does not wait for arms that are ruled out")
        )
    if result:
        definitions.append(("simulated", f"{format_count(request.runs, 'run')}, seed {request.seed}"))
    return definitions


def _name_theorem(promised: Guarantee) -> str:
    where = "docs/floors.md" if promised.theorem == "blt" else f"labelled {promised.theorem} in the paper"
    return f"{_THEOREMS[promised.theorem]} ({where})"


def _describe_gammas(teacher: Teacher) -> Iterator[tuple[str, str]]:
    meanings = {item.name: item.help for item in parameters_of(type(teacher))}
    for name in ("gamma1", "gamma2"):
        yield name, f"{getattr(teacher, name):g}, the {meanings[name].partition(',')[0]}"


def _create_rows(promised: Guarantee, result: SimulationResult | None) -> Table:
    columns = _COLUMNS if result else _COLUMNS[:4]
    table = create_table(*(name for name, _ in columns), first="")
    totals = [float(values.mean()) for values in result.totals(0)] if result else [None, None]
    for name, bound, simulated in zip(("regret", "cost"), (promised.regret, promised.cost), totals, strict=True):
        table.add_row(name, *_cells(bound, simulated))
    return table


def _cells(bound: Bound, simulated: float | None) -> list[str]:
    cells = [format_table_number(part) for part in (bound.learning, bound.teaching, bound.remainder, bound.value)]
    if simulated is None:
        return cells
    return [*cells, format_table_number(simulated), format_table_number(bound.value / simulated) if simulated else "-"]


def _describe_bounds(promised: Guarantee) -> Iterator[str]:
    """Say whether the bounds are vacuous, and from which horizon on they are not."""
    if promised.needed_horizon is None:
        fit = "do not fit" if promised.is_vacuous else "fit"
        yield (
            f"With probability at least 1 - 2/{promised.horizon:,}, learning takes at most {promised.decides_by:,} "
            f"pulls of active arms by each client, which {fit} into {promised.horizon:,} rounds."
        )
    elif promised.last_epoch is None:
        yield "The target is known from the start, so that nothing is learned."
    elif promised.is_vacuous:
        yield (
            f"These bounds are vacuous: learning may take until round {promised.decides_by:,}, and the horizon "
            f"is {promised.horizon:,}. They are true, but do not show that learning ends in time. They are "
            f"not vacuous from a horizon of {promised.needed_horizon:,} rounds."
        )
    else:
        yield (
            f"These bounds are not vacuous: learning ends by round {promised.decides_by:,}, within the horizon, "
            "unless one of the events that they assume does not happen "
            f"(probability 1/{promised.horizon:,} each). Bounds are not vacuous from a horizon of "
            f"{promised.needed_horizon:,} rounds; with a shorter horizon learning takes fewer rounds."
        )
        if promised.learning_time > promised.horizon:
            yield (
                f"T_1, {promised.learning_time:,}, exceeds the horizon: it is the round for a teacher that "
                "waits for all arms, such as tal."
            )
    yield describe_assumptions()
    for name, bound, most in (
        ("regret", promised.regret, promised.most_regret),
        ("cost", promised.cost, promised.most_cost),
    ):
        if bound.value >= most:
            yield (
                f"The bound on the {name} exceeds the largest {name} possible in {promised.horizon:,} "
                f"rounds, {format_table_number(most)}: it says nothing about the {name} at this horizon."
            )
