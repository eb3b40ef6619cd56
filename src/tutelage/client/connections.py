"""How a server is reached: directly on this machine, elsewhere by the proxy and certificates of the environment."""

import os
import re
import socket
import ssl
import urllib.request
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx

_CERTIFICATES = {"SSL_CERT_FILE": "a PEM file", "SSL_CERT_DIR": "a folder"}


@dataclass(frozen=True)
class ProxySetting:
    """A proxy of the environment: its URL, and the variable that sets it."""

    url: str
    variable: str

    @property
    def shown(self) -> str:
        """The URL, its password hidden."""
        return re.sub(r"(//[^:@]*):.*@", r"\1:***@", self.url, flags=re.DOTALL)

    def __str__(self) -> str:
        return f"the proxy {self.shown} of {self.variable}"


def find_proxy(server: str) -> ProxySetting | None:
    """Return the proxy by which a server is reached, from HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY.

    None without one, and for a server on this machine.
    """
    parts, proxies = urlsplit(server), urllib.request.getproxies()
    host = parts.hostname or ""
    scheme = parts.scheme if proxies.get(parts.scheme) else "all"
    url = proxies.get(scheme)
    if not url or _is_this_machine(host) or urllib.request.proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    names = (f"{scheme}_proxy", f"{scheme}_proxy".upper())
    variable = next((name for name in names if os.environ.get(name) == url), "the system's settings")
    return ProxySetting(url if "://" in url else f"http://{url}", variable)


def name_proxy(server: str) -> str:
    """Return " through the proxy ..." for an error about a server; empty without a proxy."""
    proxy = find_proxy(server)
    return "" if proxy is None else f" through {proxy}"


def connection_options(server: str) -> dict[str, Any]:
    """Return the options of an httpx client for a server.

    Raises ``ValueError`` that names the variable of a proxy or of certificates that cannot be used.
    """
    proxy = find_proxy(server)
    return {
        "trust_env": False,
        "verify": _make_tls_context(server),
        "proxy": None if proxy is None else _make_proxy(proxy),
    }


def _make_proxy(proxy: ProxySetting) -> httpx.Proxy:
    try:
        made = httpx.Proxy(proxy.url)
        httpx.HTTPTransport(proxy=made).close()
    except ImportError:
        raise ValueError(
            f"Using {proxy} needs the package socksio: install it with pip install socksio, or unset {proxy.variable}."
        ) from None
    except (ValueError, httpx.InvalidURL) as error:
        raise ValueError(f"Invalid {proxy.variable} {proxy.shown!r} ({error}): use http://HOST:PORT.") from None
    return made


def _make_tls_context(server: str) -> ssl.SSLContext:
    """Return the TLS context with the certificates of SSL_CERT_FILE or SSL_CERT_DIR, which http:// does not read."""
    if urlsplit(server).scheme != "https":
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    variable = next((name for name in _CERTIFICATES if os.environ.get(name)), None)
    if variable is None:
        return httpx.create_ssl_context()
    path = os.environ[variable]
    try:
        if variable == "SSL_CERT_DIR":
            os.scandir(path).close()
        return httpx.create_ssl_context()
    except OSError as error:
        reason = error.strerror or str(error)
        raise ValueError(
            f"Cannot read certificates from {variable}={path} ({reason}): name {_CERTIFICATES[variable]} with "
            "certificates, or unset it."
        ) from None


def _is_this_machine(host: str) -> bool:
    """Whether a host is this machine: by its name, or by an address that a socket can be bound to."""
    if host == "localhost" or host.endswith(".localhost") or host == socket.gethostname().lower():
        return True
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, 0, type=socket.SOCK_DGRAM, flags=socket.AI_NUMERICHOST)[
            0
        ]
        with socket.socket(family, kind) as bound:
            bound.bind(address)
    except (OSError, UnicodeError):
        return False
    return True
