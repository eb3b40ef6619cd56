"""``tutelage db``: create, upgrade, check, measure and back up a store."""

import sys
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from tutelage.cli.options import Json, argument
from tutelage.cli.printing import Printer, print_answer, print_lines
from tutelage.cli.result_tables import create_table
from tutelage.cli.server_options import ConfigFile, StoreUrl, store_url
from tutelage.text import UNKNOWN, format_bytes, format_rough_duration, format_second

if TYPE_CHECKING:
    from tutelage.stores.base import StoreSize

app = typer.Typer(help="Create, check, measure and back up a store.", no_args_is_help=True)


@app.command()
def upgrade(store: StoreUrl = None, config: ConfigFile = None) -> None:
    """Create a store, or update its schema.

    No server may use a SQLite store at the same time.
    """
    from tutelage import stores

    with store_url(store, config) as url:
        print_lines([stores.upgrade(url)])


@app.command()
def check(store: StoreUrl = None, config: ConfigFile = None, as_json: Json = False) -> None:
    """Check a store for damage.

    The exit status is 1 if there is any.
    """
    from tutelage import stores

    with store_url(store, config) as url:
        faults = stores.check(url)
    print_answer(lambda: {"faults": faults}, lambda: [] if faults else ["No damage was found."], as_json=as_json)
    if faults:
        sys.stderr.writelines(f"{fault}\n" for fault in faults if not as_json)
        raise typer.Exit(1)


@app.command()
def stats(store: StoreUrl = None, config: ConfigFile = None, as_json: Json = False) -> None:
    """Print the size of a store: tables, bytes per pull, log, age.

    A server may use the store at the same time.  All of a SQLite file is read.
    """
    from tutelage import stores

    with store_url(store, config) as url:
        size = stores.measure(url)
    tables = [table._asdict() for table in size.tables]
    times = {"first": _format_time(size.first), "last": _format_time(size.last)}
    document = asdict(size) | {"tables": tables, "bytes_per_pull": size.bytes_per_pull} | times
    print_answer(lambda: document, lambda: _print_size(size), as_json=as_json)


def _print_size(size: "StoreSize") -> None:
    printer, table = Printer(), create_table("rows", "size", first="table")
    for name, rows, bytes in size.tables:
        table.add_row(name, f"{rows:,}", UNKNOWN if bytes is None else format_bytes(bytes))
    printer.print(table, "")
    per_pull, free = size.bytes_per_pull, size.free_bytes
    log = (
        "not allowed to read it: needs the role pg_monitor" if size.log_bytes is None else format_bytes(size.log_bytes)
    )
    printer.print_definitions(
        [
            ("database", format_bytes(size.bytes) + (f", {format_bytes(free)} of it free" if free else "")),
            ("bytes per pull", UNKNOWN if per_pull is None else f"{per_pull:,.0f}, with indexes"),
            ("write-ahead log", log),
            ("oldest campaign", _describe_time(size.first)),
            ("last row", _describe_time(size.last)),
        ]
    )


def _format_time(microseconds: int | None) -> str | None:
    return None if microseconds is None else format_second(microseconds)


def _describe_time(microseconds: int | None) -> str:
    if microseconds is None:
        return "none"
    age = max(time.time() - microseconds / 1e6, 0.0)
    return f"{_format_time(microseconds)}, {format_rough_duration(age)} ago"


@app.command()
def backup(
    file: Annotated[str, argument("FILE", "New file for the copy.")], store: StoreUrl = None, config: ConfigFile = None
) -> None:
    """Copy a SQLite store and verify the copy.

    A server may use the store at the same time.
    """
    from tutelage import stores

    with store_url(store, config) as url:
        print_lines([stores.backup(url, file)])
