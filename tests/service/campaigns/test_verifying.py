"""`ledger verify` finds any change of a stored campaign, one field at a time."""

import contextlib
import math
import shutil
import sqlite3

import pytest
from tests.service.campaigns.writer_bench import WriterBench, sent

from tutelage.service.campaigns.verifying import verify_ledger
from tutelage.service.campaigns.writer import ActionJob
from tutelage.stores import open_reader

#: The fields that are the servers' own affair: who leads, and how often the store was probed.
FREE = {("heads", "token"), ("heads", "leader"), ("heads", "lease_until")}
KINDS = ("registered", "started", "decided", "bypassed", "excluded", "stopped", "exported")


@pytest.fixture(scope="module")
def store_file(tmp_path_factory):
    """A file with a campaign that has been through everything, its triggers gone."""
    path = tmp_path_factory.mktemp("store_file") / "t.db"
    bench = WriterBench(path)
    bench.create(clients=(), open_registration=True, horizon=60, teacher="blt", start=False)
    for client in "abz":
        bench.do(ActionJob("c", act="register", client=client))
    bench.do(ActionJob("c", act="start"))
    for number in range(40):
        arm = "xy"[number % 2]
        bench.pull(*(sent(f"{number}{m}", m, arm, {"x": 0.75, "y": 0.125}[arm]) for m in "abz"))
        if number == 20:
            bench.do(ActionJob("c", act="exclude", client="z"))
    adjusted = next(row for row in bench.store.read("c", 0, 1000) if getattr(row, "revealed", 0) == 1.0)
    bench.pull(sent(adjusted.id, "abz"[adjusted.client], "xy"[adjusted.arm], adjusted.observed, bypassed=True))
    bench.do(ActionJob("c", act="stop"))
    bench.do(ActionJob("c", act="exported"))
    bench.store.close()
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for (trigger,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {trigger}")
    return path


def fields():
    """Every column of every table of the campaign, for a row of the pulls and one of each kind of entry."""
    from tutelage.stores.sql import schema

    for table in (schema.campaigns, schema.heads, schema.states, schema.snapshots, schema.pulls, schema.entries):
        for column in table.c:
            if (table.name, column.name) in FREE or column.name in {"campaign", "number"} - (
                {"number"} if table is schema.pulls else set()
            ):
                continue
            if table is schema.pulls:
                yield table.name, column.name, "id = '7b'"
            elif table is schema.entries:
                yield from ((table.name, column.name, f"kind = '{kind}'") for kind in KINDS)
            elif (table.name, column.name) != ("campaigns", "name"):
                yield table.name, column.name, "true"


def other(value):
    """A value that is as little different as can be."""
    if isinstance(value, bytes):
        return bytes([value[0] ^ 1]) + value[1:] if len(value) < 3 else value[:-1] + bytes([value[-1] ^ 1])
    if isinstance(value, str):
        middle = len(value) // 2
        changed = "0" if value[middle : middle + 1] != "0" else "1"
        return value[:middle] + changed + value[middle + 1 :]
    return math.nextafter(value, 2.0) if isinstance(value, float) else value + 1


@pytest.mark.parametrize(("table", "column", "where"), list(fields()))
def test_every_field_counts(store_file, tmp_path, table, column, where):
    """One row's field is changed a little: the sound file agrees, the changed one does not."""
    path = tmp_path / "t.db"
    shutil.copy(store_file, path)
    with contextlib.closing(open_reader(f"sqlite:///{path}")) as reader:
        assert verify_ledger(reader, "c")[1] == []
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        condition = f"{where} ORDER BY 1 LIMIT 1"
        key = "position" if table in {"pulls", "entries"} else "rowid" if table == "snapshots" else None
        (value, *keys) = connection.execute(
            f'SELECT "{column}"{", " + key if key else ""} FROM {table} WHERE {condition}'
        ).fetchone()
        which = f"{key} = {keys[0]}" if key else where
        free = connection.execute("SELECT max(position) + 1 FROM heads").fetchone()[0]
        changed = free if (table, column) in {("pulls", "position"), ("entries", "position")} else other(value)
        connection.execute(f'UPDATE {table} SET "{column}" = ? WHERE {which}', (changed,))
    with contextlib.closing(open_reader(f"sqlite:///{path}")) as reader:
        assert verify_ledger(reader, "c")[1] != []


def test_a_row_that_is_gone_counts(store_file, tmp_path):
    """In the midst of the ledger, and at its end."""
    for position in ("10", "(SELECT max(position) FROM entries)"):
        path = tmp_path / "t.db"
        shutil.copy(store_file, path)
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
            for table in ("pulls", "entries"):
                connection.execute(f"DELETE FROM {table} WHERE position = {position}")
        with contextlib.closing(open_reader(f"sqlite:///{path}")) as reader:
            assert verify_ledger(reader, "c")[1] != []


@pytest.mark.parametrize("far", [1, 5])
def test_a_row_after_the_head_is_a_fault(store_file, tmp_path, far):
    """No client got a response for such a row, and the next row would have its position."""
    path = tmp_path / "t.db"
    shutil.copy(store_file, path)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(
            "INSERT INTO entries (campaign, position, step, kind, time, content, id, key) "
            "SELECT campaign, position + ?, step, 'stopped', 1, '{}', '', '' FROM heads",
            (far,),
        )
    with contextlib.closing(open_reader(f"sqlite:///{path}")) as reader:
        (fault,) = verify_ledger(reader, "c")[1]
    assert "has rows after position " in fault


def test_binary_reveals_in_the_ledger_are_computed_again(tmp_path):
    """Every revealed reward is an end of the range, and the ledger agrees with what is computed from it."""
    path = tmp_path / "t.db"
    bench = WriterBench(path)
    bench.create(clients=("a", "b"), horizon=60, teacher="blt", low=-1.0, high=3.0, binary_reveals=True)
    for number in range(40):
        bench.pull(*(sent(f"{number}{m}", m, "xy"[number % 2], 1.5) for m in "ab"))
    assert {row.revealed for row in bench.store.read("c", 0, 1000) if hasattr(row, "revealed")} == {-1.0, 3.0}
    bench.store.close()
    with contextlib.closing(open_reader(f"sqlite:///{path}")) as reader:
        assert verify_ledger(reader, "c")[1] == []
