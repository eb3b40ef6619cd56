"""Makes first.sqlite, a database of the first schema: ``python -m tests.stores.golden.make_first``.

Not to be run again after a release: what later versions must read is the file as it was written then.
"""

from pathlib import Path

from tutelage import stores
from tutelage.stores.base import KeyRow, Snapshot
from tutelage.testing.ledger_rows import change, entry, pull

FILE = Path(__file__).with_name("first.sqlite")
ROWS = [
    entry(1, "created"),
    entry(2, "started"),
    *(pull(position, observed=1 / position, revealed=-0.0) for position in range(3, 40)),
    pull(40, "🎰 é", bypassed=True),
    entry(41, "bypassed", "pull-00000005"),
    entry(42, "stopped"),
]
SNAPSHOT = Snapshot(40, b"\x00\x01snapshot")
KEY = KeyRow("first", b"\xff" * 32, "reporter", "c", ("x", "é"), 5, 9)
SETTINGS, STATE = '{"arms": ["a", "b"]}', '{"directive": 2}'


def main():
    """Writes the file."""
    FILE.unlink(missing_ok=True)
    store = stores.open_store(f"sqlite:///{FILE}")
    store.create("c", SETTINGS, 1, 17, STATE)
    store.create_key(KEY)
    token = store.lead("c", "http://first")
    store.append([change(token, 0, *ROWS, status="stopped", state=STATE, snapshot=SNAPSHOT)])
    store.close()
    FILE.with_name(FILE.name + ".lock").unlink()


if __name__ == "__main__":
    main()
