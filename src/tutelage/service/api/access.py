"""Who may do what: keys, their roles, and what needs no key.

:mod:`tutelage.service.api.gateway` asks once for every request.
"""

import asyncio
import contextlib
import functools
import hashlib
import hmac
import ipaddress
import secrets
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal
from urllib.parse import urlsplit

from tutelage.errors import InputError
from tutelage.service.api.problems import HttpProblem
from tutelage.service.campaigns.settings import check_campaign_name, check_names, name_fault
from tutelage.stores.base import KeyRow, Role, SessionRow
from tutelage.text import format_second

MAX_KEY_AGE = 5.0  # seconds since the keys were read, after which they are not trusted
MAX_KEY_WAIT = 2.0  # seconds that a request waits for the keys, if the process stood still
COOKIE = "tutelage_session"
RequiredRole = Literal["anyone", "viewer", "reporter", "admin"]
_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_PROXY_HEADERS = frozenset({b"forwarded", b"x-real-ip", b"via"})
_ALLOWED: Mapping[Role, frozenset[RequiredRole]] = {
    "admin": frozenset({"anyone", "viewer", "reporter", "admin"}),
    "reporter": frozenset({"anyone", "reporter"}),
    "viewer": frozenset({"anyone", "viewer"}),
}


@dataclass(frozen=True)
class Caller:
    """The sender of a request: the key's name, empty without a key, and what the key allows.

    ``session`` is the digest of the browser's session, if the request belongs to one.
    """

    name: str
    role: Role
    campaign: str | None = None
    clients: frozenset[str] = frozenset()
    expires: int | None = None  # microseconds since 1970
    session: bytes = b""

    def has_expired(self, now: int) -> bool:
        """Whether the key has ended; ``now`` is in microseconds since 1970."""
        return self.expires is not None and now >= self.expires

    def check_campaign(self, campaign: str | None) -> None:
        """Raise :class:`HttpProblem` unless the key is valid for this campaign; None is all campaigns."""
        if self.campaign is not None and self.campaign != campaign:
            what = "" if campaign else ", and this address concerns all campaigns"
            raise HttpProblem("forbidden", f"The key {self.name} is for the campaign {self.campaign} only{what}.")

    def check_clients(self, clients: Iterable[str]) -> None:
        """Raise :class:`HttpProblem` unless the key is valid for these clients."""
        if self.clients:
            for client in clients:
                if client not in self.clients:
                    raise HttpProblem("forbidden", f"The key {self.name} is not for the client {client!r}.")


WITHOUT_KEY = Caller("", "admin")


def new_secret() -> tuple[str, bytes]:
    """Return a new key of 256 random bits as text, and the digest to store."""
    secret = "tutelage_" + secrets.token_urlsafe(32)
    return secret, digest_of(secret)


def digest_of(secret: str) -> bytes:
    """SHA-256 of a key; a key is random, so that a slow hash would add nothing."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()


def make_session(secret: str, hours: float, now: int) -> tuple[str, SessionRow]:
    """Return the secret of a new session of this key, and its row; ``now`` is in microseconds since 1970."""
    own = secrets.token_urlsafe(32)
    return own, SessionRow(digest_of(own), digest_of(secret), now, now + round(hours * 3_600_000_000))


def make_key(
    name: str, role: str, campaign: str | None, clients: Iterable[str], now: int, expires: int | None = None
) -> tuple[str, KeyRow]:
    """Return the secret of a new key and its row; times are microseconds since 1970.  Raises ``InputError``."""
    if fault := name_fault(name):
        raise InputError(f"The key's name {name!r} {fault}.")
    if role not in _ALLOWED:
        raise InputError(f"Invalid role {role!r}: use admin, reporter or viewer.")
    names = tuple(clients)
    if role == "reporter" and campaign is None:
        raise InputError("A reporter's key is for one campaign: name it with --campaign.")
    if role != "reporter" and names:
        raise InputError(f"A key with the role {role} is for all clients: only a reporter takes --client.")
    if campaign is not None:
        check_campaign_name(campaign)
    check_names("client", names, 100_000)
    secret, digest = new_secret()
    valid: Role = "admin" if role == "admin" else "reporter" if role == "reporter" else "viewer"
    return secret, KeyRow(name, digest, valid, campaign, names, now, expires=expires)


class AccessControl:
    """The keys and sessions as they were last read, and the rules.

    With ``insecure``, any machine may do anything while no key exists.  Pages of ``origins`` may write without
    a cookie, so that nobody's login can be used from there.
    """

    def __init__(self, *, insecure: bool = False, origins: Collection[str] = ()) -> None:
        self.insecure, self.origins = insecure, origins
        self._callers: dict[bytes, tuple[bytes, Caller]] = {}
        self._sessions: dict[bytes, SessionRow] = {}
        self._ended: set[bytes] = set()
        self._uses: dict[bytes, int] = {}
        self.has_keys = False  # whether a key was ever created; from then on every request needs one
        self.version = 0  # counts the readings of the keys
        self._read_at: float | None = None
        self._read = asyncio.Event()
        self.has_failed = False  # whether the last reading of the keys failed

    def update(self, keys: Iterable[KeyRow], sessions: Iterable[SessionRow] | None = None) -> None:
        """Replace the keys, and the sessions if they are given, by those just read."""
        if sessions is not None:
            known = {row.digest: row for row in sessions}
            self._ended &= known.keys()  # this reading may have begun before they ended
            self._sessions = {digest: row for digest, row in known.items() if digest not in self._ended}
        rows = list(keys)
        self._callers = {
            digest: (digest, Caller(row.name, row.role, row.campaign, frozenset(row.clients), expires))
            for row in rows
            if row.revoked is None
            for digest, expires in ((row.old_digest, row.old_until), (row.digest, row.expires))
            if digest is not None
        }
        self.has_keys = bool(rows)
        self.version += 1
        self._read_at, self.has_failed = time.monotonic(), False
        self._read.set()
        self._read = asyncio.Event()

    def is_outdated(self, max_age: float | None = None) -> bool:
        """Whether the keys were last read too long ago to be trusted."""
        return self._read_at is None or time.monotonic() - self._read_at > (MAX_KEY_AGE if max_age is None else max_age)

    def add_session(self, session: SessionRow) -> None:
        """Note a session that was just stored."""
        self._sessions[session.digest] = session

    def end_session(self, digest: bytes) -> None:
        """Forget a session; other servers do so when they next read the store."""
        self._sessions.pop(digest, None)
        self._ended.add(digest)

    async def wait_for_keys(self, headers: Mapping[bytes, bytes], max_age: float | None = None) -> None:
        """Wait for the next reading after the process stood still, or if another server may have opened the session.

        If readings fail, the store does not answer: the request is refused without a wait.
        """
        secret = find_session_secret(headers) if b"cookie" in headers and b"authorization" not in headers else None
        is_new = secret is not None and self.has_keys and digest_of(secret) not in self._sessions
        if (is_new or self.is_outdated(max_age)) and not self.has_failed:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._read.wait(), MAX_KEY_WAIT)

    def authorize(
        self,
        scope: Mapping[str, Any],
        headers: Mapping[bytes, bytes],
        required: RequiredRole,
        max_age: float | None = None,
    ) -> Caller:
        """Return the sender of a request that is allowed by keys of at most this age, in seconds.

        Raises :class:`HttpProblem`.
        """
        if scope["method"] not in _READING:
            _check_site(headers, self.origins)
        if required == "anyone":
            return WITHOUT_KEY
        if self.is_outdated(max_age):
            raise HttpProblem("unavailable", "The store does not answer, so that keys cannot be checked: try again.")
        caller = self._identify(scope, headers)
        if required not in _ALLOWED[caller.role]:
            raise HttpProblem(
                "forbidden",
                f"The key {caller.name} has the role {caller.role}; this request needs the role {required}.",
            )
        return caller

    def find_caller(self, secret: str) -> Caller | None:
        """Return the owner of a valid key, if this is one, and note that it is used."""
        try:
            return self.find_by_digest(digest_of(secret))
        except HttpProblem:
            return None

    def find_by_digest(self, digest: bytes) -> Caller:
        """Return the owner of a valid key, and note that it is used.  Raises :class:`HttpProblem`.

        The digest of what was sent is looked up.  Nobody can choose a digest piece by piece, so that the time
        of the search reveals nothing about stored keys.
        """
        found, now = self._callers.get(digest), time.time_ns() // 1000
        if found is None or not hmac.compare_digest(found[0], digest):
            raise HttpProblem(
                "unauthorized", "The key is unknown or has been revoked: ask an administrator for a new one."
            )
        caller = found[1]
        if caller.has_expired(now):
            assert caller.expires is not None  # noqa: S101 - or else it does not expire
            ended = f"The key {caller.name} expired at {format_second(caller.expires)}"
            raise HttpProblem("unauthorized", f"{ended}: ask an administrator for a new one.")
        self._uses[digest] = now
        return caller

    def take_uses(self) -> dict[bytes, int]:
        """Return when secrets, by digest, were last used since the last call, in microseconds since 1970."""
        uses, self._uses = self._uses, {}
        return uses

    def _identify(self, scope: Mapping[str, Any], headers: Mapping[bytes, bytes]) -> Caller:
        if not self.has_keys:
            if not self.insecure:
                _check_loopback(scope, headers)
            return WITHOUT_KEY
        if (key := _find_key(headers)) is not None:
            return self.find_by_digest(digest_of(key))
        if (secret := find_session_secret(headers)) is not None:
            return self.find_by_session(secret)
        raise HttpProblem("unauthorized", "A key is required: send the header Authorization: Bearer KEY.")

    def find_by_session(self, secret: str) -> Caller:
        """Return the owner of the key that opened a session.  Raises :class:`HttpProblem`."""
        digest = digest_of(secret)
        session = self._sessions.get(digest)
        if session is None or time.time_ns() // 1000 >= session.expires:
            raise HttpProblem("unauthorized", "The session is unknown or has expired: sign in again.")
        return replace(self.find_by_digest(session.key_digest), session=digest)


def find_address(scope: Mapping[str, Any], headers: Mapping[bytes, bytes]) -> str:
    """Return the sender's address; behind a proxy on this machine, the one that the proxy reports.

    The proxy's entry is the last one: the sender can choose those before it.
    """
    client = scope.get("client")
    host: str = client[0] if client else ""
    reported = headers.get(b"x-forwarded-for", b"").decode("latin-1").rpartition(",")[2].strip()
    return reported if reported and is_loopback(host) else host


def _find_key(headers: Mapping[bytes, bytes]) -> str | None:
    scheme, _, secret = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
    return secret.strip() if scheme.lower() == "bearer" and secret else None


def find_session_secret(headers: Mapping[bytes, bytes]) -> str | None:
    """Return the secret in a browser's cookie."""
    for part in headers.get(b"cookie", b"").decode("latin-1").split(";"):
        name, _, value = part.strip().partition("=")
        if name == COOKIE and value:
            return value
    return None


def _check_site(headers: Mapping[bytes, bytes], origins: Collection[str]) -> None:
    """Refuse writes that a page of another site makes a browser send."""
    origin = headers.get(b"origin")
    if origin is not None and origin.decode("latin-1") in origins and b"cookie" not in headers:
        return
    is_foreign = origin is not None and _host_of(origin) != headers.get(b"host", b"").lower()
    if headers.get(b"sec-fetch-site") == b"cross-site" or (
        is_foreign and headers.get(b"sec-fetch-site") != b"same-origin"
    ):
        raise HttpProblem(
            "forbidden",
            "The request comes from a page of another site: name it in --cors-origins and send a key instead of a "
            "cookie, or let the proxy pass on the header Host.",
        )


def _host_of(origin: bytes) -> bytes | None:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return None


def _check_loopback(scope: Mapping[str, Any], headers: Mapping[bytes, bytes]) -> None:
    """Without keys, admit this machine only, and only requests that no proxy can have passed on."""
    client = scope.get("client")
    host = headers.get(b"host", b"").decode("latin-1").lower()
    if client is None or not is_loopback(client[0]):
        reason = "the request comes from another machine"
    elif not _names_loopback(host):
        reason = "the request names another host than this machine"
    elif not _PROXY_HEADERS.isdisjoint(headers) or b" x-forwarded-" in b" " + b" ".join(headers):
        reason = "the request was passed on by a proxy"
    elif scope.get("http_version") == "1.0":
        reason = "the request uses HTTP/1.0, as proxies do"
    else:
        return
    raise HttpProblem(
        "unauthorized",
        f"No key exists yet, and {reason}: create a key in the server's store with `tutelage key create`.",
    )


@functools.lru_cache(256)  # asked for every pull, about the same few hosts
def _names_loopback(host: str) -> bool:
    """Whether a Host header names this machine."""
    try:
        name = urlsplit(f"//{host}").hostname
    except ValueError:
        return False
    return name is not None and not set("/?#@") & set(host) and (name == "localhost" or is_loopback(name))


@functools.lru_cache(256)
def is_loopback(host: str) -> bool:
    """Whether an address is one of this machine's own."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)
