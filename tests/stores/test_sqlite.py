"""The file: its faults at the door, and the disk's while it is open."""

import contextlib
import os
import re
import resource
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.stores.golden import make_first

from tutelage import stores
from tutelage.errors import InputError
from tutelage.stores.base import KeyRow, StoreBroken, StoredCampaign, StoreError, StoreFull, StoreInUse
from tutelage.stores.sqlite import database_file
from tutelage.stores.sqlite import store as sqlite
from tutelage.testing.ledger_rows import grow


@pytest.fixture
def path(tmp_path):
    """Where the file is."""
    return tmp_path / "tutelage.db"


@pytest.fixture
def url(path):
    """Its address."""
    return f"sqlite:///{path}"


@pytest.fixture
def filled(url):
    """A closed file of some pages with a campaign."""
    store = stores.open_store(url)
    store.create("c", "{}", 1, 1, "{}")
    grow(store, store.lead("c", "here"), 0, 3000)
    store.close()


def test_a_first_versions_file_is_read(tmp_path):
    """The file of the first release opens in this one and holds what was written."""
    copy = tmp_path / "first.sqlite"
    shutil.copy(make_first.FILE, copy)
    store = stores.open_store(f"sqlite:///{copy}")
    stored, snapshot = store.load("c")
    head = stored.head
    assert stored == StoredCampaign("c", make_first.SETTINGS, 1, 17, head, None)
    assert (head.position, head.status, head.state) == (42, "stopped", make_first.STATE)
    assert snapshot == make_first.SNAPSHOT
    assert store.read("c", 0, 100) == make_first.ROWS
    assert {id for id, known in store.find("c", [f"pull-{i:08d}" for i in range(50)]).items() if known.corrected} == {
        "pull-00000005"
    }
    assert store.keys() == [make_first.KEY]
    assert grow(store, store.lead("c", "here"), 42, 3, prefix="later") == 45
    store.close()
    assert stores.check(f"sqlite:///{copy}") == []


def test_the_first_schema_stays_as_it_was(tmp_path, url):
    """A new file has the tables, indexes and triggers of the first release's file, brought to the newest schema."""
    copy = tmp_path / "first.sqlite"
    shutil.copy(make_first.FILE, copy)
    found = []
    for address in (f"sqlite:///{copy}", url):
        stores.upgrade(address)
        with contextlib.closing(sqlite3.connect(address.removeprefix("sqlite:///"))) as connection:
            rows = connection.execute("SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'")
            found.append({(kind, name): " ".join(sql.split()) for kind, name, sql in rows})
    assert found[0] == found[1]


def test_a_new_file_is_announced_once(url, opened):
    """Creating says so; opening again does not."""
    assert stores.open_store(url).close() is None
    path = Path(url.removeprefix("sqlite:///"))
    path.unlink()
    first = opened(stores.open_store(url))
    assert f"{path} was created." in first.notes
    first.close()
    assert not any("created" in note for note in opened(stores.open_store(url)).notes)


def test_the_file_is_locked_by_its_real_path(url, path, opened):
    """A second server learns which process has it, by another name of the file too, until it is closed."""
    store = opened(stores.open_store(url))
    other = path.with_name("link.db")
    other.symlink_to(path)
    for name in (url, f"sqlite:///{other}"):
        with pytest.raises(StoreInUse, match=f"in use by process {os.getpid()}"):
            stores.open_store(name)
        with pytest.raises(StoreInUse):
            stores.upgrade(name)
    store.close()
    opened(stores.open_store(f"sqlite:///{other}"))


def test_a_killed_servers_lock_is_free(url, path, opened, python):
    """A process that is killed leaves no lock behind, and what it had committed."""
    code = (
        "import os, signal, sys\nfrom tutelage import stores\n"
        "store = stores.open_store(sys.argv[1]); store.create('c', '{}', 1, 1, '{}')\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert python("-c", code, url, check=False).returncode == -9
    assert path.with_name("tutelage.db-wal").stat().st_size > 0
    assert opened(stores.open_store(url)).load("c")[0].settings == "{}"


@pytest.mark.parametrize("content", [b"not a database at all" * 10, b"SQLite format 3\0", b"x"])
def test_another_file_is_refused(url, path, content):
    """A file of any other kind is left as it is."""
    path.write_bytes(content)
    for ask in (stores.open_store, stores.upgrade):
        with pytest.raises(InputError, match="is not a SQLite database"):
            ask(url)
    assert path.read_bytes() == content


def test_another_programs_database_is_refused(url, path):
    """A database without our mark is left as it is."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE theirs (a)")
    content = path.read_bytes()
    for ask in (stores.open_store, stores.upgrade, stores.check, stores.open_keys):
        with pytest.raises(InputError, match="database of another program"):
            ask(url)
    assert path.read_bytes() == content


def test_nothing_is_made_beside_a_file_that_is_not_ours(path):
    """The file is looked at first: no lock, no journal is left next to another program's file or a pipe."""
    folder = path.parent
    (folder / "text").write_text("root:x:0:0\n" * 20)
    os.mkfifo(folder / "pipe")
    with contextlib.closing(sqlite3.connect(folder / "theirs")) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE theirs (a)")
    (folder / "loop").symlink_to("loop")
    (folder / "poetry.lock").write_text('[[package]]\nname = "theirs"\n')
    before = {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}
    names = sorted(file.name for file in folder.iterdir())
    for name in ("text", "pipe", "theirs", "loop", "poetry", "n" * 250, "n" * 300):
        url = f"sqlite:///{folder}/{name}"
        for ask in (stores.open_store, stores.open_keys, stores.open_reader, stores.upgrade, stores.check):
            with pytest.raises(InputError, match=str(folder)):
                ask(url)
        with pytest.raises(InputError, match=str(folder)):
            stores.backup(url, f"{folder}/copy")
    assert sorted(file.name for file in folder.iterdir()) == names
    assert {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()} == before


def test_a_lock_that_lost_its_end_is_still_one(url, path, filled):
    """A power failure may leave zeros where the process's number was."""
    lock = path.with_name("tutelage.db.lock")
    for content in (b"", b"\0" * 6, b"4711\n"):
        lock.write_bytes(content)
        stores.open_store(url).close()
    assert lock.read_text() == f"{os.getpid()}\n"


def test_a_file_with_two_names_is_refused(url, path, filled):
    """By either name, whether or not a server runs: lock and log belong to a name, and would be two."""
    second = path.with_name("second.db")
    os.link(path, second)
    for name in (path, second):
        for ask in (stores.open_store, stores.open_keys, stores.open_reader, stores.upgrade, stores.check):
            with pytest.raises(InputError, match=rf"has 2 names .* -samefile {name}`"):
                ask(f"sqlite:///{name}")
    assert not second.with_name("second.db.lock").exists()
    second.unlink()
    stores.open_store(url).close()


def test_a_newer_database_is_refused(url, path, filled):
    """A schema that this version does not know is named, and nothing is changed."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 7")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for ask in (stores.open_store, stores.upgrade, stores.check, stores.open_reader):
        with pytest.raises(InputError, match="has schema 7, but this release of Tutelage reads schemas up to 2"):
            ask(url)


def test_a_truncated_file_is_refused(url, path, filled):
    """A file shorter than its page count is named with both sizes."""
    size = path.stat().st_size
    os.truncate(path, size - 4096)
    for ask in (stores.open_store, stores.check):
        with pytest.raises(StoreBroken, match=f"was cut off: it has {size - 4096} bytes"):
            ask(url)


def test_a_corrupted_page_is_found(url, path, filled):
    """A page overwritten in the midst is a finding of `check`, and one sentence when it is read."""
    with path.open("rb+") as file:
        file.seek(path.stat().st_size // 2 // 4096 * 4096)
        file.write(b"\xa5" * 4096)
    findings = stores.check(url)
    assert findings
    assert all("is damaged" in sentence for sentence in findings)
    store = stores.open_store(url)

    def read_all():
        list(stores.base.pages(store, "c"))
        store.find("c", [f"pull-{i:08d}" for i in range(3000)])

    with pytest.raises(StoreBroken, match="is damaged"):
        read_all()
    store.close()


@pytest.fixture
def unprivileged(path):
    """A user for whom permissions count."""
    if os.geteuid() != 0:
        yield
        return
    folder = path.parent
    for parent in (folder, *folder.parents):
        if parent.stat().st_uid == 0 and not parent.stat().st_mode & 0o001:
            parent.chmod(0o755)
    os.chown(folder, 65534, 65534)
    for file in folder.iterdir():
        os.chown(file, 65534, 65534)
    os.seteuid(65534)
    yield
    os.seteuid(0)


def test_a_read_only_file_is_one_sentence(url, path, filled, unprivileged):
    """A file or folder that cannot be written is named with the remedy."""
    path.chmod(0o444)
    with pytest.raises(StoreBroken, match=rf"cannot be written: make it writable with `chmod u\+rw {path}[` ]"):
        stores.open_store(url)
    path.chmod(0o644)
    path.with_name("tutelage.db.lock").unlink()
    path.parent.chmod(0o555)
    try:
        with pytest.raises(StoreBroken, match=r"make its folder, which belongs to .*, writable for "):
            stores.open_store(url)
    finally:
        path.parent.chmod(0o755)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files that another user cannot write")
def test_a_file_of_another_user_is_named_with_its_owner(url, path):
    """As when root created the first key: the message names the owner and one command for all files of the store."""
    stores.open_keys(url).close()
    for folder in (path.parent, *path.parent.parents):
        if not folder.stat().st_mode & 0o001:
            folder.chmod(0o755)
    os.chown(path.parent, 65534, 65534)
    os.seteuid(65534)
    try:
        for ask in (stores.open_store, stores.open_keys, stores.open_reader):
            with pytest.raises(StoreBroken) as caught:
                ask(url)
            sentence = str(caught.value)
            assert " belongs to root and cannot be " in sentence
            assert re.search(rf"with `chown \S+ {path} {path}\.lock`\.$", sentence), sentence
    finally:
        os.seteuid(0)
    for file in path.parent.iterdir():
        os.chown(file, 65534, 65534)
    os.seteuid(65534)
    try:
        stores.open_store(url).close()
    finally:
        os.seteuid(0)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make folders that another user cannot enter")
def test_a_folder_that_may_not_be_entered_is_named_with_its_owner(url, path, filled):
    """As the service's folder, for anybody else."""
    for folder in path.parent.parents:
        if not folder.stat().st_mode & 0o001:
            folder.chmod(0o755)
    path.parent.chmod(0o700)
    os.seteuid(65534)
    try:
        for ask in (stores.open_store, stores.open_keys, stores.open_reader):
            with pytest.raises(InputError, match=f"run this as root, the owner of the folder {path.parent}"):
                ask(url)
    finally:
        os.seteuid(0)


def test_strangers_can_read_no_new_file(url, path, filled):
    """Neither the database, its side files while it is open, nor a copy."""
    before = os.umask(0o022)
    path.with_name("tutelage.db.lock").unlink()
    path.rename(path.with_name("old.db"))
    try:
        store = stores.open_store(url)
        stores.backup(url, f"{path.parent}/copy.db")
        modes = {file.name: file.stat().st_mode & 0o777 for file in path.parent.iterdir()}
        store.close()
    finally:
        os.umask(before)
    del modes["old.db"]
    assert set(modes) == {"tutelage.db", "tutelage.db-wal", "tutelage.db-shm", "tutelage.db.lock", "copy.db"}
    assert set(modes.values()) == {0o640}


def test_creating_keys_next_to_a_server_moves_nothing_into_the_file(url, path, opened):
    """The log is the server's to move: what SQLite's WAL-reset bug needs never comes about."""
    store = opened(stores.open_store(url))
    store.probe()
    content = path.read_bytes()
    logged = path.with_name("tutelage.db-wal").stat().st_size
    for number in range(400):
        keys = stores.open_keys(url)
        keys.create_key(KeyRow(f"key {number}", b"%032d" % number, "viewer", None, (), 1))
        keys.close()
    assert path.read_bytes() == content
    assert path.with_name("tutelage.db-wal").stat().st_size > logged


def test_a_full_database_takes_nothing_and_recovers(url, filled):
    """Without room the whole transaction is undone; with room the same one succeeds."""
    store: Any = stores.open_store(url)
    token = store.lead("c", "here")
    pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
    store._connection.execute(f"PRAGMA max_page_count = {pages}")
    for _ in range(3):
        with pytest.raises(StoreFull, match="is full"):
            grow(store, token, 3000, 2000, state='{"a": 1}')
    assert store.load("c")[0].head.position == 3000 == len(store.read("c", 0, 9999))
    store._connection.execute("PRAGMA max_page_count = 1000000")
    assert grow(store, token, 3000, 2000, state='{"a": 1}') == 5000
    store.close()
    assert stores.check(url) == []


FULL_DISK = """
import subprocess, sys
from tutelage.testing.ledger_rows import grow
from tutelage import stores
folder, url = sys.argv[1], f"sqlite:///{sys.argv[1]}/tutelage.db"
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", folder], check=True)
store = stores.open_store(url)
store.create("c", "{}", 1, 1, "{}")
token, position, failures = store.lead("c", "here"), 0, 0
while failures < 5:
    try:
        position = grow(store, token, position, 300)
    except stores.base.StoreFull:
        failures += 1
assert position == store.load("c")[0].head.position > 0
try:
    store.probe()
except stores.base.StoreFull:
    pass
subprocess.run(["mount", "-o", "remount,size=20m", folder], check=True)
for _ in range(20):
    position = grow(store, token, position, 300)
store.close()
assert stores.check(url) == []
assert [row.position for row in stores.base.pages(stores.open_reader(url), "c")] == list(range(1, position + 1))
print("recovered")
"""


def test_a_full_disk_takes_nothing_and_recovers(tmp_path):
    """On a file system of two megabytes writing stops with StoreFull, and continues once it has grown."""
    namespace = ["unshare", "--user", "--map-root-user", "--mount"]
    if shutil.which("unshare") is None or subprocess.run([*namespace, "true"], check=False).returncode:
        pytest.skip("no mount namespaces here")
    command = [*namespace, sys.executable, "-c", FULL_DISK, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "recovered\n", done.stderr


@contextlib.contextmanager
def files_limited_to(size):
    """Within it writing beyond that size fails, which SQLite takes for a failure of the disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_failing_disk_is_final(url, filled):
    """After an input/output error nothing is written any more, even if the disk works again."""
    store = stores.open_store(url)
    token = store.lead("c", "here")
    with files_limited_to(200_000), pytest.raises(StoreBroken, match="The disk under"):
        grow(store, token, 3000, 5000)
    for again in (store.probe, lambda: grow(store, token, 3000, 1)):
        with pytest.raises(StoreBroken, match="The disk under"):
            again()
    store.close()
    store = stores.open_store(url)
    assert store.load("c")[0].head.position == len(store.read("c", 0, 9999)) == 3000
    store.close()


def test_a_failed_checkpoint_stops_the_next_write(url, path, filled, monkeypatch):
    """The commit stands, since the log holds it; but a server that failed to move it is not trusted any more."""
    store = stores.open_store(url)
    token = store.lead("c", "here")
    monkeypatch.setattr(sqlite, "CHECKPOINT_PAGES", 1)
    with files_limited_to(path.stat().st_size):
        assert grow(store, token, 3000, 200) == 3200
        with pytest.raises(StoreBroken, match="The disk under"):
            store.probe()
    store.close()
    store = stores.open_store(url)
    assert store.load("c")[0].head.position == 3200
    store.close()
    assert stores.check(url) == []


def test_the_log_does_not_grow_for_ever(url, path, opened, monkeypatch):
    """The writer moves the log's pages into the file as it goes; without that the log holds everything."""
    monkeypatch.setattr(sqlite, "CHECKPOINT_PAGES", 50)
    store = opened(stores.open_store(url))
    store.create("c", "{}", 1, 1, "{}")
    token, position = store.lead("c", "here"), 0
    for _ in range(60):
        position = grow(store, token, position, 300)
    assert path.with_name("tutelage.db-wal").stat().st_size < path.stat().st_size / 2


def test_it_syncs_and_logs_ahead(url, opened):
    """The connection that writes has the settings on which the promises rest; readers cannot write."""
    store = opened(stores.open_store(url))
    ask = store._connection.execute
    assert ask("PRAGMA journal_mode").fetchone()[0] == "wal"
    assert ask("PRAGMA synchronous").fetchone()[0] == 2
    reader = opened(store.reader())
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        reader._connection.execute("UPDATE heartbeats SET count = 0")


def test_a_busy_database_may_be_tried_again(url, path, filled):
    """Another program's transaction does not count as a disk fault: the same write succeeds after it."""
    store: Any = stores.open_store(url)
    store._connection.execute("PRAGMA busy_timeout = 10")
    token = store.lead("c", "here")
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="Another program is writing") as caught:
            grow(store, token, 3000, 1)
        assert type(caught.value) is StoreError
        other.execute("ROLLBACK")
    assert grow(store, token, 3000, 1) == 3001
    store.close()


@pytest.mark.parametrize("serving", [False, True])
def test_a_backup_is_a_store(url, tmp_path, filled, serving):
    """The copy, also one made while serving, opens and has the same contents; no file is overwritten."""
    store = stores.open_store(url) if serving else None
    target = tmp_path / "copy.db"
    assert "verified copy" in stores.backup(url, str(target))
    with pytest.raises(InputError, match="already exists"):
        stores.backup(url, str(target))
    if store:
        store.close()
    copy, original = stores.open_store(f"sqlite:///{target}"), stores.open_store(url)
    assert list(stores.base.pages(copy, "c")) == list(stores.base.pages(original, "c"))
    copy.close()
    original.close()
    assert not list(tmp_path.glob("*.part"))


KILLED = """
import os, signal, sys
import sqlalchemy
from tutelage import stores
left = [int(sys.argv[2])]
@sqlalchemy.event.listens_for(sqlalchemy.Engine, "before_cursor_execute")
def count(connection, cursor, statement, *more):
    left[0] -= not statement.lstrip().startswith(("SELECT", "PRAGMA"))
    if left[0] < 0:
        os.kill(os.getpid(), signal.SIGKILL)
stores.upgrade(sys.argv[1])
"""


@pytest.mark.parametrize("statements", [0, 1, 9, 15])
def test_a_migration_killed_midway_is_done_again(address, python, opened, statements, request):
    """Whatever it had done is undone, on both stores, and the next one does all of it."""
    if address.startswith("postgresql"):
        address = request.getfixturevalue("new_database")("empty")
    assert python("-c", KILLED, address, statements, check=False).returncode == -9
    store = opened(stores.open_store(address))
    store.create("c", "{}", 1, 1, "{}")
    assert grow(store, store.lead("c", "here"), 0, 5) == 5
    assert stores.check(address) == []


def test_network_file_systems_are_refused(tmp_path, path, monkeypatch):
    """The longest mount point decides, the later of two on one point, and escapes are read."""
    mounts = tmp_path / "mounts"
    mounts.write_text(
        "/dev/vda / ext4 rw 0 0\nserver:/x /mnt/far nfs4 rw 0 0\ntmpfs /mnt/far/near tmpfs rw 0 0\n"
        "//pc/share /mnt/a\\040b cifs rw 0 0\nnone /twice nfs rw 0 0\nnone /twice ext4 rw 0 0\n"
    )
    for name, kind in {
        "/home/x": "ext4",
        "/mnt/far/x": "nfs4",
        "/mnt/farther": "ext4",
        "/mnt/far/near/x": "tmpfs",
        "/mnt/a b/x": "cifs",
        "/twice/x": "ext4",
    }.items():
        assert database_file.find_file_system(Path(name), mounts) == kind
    assert database_file.find_file_system(Path("/x"), tmp_path / "none") is None
    monkeypatch.setattr(database_file, "find_file_system", lambda path: "nfs4")
    with pytest.raises(InputError, match=r"network file system \(nfs4\)"):
        database_file.check_place(path)


@pytest.mark.parametrize(
    ("version", "affected"),
    [
        ((3, 40, 1), True),
        ((3, 44, 5), True),
        ((3, 44, 6), False),
        ((3, 45, 0), True),
        ((3, 50, 6), True),
        ((3, 50, 7), False),
        ((3, 51, 2), True),
        ((3, 51, 3), False),
        ((3, 53, 0), False),
    ],
)
def test_the_librarys_known_fault_is_named(version, affected):
    """The versions are those of https://www.sqlite.org/wal.html, "The WAL-Reset Bug"."""
    sentences = database_file.find_library_faults(version)
    assert bool(sentences) == affected
    assert all(".".join(map(str, version)) in sentence for sentence in sentences)


@pytest.mark.parametrize(
    "url", ["", "tutelage.db", "sqlite://", "sqlite:///", "sqlite:///:memory:", "sqlite:///a?x=1", "mysql://h/d"]
)
def test_an_address_that_is_none_is_refused(url):
    """The sentence shows both forms that are."""
    with pytest.raises(InputError, match="sqlite:///FILE, postgresql://"):
        stores.open_store(url)


def test_places_that_are_none_are_refused(tmp_path):
    """A folder that is missing, a folder in the file's place and a missing file get different messages."""
    with pytest.raises(InputError, match=r"^The folder .* does not exist: .*\.$"):
        stores.open_store(f"sqlite:///{tmp_path}/no/a.db")
    with pytest.raises(InputError, match="is a folder"):
        stores.open_store(f"sqlite:///{tmp_path}")
    for ask in (stores.open_reader, stores.check, lambda url: stores.backup(url, f"{tmp_path}/copy")):
        with pytest.raises(InputError, match=r"^The database .* does not exist: .*\.$"):
            ask(f"sqlite:///{tmp_path}/none.db")
    assert [file.name for file in tmp_path.iterdir()] == []


@pytest.mark.parametrize("name", ["tutelage.db", "tutelage.db-wal"])
@pytest.mark.parametrize("how", ["removed", "replaced"])
def test_a_file_that_lost_its_name_is_written_no_more(path, url, opened, name, how):
    """Writes into it would be lost, and so would its log: the server ends."""
    store = opened(stores.open_store(url))
    store.create("c", "{}", 1, 1, "{}")
    token = store.lead("c", "here")
    grow(store, token, 0, 3)
    lost = path.with_name(name)
    lost.rename(path.with_name("elsewhere"))
    if how == "replaced":
        shutil.copy(path.with_name("elsewhere"), lost)
    with pytest.raises(StoreBroken, match=f"{name} was removed or replaced"):
        grow(store, token, 3, 1, prefix="later")
    with pytest.raises(StoreBroken, match="was removed or replaced"):
        store.probe()
