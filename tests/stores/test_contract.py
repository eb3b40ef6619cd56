"""Both stores pass the conformance suite; what else both promise."""

import psycopg
import pytest

from tutelage import stores
from tutelage.errors import InputError
from tutelage.testing import StoreContract
from tutelage.testing.ledger_rows import change, entry, grow, pull


class TestStores(StoreContract):
    """SQLite and PostgreSQL, by the fixture ``address`` of conftest.py."""

    @pytest.fixture
    def address(self, empty_store):
        """The URL of an empty store on either database."""
        return empty_store


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE pulls SET revealed = 0",
        "UPDATE pulls SET id = id",
        "DELETE FROM pulls",
        "DELETE FROM pulls WHERE position = 2",
        "UPDATE entries SET content = ''",
        "DELETE FROM entries",
    ],
)
def test_the_database_refuses_to_change_the_ledger(store, statement):
    """Triggers forbid every UPDATE and DELETE on the rows."""
    token = store.lead("c", "here")
    store.append([change(token, 0, pull(1), pull(2), entry(3))])
    with pytest.raises(Exception, match="rows of the ledger are"):
        store._connection.execute(statement)
    assert len(store.read("c", 0, 10)) == 3
    assert stores.check(_address_of(store)) == []


def _address_of(store):
    return getattr(store, "_url", store.url)


def test_keys_say_where_they_are_and_what_was_made(tmp_path, new_database, opened):
    """The address is without a password; a store that was not there is named, one that was is not."""
    path = tmp_path / "new.db"
    for url, note in ((f"sqlite:///{path}", f"{path} was created."), (new_database("empty"), "its tables.")):
        keys = opened(stores.open_keys(url))
        assert len(keys.notes) == 1
        assert keys.notes[0].endswith(note)
        assert keys.url.partition("?")[0] == url.partition("?")[0]
        keys.close()
        assert opened(stores.open_keys(url)).notes == ()


def test_nothing_is_made_for_who_only_reads_or_revokes(tmp_path, new_database):
    """Neither a file nor a table."""
    empty = new_database("empty")
    for url in (f"sqlite:///{tmp_path}/no.db", empty):
        for ask in (stores.open_reader, stores.check, lambda url: stores.open_keys(url, create=False)):
            with pytest.raises(InputError):
                ask(url)
    assert list(tmp_path.iterdir()) == []
    with psycopg.connect(empty) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
    assert tables == []


def test_rows_are_deleted_only_with_their_campaign(store):
    """After a campaign was deleted and made again, its rows are guarded as before."""
    store.delete("c")
    store.create("c", "{}", 1, 1, "{}")
    grow(store, store.lead("c", "here"), 0, 3)
    with pytest.raises(Exception, match="rows of the ledger are deleted only with their campaign"):
        store._connection.execute("DELETE FROM pulls")


def test_a_probe_commits(store):
    """Each probe is a transaction of its own, and leaves no row in a ledger."""
    count = "SELECT count FROM heartbeats"
    before = store._connection.execute(count).fetchone()[0]
    store.probe()
    store.probe()
    assert store._connection.execute(count).fetchone()[0] == before + 2
    assert store.read("c", 0, 10) == []


def test_check_finds_rows_that_are_gone(store):
    """A sound store has no findings; a ledger with a hole, or without its guard, is named."""
    token = store.lead("c", "here")
    grow(store, token, 0, 5)
    assert stores.check(_address_of(store)) == []
    connection = store._connection
    if _address_of(store).startswith("sqlite"):
        connection.execute("DROP TRIGGER pulls_are_kept")
    else:
        connection.execute("DROP TRIGGER pulls_are_kept ON pulls")
    connection.execute("DELETE FROM pulls WHERE position = 3")
    trigger, row = stores.check(_address_of(store))
    assert "trigger pulls_are_kept is missing" in trigger
    assert "'c' is at position 5 but has 4 rows" in row


def test_nothing_is_open_in_a_store_without_migration(tmp_path, new_database):
    """Without permission to migrate the error says how to migrate, on both stores."""
    for url in (f"sqlite:///{tmp_path}/new.db", new_database("empty")):
        with pytest.raises(InputError, match="tutelage db upgrade"):
            stores.open_store(url, migrate=False)
        with pytest.raises(InputError):
            stores.open_reader(url)
        assert "created" in (done := stores.upgrade(url)) or "got its tables" in done
        assert "already" in stores.upgrade(url)
        store = stores.open_store(url, migrate=False)
        assert store.campaigns() == []
        store.close()
