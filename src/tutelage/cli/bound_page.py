"""The bounds for people: the numbers with their parts, beside the simulation, and what they are worth."""

from collections import Counter
from collections.abc import Iterator

from rich.table import Table as Grid

from tutelage.cli.page import Page, grid, number
from tutelage.request import SimulationRequest
from tutelage.results import SimulationResult
from tutelage.teachers import TEACHERS
from tutelage.text import counted
from tutelage.theory import Bound, Guarantee

_COLUMNS = [
    ("learning", "what rounds add in which active arms show gamma1"),
    ("teaching", "what rounds add in which arms other than the target show gamma2"),
    ("remainder", "for the runs in which an event fails on which the rest relies"),
    ("bound", "the sum: what is expected over all clients is at most this"),
    ("simulated", "the mean of the runs"),
    ("ratio", "bound to simulated"),
]


def show(request: SimulationRequest, promised: Guarantee, outcome: SimulationResult | None) -> None:
    """Print everything to standard output."""
    page = Page()
    page.put_definitions(_asked(request, promised, outcome))
    page.put("", _rows(promised, outcome), "")
    page.put_definitions(_COLUMNS if outcome else _COLUMNS[:4])
    page.put("", *_worth(promised))


def _asked(
    request: SimulationRequest, promised: Guarantee, outcome: SimulationResult | None
) -> list[tuple[str, str]]:
    instance = request.instance
    clients = Counter(request.client_specs)
    told = [
        ("instance", instance.name),
        ("gap", f"{instance.min_gap:.6g} from the best arm's mean over all clients to the next best"),
        ("clients", ", ".join(f"{count} x {spec}" for spec, count in clients.items())),
        ("teacher", TEACHERS.brief(request.teachers[0])),
        ("horizon", f"{request.horizon:,} rounds"),
        ("theorem", promised.theorem),
        ("psi_max", f"{promised.last_epoch}, the epoch that tells the best arm from the next best"),
        ("T_1", f"{promised.learning_time:,}, the round by which every arm has its pulls for that epoch"),
    ]
    if promised.ends_by != promised.learning_time:
        told.append(("ends by", f"{promised.ends_by:,}, as arms that are ruled out are not waited for"))
    if outcome:
        told.append(("played", f"{counted(request.runs, 'run')}, seed {request.seed}"))
    return told


def _rows(promised: Guarantee, outcome: SimulationResult | None) -> Grid:
    columns = _COLUMNS if outcome else _COLUMNS[:4]
    table = grid(*(name for name, _ in columns), first="")
    totals = [float(values.mean()) for values in outcome.totals(0)] if outcome else [None, None]
    for name, bound, simulated in zip(
        ("regret", "cost"), (promised.regret, promised.cost), totals, strict=True
    ):
        table.add_row(name, *_cells(bound, simulated))
    return table


def _cells(bound: Bound, simulated: float | None) -> list[str]:
    cells = [number(part) for part in (bound.learning, bound.teaching, bound.remainder, bound.value)]
    if simulated is None:
        return cells
    return [*cells, number(simulated), number(bound.value / simulated) if simulated else "-"]


def _worth(promised: Guarantee) -> Iterator[str]:
    """Whether the bounds say anything, and from which horizon on they do."""
    chance = f"but with a chance of 1 in {promised.horizon:,}"
    if promised.is_empty:
        yield (
            f"These bounds are empty: learning may take until round {promised.ends_by:,}, and the horizon is "
            f"{promised.horizon:,}. They hold, but promise no teaching. From a horizon of "
            f"{promised.needed_horizon:,} on they are not empty."
        )
    else:
        yield (
            f"These bounds are not empty: learning ends by round {promised.ends_by:,}, {chance} for each "
            f"event. That fits from a horizon of {promised.needed_horizon:,} on."
        )
        if promised.learning_time > promised.horizon:
            yield (
                f"T_1 alone, {promised.learning_time:,}, would not fit: it is the round for a teacher that "
                "waits for all arms, such as tal."
            )
    for name, bound, most in (
        ("regret", promised.regret, promised.most_regret),
        ("cost", promised.cost, promised.most_cost),
    ):
        if bound.value >= most:
            yield (
                f"The bound on the {name} is above what {promised.horizon:,} rounds can bring at most, "
                f"{number(most)}: it says nothing at this horizon."
            )
