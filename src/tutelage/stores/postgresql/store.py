"""The store in a PostgreSQL database that several servers share; each campaign has one leader at a time.

The fence is the campaign's row in ``heads``: every transaction begins by moving it on from the token and the
position that the changes start from, and a takeover writes the same row.  No session has settings of its own,
no statement is prepared on the server and no lock outlives its transaction: it works behind PgBouncer.
"""

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, LiteralString

import psycopg
from psycopg import errors
from sqlalchemy import ClauseElement
from sqlalchemy.dialects.postgresql.base import PGDialect

from tutelage.stores.base import CommitUncertain, LeaseLost, PullRow, StoreBroken, StoredPull, StoreError
from tutelage.stores.postgresql.connection import connect, explain_error, hide_password, translated_errors
from tutelage.stores.sql.reader import SqlReader, read_stored_pulls
from tutelage.stores.sql.schema import VERSION, VERSION_TABLE
from tutelage.stores.sql.statements import PULL_COLUMNS, StatementCompiler
from tutelage.stores.sql.store import SqlKeys, SqlStore

_compile = StatementCompiler(PGDialect(paramstyle="pyformat"))  # type: ignore[no-untyped-call]

# Writers share this advisory lock, and a change of the schema holds it exclusively: a server that is older
# than the schema notices before it writes.
SCHEMA_LOCK = int.from_bytes(b"Tutelage")
# A leader that is halted during a transaction holds the head's row: the database ends its session before
# the lease ends.  For the same reason nothing is written with COPY, whose waiting has no limit.
_BEGIN: LiteralString = (
    "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL synchronous_commit = on; "
    "SET LOCAL idle_in_transaction_session_timeout = '8s'; SET LOCAL lock_timeout = '5s'; "
    f"SELECT pg_advisory_xact_lock_shared({SCHEMA_LOCK}); SELECT version_num FROM {VERSION_TABLE}"
)
_SHORT_LOCK_TIMEOUT: LiteralString = "SET LOCAL lock_timeout = '1s'"
_BEGIN_READING: LiteralString = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_IS_FREE = "(lease_until IS NULL OR lease_until <= clock_timestamp() OR token = %(token)s)"
_LEAD: LiteralString = (
    "UPDATE heads SET token = token + 1, leader = %(address)s, "
    "lease_until = clock_timestamp() + interval '10 seconds' "
    f"WHERE campaign = %(campaign)s AND {_IS_FREE} RETURNING token"
)
_LOCK_IF_FREE: LiteralString = f"SELECT 1 FROM heads WHERE campaign = %(campaign)s AND {_IS_FREE} FOR UPDATE"
_RENEW: LiteralString = (
    "UPDATE heads SET leader = %s, lease_until = clock_timestamp() + interval '10 seconds' "
    "FROM campaigns, unnest(%s::text[], %s::bigint[]) AS held (name, token) "
    "WHERE heads.campaign = campaigns.number AND campaigns.name = held.name AND heads.token = held.token "
    "RETURNING held.name"
)
_RELEASE: LiteralString = (
    "UPDATE heads SET leader = NULL, lease_until = NULL "
    "FROM unnest(%s::bigint[], %s::bigint[]) AS held (number, token) "
    "WHERE heads.campaign = held.number AND heads.token = held.token"
)
_INSERT_PULLS: LiteralString = (
    f"INSERT INTO pulls (campaign, {PULL_COLUMNS}) SELECT %s, * FROM unnest("
    "%s::bigint[], %s::bigint[], %s::int[], %s::int[], %s::int[], %s::bigint[], %s::float8[], %s::float8[], "
    "%s::bigint[], %s::smallint[], %s::bigint[], %s::text[])"
)
# One index scan per id: with ANY(...) a planner without statistics reads all of a campaign's rows.
_FIND: LiteralString = (
    f"SELECT {PULL_COLUMNS}, EXISTS (SELECT 1 FROM entries WHERE entries.campaign = found.campaign "
    "AND entries.id = found.id AND kind = 'bypassed') "
    "FROM unnest(%s::text[]) AS wanted (wanted_id) CROSS JOIN LATERAL "
    '(SELECT * FROM pulls WHERE campaign = %s AND id = wanted_id COLLATE "C" LIMIT 1) AS found'
)
_TABLE_BYTES: LiteralString = (
    "SELECT relname::text, pg_total_relation_size(relid) FROM pg_stat_user_tables WHERE relid = to_regclass(relname)"
)
_DATABASE_BYTES: LiteralString = (
    "SELECT pg_database_size(current_database()), has_function_privilege('pg_ls_waldir()', 'execute')"
)
_LOG_BYTES: LiteralString = "SELECT coalesce(sum(size), 0)::bigint FROM pg_ls_waldir()"


class PostgresqlReader(SqlReader):
    """Reads on a connection of its own, and connects again after losing it."""

    has_leases = True

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection = connect(url)
        self._is_inside = False  # a transaction, which is lost with its connection

    def _connected(self) -> psycopg.Connection:
        if self._connection.closed and not self._is_inside:
            self._connection = connect(self._url)
        return self._connection

    def _execute(self, text: str, parameters: Mapping[str, object] | Sequence[object]) -> psycopg.Cursor[Any]:
        with translated_errors(self._url):
            return self._connected().execute(text, parameters)

    def _run(self, statement: ClauseElement, parameters: Mapping[str, object]) -> list[tuple[Any, ...]]:
        cursor = self._execute(*_compile(statement, parameters))
        return cursor.fetchall() if cursor.description else []

    @contextlib.contextmanager
    def _inside(self) -> Iterator[psycopg.Connection]:
        """Roll back whatever was not committed in this context."""
        connection = self._connected()
        self._is_inside = True
        try:
            yield connection
        except BaseException:
            if not connection.closed:
                try:
                    connection.execute("ROLLBACK")
                except psycopg.Error:
                    connection.close()
            raise
        finally:
            self._is_inside = False

    @contextlib.contextmanager
    def _as_of_one_moment(self) -> Iterator[None]:
        with self._inside() as connection:
            with translated_errors(self._url):
                connection.execute(_BEGIN_READING)
            yield
            with translated_errors(self._url):
                connection.execute("COMMIT")

    def count_bytes(self) -> tuple[dict[str, int], int, int | None]:
        """Return the bytes of each table with its indexes, of the database, and of the write-ahead log if allowed."""
        tables = dict(self._execute(_TABLE_BYTES, ()).fetchall())
        total, may_read_log = self._execute(_DATABASE_BYTES, ()).fetchone() or (0, False)
        log = self._execute(_LOG_BYTES, ()).fetchone() if may_read_log else None
        return tables, int(total), int(log[0]) if log else None

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


class PostgresqlKeys(PostgresqlReader, SqlKeys):
    """Reads, and writes keys."""

    def __init__(self, url: str, notes: Sequence[str] = ()) -> None:
        PostgresqlReader.__init__(self, url)
        SqlKeys.__init__(self, notes)

    @property
    def url(self) -> str:
        """The URL without its password."""
        return hide_password(self._url)

    def _is_duplicate(self, error: BaseException | None) -> bool:
        return isinstance(error, errors.UniqueViolation)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        if self._broken:
            raise self._broken
        with self._inside() as connection:
            try:
                self._begin(connection)
                yield
                self._commit(connection)
            except StoreBroken as error:
                self._broken = error
                raise

    def _begin(self, connection: psycopg.Connection) -> None:
        """Begin a transaction, during which the schema stays the one of this release."""
        with translated_errors(self._url):
            cursor = connection.execute(_BEGIN)
            while cursor.nextset():
                pass
            found = cursor.fetchone()
        if found != (f"{VERSION:04d}",):
            raise StoreError(
                f"The database {self.url} now has schema {int(found[0]) if found else 0}, but this server "
                f"writes schema {VERSION}: stop this server and start one of the release that upgraded it."
            )

    def _commit(self, connection: psycopg.Connection) -> None:
        try:
            connection.execute("COMMIT")
        except psycopg.Error as error:
            if connection.closed:
                raise CommitUncertain(
                    f"The connection to {self.url} was lost during a COMMIT: load the campaigns again."
                ) from None
            raise explain_error(self._url, error) from None
        except BaseException:
            connection.close()  # interrupted: nobody knows whether it was committed
            raise


class PostgresqlStore(PostgresqlKeys, SqlStore):
    """One server's access to the database."""

    _last_id_sql = "SELECT id FROM pulls WHERE campaign = %s ORDER BY id DESC LIMIT 1"

    def __init__(self, url: str, notes: Sequence[str]) -> None:
        PostgresqlKeys.__init__(self, url)
        SqlStore.__init__(self, notes)

    def reader(self) -> PostgresqlReader:
        """Open a connection for another thread."""
        return PostgresqlReader(self._url)

    def _require_lease(self, name: str, number: int) -> None:
        held = {"campaign": number, "token": self._tokens.get(name, -1)}
        if not self._execute(_LOCK_IF_FREE, held).fetchall():
            raise LeaseLost(f"Another server now leads the campaign {name!r}: send the request there.", name)

    def lead(self, name: str, address: str) -> int | None:
        """Return the next token with a lease of ten seconds, unless another's lease is valid."""
        try:
            with self._transaction():
                self._execute(_SHORT_LOCK_TIMEOUT, ())
                held = {"campaign": self._find_number(name), "token": self._tokens.get(name, -1)}
                row = self._execute(_LEAD, held | {"address": address}).fetchone()
        except StoreError as error:
            if isinstance(error.__context__, errors.LockNotAvailable):
                return None
            raise
        if row is None:
            self._tokens.pop(name, None)
            return None
        token: int = row[0]
        self._tokens[name] = token
        return token

    def renew(self, names: Sequence[str], address: str) -> Sequence[str]:
        """Extend the leases whose tokens are still this store's."""
        held = [name for name in names if name in self._tokens]
        if not held:
            return []
        tokens = [self._tokens[name] for name in held]
        with self._transaction():
            rows = self._execute(_RENEW, (address, _text_array(held), _number_array(tokens))).fetchall()
        renewed = {row[0] for row in rows}
        for name in set(held) - renewed:
            del self._tokens[name]
        return [name for name in held if name in renewed]

    def _release(self, held: Mapping[int, int]) -> None:
        self._execute(_RELEASE, (_number_array(held), _number_array(held.values())))

    def find(self, name: str, ids: Sequence[str]) -> dict[str, StoredPull]:
        """Return the stored ones among pulls of these ids."""
        return read_stored_pulls(self._execute(_FIND, (_text_array(ids), self._number(name))).fetchall())

    def _insert_pulls(self, number: int, pulls: Sequence[PullRow]) -> None:
        self._execute(_INSERT_PULLS, (number, *_column_arrays(pulls)))


def _column_arrays(pulls: Sequence[PullRow]) -> Iterator[str]:
    """The pulls' columns as arrays in PostgreSQL's text form; floats are written to read back equal."""
    *numbers, bypassed, times, ids = zip(*pulls, strict=True)
    for column in numbers:
        yield _number_array(column)
    yield _number_array(map(int, bypassed))
    yield _number_array(times)
    yield _text_array(ids)


def _number_array(values: Iterable[float]) -> str:
    return f"{{{','.join(map(repr, values))}}}"


def _text_array(values: Iterable[str]) -> str:
    joined = '","'.join(value.replace("\\", "\\\\").replace('"', '\\"') for value in values)
    return f'{{"{joined}"}}' if joined else "{}"
