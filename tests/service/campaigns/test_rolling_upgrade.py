"""Servers of an older and a newer release on one PostgreSQL: what docs/operating.md says about upgrades."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from tests.service.campaigns.senders import Senders, until
from tests.service.server_processes import ROOT, ServerProcess

from tutelage.stores.sql import migrations

# The next release, whose schema has one more revision.
NEWER = """
from tutelage.stores.postgresql import database, store
from tutelage.stores.sql import migrations, schema
for module in (migrations, schema, store, database):
    module.VERSION = 3
migrations.__file__ = {file!r}
"""
# The older release's statements would all work on that schema; only the version differs.
REVISION = '''
"""The next schema."""

from alembic import op

revision, down_revision = "0003", "0002"


def upgrade():
    op.execute("ALTER TABLE pulls ADD COLUMN note TEXT")
    op.execute("CREATE TABLE reached AS SELECT position, token FROM heads")
'''


@pytest.fixture
def newer(tmp_path):
    """The commands that make a process one of the newer release."""
    folder = tmp_path / "newer"
    shutil.copytree(Path(migrations.__file__).parent / "versions", folder / "versions")
    (folder / "versions" / "v0003_next.py").write_text(REVISION)
    return NEWER.format(file=str(folder / "__init__.py"))


def tutelage(*arguments, before=""):
    """A command, until it ends: the process."""
    program = f"{before}\nfrom tutelage.cli import main\nmain()"
    paths = os.pathsep.join([str(ROOT), *filter(None, sys.path)])
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=os.environ | {"PYTHONPATH": paths},
    )


def heads(url, table="heads"):
    """Where the only campaign stands: position and token."""
    with psycopg.connect(url) as connection:
        return connection.execute(f"SELECT position, token FROM {table}").fetchone()


def test_a_server_that_is_older_than_the_schema_writes_nothing(new_database, tmp_path, newer):
    """The schema changes under load: the older server says why it stops, a newer one goes on, nothing is lost."""
    url = new_database()
    with contextlib.ExitStack() as stack:

        def begin(**options):
            server = ServerProcess(url, tmp_path, advertise=True, **options)
            stack.callback(server.end, signal.SIGKILL)
            return server

        old, follower = begin(), begin()
        old.create(horizon=100_000, teacher="twl(gamma1=1,gamma2=0)")
        senders = Senders(old, follower)
        senders.wait()
        refused = tutelage("serve", "--store", url, "--port", "0", "--no-migrate", before=newer)
        assert refused.returncode == 2
        assert "has schema 2, but this release of Tutelage needs schema 3" in refused.stderr
        senders.wait()  # as if nothing had been
        done = tutelage("db", "upgrade", "--store", url, before=newer)
        assert done.returncode == 0, done.stderr
        until(lambda: any("now has schema 3" in refusal for refusal in senders.refusals))
        until(lambda: not old.is_ready() and not follower.is_ready())
        assert heads(url) == heads(url, "reached")  # nothing has been added since the schema changed
        late = tutelage("serve", "--store", url, "--port", "0")
        assert late.returncode == 2
        assert "has schema 3, but this release of Tutelage reads schemas up to 2" in late.stderr
        assert "schema 3" in tutelage("key", "create", "boss", "--role", "admin", "--store", url).stderr
        new = begin(before=newer)
        senders.addresses.append(new.address)
        senders.wait()
        assert heads(url)[1] > heads(url, "reached")[1]
        assert [old.end(), follower.end()] == [0, 0]
        senders.wait()
        senders.stop()
        senders.check_replays(new)
        verified = tutelage("ledger", "verify", "--store", url, before=newer)
        assert verified.returncode == 0, verified.stderr
        with psycopg.connect(url) as connection:
            ids = connection.execute("SELECT id FROM pulls").fetchall()
        assert sorted(ids) == sorted((f"p{number}",) for number in senders.answers)


def test_servers_of_one_schema_are_replaced_one_by_one(new_database, tmp_path):
    """Under load, each in turn, the leader too: somebody answers every pull, and none is lost."""
    url = new_database()
    with contextlib.ExitStack() as stack:

        def begin(*arguments):
            server = ServerProcess(url, tmp_path, *arguments, advertise=True)
            stack.callback(server.end, signal.SIGKILL)
            return server

        old = [begin(), begin()]
        old[0].create(horizon=100_000, teacher="twl(gamma1=1,gamma2=0)")
        senders = Senders(*old)
        senders.wait()
        for server in old:
            new = begin("--no-migrate")
            senders.addresses.append(new.address)
            senders.wait()
            senders.addresses.remove(server.address)
            assert server.end() == 0
            senders.wait()
        senders.stop()
        senders.check_kept(url)
        senders.check_replays(new)
