"""Campaigns in a PostgreSQL database, which several servers share: one leads a campaign at a time.

The fence is the campaign's row in ``heads``: every transaction begins by moving it on from the token and the
position that it was computed from, and a takeover writes the same row.  No session has settings of its own,
no statement is prepared on the server and no lock outlives its transaction: it works behind PgBouncer.
"""

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, LiteralString

import psycopg
from psycopg import errors
from sqlalchemy import ClauseElement
from sqlalchemy.dialects.postgresql.base import PGDialect

from tutelage.stores import queries
from tutelage.stores.base import (
    CampaignExists,
    CampaignNotFound,
    Change,
    CommitUncertain,
    KeyRow,
    LeaseLost,
    PullRow,
    StoreBroken,
    StoredPull,
    StoreError,
)
from tutelage.stores.postgresql_connection import connect, shown, store_error, translated
from tutelage.stores.schema import VERSION, VERSION_TABLE

_TEXTS = queries.Texts(PGDialect(paramstyle="pyformat"))  # type: ignore[no-untyped-call]

# Whoever writes shares this advisory lock and whoever changes the schema holds it alone: a server that is
# older than the schema finds that out before it writes.
SCHEMA_LOCK = int.from_bytes(b"Tutelage")
# A leader that is stopped in the midst of a transaction holds the head's row: the server ends its session
# before the lease is over.  For the same reason nothing is written with COPY, whose waiting has no limit.
_BEGIN: LiteralString = (
    "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL synchronous_commit = on; "
    "SET LOCAL idle_in_transaction_session_timeout = '8s'; SET LOCAL lock_timeout = '5s'; "
    f"SELECT pg_advisory_xact_lock_shared({SCHEMA_LOCK}); SELECT version_num FROM {VERSION_TABLE}"
)
_IMPATIENT: LiteralString = "SET LOCAL lock_timeout = '1s'"
_MOMENT: LiteralString = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_FREE = "(lease_until IS NULL OR lease_until <= clock_timestamp() OR token = %(token)s)"
_LEAD: LiteralString = (
    "UPDATE heads SET token = token + 1, leader = %(address)s, "
    "lease_until = clock_timestamp() + interval '10 seconds' "
    f"WHERE campaign = %(campaign)s AND {_FREE} RETURNING token"
)
_HOLD: LiteralString = f"SELECT 1 FROM heads WHERE campaign = %(campaign)s AND {_FREE} FOR UPDATE"
_RENEW: LiteralString = (
    "UPDATE heads SET leader = %s, lease_until = clock_timestamp() + interval '10 seconds' "
    "FROM campaigns, unnest(%s::text[], %s::bigint[]) AS held (name, token) "
    "WHERE heads.campaign = campaigns.number AND campaigns.name = held.name AND heads.token = held.token "
    "RETURNING held.name"
)
_RELEASE: LiteralString = (
    "UPDATE heads SET leader = NULL, lease_until = NULL FROM campaigns "
    "WHERE heads.campaign = campaigns.number AND campaigns.name = %s AND heads.token = %s"
)
_MOVE: LiteralString = (
    "UPDATE heads SET position = %s, step = %s, status = %s, digest = %s "
    "WHERE campaign = %s AND token = %s AND position = %s"
)
_COLUMNS: LiteralString = (
    'position, step, "index", client, arm, number, observed, revealed, directive, bypassed, time, id'
)
_ADD_PULLS: LiteralString = (
    f"INSERT INTO pulls (campaign, {_COLUMNS}) SELECT %s, * FROM unnest("
    "%s::bigint[], %s::bigint[], %s::int[], %s::int[], %s::int[], %s::bigint[], %s::float8[], %s::float8[], "
    "%s::bigint[], %s::smallint[], %s::bigint[], %s::text[])"
)
# One index scan per id: with ANY(...) a planner without statistics walks through all of a campaign's rows.
_FIND: LiteralString = (
    f"SELECT {_COLUMNS}, EXISTS (SELECT 1 FROM entries WHERE entries.campaign = found.campaign "
    "AND entries.id = found.id AND kind = 'bypassed') "
    "FROM unnest(%s::text[]) AS wanted (wanted_id) CROSS JOIN LATERAL "
    '(SELECT * FROM pulls WHERE campaign = %s AND id = wanted_id COLLATE "C" LIMIT 1) AS found'
)

_LAST_ID: LiteralString = "SELECT id FROM pulls WHERE campaign = %s ORDER BY id DESC LIMIT 1"


class PostgresqlReader(queries.Reading):
    """Reads on a connection of its own, and connects anew when it was lost."""

    leased = True

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection = connect(url)
        self._inside = False  # a transaction, which is lost with its connection

    def _connected(self) -> psycopg.Connection:
        if self._connection.closed and not self._inside:
            self._connection = connect(self._url)
        return self._connection

    def _execute(self, text: str, parameters: Mapping[str, object] | Sequence[object]) -> psycopg.Cursor[Any]:
        with translated(self._url):
            return self._connected().execute(text, parameters)

    def _run(self, statement: ClauseElement, parameters: Mapping[str, object]) -> list[tuple[Any, ...]]:
        cursor = self._execute(*_TEXTS(statement, parameters))
        return cursor.fetchall() if cursor.description else []

    @contextlib.contextmanager
    def _moment(self) -> Iterator[None]:
        connection = self._connected()
        self._inside = True
        try:
            with translated(self._url):
                connection.execute(_MOMENT)
            yield
            with translated(self._url):
                connection.execute("COMMIT")
        except BaseException:
            _roll_back(connection)
            raise
        finally:
            self._inside = False

    def close(self) -> None:
        """Ends the connection."""
        self._connection.close()


class PostgresqlKeys(PostgresqlReader):
    """Reads, and writes keys."""

    def __init__(self, url: str, notes: Sequence[str] = ()) -> None:
        super().__init__(url)
        self.notes = tuple(notes)
        self._broken: StoreBroken | None = None

    @property
    def url(self) -> str:
        """The address without its password."""
        return shown(self._url)

    def create_key(self, key: KeyRow) -> None:
        """Stores a key; raises Exists if its name is taken."""
        with self._transaction(), _taken(f"There is a key {key.name!r} already: choose another name."):
            self._run(queries.CREATE_KEY, queries.key_values(key))

    def revoke_key(self, name: str, time: int) -> None:
        """Marks a key as revoked; raises Missing."""
        with self._transaction():
            if not self._run(queries.REVOKE_KEY, {"name": name, "time": time}):
                raise CampaignNotFound(f"There is no key {name!r}: `tutelage key list` shows all.")

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        """Commits what is done within, or rolls it back; remembers a failure that no retry can mend."""
        if self._broken:
            raise self._broken
        connection = self._connected()
        self._inside = True
        try:
            self._begin(connection)
            yield
            self._commit(connection)
        except BaseException as error:
            if isinstance(error, StoreBroken):
                self._broken = error
            _roll_back(connection)
            raise
        finally:
            self._inside = False

    def _begin(self, connection: psycopg.Connection) -> None:
        """Begins a transaction, during which the schema stays the one that this release knows."""
        with translated(self._url):
            cursor = connection.execute(_BEGIN)
            while cursor.nextset():
                pass
            found = cursor.fetchone()
        if found != (f"{VERSION:04d}",):
            raise StoreError(
                f"The database {shown(self._url)} has schema {int(found[0]) if found else 0} by now, "
                f"and this Tutelage writes {VERSION}: "
                "stop this server and start one of the release that changed it."
            )

    def _commit(self, connection: psycopg.Connection) -> None:
        try:
            connection.execute("COMMIT")
        except psycopg.Error as error:
            if connection.closed:
                raise CommitUncertain(
                    f"The connection to {shown(self._url)} was lost during a COMMIT: load the campaigns anew."
                ) from error
            raise store_error(self._url, error) from error
        except BaseException:
            connection.close()  # interrupted: nobody knows what became of it
            raise


class PostgresqlStore(PostgresqlKeys):
    """One server's way to the database; `open_store` has checked the schema."""

    def __init__(self, url: str, notes: Sequence[str]) -> None:
        super().__init__(url, notes)
        self._numbers: dict[str, int] = {}
        self._tokens: dict[str, int] = {}
        self._states: dict[str, str] = {}

    def reader(self) -> PostgresqlReader:
        """A connection of its own for one other thread."""
        return PostgresqlReader(self._url)

    def create(self, name: str, settings: str, rules_version: int, time: int, state: str) -> None:
        """A new campaign, led by nobody; raises Exists."""
        values = {"name": name, "settings": settings, "rules_version": rules_version, "created": time}
        with self._transaction(), _taken(f"There is a campaign {name!r} already: choose another name."):
            self._run(queries.CREATE, values)
            number = self._run(queries.NUMBER, {"name": name})[0][0]
            self._run(queries.CREATE_HEAD, {"campaign": number})
            self._run(queries.CREATE_STATE, {"campaign": number, "state": state})

    def delete(self, name: str) -> None:
        """Removes a stopped and exported campaign, its rows and its keys."""
        with self._transaction():
            number = self._number(name, anew=True)
            own = {"campaign": number, "token": self._tokens.get(name, -1)}
            if not self._execute(_HOLD, own).fetchall():
                raise LeaseLost(f"The campaign {name!r} is led by another server now: ask that one.", name)
            queries.check_removable(name, self._run(queries.REMOVABLE, {"campaign": number})[0])
            for statement in queries.REMOVE:
                self._run(statement, {"campaign": number, "name": name})
        for known in (self._numbers, self._tokens, self._states):
            known.pop(name, None)

    def lead(self, name: str, address: str) -> int | None:
        """The next token and ten seconds, unless another's lease is valid."""
        self._states.pop(name, None)
        try:
            with self._transaction():
                self._execute(_IMPATIENT, ())
                number = self._number(name, anew=True)
                own = {"campaign": number, "token": self._tokens.get(name, -1), "address": address}
                row = self._execute(_LEAD, own).fetchone()
        except StoreError as error:
            if isinstance(error.__cause__, errors.LockNotAvailable):
                return None
            raise
        if row is None:
            self._tokens.pop(name, None)
            return None
        token: int = row[0]
        self._tokens[name] = token
        return token

    def renew(self, names: Sequence[str], address: str) -> Sequence[str]:
        """Extends the leases whose tokens are still this store's."""
        held = [name for name in names if name in self._tokens]
        if not held:
            return []
        tokens = [self._tokens[name] for name in held]
        with self._transaction():
            rows = self._execute(_RENEW, (address, _texts(held), _numbers(tokens))).fetchall()
        renewed = {row[0] for row in rows}
        for name in set(held) - renewed:
            del self._tokens[name]
        return [name for name in held if name in renewed]

    def release(self, name: str) -> None:
        """Gives a campaign up."""
        token = self._tokens.pop(name, None)
        if token is not None:
            with self._transaction():
                self._execute(_RELEASE, (name, token))

    def find(self, name: str, ids: Sequence[str]) -> dict[str, StoredPull]:
        """The stored ones among pulls of these ids."""
        return queries.known_pulls(self._execute(_FIND, (_texts(ids), self._number(name))).fetchall())

    def last_id(self, name: str) -> str:
        """The greatest id among a campaign's pulls."""
        row = self._execute(_LAST_ID, (self._number(name),)).fetchone()
        return str(row[0]) if row else ""

    def append(self, changes: Sequence[Change]) -> None:
        """Commits all changes in one transaction, or none."""
        states = {}
        try:
            with self._transaction():
                # Two servers that move the same heads meet at the first of them, so they cannot deadlock.
                moved = [(self._move(change), change) for change in sorted(changes, key=_name)]
                for number, change in moved:
                    if self._states.get(change.name) != change.head.state:
                        self._run(queries.SET_STATE, {"campaign": number, "state": change.head.state})
                        states[change.name] = change.head.state
                    if change.pulls:
                        self._execute(_ADD_PULLS, (number, *_columns(change.pulls)))
                    for statement, values in queries.rest_of(number, change):
                        self._run(statement, values)
        except CommitUncertain:
            for change in changes:
                self._states.pop(change.name, None)
            raise
        self._states.update(states)

    def _move(self, change: Change) -> int:
        """Moves the head on, if it still stands where the change goes on from; the campaign's number."""
        queries.check_change(change)
        try:
            number = self._number(change.name)
        except CampaignNotFound:
            raise queries.fenced(change) from None
        if self._execute(_MOVE, queries.move_values(number, change)).rowcount != 1:
            raise queries.fenced(change)
        return number

    def probe(self) -> None:
        """Commits a heartbeat."""
        with self._transaction():
            self._run(queries.BEAT, {})

    def _number(self, name: str, *, anew: bool = False) -> int:
        if anew or name not in self._numbers:
            rows = self._run(queries.NUMBER, {"name": name})
            if not rows:
                raise queries.missing(name)
            self._numbers[name] = rows[0][0]
        return self._numbers[name]


def _name(change: Change) -> str:
    return change.name


def _roll_back(connection: psycopg.Connection) -> None:
    if not connection.closed:
        try:
            connection.execute("ROLLBACK")
        except psycopg.Error:
            connection.close()


@contextlib.contextmanager
def _taken(sentence: str) -> Iterator[None]:
    """Says that a name is taken, where the database says that a row is not unique."""
    try:
        yield
    except StoreError as error:
        if isinstance(error.__cause__, errors.UniqueViolation):
            raise CampaignExists(sentence) from None
        raise


def _columns(pulls: Sequence[PullRow]) -> Iterator[str]:
    """The pulls' columns as arrays in PostgreSQL's text form; floats are written to read back equal."""
    *numbers, bypassed, times, ids = zip(*pulls, strict=True)
    for column in numbers:
        yield _numbers(column)
    yield _numbers(map(int, bypassed))
    yield _numbers(times)
    yield _texts(ids)


def _numbers(values: Iterable[float]) -> str:
    return f"{{{','.join(map(repr, values))}}}"


def _texts(values: Iterable[str]) -> str:
    joined = '","'.join(value.replace("\\", "\\\\").replace('"', '\\"') for value in values)
    return f'{{"{joined}"}}' if joined else "{}"
