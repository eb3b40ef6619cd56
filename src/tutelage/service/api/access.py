"""Who may do what: keys, their roles, and what is open without one.

Everything here is asked once a request by :mod:`tutelage.service.api.gateway`, the quick route included.
"""

import functools
import hashlib
import hmac
import ipaddress
import secrets
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

from tutelage.errors import InputError
from tutelage.service.api.problems import Problem
from tutelage.service.campaigns.settings import check_campaign_name, check_names, name_fault
from tutelage.stores.base import KeyRow, Role

FRESH_SECONDS = 5.0  # a revoked key lives no longer
COOKIE = "tutelage_key"
Need = Literal["open", "viewer", "pulls", "admin"]
_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_FORWARDED = frozenset({b"forwarded", b"x-real-ip", b"via"})
_ALLOWED: Mapping[Role, frozenset[Need]] = {
    "admin": frozenset({"open", "viewer", "pulls", "admin"}),
    "reporter": frozenset({"open", "pulls"}),
    "viewer": frozenset({"open", "viewer"}),
}


@dataclass(frozen=True)
class Grant:
    """Who asks: the key's name, empty without one, its role, and what a reporter may report."""

    name: str
    role: Role
    campaign: str | None = None
    clients: frozenset[str] = frozenset()

    def check_campaign(self, campaign: str) -> None:
        """Raise :class:`Problem` unless this campaign may be reported to."""
        if self.campaign is not None and self.campaign != campaign:
            raise Problem("forbidden", f"The key {self.name} is for the campaign {self.campaign} alone.")

    def check_clients(self, clients: Iterable[str]) -> None:
        """Raise :class:`Problem` unless these clients may be reported for."""
        if self.clients:
            for client in clients:
                if client not in self.clients:
                    raise Problem("forbidden", f"The key {self.name} is not for the client {client!r}.")


KEYLESS = Grant("", "admin")


def new_secret() -> tuple[str, bytes]:
    """A key's 256 random bits as text, and the digest that is stored."""
    secret = "tutelage_" + secrets.token_urlsafe(32)
    return secret, digest_of(secret)


def digest_of(secret: str) -> bytes:
    """SHA-256 of a key: its bits are random, so that nothing slower is needed."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()


def make_key(
    name: str, role: str, campaign: str | None, clients: Iterable[str], now: int
) -> tuple[str, KeyRow]:
    """A new key's secret and its row.  Raises ``InputError``."""
    if fault := name_fault(name):
        raise InputError(f"The key's name {name!r} {fault}.")
    if role not in _ALLOWED:
        raise InputError(f"{role!r} is no role: take admin, reporter or viewer.")
    kept = tuple(clients)
    if role == "reporter" and campaign is None:
        raise InputError("A reporter's key is for one campaign: name it with --campaign.")
    if role != "reporter" and (campaign is not None or kept):
        raise InputError(
            f"The role {role} is for all campaigns: only a reporter takes --campaign and --client."
        )
    if campaign is not None:
        check_campaign_name(campaign)
    check_names("client", kept, 100_000)
    secret, digest = new_secret()
    found: Role = "admin" if role == "admin" else "reporter" if role == "reporter" else "viewer"
    return secret, KeyRow(name, digest, found, campaign, kept, now)


class Access:
    """The keys as they were read last, and the rules; ``insecure`` lets everybody in while no key exists."""

    def __init__(self, *, insecure: bool = False) -> None:
        self.insecure = insecure
        self._grants: dict[bytes, tuple[bytes, Grant]] = {}
        self._has_keys = False
        self._read: float | None = None

    def update(self, keys: Iterable[KeyRow]) -> None:
        """Take the keys as they are now."""
        rows = list(keys)
        self._grants = {
            row.digest: (row.digest, Grant(row.name, row.role, row.campaign, frozenset(row.clients)))
            for row in rows
            if row.revoked is None
        }
        self._has_keys = bool(rows)
        self._read = time.monotonic()

    @property
    def has_keys(self) -> bool:
        """Whether there has ever been a key: then one is needed."""
        return self._has_keys

    def decide(self, scope: Mapping[str, Any], headers: Mapping[bytes, bytes], need: Need) -> Grant:
        """Who asks, if it may.  Raises :class:`Problem`."""
        if scope["method"] not in _READING:
            _check_site(headers)
        if need == "open":
            return KEYLESS
        if self._read is None or time.monotonic() - self._read > FRESH_SECONDS:
            raise Problem("unavailable", "The store does not answer, and keys cannot be read: try again.")
        grant = self._grant(scope, headers)
        if need not in _ALLOWED[grant.role]:
            raise Problem(
                "forbidden", f"The key {grant.name} has the role {grant.role}, which may not do this."
            )
        return grant

    def grant_of(self, secret: str) -> Grant | None:
        """The owner of a key, if it is good.

        What is looked up is the digest of what was sent, which nobody can choose piece by piece: how long
        the look takes tells nothing of a key.
        """
        digest = digest_of(secret)
        found = self._grants.get(digest)
        return found[1] if found and hmac.compare_digest(found[0], digest) else None

    def _grant(self, scope: Mapping[str, Any], headers: Mapping[bytes, bytes]) -> Grant:
        if not self._has_keys:
            if not self.insecure:
                _check_loopback(scope, headers)
            return KEYLESS
        secret = _secret(headers)
        if secret is None:
            raise Problem("unauthorized", "A key is needed: send Authorization: Bearer KEY.")
        grant = self.grant_of(secret)
        if grant is None:
            raise Problem("unauthorized", "The key is not known, or has been revoked.")
        return grant


def _secret(headers: Mapping[bytes, bytes]) -> str | None:
    scheme, _, secret = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
    if scheme.lower() == "bearer" and secret:
        return secret.strip()
    for part in headers.get(b"cookie", b"").decode("latin-1").split(";"):
        name, _, value = part.strip().partition("=")
        if name == COOKIE and value:
            return value
    return None


def _check_site(headers: Mapping[bytes, bytes]) -> None:
    """A page of another site may not make a browser write."""
    origin = headers.get(b"origin")
    is_foreign = origin is not None and _host_of(origin) != headers.get(b"host", b"").lower()
    if headers.get(b"sec-fetch-site") == b"cross-site" or (
        is_foreign and headers.get(b"sec-fetch-site") != b"same-origin"
    ):
        raise Problem("forbidden", "The request comes from a page of another site.")


def _host_of(origin: bytes) -> bytes | None:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return None


def _check_loopback(scope: Mapping[str, Any], headers: Mapping[bytes, bytes]) -> None:
    """Without keys, only this machine is let in, and only if nobody may have passed the request on."""
    client = scope.get("client")
    host = headers.get(b"host", b"").decode("latin-1").lower()
    if client is None or not is_loopback(client[0]):
        why = "the request comes from another machine"
    elif not _names_loopback(host):
        why = "the request names another host than this machine"
    elif not _FORWARDED.isdisjoint(headers) or any(name.startswith(b"x-forwarded-") for name in headers):
        why = "the request was passed on by a proxy"
    elif scope.get("http_version") == "1.0":
        why = "the request speaks HTTP/1.0, as proxies do"
    else:
        return
    raise Problem("unauthorized", f"There is no key yet, and {why}: make one with `tutelage key create`.")


@functools.lru_cache(256)  # asked at every pull, of the same few
def _names_loopback(host: str) -> bool:
    """Whether a Host header names this machine."""
    try:
        name = urlsplit(f"//{host}").hostname
    except ValueError:
        return False
    return name is not None and not set("/?#@") & set(host) and (name == "localhost" or is_loopback(name))


@functools.lru_cache(256)
def is_loopback(host: str) -> bool:
    """Whether an address is this machine's own."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)
