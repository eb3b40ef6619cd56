"""Connections to a PostgreSQL server that keeps what it commits, and what its errors mean for an operator."""

import contextlib
from collections.abc import Iterator
from typing import LiteralString
from urllib.parse import parse_qsl, urlencode, urlsplit

import psycopg
from psycopg import errors

from tutelage.errors import InputError
from tutelage.stores.address import has_unescaped_password, is_secret, reason_without_password, without_password
from tutelage.stores.base import StoreBroken, StoreError, StoreFull

_SETTINGS: LiteralString = (
    "SELECT current_setting('fsync'), current_setting('server_encoding'), "
    "current_setting('server_version_num')::int, pg_is_in_recovery()"
)


def hide_password(url: str) -> str:
    """Return a URL without its password; one that cannot be parsed keeps its form, with the password hidden."""
    hidden = without_password(url)
    try:
        parts = urlsplit(hidden)
    except ValueError:
        return hidden
    user, at, hosts = parts.netloc.rpartition("@")
    options = [(name, value) for name, value in parse_qsl(parts.query) if not is_secret(name)]
    query = "?" + urlencode(options, safe="/:,") if options else ""
    return f"{parts.scheme}://{user.partition(':')[0]}{at}{hosts}{parts.path}{query}"


def connect(url: str) -> psycopg.Connection:
    """Open a connection in autocommit to a server that keeps what it commits.

    Raises ``InputError`` for a URL that libpq cannot read.
    """
    with translated_errors(url):
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
        with translated_errors(url):
            _check_server(url, connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _check_address(url: str) -> None:
    if has_unescaped_password(url):
        raise InputError(
            f"Invalid database URL {hide_password(url)!r}: write @, /, ? and # as %40, %2F, %3F and %23 where they "
            "belong to a name, a password or a value."
        )
    try:
        psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.ProgrammingError as error:
        place = hide_password(url)
        reason = reason_without_password(str(error).strip(), url, place)
        raise InputError(
            f"Invalid database URL {place!r} ({reason}): use postgresql://USER@HOST/DATABASE, "
            "with special characters in names and passwords written as %XX."
        ) from None


def _check_server(url: str, connection: psycopg.Connection) -> None:
    fsync, encoding, version, standby = connection.execute(_SETTINGS).fetchone() or ()
    if fsync != "on":
        raise StoreBroken(
            f"The database {hide_password(url)} runs with fsync = {fsync} and may lose committed data: set fsync = on."
        )
    if encoding != "UTF8":
        raise StoreBroken(
            f"The database {hide_password(url)} is encoded in {encoding}: create it with ENCODING 'UTF8'."
        )
    if version < 130000:
        raise StoreBroken(
            f"The database {hide_password(url)} is PostgreSQL {version // 10000}: use version 13 or newer."
        )
    if standby:
        raise StoreError(
            f"The database {hide_password(url)} is a standby and cannot be written: use the URL of the primary."
        )


@contextlib.contextmanager
def translated_errors(url: str) -> Iterator[None]:
    """Turn psycopg's errors into the store's, without the original, whose text may hold a part of a password."""
    try:
        yield
    except psycopg.Error as error:
        raise explain_error(url, error) from None


def explain_error(url: str, error: psycopg.Error) -> StoreError:
    """Return the store's error for one of psycopg's."""
    place, text = hide_password(url), str(error).strip().splitlines()
    reason = reason_without_password(text[0], url, place) if text else type(error).__name__
    if isinstance(error, errors.DiskFull):
        return StoreFull(f"The disk of {place} is full ({reason}): free some space, and writing continues by itself.")
    if isinstance(error, errors.IoError | errors.DataCorrupted | errors.IndexCorrupted):
        return StoreBroken(f"The disk or the data under {place} failed ({reason}): read PostgreSQL's log.")
    if isinstance(error, psycopg.OperationalError) and error.sqlstate is None:
        return StoreError(f"The database {place} cannot be reached ({reason}): start it, or correct the URL.")
    return StoreError(f"The database {place} refused a statement: {reason.rstrip('.')}.")
