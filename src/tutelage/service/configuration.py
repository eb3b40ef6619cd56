"""The settings of a server and of the commands that talk to one, from options, environment and file."""

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from tutelage.errors import InputError
from tutelage.service.campaigns.settings import CAMPAIGN_NAME
from tutelage.service.monitoring.status import Thresholds
from tutelage.service.settings_field import setting, settings_of
from tutelage.stores.address import without_password
from tutelage.validation import read_toml_number

FILE = "tutelage.toml"
#: First folders of the server's own addresses.
OWN_FOLDERS = frozenset(
    {"c", "docs", "healthz", "login", "logout", "metrics", "openapi.json", "readyz", "static", "v1"}
)
_SERVICE_LINK = re.compile("(?:tcp|udp|sctp)://")  # TUTELAGE_PORT=tcp://10.0.0.1:8321, of a service "tutelage"
# Without the port that the scheme implies, which browsers leave out.
_ORIGIN = re.compile(r"(?:http(?!.*:80$)|https(?!.*:443$))://(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?")
_TEACHER = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*:[A-Za-z_][A-Za-z0-9_]*")


def _check_address(address: str) -> str:
    """Refuse an address without ``http://`` or ``https://``, a host, or a port that can exist."""
    try:
        parts = urlsplit(address)
        is_good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_good = False
    if not is_good or "://" not in address or any(map(str.isspace, address)):
        raise ValueError("an address that begins with http:// or https://, as in http://HOST:PORT")
    return address


def _check_origins(origins: str) -> str:
    """Refuse anything but origins as a browser sends them: a scheme, a host in lower case, perhaps a port."""
    if not all(map(_ORIGIN.fullmatch, split_list(origins))):
        raise ValueError("origins as in https://shop.example.org or http://localhost:3000, separated by commas")
    return origins


def _check_edge(name: str) -> str:
    if not CAMPAIGN_NAME.fullmatch(name):
        raise ValueError("1 to 64 letters, digits, dots, dashes and underscores, starting with a letter or digit")
    return name


def _check_teachers(names: str) -> str:
    if not all(map(_TEACHER.fullmatch, split_list(names))):
        raise ValueError("names such as package.module:Name, separated by commas")
    return names


def _check_root_path(path: str) -> str:
    """Refuse a prefix that the server cannot distinguish from its own paths when a proxy cuts it off."""
    if path and not path.startswith("/"):
        raise ValueError("a path that begins with a slash, as in /tutelage")
    folder = path[1:].partition("/")[0]
    if folder in OWN_FOLDERS:
        raise ValueError(f"another path, as in /tutelage, since /{folder} is one of the server's own addresses")
    return path.rstrip("/")


@dataclass(frozen=True, kw_only=True)
class ServerSettings:
    """Where the server listens, what it stores where, and its limits."""

    store: str = setting(
        "sqlite:///tutelage.db",
        metavar="URL",
        help="Store that holds the campaigns: sqlite:///FILE or postgresql://USER@HOST/DATABASE.",
    )
    host: str = setting("127.0.0.1", metavar="ADDRESS", help="Address to listen on.")
    port: int = setting(8321, minimum=0, maximum=65_535, metavar="PORT", help="Port to listen on; 0 picks a free one.")
    server: str = setting(
        "http://127.0.0.1:8321",
        metavar="URL",
        refine=_check_address,
        help="Server that tutelage campaign talks to, and that commands shown on the dashboard act on.",
    )
    advertise: str | None = setting(
        None,
        metavar="URL",
        refine=_check_address,
        help="Address at which other servers that share the store reach this one.",
    )
    upstream: str | None = setting(
        None,
        metavar="URL",
        refine=_check_address,
        help="Leader for whose campaigns this server answers pulls, as an edge; needs --edge too.",
    )
    edge: str | None = setting(
        None,
        metavar="NAME",
        refine=_check_edge,
        help="Name of this server as an edge, different for each edge of a leader.",
    )
    root_path: str = setting(
        "", metavar="PATH", refine=_check_root_path, help="Path prefix under which a proxy publishes the server."
    )
    cors_origins: str = setting(
        "",
        metavar="ORIGINS",
        refine=_check_origins,
        help="Origins of pages that may call the API, as in https://shop.example.org, separated by commas.",
    )
    insecure: bool = setting(False, help="Accept requests from any machine while no key exists.")
    own_teachers: str = setting(
        "",
        metavar="NAMES",
        refine=_check_teachers,
        help="Teachers of installed packages that campaigns may use: package.module:Name, separated by commas.",
    )
    migrate: bool = setting(True, help="Create a missing store and update an old schema at start.")
    tls_certificate: str | None = setting(
        None, metavar="FILE", help="PEM file with the TLS certificate chain; needs --tls-key too."
    )
    tls_key: str | None = setting(
        None, metavar="FILE", help="PEM file with the private key of the TLS certificate, without a password."
    )
    max_body: int = setting(
        16 * 2**20, minimum=1024, maximum=2**30, metavar="BYTES", help="Maximum size of a request body, in bytes."
    )
    max_waiting_pulls: int = setting(
        50_000,
        minimum=1,
        maximum=10_000_000,
        metavar="N",
        help="Maximum number of pulls that wait to be stored; further pulls are refused with status 429.",
    )
    max_cached_pulls: int = setting(
        250_000,
        minimum=0,
        maximum=100_000_000,
        metavar="N",
        help="Maximum number of the newest pulls, of all campaigns together, kept in memory to answer replays.",
    )
    body_timeout: float = setting(
        10.0, above=0, maximum=3600, metavar="SECONDS", help="Maximum time for a request body to arrive, in seconds."
    )
    shutdown_timeout: int = setting(
        10,
        minimum=1,
        maximum=3600,
        metavar="SECONDS",
        help="Maximum time to finish open requests at shutdown, in seconds.",
    )
    session_hours: float = setting(
        12.0,
        above=0,
        maximum=8760,
        metavar="HOURS",
        help="Time after which a browser that signed in to the dashboard must sign in again, in hours.",
    )
    client_metrics: int = setting(
        1_000,
        minimum=0,
        maximum=1_000_000,
        metavar="N",
        help="Maximum number of clients with metrics of their own at /metrics; 0 switches these metrics off.",
    )
    log_level: Literal["debug", "info", "warning", "error"] = setting(
        "info", metavar="LEVEL", help="Lowest level of log lines to write: debug, info, warning or error."
    )
    log_format: Literal["auto", "text", "json"] = setting(
        "auto",
        metavar="FORMAT",
        help="Form of the log: text, json, or auto, which is text on a terminal and json elsewhere.",
    )


@dataclass(frozen=True, kw_only=True)
class Configuration(Thresholds, ServerSettings):
    """Every setting: those of the server itself, then the thresholds of status items."""


SETTINGS = settings_of(Configuration)


def split_list(text: str) -> frozenset[str]:
    """Split a value of the settings ``own_teachers`` and ``cors_origins``."""
    return frozenset(name.strip() for name in text.split(",") if name.strip())


def load_configuration(
    options: Mapping[str, Any] | None = None, *, environment: Mapping[str, str] | None = None, file: Path | None = None
) -> Configuration:
    """Combine options, environment and file, in this order of precedence.

    Options that are None count as absent.  Raises ``InputError`` for a value that is not allowed.
    """
    found = find_values(options, environment=environment, file=file)
    return Configuration(**{name: _convert(name, *given) for name, given in found.items()})


def load_setting(name: str, option: str | None, *, file: Path | None = None) -> Any:
    """Return one setting, as :func:`load_configuration` would; the values of the others are not read."""
    found = find_values({name: option}, file=file)
    return _convert(name, *found[name]) if name in found else SETTINGS[name].default


def find_command_server(configuration: Configuration) -> str:
    """Return the server that commands on this server's pages name; empty for the commands' default.

    It is the setting ``server``, if given, else ``advertise``, else the address on which the server listens.
    """
    default = SETTINGS["server"].default
    found = configuration.server
    if found == default:
        found = configuration.advertise or find_own_address(configuration)
    return "" if found == default else without_password(found)


def find_own_address(configuration: Configuration) -> str:
    """Return the address at which this machine reaches the server."""
    scheme = "http" if configuration.tls_certificate is None else "https"
    host = "127.0.0.1" if configuration.host in {"", "0.0.0.0", "::"} else configuration.host  # noqa: S104
    place = f"[{host}]" if ":" in host else host
    return f"{scheme}://{place}:{configuration.port}"


def describe_ignored_variables() -> list[str]:
    """Return a sentence for each environment variable of a setting's name that Kubernetes has set."""
    return [
        f"{each.variable}={os.environ[each.variable]} is ignored: Kubernetes sets it for a service of this name; "
        f"use {each.option}, or enableServiceLinks: false in the pod."
        for each in SETTINGS.values()
        if _SERVICE_LINK.match(os.environ.get(each.variable, ""))
    ]


def _convert(name: str, source: str, value: Any) -> Any:
    try:
        return SETTINGS[name].convert(value)
    except ValueError as error:
        shown = repr(without_password(value)) if isinstance(value, str) else without_password(repr(value))
        raise InputError(f"Invalid {source} {shown}: use {error}.") from None


def find_values(
    options: Mapping[str, Any] | None = None, *, environment: Mapping[str, str] | None = None, file: Path | None = None
) -> dict[str, tuple[str, Any]]:
    """Return, for each setting that is given somewhere, its source and its value, not yet checked."""
    path = Path(FILE) if file is None else file
    found: dict[str, tuple[str, Any]] = {}
    if path.exists() or file is not None:
        for name, value in read_toml(path).items():
            if name not in SETTINGS:
                raise InputError(
                    f"Unknown setting {name!r} in {path}: remove it, or use one that `tutelage config` lists."
                )
            found[name] = f"{name} in {path}", value
    variables = os.environ if environment is None else environment
    for name, each in SETTINGS.items():
        if each.variable in variables and not _SERVICE_LINK.match(variables[each.variable]):
            found[name] = each.variable, variables[each.variable]
        if options and options.get(name) is not None:
            found[name] = each.option, options[name]
    return found


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file of settings, the server's or a campaign's.  Raises ``InputError``."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"), parse_float=read_toml_number)
    except OSError as error:
        raise InputError(f"Cannot read {path}: {error.strerror}.") from None
    except RecursionError:
        raise InputError(f"{path} is nested too deeply: a file of settings has no nested lists.") from None
    except ValueError as error:
        raise InputError(f"{path} is not valid TOML: {error}.") from None
