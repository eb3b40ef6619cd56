"""``tutelage db``: create, upgrade, check and back up a store."""

import json
import sys
from typing import Annotated

import typer

from tutelage.cli.options import ConfigFile, Json, StoreUrl, store_url
from tutelage.cli.printing import checked_output

app = typer.Typer(help="Create, check and back up a store.", no_args_is_help=True)


@app.command()
def upgrade(store: StoreUrl = None, config: ConfigFile = None) -> None:
    """Create a store, or update its schema.

    No server may use a SQLite store at the same time.
    """
    from tutelage import stores

    with store_url(store, config) as url, checked_output():
        sys.stdout.write(f"{stores.upgrade(url)}\n")


@app.command()
def check(store: StoreUrl = None, config: ConfigFile = None, as_json: Json = False) -> None:
    """Check a store for damage.

    The exit status is 1 if there is any.
    """
    from tutelage import stores

    with store_url(store, config) as url:
        faults = stores.check(url)
    if as_json:
        with checked_output():
            sys.stdout.write(json.dumps({"faults": faults}) + "\n")
    else:
        for fault in faults:
            sys.stderr.write(f"{fault}\n")
    if faults:
        raise typer.Exit(1)
    with checked_output():
        sys.stdout.write("" if as_json else "No damage was found.\n")


@app.command()
def backup(
    file: Annotated[str, typer.Argument(metavar="FILE", show_default=False, help="New file for the copy.")],
    store: StoreUrl = None,
    config: ConfigFile = None,
) -> None:
    """Copy a SQLite store and verify the copy.

    A server may use the store at the same time.
    """
    from tutelage import stores

    with store_url(store, config) as url, checked_output():
        sys.stdout.write(f"{stores.backup(url, file)}\n")
