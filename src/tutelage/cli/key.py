"""``tutelage key``: create, list, rotate and revoke the keys of a live server, in its store."""

import contextlib
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from tutelage.cli.audit import audit_row
from tutelage.cli.options import Json, Yes, argument, confirm, option
from tutelage.cli.printing import print_answer
from tutelage.cli.server_options import ConfigFile, StoreUrl, store_url
from tutelage.stores.base import CampaignNotFound, KeyRow, Keys, Reader
from tutelage.text import format_second

app = typer.Typer(help="Create, list, rotate and revoke keys of the live server.")

Expires = Annotated[
    str | None, option("TIME", "When the key ends: a duration, as in 12h or 90d, or a time in UTC, as in 2030-01-31.")
]


@app.command()
def create(
    name: Annotated[str, argument("NAME", "Name of the key.")],
    role: Annotated[
        str, option("ROLE", "What the key permits: admin (everything), reporter (pulls) or viewer (reading).")
    ],
    campaign: Annotated[
        str | None, option("NAME", "Only campaign that the key is valid for; a reporter needs one.", show_default="all")
    ] = None,
    client: Annotated[
        list[str] | None,
        option(
            "NAME",
            "Client that a reporter may send pulls for; repeat the option for other clients.",
            show_default="all",
        ),
    ] = None,
    expires: Expires = None,
    store: StoreUrl = None,
    config: ConfigFile = None,
    as_json: Json = False,
) -> None:
    """Create a key and print it.

    The key is printed only this once, on standard output.
    """
    from tutelage.service.api.access import make_key
    from tutelage.service.api.key_rotation import read_expiry

    now = time.time_ns() // 1000
    until = None if expires is None else read_expiry(expires, now)
    secret, row = make_key(name, role, campaign, client or [], now, until)
    with _keys(store, config, create=True) as keys:
        keys.create_key(row, audit_row("create key", row.campaign or "", name))
        end = f" and expires {format_second(until)}" if until else ""
        notes = [*keys.notes, f"The key {name} is in the store {keys.url}{end}.", *_list_warnings(keys, row)]
        url = keys.url
    _print_secret(name, secret, url, notes, as_json=as_json)


@app.command("list")
def list_keys(store: StoreUrl = None, config: ConfigFile = None, as_json: Json = False) -> None:
    """List all keys, including revoked ones, without their secrets."""
    from tutelage.stores import open_reader

    with store_url(store, config) as url, contextlib.closing(open_reader(url)) as keys:
        rows = keys.keys()
    now = time.time_ns() // 1000
    print_answer(
        lambda: {"keys": [_as_json(row) for row in rows]},
        lambda: (_describe(row, now) for row in rows),
        as_json=as_json,
    )


@app.command()
def rotate(
    name: Annotated[str, argument("NAME", "Name of the key.")],
    overlap: Annotated[
        str, option("DURATION", "How long the old secret stays valid, as in 30s, 15min, 12h or 7d; 0 ends it at once.")
    ] = "1h",
    expires: Expires = None,
    yes: Yes = False,
    store: StoreUrl = None,
    config: ConfigFile = None,
    as_json: Json = False,
) -> None:
    """Replace the secret of a key, and print the new one.

    The name and the rights stay as they are.  A key that expires is again valid for as long as it was made for,
    unless --expires says otherwise.
    """
    from tutelage.service.api import key_rotation

    now = time.time_ns() // 1000
    lasting = key_rotation.read_duration("--overlap", overlap)
    until = None if expires is None else key_rotation.read_expiry(expires, now)
    with _keys(store, config, create=False) as keys:
        secret, row = key_rotation.rotate(_find_key(keys, name), now, lasting, until)
        confirm(f"Replace the secret of the key {name}?", yes=yes)
        keys.rotate_key(row, audit_row("rotate key", row.campaign or "", name))
        url = keys.url
    ends = [f"The old secret of the key {name} is valid until {format_second(row.old_until or now)}."]
    ends += [f"The new one expires {format_second(row.expires)}."] if row.expires else []
    _print_secret(name, secret, url, ends, as_json=as_json)


@app.command()
def revoke(
    name: Annotated[str, argument("NAME", "Name of the key.")],
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
        row = _find_key(keys, name)
    done = "was revoked" if row.revoked == now else f"was already revoked {format_second(row.revoked or 0)}"
    print_answer(lambda: _as_json(row), lambda: [f"The key {name} {done}."], as_json=as_json)


@contextlib.contextmanager
def _keys(store: str | None, config: Path | None, *, create: bool) -> Iterator[Keys]:
    from tutelage.stores import open_keys

    with store_url(store, config) as url, contextlib.closing(open_keys(url, create=create)) as keys:
        yield keys


def _find_key(keys: Keys, name: str) -> KeyRow:
    """Return a key by its name.  Raises ``CampaignNotFound``."""
    for row in keys.keys():  # noqa: SIM118 - a store's
        if row.name == name:
            return row
    raise CampaignNotFound(f"Unknown key {name!r}: `tutelage key list` lists all keys.")


def _print_secret(name: str, secret: str, url: str, notes: Iterable[str], *, as_json: bool) -> None:
    """Print a secret on standard output, and what there is to say about it on standard error."""
    print_answer(lambda: {"name": name, "key": secret, "store": url}, lambda: [secret], as_json=as_json)
    sys.stderr.writelines(f"{line}\n" for line in notes)


def _list_warnings(reader: Reader, key: KeyRow) -> Iterator[str]:
    """List what a key names that does not exist."""
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


def _as_json(row: KeyRow) -> object:
    import msgspec

    from tutelage.service.api.ledger_pages import describe_key

    return msgspec.to_builtins(describe_key(row))


def _describe(row: KeyRow, now: int) -> str:
    """Return the line of a key in the list."""
    where = f" of {row.campaign}" if row.campaign else ""
    where += f" for {', '.join(row.clients)}" if row.clients else ""
    facts = [f"created {format_second(row.created)}"]
    if row.expires is not None:
        facts.append(f"{'expires' if row.expires > now else 'expired'} {format_second(row.expires)}")
    facts.append("never used" if row.used is None else f"last used {format_second(row.used)}")
    if row.old_until is not None and row.old_until > now:
        facts.append(f"old secret valid until {format_second(row.old_until)}")
    if row.revoked is not None:
        facts.append(f"revoked {format_second(row.revoked)}")
    return f"{row.name}: {row.role}{where}, {', '.join(facts)}"
