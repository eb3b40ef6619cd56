"""What ``tutelage bound`` prints for people: bounds with their parts, and simulated values."""

from collections import Counter
from collections.abc import Iterator

from rich.table import Table

from tutelage.cli.printing import Printer
from tutelage.cli.table_cells import create_table, format_number
from tutelage.registry import parameters_of
from tutelage.request import SimulationRequest
from tutelage.results import SimulationResult
from tutelage.teachers import TEACHERS
from tutelage.teachers.base import Teacher, describe_assumptions
from tutelage.text import format_count
from tutelage.theory import Bound, Guarantee

_THEOREMS = {  # by the paper's label
    "thm:tal_general": "TAL, or TWL with gamma1 = gamma2 = 0, with any clients that explore and can be led",
    "thm:tal_UCB": "TAL with UCB1 clients",
    "thm:tal_epsilon": "TAL, or TWL, with gamma1 = gamma2 = 0 and epsilon-greedy clients",
    "thm:twl_UCB": "TWL with UCB1 clients",
}
_PSI_MAX = (
    "the last epoch of learning: each epoch halves the confidence intervals, and from this one on they separate the "
    "best arm from the second-best"
)
_T_1 = "the round by which every client has pulled every arm often enough for epoch psi_max"
_COLUMNS = [
    ("learning", "part due to the rounds in which gamma1 is revealed, for arms that are not ruled out"),
    ("teaching", "part due to the rounds in which gamma2 is revealed for other arms than the target"),
    ("remainder", "part due to the runs in which the other parts do not hold"),
    ("bound", "the sum: an upper bound on the expected total over all clients"),
    ("simulated", "mean of the runs"),
    ("ratio", "bound divided by simulated"),
]


def print_bounds(request: SimulationRequest, promised: Guarantee, result: SimulationResult | None) -> None:
    """Print bounds and simulated values to standard output."""
    printer = Printer()
    printer.print_definitions(_describe_request(request, promised, result))
    printer.print("", _create_rows(promised, result), "")
    printer.print_definitions(_COLUMNS if result else _COLUMNS[:4])
    printer.print("", *_describe_bounds(promised))


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
        ("theorem", f"{_THEOREMS[promised.theorem]} (labelled {promised.theorem} in the paper)"),
        *_describe_gammas(request.teachers[0]),
        ("psi_max", f"{promised.last_epoch}, {_PSI_MAX}"),
        ("T_1", f"{promised.learning_time:,}, {_T_1}"),
    ]
    if promised.decides_by != promised.learning_time:
        definitions.append(
            ("decides by", f"round {promised.decides_by:,}, because it does not wait for arms that are ruled out")
        )
    if result:
        definitions.append(("simulated", f"{format_count(request.runs, 'run')}, seed {request.seed}"))
    return definitions


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
    cells = [format_number(part) for part in (bound.learning, bound.teaching, bound.remainder, bound.value)]
    if simulated is None:
        return cells
    return [*cells, format_number(simulated), format_number(bound.value / simulated) if simulated else "-"]


def _describe_bounds(promised: Guarantee) -> Iterator[str]:
    """Say whether the bounds are vacuous, and from which horizon on they are not."""
    if promised.is_vacuous:
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
                f"rounds, {format_number(most)}: it says nothing about the {name} at this horizon."
            )
