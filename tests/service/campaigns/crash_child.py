"""A server in a child process, controlled over a pipe: at a chosen point it is killed or its transaction fails.

The hooks are in this process's drivers, sqlite3 and psycopg; the server knows nothing of them.
"""

import contextlib
import itertools
import os
import resource
import signal
import sqlite3
import time
from pathlib import Path

import psycopg
import sqlalchemy

from tutelage.service.campaigns import edges, pull_cache, session
from tutelage.service.campaigns.edge_messages import read_record
from tutelage.service.campaigns.messages import NotLeader, PullRequest
from tutelage.service.campaigns.writer import ActionJob, CreateJob, EdgeJob, PullJob, ReadJob, Writer
from tutelage.stores import open_store
from tutelage.stores.postgresql import database as _database  # noqa: F401 - imported before the fork
from tutelage.stores.sqlite import store as sqlite

#: Where a process can be killed, and whether its transaction has been committed by then.
DEATHS = {
    "before insert": False,
    "after insert": False,
    "before commit": False,
    "after commit": True,
    "before checkpoint": True,
    "in checkpoint": True,
    "after checkpoint": True,
}
#: Where a transaction can fail, and whether it has been committed; None: the server cannot know.
FAILURES = {"full at insert": False, "full at commit": False, "lost before commit": None, "lost after": None}


#: What edges and their leader do to a campaign.
EDGE_ACTS = {name: getattr(edges, name) for name in ("claim", "assign", "report", "hold", "follow")}
EDGE_READS = {
    "collect": lambda session, sent: edges.collect(session, sent, 1_000_000, is_full=True),
    "record": lambda session, client: (read_record(session.begun, client), session.begun.assignments.get(client)),
    "held": lambda session: set(session.clients) - session.elsewhere,
}


def die():
    """End the process at once, without any cleanup."""
    os.kill(os.getpid(), signal.SIGKILL)


class Trap:
    """Waits for the statement at which something is to happen; a commit counts once a row was inserted."""

    def __init__(self):
        self.armed, self.point, self.has_inserted, self.part = None, None, False, 0.0

    def arm(self, point, part=0.0):
        """Snap at the next such statement; a checkpoint then writes ``part`` of the database file."""
        self.armed, self.point, self.has_inserted, self.part = point, point, False, part

    def around(self, connection, statement, run):
        """Run a statement of this connection unless the trap snaps."""
        is_insert = statement.startswith(("INSERT INTO pulls", "INSERT INTO entries"))
        self.has_inserted = self.has_inserted or is_insert
        kind = "insert" if is_insert else "commit" if statement == "COMMIT" and self.has_inserted else None
        if statement.startswith("PRAGMA wal_checkpoint"):
            kind = "checkpoint"
        if kind is None or self.point is None:
            return run()
        if self.point == f"before {kind}":
            die()
        if self.point == f"full at {kind}":
            self.point = None
            raise connection.no_room()
        if kind == "commit" and self.point in ("lost before commit", "lost after"):
            if self.point == "lost after":
                run()
            self.point = None
            raise connection.lost()
        if self.point == f"in {kind}":
            connection.write_only(self.part)
        result = run()
        if self.point in (f"after {kind}", f"in {kind}"):
            die()
        return result


TRAP = Trap()


class TrappedSqlite(sqlite3.Connection):
    """A connection to a file that reports its statements to the trap."""

    def execute(self, statement, *parameters):
        """Run a statement unless the trap snaps."""
        return TRAP.around(self, statement, lambda: super(TrappedSqlite, self).execute(statement, *parameters))

    def executemany(self, statement, parameters):
        """The same for many rows."""
        run = super().executemany
        return TRAP.around(self, statement, lambda: run(statement, parameters))

    def no_room(self):
        """The error of a full disk."""
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode, error.sqlite_errorname = sqlite3.SQLITE_FULL, "SQLITE_FULL"
        return error

    def write_only(self, part):
        """From now on, kill the process when it writes after this part of the database file."""
        path = next(super().execute("PRAGMA database_list"))[2]
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        most = max(1, int(part * Path(path).stat().st_size))
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))


class TrappedPostgresql(psycopg.Connection):
    """A connection to a server that reports its statements to the trap."""

    def execute(self, statement, *arguments, **options):
        """Run a statement unless the trap snaps."""
        run = super().execute
        return TRAP.around(self, statement, lambda: run(statement, *arguments, **options))

    def no_room(self):
        """The error of a full disk, which undoes the transaction."""
        super().execute("ROLLBACK")
        return psycopg.errors.DiskFull("could not extend file")

    def lost(self):
        """The error of a connection that has ended."""
        self.close()
        return psycopg.OperationalError("server closed the connection unexpectedly")


def install():
    """Install the trap in this process's drivers."""
    connect = sqlite3.connect
    sqlite3.connect = lambda *given, **options: connect(*given, factory=TrappedSqlite, **options)
    psycopg.connect = TrappedPostgresql.connect


def migrate(url, statements):
    """Create the tables, but die at one of the statements."""
    left = itertools.count()

    @sqlalchemy.event.listens_for(sqlalchemy.Engine, "before_cursor_execute")
    def count(*_):
        if next(left) == statements:
            die()

    open_store(url).close()


def live_until_stopped(pipe, url, address, tuning):
    """Serve groups of jobs that come over the pipe, until None comes."""
    install()
    pull_cache.MIN_CACHED, session.SNAPSHOT_PULLS, sqlite.CHECKPOINT_PAGES = tuning
    store, steps = open_store(url), itertools.count()
    # A clock that steps back again and again: nothing but the times in the ledger may come from it.
    begun = time.time_ns() // 1000
    writer = Writer(store, len, address=address, now=lambda: begun - 1_000_000 * (next(steps) % 7))
    pipe.send("open")
    while (message := _received(pipe)) is not None:
        point, part, jobs = message
        TRAP.arm(point, part)
        made = [_job(*job) for job in jobs]
        writer._group(made)
        pipe.send([_outcome(job) for job in made])
        TRAP.arm(None)
    writer.give_up()
    store.close()
    with contextlib.suppress(BrokenPipeError):
        pipe.send("closed")


def _received(pipe):
    try:
        return pipe.recv()
    except EOFError:  # nobody is there any more
        return None


def _job(kind, name, content):
    if kind == "create":
        return CreateJob(name, settings=content, start=content.edge is None)
    if kind in EDGE_ACTS:
        return EdgeJob(name, act=lambda session, now, _: EDGE_ACTS[kind](session, *content, now))
    if kind in EDGE_READS:
        return ReadJob(name, look=lambda session: EDGE_READS[kind](session, *content))
    if kind in ("pulls", "new pulls"):
        return PullJob(name, pulls=[PullRequest(*pull) for pull in content], are_new=kind == "new pulls")
    return ActionJob(name, act=kind, client=content)


def _outcome(job):
    if job.error is None and isinstance(job, EdgeJob | ReadJob):
        return ("done", job.result)
    if job.error is None:
        if isinstance(job, PullJob) and job.result is None:
            return "not all new"
        responses = job.result if isinstance(job, PullJob) else []
        return [(one.id, one.reward, one.adjustment, one.directive, one.replayed) for one in responses]
    if isinstance(job.error, NotLeader):
        return "not-leading"
    is_odd = job.error.reason == "unavailable" and TRAP.armed is None
    return f"unavailable: {job.error}" if is_odd else job.error.reason
