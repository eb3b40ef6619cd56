"""``tutelage serve``: the live server."""

import sys
from pathlib import Path
from typing import Any

import typer

from tutelage.cli.server_options import ConfigFile, setting_options
from tutelage.errors import InputError
from tutelage.service.configuration import SETTINGS, load_configuration


@setting_options(setting for setting in SETTINGS.values() if setting.name != "server")
def serve(config: ConfigFile = None, **settings: Any) -> None:
    """Serve campaigns over HTTP until interrupted.

    Each setting is an option (--port 8321), an environment variable (TUTELAGE_PORT=8321) and a line of the
    settings file (port = 8321); an option takes precedence over the variable, and the variable over the file.
    """
    configuration = load_configuration(settings, file=config)
    if (configuration.tls_certificate is None) != (configuration.tls_key is None):
        raise InputError("TLS needs a certificate and its key: give both --tls-certificate and --tls-key.")
    if (configuration.upstream is None) != (configuration.edge is None):
        raise InputError("An edge needs its leader and a name: give both --upstream and --edge.")
    for name in ("tls_certificate", "tls_key"):
        path = getattr(configuration, name)
        if path is not None and not Path(path).is_file():
            raise InputError(f"Invalid {SETTINGS[name].option} {path!r}: use an existing file.")
    from tutelage.service.server_process import run

    failure = run(configuration)
    if failure:
        sys.stderr.write(f"{failure}\n")
        raise typer.Exit(1)
