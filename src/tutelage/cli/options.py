"""Options that several commands have, and how their values are read."""

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from tutelage.errors import InputError

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
StoreUrl = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="URL",
        show_default="sqlite:///tutelage.db",
        help="The store, the one that the server has.",
    ),
]
ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config", metavar="FILE", show_default="tutelage.toml", help="A file of settings, the server's."
    ),
]

_WHOLE = re.compile(r"[+-]?[0-9]+(_[0-9]+)*")


def whole_number(text: str | int) -> int:
    """A whole number; digits may be grouped as in 50_000."""
    if isinstance(text, int):  # a default
        return text
    if not _WHOLE.fullmatch(text.strip()):
        raise typer.BadParameter(f"{text!r} is not a whole number, as in 1000 or 1_000")
    return int(text)


def number(text: str | float) -> float:
    """A number, with a decimal point."""
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number, as in 20 or 2.5") from None


def client_rounds(option: str, given: list[str] | None) -> dict[int, int]:
    """``["0:1000", "3:20_000"]`` as {client: round}.  Raises ``InputError``."""
    found: dict[int, int] = {}
    for text in given or []:
        client, colon, round = text.partition(":")
        if not colon or not _WHOLE.fullmatch(client.strip()) or not _WHOLE.fullmatch(round.strip()):
            raise InputError(f"{option} {text!r} is not CLIENT:ROUND, as in {option} 0:1000.")
        if int(client) in found:
            raise InputError(f"{option} names client {int(client)} twice: leave one.")
        found[int(client)] = int(round)
    return found


@contextlib.contextmanager
def store_of(store: str | None, config: Path | None) -> Iterator[str]:
    """The address of the store that these two options name; what it refuses is the user's to mend."""
    from tutelage.service.configuration import resolve
    from tutelage.stores.base import StoreError

    try:
        yield resolve({"store": store}, file=config).store
    except StoreError as error:
        raise InputError(str(error)) from error
