"""What must be paid, next to what was measured: for ``tutelage simulate`` and ``tutelage bound``."""

from collections.abc import Iterator, Sequence

from rich.table import Table

from tutelage.cli.result_tables import create_table
from tutelage.policies import POLICIES
from tutelage.policies.base import Policy
from tutelage.policies.epsilon_greedy import EpsilonGreedy
from tutelage.policies.ucb1 import UCB1
from tutelage.results import FloorDocument
from tutelage.text import format_table_number, join_words


def create_floor_table(label: str, floors: Sequence[FloorDocument], measured: tuple[float, float] | None) -> Table:
    """Return a table with a row for each floor of a teacher: what must be paid, what was, and the ratio."""
    table = create_table("", "at least", *(("measured", "ratio") if measured else ()), first=label)
    for floor in floors:
        cells = [floor.quantity, format_table_number(floor.value)]
        if measured:
            paid = measured[floor.quantity == "cost"]
            cells += [format_table_number(paid), "-" if floor.ratio is None else format_table_number(floor.ratio)]
        table.add_row(floor.name, *cells)
    return table


def name_unknown(policies: Sequence[Policy]) -> str:
    """Say for which of these policies no floor of teaching is known; empty if it is known for all."""
    others = {id(policy): policy for policy in policies if not isinstance(policy, UCB1 | EpsilonGreedy)}
    labels = {POLICIES.label(policy): None for policy in others.values()}
    return f"No floor of teaching is known for {join_words(list(labels), 'and')} clients." if labels else ""


def choose_largest(floors: Sequence[FloorDocument]) -> list[FloorDocument]:
    """Return the largest floor of the regret and the largest of the cost."""
    chosen = []
    for quantity in ("regret", "cost"):
        of_quantity = [floor for floor in floors if floor.quantity == quantity]
        if of_quantity:
            chosen.append(max(of_quantity, key=lambda floor: floor.value))
    return chosen


def explain_floors(floors: Sequence[FloorDocument], needed: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each needed floor's name with its condition; conditions name other floors, which follow."""
    found = {floor.name: floor for floor in floors}
    wanted = list(needed)
    for name in wanted:
        floor = found[name]
        wanted += [other for other in found if f"'{other}'" in floor.condition and other not in wanted]
        late = "" if floor.is_possible else "; no teacher can meet this condition before the horizon"
        yield name, floor.condition + late
