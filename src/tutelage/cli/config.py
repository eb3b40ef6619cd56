"""``tutelage config``: the settings that count."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from tutelage.cli.output import printing


def config(
    file: Annotated[
        Path | None,
        typer.Option("--config", metavar="FILE", show_default="tutelage.toml", help="A file of settings."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Print every setting as file and environment give it, without secrets."""
    from tutelage.service.configuration import resolve, without_password

    told = resolve(file=file).model_dump(mode="json")
    told |= {name: without_password(told[name]) for name in ("store", "server", "advertise") if told[name]}
    with printing():
        if as_json:
            sys.stdout.write(json.dumps(told) + "\n")
            return
        for name, value in told.items():
            sys.stdout.write(
                f"{name} = {json.dumps(value)}\n" if value is not None else f"# {name} is not set\n"
            )
