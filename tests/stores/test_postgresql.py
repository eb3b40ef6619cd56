"""The server: leases, fences, lost connections, and what it must be like."""

import contextlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import psycopg
import pytest
from tests.stores import cluster

from tutelage import stores
from tutelage.errors import InputError
from tutelage.stores.base import CommitUncertain, LeaseLost, StoreBroken, StoreError, StoreFull
from tutelage.stores.postgresql import store as postgresql
from tutelage.stores.postgresql.connection import hide_password
from tutelage.testing.ledger_rows import grow


@pytest.fixture
def url(new_database):
    """A database with one campaign."""
    url = new_database()
    store = stores.open_store(url)
    store.create("c", "{}", 1, 1, "{}")
    store.close()
    return url


@pytest.fixture
def sql(url):
    """Runs a statement as a bystander."""
    with psycopg.connect(url, autocommit=True) as connection:
        yield connection.execute


def _end_lease(sql):
    sql("UPDATE heads SET lease_until = clock_timestamp() - interval '1 second'")


def test_the_log_is_measured_if_that_is_allowed(url, sql):
    """It is that of the whole server, and only members of pg_monitor see it."""
    assert stores.measure(url).log_bytes > 0
    sql("CREATE ROLE limited LOGIN")
    sql("GRANT SELECT ON ALL TABLES IN SCHEMA public TO limited")
    size = stores.measure(url.replace("postgres@", "limited@"))
    assert (size.log_bytes, size.first) == (None, 1)


def test_a_valid_lease_keeps_others_out(url, sql, opened):
    """Another store gets nothing until the lease has ended, by the database's clock, or was given up."""
    first, second = opened(stores.open_store(url)), opened(stores.open_store(url))
    token = first.lead("c", "http://first")
    assert second.lead("c", "http://first") is None
    assert second.load("c")[0].leader == second.campaigns()[0].leader == "http://first"
    remaining = sql("SELECT extract(epoch FROM lease_until - clock_timestamp()) FROM heads").fetchone()[0]
    assert 8 < remaining <= 10
    _end_lease(sql)
    assert second.load("c")[0].leader is None
    later = second.lead("c", "http://second")
    assert later > token
    assert list(first.renew(["c"], "http://first")) == []
    with pytest.raises(LeaseLost):
        grow(first, token, 0, 1)
    assert grow(second, later, 0, 1) == 1
    second.release(["c"])
    assert first.lead("c", "http://first") > later


def test_renewing_extends_the_lease(url, sql, opened):
    """A renewal is ten seconds from now, also of a lease that has ended and that no server has taken over."""
    store = opened(stores.open_store(url))
    store.lead("c", "here")
    _end_lease(sql)
    assert list(store.renew(["c"], "here")) == ["c"]
    assert sql("SELECT lease_until > clock_timestamp() + interval '8 seconds' FROM heads").fetchone()[0]


def test_another_leaders_campaign_is_not_deleted(url, opened):
    """Deleting needs the lease to be one's own, or nobody's."""
    first, second = opened(stores.open_store(url)), opened(stores.open_store(url))
    first.lead("c", "here")
    with pytest.raises(LeaseLost, match="Another server now leads"):
        second.delete("c")


LEADER = """
import sys
from tutelage.testing.ledger_rows import grow
from tutelage import stores
store = stores.open_store(sys.argv[1])
token, position = store.lead("c", "old"), 0
print("leading", flush=True)
while True:
    try:
        position = grow(store, token, position, 1, prefix="old")
    except stores.base.LeaseLost:
        print("fenced", position, flush=True)
        break
    except stores.base.StoreError:
        pass
"""


def test_a_leader_that_was_stopped_writes_nothing_after_the_takeover(url, sql, opened):
    """SIGSTOP, a takeover, SIGCONT: the old one's rows end where the new one's begin."""
    process = subprocess.Popen([sys.executable, "-c", LEADER, url], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "leading\n"
        time.sleep(0.2)
        process.send_signal(signal.SIGSTOP)
        _end_lease(sql)
        store = opened(stores.open_store(url))
        deadline = time.monotonic() + 20
        while (token := store.lead("c", "new")) is None and time.monotonic() < deadline:
            _end_lease(sql)
        taken_over = store.load("c")[0].head.position
        position = grow(store, token, taken_over, 3, prefix="new")
        process.send_signal(signal.SIGCONT)
        word, _ = process.stdout.readline().split()
        assert word == "fenced"
    finally:
        process.kill()
        process.communicate()
    ids = [row.id for row in stores.base.pages(store, "c")]
    assert len(ids) == position
    assert [id[:3] for id in ids] == ["old"] * taken_over + ["new"] * 3


def test_a_leader_stopped_in_a_transaction_does_not_hold_the_campaign(url, opened, monkeypatch):
    """The server ends its session, the campaign is taken over, and the old one finds itself fenced."""
    monkeypatch.setattr(postgresql, "_BEGIN", postgresql._BEGIN.replace("'8s'", "'300ms'"))
    monkeypatch.setattr(postgresql, "_LEAD", postgresql._LEAD.replace("10 seconds", "100 milliseconds"))
    old, new = opened(stores.open_store(url)), opened(stores.open_store(url))
    token = old.lead("c", "old")

    def halted():
        with old._transaction():
            old._execute("UPDATE heads SET position = 0 WHERE token = %s", (token,))
            deadline = time.monotonic() + 20
            while (later := new.lead("c", "new")) is None and time.monotonic() < deadline:
                pass
            assert grow(new, later, 0, 2) == 2
            old._execute("UPDATE heads SET position = 9", ())

    with pytest.raises(StoreError):
        halted()
    with pytest.raises(LeaseLost):
        grow(old, token, 0, 1, prefix="old")
    assert new.load("c")[0].head.position == 2


class Wire:
    """Stands between a store and its server; cuts the connection when a COMMIT comes by."""

    def __init__(self, folder, place):
        self.target, self.cut, self._silent = f"{folder}/.s.PGSQL.5432", None, False
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(f"{place}/.s.PGSQL.5432")
        self._server.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._server.accept()
                self._silent = False
                server = socket.socket(socket.AF_UNIX)
                server.connect(self.target)
                for source, sink in ((client, server), (server, client)):
                    forward = threading.Thread(target=self._forward, args=(source, sink, source is client), daemon=True)
                    forward.start()

    def _forward(self, source, sink, towards_server):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if towards_server and b"COMMIT\0" in data and self.cut:
                    self._silent = True
                    if self.cut == "behind":
                        sink.sendall(data)
                        source.settimeout(0.3)  # the server's answer comes, and is not handed on
                        source.recv(1)
                    break
                if self._silent and not towards_server:
                    break
                sink.sendall(data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def close(self):
        """Takes no more."""
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()


@pytest.mark.parametrize(("cut", "committed"), [("before", 0), ("behind", 3)])
def test_a_connection_lost_during_commit_is_uncertain(url, postgresql, opened, cut, committed):
    """Whether the COMMIT arrived is not known: the store says so, and loading tells."""
    with contextlib.ExitStack() as stack:
        place = stack.enter_context(tempfile.TemporaryDirectory())  # a socket's path must be short
        wire = Wire(postgresql, place)
        stack.callback(wire.close)
        store = opened(stores.open_store(url.replace(str(postgresql), place)))
        token = store.lead("c", "here")
        wire.cut = cut
        with pytest.raises(CommitUncertain, match="lost during a COMMIT"):
            grow(store, token, 0, 3, state='{"a": 1}')
        wire.cut = None
        assert store.load("c")[0].head.position == committed
        assert grow(store, token, committed, 2, prefix="later", state='{"a": 1}') == committed + 2
        assert store.load("c")[0].head.state == '{"a": 1}'
        store.close()


def test_a_connection_lost_before_is_made_anew(url, sql, opened):
    """A session that the server has ended costs one error, of the kind that may be tried again."""
    store = opened(stores.open_store(url))
    reader, token = opened(store.reader()), store.lead("c", "here")
    sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'tutelage'")
    with pytest.raises(StoreError) as caught:
        grow(store, token, 0, 1)
    assert type(caught.value) is StoreError
    assert grow(store, token, 0, 1) == 1
    with pytest.raises(StoreError):
        reader.read("c", 0, 10)
    assert len(reader.read("c", 0, 10)) == 1


@pytest.mark.parametrize(("code", "error"), [("53100", StoreFull), ("58030", StoreBroken), ("XX001", StoreBroken)])
def test_the_servers_faults_are_told_apart(url, sql, opened, code, error):
    """A full disk may have room again; a failed one is final."""
    store = opened(stores.open_store(url))
    sql(
        "CREATE FUNCTION fails() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '{code}'; END $$"
    )
    sql("CREATE TRIGGER fails BEFORE UPDATE ON heartbeats EXECUTE FUNCTION fails()")
    with pytest.raises(error):
        store.probe()
    sql("DROP TRIGGER fails ON heartbeats")
    with pytest.raises(StoreBroken) if error is StoreBroken else contextlib.nullcontext():
        store.probe()


def test_no_session_has_anything_of_its_own(url, sql, opened):
    """Nothing that a pooler would hand on: settings, prepared statements, locks end with a transaction."""
    store = opened(stores.open_store(url))
    token = store.lead("c", "here")
    for position in range(12):
        grow(store, token, position, 1)
        store.find("c", ["a", "b"])
        store.read("c", 0, 5)
    ask = store._connection.execute
    assert ask("SELECT name FROM pg_prepared_statements").fetchall() == []
    changed = ask("SELECT name FROM pg_settings WHERE source = 'session'").fetchall()
    assert [name for (name,) in changed if name != "client_encoding"] == []
    assert sql("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'").fetchone() == (0,)


def test_a_server_that_does_not_sync_is_refused():
    """fsync = off may lose what was committed."""
    binaries = cluster.binaries()
    if binaries is None:
        pytest.skip("no PostgreSQL server is installed")
    with cluster.running(binaries, fsync="off") as folder, pytest.raises(StoreBroken, match="fsync = off"):
        stores.open_store(cluster.url(folder, "postgres"))


def test_a_database_of_another_encoding_is_refused(postgresql):
    """Ids hold any letter, so the database must."""
    with psycopg.connect(cluster.url(postgresql, "postgres"), autocommit=True) as connection:
        connection.execute("CREATE DATABASE ascii ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0")
    with pytest.raises(StoreBroken, match="ENCODING 'UTF8'"):
        stores.open_store(cluster.url(postgresql, "ascii"))


def test_foreign_tables_and_newer_schemas_are_refused(new_database):
    """The database of another program or of a newer version is left unchanged."""
    foreign, newer = new_database("empty"), new_database()
    with psycopg.connect(foreign, autocommit=True) as connection:
        connection.execute("CREATE TABLE theirs (a int)")
    with pytest.raises(InputError, match="tables of another program"):
        stores.open_store(foreign)
    with psycopg.connect(newer, autocommit=True) as connection:
        connection.execute("UPDATE tutelage_version SET version_num = '0009'")
    for ask in (stores.open_store, stores.upgrade, stores.check):
        with pytest.raises(InputError, match="has schema 9, but this release of Tutelage reads schemas up to 2"):
            ask(newer)


def test_two_servers_may_start_at_once(new_database, python):
    """Both find the tables, which one of them has made."""
    url = new_database("empty")
    results, code = [], "import sys; from tutelage import stores; stores.open_store(sys.argv[1]).close()"

    def start():
        results.append(python("-c", code, url, check=False).returncode)

    threads = [threading.Thread(target=start) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [0, 0, 0]


def test_a_server_that_is_not_there_is_one_sentence(tmp_path):
    """The address is shown without its password."""
    with pytest.raises(StoreError, match="cannot be reached") as caught:
        stores.open_store(f"postgresql://me:hunter2@/db?host={tmp_path}&password=hunter2")
    assert "hunter2" not in str(caught.value)


def test_addresses_are_shown_without_passwords():
    """Wherever it stands in the address."""
    assert hide_password("postgresql://me:p%40ss@h:5,h2/d?sslmode=require&password=x") == (
        "postgresql://me@h:5,h2/d?sslmode=require"
    )
    assert hide_password("postgresql:///d?host=/run/x") == "postgresql:///d?host=/run/x"


def test_backup_names_the_tool(url):
    """PostgreSQL's own does it."""
    with pytest.raises(InputError, match=r"pg_dump --format=custom --file=x\.dump"):
        stores.backup(url, "x.dump")


def test_a_page_is_found_without_statistics(url, sql, opened):
    """However many rows there are, ids are looked up in their index, before any ANALYZE too."""
    store = opened(stores.open_store(url))
    token, position = store.lead("c", "here"), 0
    for _ in range(10):
        position = grow(store, token, position, 1000)
    plan = sql(f"EXPLAIN {postgresql._FIND}", (postgresql._text_array(["a"] * 1000), 1)).fetchall()
    assert "pulls_by_id" in str(plan)
    assert "Seq Scan on pulls" not in str(plan)
