"""``tutelage simulate --list``: every name that a SPEC can have."""

import dataclasses
from typing import Any

from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from tutelage.cli.printing import Printer, print_answer
from tutelage.distributions import DISTRIBUTIONS
from tutelage.instances import INSTANCES
from tutelage.policies import POLICIES
from tutelage.registry import Parameter, Table, write_value
from tutelage.teachers import TEACHERS

_TABLES = (
    (INSTANCES, "a name, then :key=value,... as in uniform:clients=5,arms=5,seed=3"),
    (POLICIES, "--clients, as in ucb1 or 2*ucb1,2*eps-greedy(c=2),1*ts"),
    (TEACHERS, "--teacher, as in twl or twl(gamma1=1,gamma2=0)"),
    (DISTRIBUTIONS, "rewards= of an instance, as in paper:rewards=beta(20)"),
)


def print_specs(*, as_json: bool) -> None:
    """Print all instances, policies, teachers and reward distributions with their parameters."""
    print_answer(
        lambda: {table.plural: [_as_json(table, name) for name in table] for table, _ in _TABLES},
        _print_tables,
        as_json=as_json,
    )


def _print_tables() -> None:
    printer = Printer()
    for table, where in _TABLES:
        printer.print(Text.assemble((table.plural.capitalize(), "bold"), f" ({where})"))
        for name in table:
            _print_entry(printer, table, name)
        printer.print("")
    printer.print("Classes of other installed packages are named package.module:Name(key=value).")


def _print_entry(printer: Printer, table: Table[Any], name: str) -> None:
    printer.print("", Text.assemble("  ", (name, "bold cyan")))
    printer.print(Padding(Text(table.summary(name).replace("``", "")), (0, 0, 0, 4)))
    grid = RichTable.grid(padding=(0, 2))
    for no_wrap in (True, True, False):
        grid.add_column(no_wrap=no_wrap)
    for item in table.parameters(name):
        grid.add_row(item.name, Text(f"{_type(item)}, {_default(item)}"), Text(item.help.replace("``", "")))
    if grid.row_count:
        printer.print(Padding(grid, (0, 0, 0, 4)))


def _type(item: Parameter) -> str:
    """Describe the type."""
    if item.names_arm:
        return "whole number or name"
    return {int: "whole number", float: "number", bool: "true or false"}.get(item.type, "word")


def _default(item: Parameter) -> str:
    if item.required:
        return "required"
    return "optional" if item.default is None else f"default {write_value(item.default)}"


def _as_json(table: Table[Any], name: str) -> dict[str, Any]:
    return {
        "name": name,
        "summary": table.summary(name),
        "parameters": [
            {
                "name": item.name,
                "type": item.type.__name__,
                "required": item.required,
                "default": None if item.default is dataclasses.MISSING else item.default,
                "help": item.help,
            }
            for item in table.parameters(name)
        ],
    }
