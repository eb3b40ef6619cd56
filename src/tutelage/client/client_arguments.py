"""The arguments of a client: their defaults in the environment, and their checks."""

import math
import os
from urllib.parse import urlsplit

import httpx


def find_server(server: str | None) -> str:
    """Return the server's address: as given, or that of TUTELAGE_SERVER.  Raises ``ValueError``."""
    server = server or os.environ.get("TUTELAGE_SERVER")
    if not server:
        raise ValueError("No server address: pass server, as in http://HOST:PORT, or set TUTELAGE_SERVER.")
    if not _is_address(server):
        _, at, place = server.rpartition("@")  # a password may come before it
        shown = f"***@{place}" if at else server
        raise ValueError(f"Invalid server address {shown!r}: use http://HOST:PORT or https://HOST:PORT.")
    return server


def find_key(key: str | None) -> str:
    """Return the key: as given, or that of TUTELAGE_KEY; "" is none.  Raises ``ValueError``."""
    found = os.environ.get("TUTELAGE_KEY", "") if key is None else key
    if not (found.isascii() and found.isprintable()) or " " in found:
        name = "TUTELAGE_KEY" if key is None else "The key"
        raise ValueError(f"{name} contains a character that is not allowed in a key.")
    return found


def check_arguments(campaign: str, deadline: object) -> None:
    """Raise ``ValueError`` for an empty campaign or an invalid deadline."""
    if not campaign:
        raise ValueError("The name of the campaign is empty.")
    if not isinstance(deadline, int | float) or not 0 < deadline < math.inf:
        raise ValueError(f"Invalid deadline {deadline!r}: use a positive number of seconds.")


def _is_address(server: str) -> bool:
    try:
        parts = urlsplit(server)
        httpx.URL(server)
        is_place = bool(parts.hostname) and parts.port != 0
    except (ValueError, httpx.InvalidURL):
        return False
    return parts.scheme in {"http", "https"} and is_place and not any(map(str.isspace, server))
