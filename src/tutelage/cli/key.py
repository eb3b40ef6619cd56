"""``tutelage key``: create, list and revoke the keys of a live server, in its store."""

import contextlib
import json
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from tutelage.cli.audit import audit_row
from tutelage.cli.options import ConfigFile, Json, StoreUrl, Yes, confirm, store_url
from tutelage.cli.printing import checked_output
from tutelage.stores.base import CampaignNotFound, KeyRow, Keys, Reader

app = typer.Typer(help="Create, list and revoke keys of the live server.")


@app.command()
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", show_default=False, help="Name of the key.")],
    role: Annotated[
        str, typer.Option(metavar="ROLE", show_default=False, help="What the key permits: admin, reporter or viewer.")
    ],
    campaign: Annotated[
        str | None, typer.Option(metavar="NAME", show_default=False, help="Campaign that a reporter may send pulls to.")
    ] = None,
    client: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            show_default="all",
            help="Client that a reporter may send pulls for; repeat the option for other clients.",
        ),
    ] = None,
    store: StoreUrl = None,
    config: ConfigFile = None,
    as_json: Json = False,
) -> None:
    """Create a key and print it.

    The key is printed only this once, on standard output.
    """
    from tutelage.service.api.access import make_key

    secret, row = make_key(name, role, campaign, client or [], time.time_ns() // 1000)
    with _keys(store, config, create=True) as keys:
        keys.create_key(row, audit_row("create key", row.campaign or "", name))
        notes = [*keys.notes, f"The key {name} is in the store {keys.url}.", *_list_warnings(keys, row)]
        url = keys.url
    with checked_output():
        printed = json.dumps({"name": name, "key": secret, "store": url}) if as_json else secret
        sys.stdout.write(f"{printed}\n")
    sys.stderr.writelines(f"{line}\n" for line in notes)


@app.command("list")
def list_keys(store: StoreUrl = None, config: ConfigFile = None, as_json: Json = False) -> None:
    """List all keys, including revoked ones, without their secrets."""
    from tutelage.stores import open_reader

    with store_url(store, config) as url, contextlib.closing(open_reader(url)) as keys:
        rows = keys.keys()
    with checked_output():
        if as_json:
            sys.stdout.write(json.dumps({"keys": [_as_json(row) for row in rows]}) + "\n")
        for row in rows if not as_json else []:
            where = f" of {row.campaign}" if row.campaign else ""
            where += f" for {', '.join(row.clients)}" if row.clients else ""
            revoked = f", revoked {_format_time(row.revoked)}" if row.revoked else ""
            sys.stdout.write(f"{row.name}: {row.role}{where}, created {_format_time(row.created)}{revoked}\n")


@app.command()
def revoke(
    name: Annotated[str, typer.Argument(metavar="NAME", show_default=False, help="Name of the key.")],
    yes: Yes = False,
    store: StoreUrl = None,
    config: ConfigFile = None,
    as_json: Json = False,
) -> None:
    """Revoke a key permanently.

    Servers refuse the key within five seconds.
    """
    now = time.time_ns() // 1000
    with _keys(store, config, create=False) as keys:
        confirm(f"Revoke the key {name}?", yes=yes)
        keys.revoke_key(name, now, audit_row("revoke key", "", name))
        row = next(row for row in keys.keys() if row.name == name)  # noqa: SIM118 - a store's
    done = "was revoked" if row.revoked == now else f"was already revoked {_format_time(row.revoked or 0)}"
    with checked_output():
        sys.stdout.write((json.dumps(_as_json(row)) if as_json else f"The key {name} {done}.") + "\n")


@contextlib.contextmanager
def _keys(store: str | None, config: Path | None, *, create: bool) -> Iterator[Keys]:
    from tutelage.stores import open_keys

    with store_url(store, config) as url, contextlib.closing(open_keys(url, create=create)) as keys:
        yield keys


def _list_warnings(reader: Reader, key: KeyRow) -> Iterator[str]:
    """List what a reporter's key names that does not exist."""
    from tutelage.service.api.ledger_pages import load_names
    from tutelage.service.campaigns.settings import decode_settings

    if key.campaign is None:
        return
    try:
        stored, _ = reader.load(key.campaign)
    except CampaignNotFound:
        yield f"The campaign {key.campaign!r} does not exist yet; the key works once it is created."
        return
    known = set(load_names(reader, key.campaign).clients)
    can_register = decode_settings(stored.settings).open_registration and stored.head.status == "registering"
    for client in key.clients:
        if client not in known:
            advice = " yet; register it" if can_register else ", and clients can no longer be added"
            yield f"The campaign {key.campaign} has no client {client!r}{advice}."


def _as_json(row: KeyRow) -> dict[str, object]:
    return {
        "name": row.name,
        "role": row.role,
        "campaign": row.campaign,
        "clients": list(row.clients),
        "created": _format_time(row.created),
        "revoked": None if row.revoked is None else _format_time(row.revoked),
    }


def _format_time(microseconds: int) -> str:
    return datetime.fromtimestamp(microseconds / 1e6, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
