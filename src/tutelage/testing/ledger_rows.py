"""Rows of a ledger for tests of stores."""

from typing import Any

from tutelage.stores.base import Change, EntryRow, Head, KeyRow, PullRow, Snapshot, Store

TIME = 1_790_000_000_000_000


def pull(position: int, id: str | None = None, **fields: Any) -> PullRow:
    """Return a pull at a position; ``fields`` replace what it has by default."""
    values: dict[str, Any] = {
        "position": position,
        "step": position,
        "index": 0,
        "client": position % 5,
        "arm": position % 4,
        "number": 1 + position // 20,
        "observed": 0.25,
        "revealed": 0.75,
        "directive": 1,
        "bypassed": False,
        "time": TIME + position,
        "id": id or f"pull-{position:08d}",
    }
    return PullRow(**values | fields)


def entry(position: int, kind: Any = "decided", id: str = "", content: str = '{"why": "because"}') -> EntryRow:
    """Return an entry at a position."""
    return EntryRow(position, position, kind, TIME + position, content, id)


def change(
    token: Any,
    after: int,
    *rows: PullRow | EntryRow,
    name: str = "c",
    status: Any = "running",
    state: str | None = "{}",
    snapshot: Snapshot | None = None,
) -> Change:
    """Return a change that adds these rows behind a position."""
    pulls = [row for row in rows if isinstance(row, PullRow)]
    entries = [row for row in rows if isinstance(row, EntryRow)]
    head = Head(after + len(rows), after + len(rows), status, state)
    return Change(name, token, after, head, pulls, entries, snapshot)


def grow(
    store: Store, token: Any, after: int, num_pulls: int, name: str = "c", prefix: str = "pull", **options: Any
) -> int:
    """Append this many pulls in one transaction and return the new position."""
    rows = [pull(after + i + 1, f"{prefix}-{after + i + 1:08d}") for i in range(num_pulls)]
    store.append([change(token, after, *rows, name=name, **options)])
    return after + num_pulls


def stop_and_export(store: Store, token: Any, position: int) -> int:
    """Stop and export a campaign; return its new position."""
    store.append([change(token, position, entry(position + 1, "stopped"), status="stopped")])
    store.append([change(token, position + 1, entry(position + 2, "exported"), status="stopped")])
    return position + 2


def make_key(name: str, role: Any = "admin", campaign: str | None = None, clients: tuple[str, ...] = ()) -> KeyRow:
    """Make a key whose digest follows from its name."""
    return KeyRow(name, name.encode().ljust(32, b"\xff"), role, campaign, clients, created=5)
