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
    from tutelage.service.configuration import given, resolve
    from tutelage.stores.address import without_password

    told = resolve(file=file).model_dump(mode="json")
    shown = {name: without_password(told[name]) for name in ("store", "server", "advertise") if told[name]}
    secret = {name for name, value in shown.items() if value != told[name]}
    told |= shown
    found = given(file=file)
    sources = {name: found[name][0] if name in found else "default" for name in told}
    with printing():
        if as_json:
            sys.stdout.write(json.dumps(told | {"sources": sources}) + "\n")
            return
        for name, value in told.items():
            if value is None:
                sys.stdout.write(f"# {name} is not set\n")
                continue
            comment = sources[name] + ("; the password is left out" if name in secret else "")
            sys.stdout.write(f"{name} = {json.dumps(value, ensure_ascii=False)}  # {comment}\n")
        sys.stdout.write(f"# TUTELAGE_KEY is {'set' if os.environ.get('TUTELAGE_KEY') else 'not set'}\n")
