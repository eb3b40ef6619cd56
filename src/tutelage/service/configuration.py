"""The settings of a server and of the commands that talk to one.

Each has a flag, an environment twin (``TUTELAGE_STORE``) and a line in ``tutelage.toml`` (``store = "..."``);
the first of them that is there counts.
"""

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, ValidationError, field_validator

from tutelage.errors import InputError
from tutelage.service.api.validation import must_be
from tutelage.service.monitoring.thresholds import Thresholds
from tutelage.stores.address import without_password

FILE = "tutelage.toml"
_TEACHER = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*:[A-Za-z_][A-Za-z0-9_]*")
OWN_FOLDERS = frozenset(
    {"c", "docs", "healthz", "login", "logout", "metrics", "openapi.json", "readyz", "static", "v1"}
)  # what the server's addresses begin with


class Configuration(Thresholds):
    """Every setting with its default; those of the states come first."""

    store: str = "sqlite:///tutelage.db"
    host: str = "127.0.0.1"
    port: int = Field(8321, ge=0, le=65535)
    server: str = "http://127.0.0.1:8321"
    advertise: str | None = None
    root_path: str = ""
    insecure: bool = False
    own_teachers: str = ""
    migrate: bool = True
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    max_body: int = Field(16 * 2**20, ge=1024, le=2**30)
    max_waiting_pulls: int = Field(50_000, ge=1, le=10_000_000)
    body_timeout: float = Field(10.0, gt=0, le=3600)
    shutdown_timeout: int = Field(10, ge=1, le=3600)
    log_level: Literal["debug", "info", "warning", "error"] = "info"

    @field_validator("server", "advertise")
    @classmethod
    def _check_address(cls, value: str | None) -> str | None:
        if value is not None and not value.startswith(("http://", "https://")):
            raise ValueError("must begin with http:// or https://")
        if value is not None and not _has_host(value):
            raise ValueError("must be an address, as in http://HOST:PORT")
        return value

    @field_validator("own_teachers")
    @classmethod
    def _check_teachers(cls, value: str) -> str:
        odd = [name for name in teachers_of(value) if not _TEACHER.fullmatch(name)]
        if odd:
            raise ValueError("must be names like package.module:Name, with commas between them")
        return value

    @field_validator("root_path")
    @classmethod
    def _check_root(cls, value: str) -> str:
        if value and not value.startswith("/"):
            raise ValueError("must begin with a slash, as in /tutelage")
        folder = value[1:].partition("/")[0]
        if folder in OWN_FOLDERS:
            raise ValueError(
                f"/{folder} is an address of the server's own, not to be told from the prefix where a proxy "
                "cuts that off; another one works, as in /tutelage"
            )
        return value.rstrip("/")


def _has_host(address: str) -> bool:
    """Whether an address has a host and, if any, a port that can be one."""
    try:
        parts = urlsplit(address)
        return bool(parts.hostname) and parts.port != 0 and not any(map(str.isspace, address))
    except ValueError:
        return False


def teachers_of(told: str) -> frozenset[str]:
    """The names in a value of ``own_teachers``."""
    return frozenset(name.strip() for name in told.split(",") if name.strip())


def resolve(
    flags: Mapping[str, Any] | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    file: Path | None = None,
) -> Configuration:
    """The settings that count.  ``flags`` that are None were not given.  Raises ``InputError``."""
    found = given(flags, environment=environment, file=file)
    try:
        return Configuration.model_validate({name: value for name, (_, value) in found.items()})
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        if first["type"] == "extra_forbidden":
            raise InputError(f"{found[name][0]} is no setting: tutelage config shows all.") from None
        value = found[name][1]
        shown = repr(without_password(value)) if isinstance(value, str) else without_password(repr(value))
        raise InputError(f"{found[name][0]}: {shown} cannot be used: {must_be(first)}.") from None


def given(
    flags: Mapping[str, Any] | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    file: Path | None = None,
) -> dict[str, tuple[str, Any]]:
    """Where each setting that is no default comes from, and its value, not yet checked."""
    place = Path(FILE) if file is None else file
    found: dict[str, tuple[str, Any]] = {}
    if place.exists() or file is not None:
        found |= {name: (f"{place}: {name}", value) for name, value in read_toml(place).items()}
    twins = os.environ if environment is None else environment
    for name in Configuration.model_fields:
        if (twin := f"TUTELAGE_{name.upper()}") in twins:
            found[name] = twin, twins[twin]
    for name, value in (flags or {}).items():
        if value is not None:
            found[name] = f"--{name.replace('_', '-')}", value
    return found


def read_toml(path: Path) -> dict[str, Any]:
    """A file of settings, or a campaign's.  Raises ``InputError``."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None
    except RecursionError:
        raise InputError(f"{path} is nested too deeply.") from None
    except ValueError as error:
        raise InputError(f"{path} is no TOML: {error}.") from None
