"""Rows for the tests of the stores."""

from tutelage.stores import Change, EntryRow, Head, PullRow

TIME = 1_790_000_000_000_000


def pull(position, id=None, **fields):
    """A pull like any other, but for the fields that are given."""
    values = {
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


def entry(position, kind="decided", id="", content='{"why": "because"}'):
    """An entry."""
    return EntryRow(position, position, kind, TIME + position, content, id)


def change(token, after, *rows, name="c", status="running", state="{}", snapshot=None):
    """A change that adds these rows behind a position."""
    pulls = [row for row in rows if isinstance(row, PullRow)]
    entries = [row for row in rows if isinstance(row, EntryRow)]
    head = Head(after + len(rows), after + len(rows), status, state)
    return Change(name, token, after, head, pulls, entries, snapshot)


def grow(store, token, after, num_pulls, name="c", prefix="pull", **options):
    """Appends that many pulls in one transaction and gives the new position."""
    rows = [pull(after + i + 1, f"{prefix}-{after + i + 1:08d}") for i in range(num_pulls)]
    store.append([change(token, after, *rows, name=name, **options)])
    return after + num_pulls
