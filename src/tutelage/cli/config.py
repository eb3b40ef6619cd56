"""``tutelage config``: the settings that count."""

import json
import os
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
    """Print every setting and where it comes from, without secrets; it can be used as tutelage.toml."""
    from tutelage.service.configuration import given, resolve, without_password

    told = resolve(file=file).model_dump(mode="json")
    told |= {name: without_password(told[name]) for name in ("store", "server", "advertise") if told[name]}
    found = given(file=file)
    sources = {name: found[name][0] if name in found else "default" for name in told}
    with printing():
        if as_json:
            sys.stdout.write(json.dumps(told | {"sources": sources}) + "\n")
            return
        for name, value in told.items():
            shown = f"# {name} is not set" if value is None else f"{name} = {json.dumps(value)}"
            sys.stdout.write(f"{shown}  # {sources[name]}\n" if value is not None else f"{shown}\n")
        sys.stdout.write(f"# TUTELAGE_KEY is {'set' if os.environ.get('TUTELAGE_KEY') else 'not set'}\n")
