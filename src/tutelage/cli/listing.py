"""``tutelage simulate --list``: everything that a SPEC can name."""

import dataclasses
import json
import sys
from typing import Any

from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from tutelage.cli.page import Page
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


def show(*, as_json: bool) -> None:
    """Print all tables."""
    if as_json:
        told = {table.plural: [_as_json(table, name) for name in table] for table, _ in _TABLES}
        sys.stdout.write(json.dumps(told) + "\n")
        return
    page = Page()
    for table, where in _TABLES:
        page.put(Text.assemble((table.plural.capitalize(), "bold"), f" ({where})"))
        for name in table:
            _put_entry(page, table, name)
        page.put("")
    page.put(
        "An installed package's own are named package.module:Name(key=value), wherever a name can stand."
    )


def _put_entry(page: Page, table: Table[Any], name: str) -> None:
    page.put("", Text.assemble("  ", (name, "bold cyan")))
    page.put(Padding(Text(table.summary(name).replace("``", "")), (0, 0, 0, 4)))
    grid = Grid.grid(padding=(0, 2))
    for no_wrap in (True, True, False):
        grid.add_column(no_wrap=no_wrap)
    for item in table.parameters(name):
        grid.add_row(item.name, Text(f"{_type(item)}, {_default(item)}"), Text(item.help.replace("``", "")))
    if grid.row_count:
        page.put(Padding(grid, (0, 0, 0, 4)))


def _type(item: Parameter) -> str:
    """The type in plain words."""
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
