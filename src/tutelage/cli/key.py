"""``tutelage key``: keys to the live server, made where its store is."""

import contextlib
import json
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from tutelage.cli.options import ConfigFile, Json, StoreUrl, store_url
from tutelage.cli.output import printing
from tutelage.stores.base import CampaignNotFound, KeyRow, Keys, Reader

app = typer.Typer(help="Keys to the live server: it need not run for this.")


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
    store: StoreUrl = None,
    config: ConfigFile = None,
    as_json: Json = False,
) -> None:
    """Make a key; it is shown this once, on standard output."""
    from tutelage.service.api.access import make_key

    secret, row = make_key(name, role, campaign, client or [], time.time_ns() // 1000)
    with _keys(store, config, create=True) as keys:
        keys.create_key(row)
        beside = [*keys.notes, f"The key {name} is in the store {keys.url}.", *_warnings(keys, row)]
        kept = keys.url
    with printing():
        told = json.dumps({"name": name, "key": secret, "store": kept}) if as_json else secret
        sys.stdout.write(f"{told}\n")
    sys.stderr.writelines(f"{line}\n" for line in beside)


@app.command("list")
def show(store: StoreUrl = None, config: ConfigFile = None, as_json: Json = False) -> None:
    """List all keys, the revoked ones too, without their secrets."""
    from tutelage.stores import open_reader

    with store_url(store, config) as url, contextlib.closing(open_reader(url)) as keys:
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
    store: StoreUrl = None,
    config: ConfigFile = None,
    as_json: Json = False,
) -> None:
    """Revoke a key for good: servers refuse it within five seconds."""
    with _keys(store, config, create=False) as keys:
        keys.revoke_key(name, time.time_ns() // 1000)
        row = next(row for row in keys.keys() if row.name == name)  # noqa: SIM118 - a store's
    if as_json:
        with printing():
            sys.stdout.write(json.dumps(_told(row)) + "\n")


@contextlib.contextmanager
def _keys(store: str | None, config: Path | None, *, create: bool) -> Iterator[Keys]:
    from tutelage.stores import open_keys

    with store_url(store, config) as url, contextlib.closing(open_keys(url, create=create)) as keys:
        yield keys


def _warnings(reader: Reader, key: KeyRow) -> Iterator[str]:
    """What a reporter's key is for and is not there."""
    from tutelage.service.api.ledger_pages import Names
    from tutelage.service.campaigns.settings import decode_settings

    if key.campaign is None:
        return
    try:
        stored, _ = reader.load(key.campaign)
    except CampaignNotFound:
        yield f"There is no campaign {key.campaign!r} yet: the key is good once there is one of this name."
        return
    known = set(Names(reader, key.campaign).clients)
    registers = decode_settings(stored.settings).open_registration and stored.head.status == "registering"
    for client in key.clients:
        if client not in known:
            hope = " yet: it has to register" if registers else ", and none can be added"
            yield f"The campaign {key.campaign} has no client {client!r}{hope}."


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
