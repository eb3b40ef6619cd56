"""A connection to a PostgreSQL server that keeps what it commits, and what its errors mean."""

import contextlib
from collections.abc import Iterator
from typing import LiteralString
from urllib.parse import parse_qsl, urlencode, urlsplit

import psycopg
from psycopg import errors

from tutelage.errors import InputError
from tutelage.stores.address import is_secret, reason_without_password, without_password
from tutelage.stores.base import StoreBroken, StoreError, StoreFull

_SETTINGS: LiteralString = (
    "SELECT current_setting('fsync'), current_setting('server_encoding'), "
    "current_setting('server_version_num')::int, pg_is_in_recovery()"
)


def shown(url: str) -> str:
    """An address without its password; one that cannot be read as it is, with the password hidden."""
    hidden = without_password(url)
    try:
        parts = urlsplit(hidden)
    except ValueError:
        return hidden
    user, at, hosts = parts.netloc.rpartition("@")
    kept = [(name, value) for name, value in parse_qsl(parts.query) if not is_secret(name)]
    query = "?" + urlencode(kept, safe="/:,") if kept else ""
    return f"{parts.scheme}://{user.partition(':')[0]}{at}{hosts}{parts.path}{query}"


def connect(url: str) -> psycopg.Connection:
    """A connection in autocommit to a server that keeps what it commits.

    Raises InputError for an address that libpq cannot read.
    """
    with translated(url):
        _check_address(url)
        connection = psycopg.connect(
            url,
            autocommit=True,
            prepare_threshold=None,
            connect_timeout=5,
            tcp_user_timeout=10_000,
            client_encoding="UTF8",
            application_name="tutelage",
        )
    try:
        with translated(url):
            _check_server(url, connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _check_address(url: str) -> None:
    try:
        psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.ProgrammingError as error:
        place = shown(url)
        reason = reason_without_password(str(error).strip(), url, place)
        raise InputError(
            f"{place!r} is no address of a database ({reason}): "
            "write postgresql://USER@HOST/DATABASE, and any other character of a name or a password as %XX."
        ) from None


def _check_server(url: str, connection: psycopg.Connection) -> None:
    fsync, encoding, version, standby = connection.execute(_SETTINGS).fetchone() or ()
    if fsync != "on":
        raise StoreBroken(
            f"The database {shown(url)} runs with fsync = {fsync} and may lose what it committed: "
            "set fsync = on."
        )
    if encoding != "UTF8":
        raise StoreBroken(
            f"The database {shown(url)} is encoded in {encoding}: create it with ENCODING 'UTF8'."
        )
    if version < 130000:
        raise StoreBroken(
            f"The database {shown(url)} is PostgreSQL {version // 10000}: version 13 or newer is needed."
        )
    if standby:
        raise StoreError(f"The database {shown(url)} is a standby and cannot be written: name the primary.")


@contextlib.contextmanager
def translated(url: str) -> Iterator[None]:
    """Turns psycopg's errors into a store's."""
    try:
        yield
    except psycopg.Error as error:
        raise store_error(url, error) from error


def store_error(url: str, error: psycopg.Error) -> StoreError:
    """What an error of PostgreSQL means for whoever serves from it."""
    place, text = shown(url), str(error).strip().splitlines()
    reason = reason_without_password(text[0], url, place) if text else type(error).__name__
    if isinstance(error, errors.DiskFull):
        return StoreFull(
            f"There is no room left for {place} ({reason}): free some, and writing goes on by itself."
        )
    if isinstance(error, errors.IoError | errors.DataCorrupted | errors.IndexCorrupted):
        return StoreBroken(f"The disk or the data under {place} failed ({reason}): see PostgreSQL's log.")
    if isinstance(error, psycopg.OperationalError) and error.sqlstate is None:
        return StoreError(f"The database {place} cannot be reached ({reason}): start it, or see the address.")
    return StoreError(f"The database {place} refused a statement: {reason.rstrip('.')}.")
