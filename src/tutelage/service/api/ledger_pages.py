"""The ledger as people and programs read it: rows with names, a page at a time."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from tutelage.service.display import insert_arm_names
from tutelage.stores.base import EntryRow, PullRow, Reader

_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
_PAGE = 5_000


class _Listed(msgspec.Struct):
    """What of a campaign's settings is needed: its rows can be read though this release cannot serve it."""

    arms: tuple[str, ...]
    clients: list[str]
    open_registration: bool


class Names:
    """A campaign's clients and arms by number."""

    def __init__(self, reader: Reader, name: str) -> None:
        stored, _ = reader.load(name)
        self.head, self.created = stored.head, stored.created
        settings = msgspec.json.decode(stored.settings, type=_Listed)
        self.arms, self.clients = settings.arms, settings.clients
        if settings.open_registration:
            self.clients += _registered(reader, name)

    def row(self, row: PullRow | EntryRow) -> dict[str, Any]:
        """A row of the ledger as an object."""
        if isinstance(row, EntryRow):
            found = {"position": row.position, "kind": row.kind, "step": row.step, "time": _time(row.time)}
            if row.id:
                found["id"] = row.id
            content = msgspec.json.decode(row.content)
            if "report" in content:
                content["report"] = insert_arm_names(content["report"], self.arms)
            return found | {"content": content}
        return {
            "position": row.position,
            "kind": "pull",
            "step": row.step,
            "index": row.index,
            "client": self.clients[row.client],
            "arm": self.arms[row.arm],
            "number": row.number,
            "observed": row.observed,
            "revealed": row.revealed,
            "directive": row.directive,
            "bypassed": bool(row.bypassed),
            "time": _time(row.time),
            "id": row.id,
        }


def page(reader: Reader, name: str, after: int, limit: int) -> dict[str, Any]:
    """The rows behind a position; ``next`` is what to ask for next, null at the end."""
    names = Names(reader, name)
    rows = reader.read(name, after, limit)
    is_more = bool(rows) and rows[-1].position < names.head.position
    return {"rows": [names.row(row) for row in rows], "next": rows[-1].position if is_more else None}


def decisions(reader: Reader, name: str, after: int, limit: int) -> dict[str, Any]:
    """The decisions and exclusions behind a position."""
    names, found = Names(reader, name), list[dict[str, Any]]()
    while entries := reader.entries(name, after, _PAGE):
        for entry in entries:
            after = entry.position
            if entry.kind in {"decided", "excluded"}:
                told = names.row(entry)
                found.append(
                    {**{key: told[key] for key in ("position", "kind", "step", "time")}, **told["content"]}
                )
                if len(found) == limit:
                    return {"decisions": found, "next": after}
    return {"decisions": found, "next": None}


def _registered(reader: Reader, name: str) -> Iterator[str]:
    """Whoever joined; nobody does after the first start."""
    after = 0
    while entries := reader.entries(name, after, _PAGE):
        for entry in entries:
            after = entry.position
            if entry.kind == "started":
                return
            if entry.kind == "registered":
                yield msgspec.json.decode(entry.content)["client"]


def _time(microseconds: int) -> str:
    told = (_BEGINNING + timedelta(microseconds=microseconds)).isoformat(timespec="microseconds")
    return told.replace("+00:00", "Z")
