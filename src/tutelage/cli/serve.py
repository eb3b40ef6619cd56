"""``tutelage serve``: the live server."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from tutelage.errors import InputError


def serve(
    store: Annotated[
        str | None,
        typer.Option(metavar="URL", show_default="sqlite:///tutelage.db", help="Where campaigns are kept."),
    ] = None,
    host: Annotated[
        str | None, typer.Option(metavar="ADDRESS", show_default="127.0.0.1", help="Where to listen.")
    ] = None,
    port: Annotated[int | None, typer.Option(metavar="N", show_default="8321", help="Its port.")] = None,
    advertise: Annotated[
        str | None,
        typer.Option(
            metavar="URL", show_default=False, help="Where other servers of the store find this one."
        ),
    ] = None,
    root_path: Annotated[
        str | None,
        typer.Option(metavar="PATH", show_default=False, help="The prefix under which a proxy shows it."),
    ] = None,
    insecure: Annotated[
        bool | None, typer.Option("--insecure", help="Let everybody in while no key exists.")
    ] = None,
    no_migrate: Annotated[
        bool, typer.Option("--no-migrate", help="Do not create the store or change its schema.")
    ] = False,
    tls_certificate: Annotated[
        Path | None, typer.Option(metavar="FILE", show_default=False, help="A certificate chain, PEM.")
    ] = None,
    tls_key: Annotated[
        Path | None, typer.Option(metavar="FILE", show_default=False, help="Its private key, PEM.")
    ] = None,
    max_body: Annotated[
        int | None, typer.Option(metavar="BYTES", show_default="16777216", help="The longest body.")
    ] = None,
    max_waiting_pulls: Annotated[
        int | None,
        typer.Option(metavar="N", show_default="50000", help="Pulls that may wait for the disk."),
    ] = None,
    body_timeout: Annotated[
        float | None, typer.Option(metavar="SECONDS", show_default="10", help="How long a body may take.")
    ] = None,
    shutdown_timeout: Annotated[
        int | None, typer.Option(metavar="SECONDS", show_default="10", help="How long the end may take.")
    ] = None,
    log_level: Annotated[
        str | None, typer.Option(metavar="LEVEL", show_default="info", help="debug, info, warning or error.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", show_default="tutelage.toml", help="A file of settings.")
    ] = None,
) -> None:
    """Serve campaigns over HTTP, until interrupted."""
    flags = {
        "store": store,
        "host": host,
        "port": port,
        "advertise": advertise,
        "root_path": root_path,
        "insecure": insecure,
        "migrate": False if no_migrate else None,
        "tls_certificate": tls_certificate,
        "tls_key": tls_key,
        "max_body": max_body,
        "max_waiting_pulls": max_waiting_pulls,
        "body_timeout": body_timeout,
        "shutdown_timeout": shutdown_timeout,
        "log_level": log_level,
    }
    from tutelage.service.configuration import resolve
    from tutelage.service.serving import run

    configuration = resolve(flags, file=config)
    if (configuration.tls_certificate is None) != (configuration.tls_key is None):
        raise InputError("TLS needs both --tls-certificate and --tls-key.")
    failure = run(configuration, tell=lambda line: sys.stderr.write(f"{line}\n"))
    if failure:
        sys.stderr.write(f"{failure}\n")
        raise typer.Exit(1)
