"""Measure how many bytes a pull takes in a store, and how many its write-ahead log takes.

    python benchmarks/server_store_size.py [--pulls N] [--postgresql URL]

URL is an empty database on a server where nothing else writes.  Pulls are those of 5 clients and 5 arms under
TWL; ids are ordered (like "0000001234") or random UUIDs, which is what other ids lie between.
"""

import argparse
import itertools
import random
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg

from tutelage.service.campaigns.messages import PullRequest
from tutelage.service.campaigns.settings import Settings
from tutelage.service.campaigns.writer import CreateJob, Job, PullJob, Writer
from tutelage.stores import open_store

CLIENTS, ARMS = tuple(f"client-{number}" for number in range(5)), tuple(f"arm-{number}" for number in range(5))


def make_pulls(ids: str, source: random.Random) -> Iterator[PullRequest]:
    """Yield pulls without end."""
    for number in itertools.count():
        id = f"{number:010}" if ids == "ordered" else str(uuid.UUID(int=source.getrandbits(128), version=4))
        yield PullRequest(id, CLIENTS[number % 5], ARMS[number // 5 % 5], source.random())


def fill(writer: Writer, name: str, ids: str, batch: int, num_pulls: int, look: Callable[[], int]) -> int:
    """Send pulls to a new campaign, a commit for each batch; return the largest value of ``look`` meanwhile."""

    def do(job: Job) -> None:
        writer._group([job])  # noqa: SLF001 - a group for each commit, without the writer's thread
        if job.error is not None:
            raise job.error

    settings = Settings(name, ARMS, 10_000_000, "twl", clients=CLIENTS)
    do(CreateJob(name, settings=settings, start=True))
    pulls, largest = make_pulls(ids, random.Random(1)), 0
    for _ in range(num_pulls // batch):
        do(PullJob(name, pulls=list(itertools.islice(pulls, batch))))
        largest = max(largest, look())
    return largest


def measure_sqlite(ids: str, batch: int, num_pulls: int) -> tuple[float, str]:
    """Return the bytes per pull in the file, and a text about the log."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "t.db"
        store = open_store(f"sqlite:///{file}")
        empty, log = file.stat().st_size, Path(f"{file}-wal")
        largest = fill(Writer(store, lambda _: None), "c", ids, batch, num_pulls, lambda: log.stat().st_size)
        store.close()
        return (file.stat().st_size - empty) / num_pulls, f"at most {largest / 1e6:.1f} MB of -wal file"


def measure_postgresql(url: str, ids: str, batch: int, num_pulls: int) -> tuple[float, str]:
    """Return the bytes per pull in the database, and a text about the log."""
    store = open_store(url)
    with psycopg.connect(url, autocommit=True) as connection:

        def ask(query: str) -> int:
            row = connection.execute(query.encode()).fetchone()
            assert row is not None  # noqa: S101 - each query has one row
            return int(row[0])

        size, log = "SELECT pg_database_size(current_database())", "SELECT pg_current_wal_lsn() - '0/0'::pg_lsn"
        before = ask(size), ask(log)
        fill(Writer(store, lambda _: None), f"c{time.time_ns()}", ids, batch, num_pulls, lambda: 0)
        written = (ask(log) - before[1]) / num_pulls
        store.close()
        return (ask(size) - before[0]) / num_pulls, f"{written:.0f} bytes of WAL per pull"


def main() -> None:
    """Print a line for each store, kind of ids and size of batches."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pulls", type=int, default=100_000)
    parser.add_argument("--postgresql", metavar="URL")
    options = parser.parse_args()
    for ids, batch in itertools.product(("ordered", "random"), (1, 100, 1_000)):
        stores = {"SQLite": measure_sqlite(ids, batch, options.pulls)}
        if options.postgresql:
            stores["PostgreSQL"] = measure_postgresql(options.postgresql, ids, batch, options.pulls)
        for name, (size, log) in stores.items():
            print(f"{name}, {ids} ids, {batch} per commit: {size:.0f} bytes per pull, {log}", flush=True)


if __name__ == "__main__":
    main()
