"""A backup that is made while a server uses the store is restored elsewhere, as docs/operating.md says."""

import shutil
import subprocess

import pytest
from tests.service.conftest import InProcessServer
from tests.stores import cluster
from typer.testing import CliRunner

from tutelage.cli.app import app

PULLS = 40


def pull(number):
    """A pull of one of two clients."""
    return {"id": str(number), "client": "ab"[number % 2], "arm": "xy"[number // 2 % 2], "reward": number / 100}


def run(*arguments):
    """Run a command, which succeeds."""
    done = CliRunner().invoke(app, [str(each) for each in arguments])
    assert done.exit_code == 0, done.output
    return done.output


def totals(server):
    """Counts and sums of the campaign."""
    return server.call("GET", "/v1/campaigns/c/totals").json()


def backup_sqlite(url, folder, _):
    """`tutelage db backup`, and its copy in another place."""
    run("db", "backup", folder / "copy.db", "--store", url)
    (folder / "elsewhere").mkdir()
    shutil.copy(folder / "copy.db", folder / "elsewhere" / "t.db")
    return f"sqlite:///{folder}/elsewhere/t.db"


def backup_postgresql(url, folder, new_database):
    """`pg_dump`, and `pg_restore` into an empty database."""
    binaries, restored = cluster.binaries(), new_database("empty")
    dump = ["--format=custom", f"--file={folder}/copy.dump", url]
    subprocess.run([binaries / "pg_dump", *dump], check=True, capture_output=True)
    restore = ["--exit-on-error", "--no-owner", "-d", restored, folder / "copy.dump"]
    subprocess.run([binaries / "pg_restore", *restore], check=True, capture_output=True)
    return restored


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_backup_is_restored(kind, tmp_path, request):
    """Up to the backup all is there, a replay has its answer, and new pulls go on where the ledger ends."""
    new_database = request.getfixturevalue("new_database") if kind == "postgresql" else None
    url = new_database() if new_database else f"sqlite:///{tmp_path}/t.db"
    server = InProcessServer(url)
    server.create(teacher="blt", horizon=1_000)
    first = server.pull(*map(pull, range(PULLS))).json()["pulls"]
    before = totals(server)
    restored = (backup_postgresql if new_database else backup_sqlite)(url, tmp_path, new_database)
    server.pull(*map(pull, range(PULLS, 2 * PULLS)))
    after = totals(server)
    server.close()
    run("ledger", "verify", "--store", restored)
    if new_database:
        cluster.end_leases(restored)  # the dump has the lease of the server that ran
    again = InProcessServer(restored)
    try:
        assert totals(again) == before
        replayed = again.pull(*map(pull, range(PULLS))).json()["pulls"]
        assert replayed == [one | {"replayed": True} for one in first]
        again.pull(*map(pull, range(PULLS, 2 * PULLS)))
        assert totals(again) == after
    finally:
        again.close()
    run("ledger", "verify", "--store", restored)
