"""``tutelage config``: the settings in force."""

import json
import os
from collections.abc import Iterator
from dataclasses import asdict

from tutelage.cli.options import Json
from tutelage.cli.printing import print_answer
from tutelage.cli.server_options import ConfigFile


def config(config: ConfigFile = None, as_json: Json = False) -> None:
    """Print the server's settings and where each value comes from.

    Passwords are left out.
    The text can be saved and used as tutelage.toml.
    """
    from tutelage.service.configuration import describe_ignored_variables, find_values, load_configuration
    from tutelage.stores.address import without_password

    values = asdict(load_configuration(file=config))
    shown = {name: without_password(values[name]) for name in ("store", "server", "advertise") if values[name]}
    hidden = {name for name, value in shown.items() if value != values[name]}
    values |= shown
    given = find_values(file=config)
    sources = {name: given[name][0] if name in given else "default" for name in values}

    def lines() -> Iterator[str]:
        for name, value in values.items():
            comment = sources[name] + ("; the password is left out" if name in hidden else "")
            written = f"{name} = {json.dumps(value, ensure_ascii=False)}  # {comment}"
            yield f"# {name} is not set" if value is None else written
        yield from (f"# {sentence}" for sentence in describe_ignored_variables())
        yield f"# TUTELAGE_KEY is {'set' if os.environ.get('TUTELAGE_KEY') else 'not set'}"

    print_answer(lambda: values | {"sources": sources}, lines, as_json=as_json)
