"""``tutelage db``: the store's schema, its soundness, its copy."""

import json
import sys
from typing import Annotated

import typer

from tutelage.cli.options import ConfigFile, Json, StoreUrl, store_url
from tutelage.cli.output import printing

app = typer.Typer(help="The store itself.", no_args_is_help=True)


@app.command(short_help="Create a store, or bring its schema up to date.")
def upgrade(store: StoreUrl = None, config: ConfigFile = None) -> None:
    """Create a store, or bring its schema up to date; no server may run on a file."""
    from tutelage import stores

    with store_url(store, config) as url, printing():
        sys.stdout.write(f"{stores.upgrade(url)}\n")


@app.command()
def check(store: StoreUrl = None, config: ConfigFile = None, as_json: Json = False) -> None:
    """Look for damage; status 1 if there is any."""
    from tutelage import stores

    with store_url(store, config) as url:
        faults = stores.check(url)
    if as_json:
        with printing():
            sys.stdout.write(json.dumps({"faults": faults}) + "\n")
    else:
        for fault in faults:
            sys.stderr.write(f"{fault}\n")
    if faults:
        raise typer.Exit(1)
    with printing():
        sys.stdout.write("" if as_json else "Nothing is wrong.\n")


@app.command(short_help="Copy a SQLite store, also a served one.")
def backup(
    file: Annotated[str, typer.Argument(metavar="FILE", show_default=False, help="The copy, a new file.")],
    store: StoreUrl = None,
    config: ConfigFile = None,
) -> None:
    """Copy a SQLite store, also while it is served, and verify the copy."""
    from tutelage import stores

    with store_url(store, config) as url, printing():
        sys.stdout.write(f"{stores.backup(url, file)}\n")
