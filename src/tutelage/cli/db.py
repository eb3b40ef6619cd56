"""``tutelage db``: the store's schema, its soundness, its copy."""

import contextlib
import sys
from collections.abc import Iterator
from typing import Annotated

import typer

from tutelage.cli.output import printing
from tutelage.errors import InputError
from tutelage.stores.base import StoreError

app = typer.Typer(help="The store itself.", no_args_is_help=True)
Store = Annotated[
    str | None,
    typer.Option("--store", metavar="URL", show_default="sqlite:///tutelage.db", help="Which one."),
]


@app.command()
def upgrade(store: Store = None) -> None:
    """Create a store, or bring its schema up to date; no server may run on a file."""
    from tutelage import stores

    with _told(), printing():
        sys.stdout.write(f"{stores.upgrade(_url(store))}\n")


@app.command()
def check(store: Store = None) -> None:
    """Look for damage; status 1 if there is any."""
    from tutelage import stores

    with _told():
        faults = stores.check(_url(store))
    for fault in faults:
        sys.stderr.write(f"{fault}\n")
    if faults:
        raise typer.Exit(1)
    with printing():
        sys.stdout.write("Nothing is wrong.\n")


@app.command()
def backup(
    file: Annotated[str, typer.Argument(metavar="FILE", show_default=False, help="The copy, a new file.")],
    store: Store = None,
) -> None:
    """Copy a SQLite store, also while it is served, and verify the copy."""
    from tutelage import stores

    with _told(), printing():
        sys.stdout.write(f"{stores.backup(_url(store), file)}\n")


def _url(store: str | None) -> str:
    from tutelage.service.configuration import resolve

    return resolve({"store": store}).store


@contextlib.contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except StoreError as error:
        raise InputError(str(error)) from error
