"""``tutelage serve``: the live server."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from tutelage.errors import InputError


def _from(default: str, metavar: str, help: str) -> Any:
    """An option that says from when on something is a state: docs/dashboard.md."""
    return typer.Option(metavar=metavar, show_default=default, help=help)


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
    own_teachers: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            show_default=False,
            help="Teachers of installed packages that campaigns may have: package.module:Name, with commas.",
        ),
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
    slow_intervals: Annotated[
        float | None, _from("5", "TIMES", "Slow: silent for so many of its usual gaps,")
    ] = None,
    slow_seconds: Annotated[float | None, _from("10", "SECONDS", "and at least so long.")] = None,
    slow_forecast: Annotated[
        float | None, _from("3", "TIMES", "Slow: a forecast of so many medians of the clients'.")
    ] = None,
    stalled_intervals: Annotated[
        float | None, _from("20", "TIMES", "Stalled: silent for so many of its usual gaps,")
    ] = None,
    stalled_seconds: Annotated[float | None, _from("60", "SECONDS", "and at least so long.")] = None,
    avoided_pulls: Annotated[
        int | None, _from("20", "N", "Avoids an arm: so many pulls for each awaited arm, none of this one.")
    ] = None,
    lag_seconds: Annotated[
        float | None, _from("0.25", "SECONDS", "Store lagging: 99 % of commits take up to more.")
    ] = None,
    lag_red_seconds: Annotated[float | None, _from("10", "SECONDS", "The same in red.")] = None,
    waiting_pulls: Annotated[int | None, _from("5000", "N", "Store lagging: so many pulls wait.")] = None,
    idle_seconds: Annotated[
        float | None, _from("120", "SECONDS", "No data: nobody pulls for longer.")
    ] = None,
    replay_share: Annotated[
        float | None, _from("0.05", "SHARE", "Replays: a larger share of the pulls came before,")
    ] = None,
    replay_least: Annotated[int | None, _from("20", "N", "and so many at least.")] = None,
    cut_off_seconds: Annotated[
        float | None, _from("5", "SECONDS", "Cut off: the page's figures are older.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", show_default="tutelage.toml", help="A file of settings.")
    ] = None,
) -> None:
    """Serve campaigns over HTTP, until interrupted."""
    flags = dict(locals())  # an option has the name of its setting
    file = flags.pop("config")
    flags["migrate"] = False if flags.pop("no_migrate") else None
    from tutelage.service.configuration import resolve
    from tutelage.service.server_process import run

    configuration = resolve(flags, file=file)
    if (configuration.tls_certificate is None) != (configuration.tls_key is None):
        raise InputError("TLS needs both --tls-certificate and --tls-key.")
    for name in ("tls_certificate", "tls_key"):
        path = getattr(configuration, name)
        if path is not None and not path.is_file():
            raise InputError(f"--{name.replace('_', '-')}: {path} is no file.")
    failure = run(configuration)
    if failure:
        sys.stderr.write(f"{failure}\n")
        raise typer.Exit(1)
