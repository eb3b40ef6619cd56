"""``tutelage key``: keys to the live server, made where its store is."""

import contextlib
import json
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Annotated

import typer

from tutelage.cli.output import printing
from tutelage.errors import InputError
from tutelage.stores.base import KeyRow, Keys, StoreError

app = typer.Typer(help="Keys to the live server: a server need not run for it.")
Store = Annotated[
    str | None,
    typer.Option("--store", metavar="URL", show_default="sqlite:///tutelage.db", help="Where they are kept."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


@app.command()
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", show_default=False, help="What it is called.")],
    role: Annotated[str, typer.Option(metavar="ROLE", show_default=False, help="admin, reporter or viewer.")],
    campaign: Annotated[
        str | None, typer.Option(metavar="NAME", show_default=False, help="A reporter's campaign.")
    ] = None,
    client: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", show_default="all", help="A reporter's client; once for each."),
    ] = None,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Make a key; it is shown this once."""
    from tutelage.service.access import make_key

    secret, row = make_key(name, role, campaign, client or [], time.time_ns() // 1000)
    with _keys(store) as keys:
        keys.create_key(row)
    with printing():
        sys.stdout.write((json.dumps({"name": name, "key": secret}) if as_json else secret) + "\n")


@app.command("list")
def show(store: Store = None, as_json: Json = False) -> None:
    """List all keys, the revoked ones too, without their secrets."""
    with _keys(store) as keys:
        rows = keys.keys()
    with printing():
        if as_json:
            sys.stdout.write(json.dumps({"keys": [_told(row) for row in rows]}) + "\n")
        for row in rows if not as_json else []:
            told = _told(row)
            where = f" of {row.campaign}" if row.campaign else ""
            where += f" for {', '.join(row.clients)}" if row.clients else ""
            revoked = f", revoked {told['revoked']}" if row.revoked else ""
            sys.stdout.write(f"{row.name}: {row.role}{where}, made {told['created']}{revoked}\n")


@app.command()
def revoke(
    name: Annotated[str, typer.Argument(metavar="NAME", show_default=False, help="Which one.")],
    store: Store = None,
) -> None:
    """Revoke a key for good: servers refuse it within five seconds."""
    with _keys(store) as keys:
        keys.revoke_key(name, time.time_ns() // 1000)


@contextlib.contextmanager
def _keys(store: str | None) -> Iterator[Keys]:
    from tutelage.service.configuration import resolve
    from tutelage.stores import open_keys

    try:
        with contextlib.closing(open_keys(resolve({"store": store}).store)) as keys:
            yield keys
    except StoreError as error:
        raise InputError(str(error)) from error


def _told(row: KeyRow) -> dict[str, object]:
    return {
        "name": row.name,
        "role": row.role,
        "campaign": row.campaign,
        "clients": list(row.clients),
        "created": _time(row.created),
        "revoked": None if row.revoked is None else _time(row.revoked),
    }


def _time(microseconds: int) -> str:
    return datetime.fromtimestamp(microseconds / 1e6, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
