"""How the values of options are read."""

import re

import typer

_WHOLE = re.compile(r"[+-]?[0-9]+(_[0-9]+)*")


def whole_number(text: str | int) -> int:
    """A whole number; digits may be grouped as in 50_000."""
    if isinstance(text, int):  # a default
        return text
    if not _WHOLE.fullmatch(text.strip()):
        raise typer.BadParameter(f"{text!r} is not a whole number, as in 1000 or 1_000")
    return int(text)
