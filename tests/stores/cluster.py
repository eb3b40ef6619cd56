"""A PostgreSQL server of the tests' own, on a socket in a temporary folder."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import psycopg

OPTIONS = (
    "-c listen_addresses='' -c unix_socket_directories={folder} -c shared_buffers=16MB -c max_connections=40"
    " -c max_wal_size=32MB"  # its files may lie in memory
)


def binaries():
    """The folder with `initdb` and `postgres`, the newest version's first; None if no version is installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: -int(path.parts[4]))
    if found:
        return found[0].parent
    named = shutil.which("initdb")
    return Path(named).resolve().parent if named else None


@contextlib.contextmanager
def running(folder_of_binaries, **settings):
    """Starts a server and gives its folder; PostgreSQL will not run as root, so then as the user postgres."""
    user = {"user": "postgres"} if os.geteuid() == 0 else {}
    # In memory where that is possible: what is tested is not the disk, and a socket's path must be short.
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108
    with tempfile.TemporaryDirectory(prefix="tutelage-", dir=place) as name:
        folder = Path(name)
        if user:
            shutil.chown(folder, "postgres")

        def run(program, *arguments):
            command = [str(folder_of_binaries / program), *map(str, arguments)]
            subprocess.run(command, check=True, capture_output=True, cwd=folder, timeout=60, **user)

        run(
            "initdb", "--pgdata", folder / "data", "--username", "postgres", "--auth", "trust",
            "--encoding", "UTF8", "--locale", "C.UTF-8", "--wal-segsize", "1", "--no-sync",
        )  # fmt: skip
        options = OPTIONS.format(folder=folder) + "".join(f" -c {name}={value}" for name, value in settings.items())
        data, log = folder / "data", folder / "log"
        run("pg_ctl", "--pgdata", data, "--log", log, "--options", options, "--wait", "start")
        try:
            yield folder
        finally:
            run("pg_ctl", "--pgdata", data, "--mode", "immediate", "--wait", "stop")


def url(folder, database, user="postgres"):
    """The address of a database of a server."""
    return f"postgresql://{user}@/{database}?host={folder}"


def end_leases(url):
    """As if ten seconds had passed for every leader of a database."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("UPDATE heads SET lease_until = clock_timestamp() - interval '1 second'")
