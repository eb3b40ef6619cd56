"""When keys end: the times that people write, and the row of a key whose secret is replaced."""

import dataclasses
import re
from datetime import UTC, datetime, timedelta

from tutelage.errors import InputError, RefusalError
from tutelage.service.api.access import new_secret
from tutelage.stores.base import KeyRow
from tutelage.text import format_second

_DURATION = re.compile(r"([0-9]+) ?(s|min|h|d)")
_SECONDS = {"s": 1, "min": 60, "h": 3_600, "d": 86_400}
_MOST_DAYS = 36_500


def read_duration(option: str, text: str) -> int:
    """Return the microseconds of a duration such as ``90d``, at most a hundred years.  Raises ``InputError``."""
    found = _DURATION.fullmatch(text.strip())
    seconds = int(found[1][:20]) * _SECONDS[found[2]] if found else 0 if text.strip() == "0" else -1
    if not 0 <= seconds <= _MOST_DAYS * 86_400:
        raise InputError(
            f"Invalid {option} {text!r}: use a number of seconds, minutes, hours or days of at most "
            f"{_MOST_DAYS} days, as in 30s, 15min, 12h or 90d."
        )
    return seconds * 1_000_000


def read_expiry(text: str, now: int) -> int:
    """Return the time at which a key ends, from a duration or a date; microseconds since 1970.

    A time without a zone is UTC.  Raises ``InputError``.
    """
    if _DURATION.fullmatch(text.strip()):
        expires = now + read_duration("--expires", text)
    else:
        try:
            time = datetime.fromisoformat(text.strip())
        except ValueError:
            raise InputError(
                f"Invalid --expires {text!r}: use a duration, as in 12h or 90d, or a time, as in 2030-01-31 or "
                "2030-01-31T12:00Z."
            ) from None
        since = (time if time.tzinfo else time.replace(tzinfo=UTC)) - datetime(1970, 1, 1, tzinfo=UTC)
        expires = since // timedelta(microseconds=1)
    if expires <= now:
        raise InputError(f"Invalid --expires {text!r}: {format_second(expires)} is in the past; use a later time.")
    return expires


def rotate(row: KeyRow, now: int, overlap: int, expires: int | None = None) -> tuple[str, KeyRow]:
    """Return a new secret of a key and its row.  ``overlap`` is how long the old one stays valid, in microseconds.

    Without ``expires`` the new secret is valid for as long as the old one was made for.  Raises
    ``RefusalError`` if the key was revoked.
    """
    if row.revoked is not None:
        raise RefusalError(f"The key {row.name} was revoked: make a new one with `tutelage key create`.")
    secret, digest = new_secret()
    old_until = now + overlap
    if row.expires is not None:
        old_until = min(old_until, row.expires)
        expires = now + row.expires - row.created if expires is None else expires
    new = dataclasses.replace(
        row, digest=digest, created=now, expires=expires, used=None, old_digest=row.digest, old_until=old_until
    )
    return secret, new
