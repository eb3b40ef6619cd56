"""``tutelage demo``: a live server that teaches five clients."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import webbrowser
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tutelage.cli.completion import complete_teacher
from tutelage.cli.options import flag, number_option, option, whole_option
from tutelage.errors import InputError

if TYPE_CHECKING:
    from tutelage.cli.demo_clients import DemoClients
    from tutelage.cli.demo_output import DemoOutput

CAMPAIGN = "demo"
_START_SECONDS = 120.0  # for the server to start
_UPDATE_SECONDS = 0.25
_DEADLINE = 10.0  # seconds for a client's call: waiting costs nothing here
_MAX_HORIZON, _MAX_SEED, _MAX_PACE = 10**7, 2**53, 1_000.0
_TERMINAL_PACE = 30.0  # rounds per second: slow enough to watch


def demo(
    teacher: Annotated[str, option("SPEC", "Teacher, as in blt or twl.", autocompletion=complete_teacher)] = "blt",
    horizon: Annotated[int, whole_option("T", "Number of rounds of the campaign, from 1 to 10000000.")] = 1_800,
    pace: Annotated[
        float | None,
        number_option(
            "ROUNDS",
            "Pulls per second of each client, up to 1000; 0 lets them pull as fast as they can.",
            show_default="30 on a terminal, else 0",
        ),
    ] = None,
    seed: Annotated[
        int, whole_option("S", "Seed of the clients' and the teacher's random numbers, from 0 to 2^53.")
    ] = 1,
    port: Annotated[
        int | None, whole_option("PORT", "Port that the server listens on, from 1 to 65535.", show_default="a free one")
    ] = None,
    open_page: Annotated[bool, flag("--open", "Open the dashboard in the browser when the clients begin.")] = False,
    keep: Annotated[bool, flag("--keep", "Keep the server running afterwards, until Ctrl-C.")] = False,
) -> None:
    """Watch a live server teach five clients, in about a minute.

    Two UCB1 clients, two epsilon-greedy clients and one Thompson sampling client pull the arms of the paper's
    instance over HTTP.  At the end the command prints what teaching saved and what it cost.
    """
    _check_options(teacher, horizon, seed, port)
    if pace is None:
        pace = _TERMINAL_PACE if sys.stdout.isatty() else 0.0
    if not 0 <= pace <= _MAX_PACE:
        raise InputError(f"Invalid --pace {pace:g}: use 0 to {_MAX_PACE:g} rounds per second.")
    from tutelage.cli.demo_clients import CLIENTS, DemoClients
    from tutelage.cli.demo_output import DemoOutput
    from tutelage.client import Client

    # SIGTERM too must remove the folder and end the server.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="tutelage-demo-") as folder:
        clients, output = DemoClients(seed, horizon), DemoOutput()
        port = _find_port(port)
        page = f"http://127.0.0.1:{port}/c/{CAMPAIGN}/"
        output.print_introduction(page, clients)
        with _run_server(Path(folder), port) as (address, process):
            arms = [f"arm {number}" for number in range(len(clients.gaps))]
            names = [f"{spec} {number}" for number, spec in enumerate(CLIENTS)]
            _create_campaign(
                address, {"arms": arms, "clients": names, "horizon": horizon, "teacher": teacher, "seed": seed}
            )
            if open_page:
                webbrowser.open(page)
            output.begin()
            with Client(address, CAMPAIGN, deadline=_DEADLINE) as connection:
                clients.start(
                    lambda client, arm, reward: connection.reveal(names[client], arms[arm], reward).reward, pace
                )
                try:
                    _show_progress(output, clients, address, process)
                finally:
                    clients.stop()
            output.print_end(address, is_kept=keep)
            sys.stdout.flush()
            if keep:
                with contextlib.suppress(KeyboardInterrupt):
                    process.wait()


def _check_options(teacher: str, horizon: int, seed: int, port: int | None) -> None:
    from tutelage.service.campaigns.settings import parse_teacher

    parse_teacher(teacher)
    for name, value, lowest, highest in (
        ("--horizon", horizon, 1, _MAX_HORIZON),
        ("--seed", seed, 0, _MAX_SEED),
        ("--port", port, 1, 65_535),
    ):
        if value is not None and not lowest <= value <= highest:
            raise InputError(f"Invalid {name} {value}: use a whole number from {lowest} to {highest}.")


def _find_port(port: int | None) -> int:
    """Return the port, or one that nobody listens on.  Raises ``InputError`` if it is in use."""
    try:
        with socket.create_server(("127.0.0.1", port or 0)) as free:
            found: int = free.getsockname()[1]
    except OSError as error:
        raise InputError(f"Cannot listen on port {port} ({error.strerror}): use another --port.") from None
    return found


@contextlib.contextmanager
def _run_server(folder: Path, port: int) -> Iterator[tuple[str, "subprocess.Popen[bytes]"]]:
    """Run a server in a process of its own, and kill it afterwards, since its file is temporary."""
    empty = folder / "tutelage.toml"
    empty.touch()  # so that no settings of the current folder or the environment apply
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TUTELAGE_")}
    arguments = ["--store", f"sqlite:///{folder / 'demo.db'}", "--port", str(port), "--config", str(empty)]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(  # noqa: S603 - this program
            [sys.executable, "-m", "tutelage", "serve", *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            stderr=log,
        )
    try:
        address = f"http://127.0.0.1:{port}"
        _wait_until_ready(address, process, folder / "log")
        yield address, process
    finally:
        process.kill()
        process.wait()


def _wait_until_ready(address: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    import httpx

    end = time.monotonic() + _START_SECONDS
    with httpx.Client(trust_env=False) as http:
        while time.monotonic() < end and process.poll() is None:
            with contextlib.suppress(httpx.TransportError):
                if http.get(f"{address}/readyz").is_success:
                    return
            time.sleep(0.1)
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    raise InputError(f"The demo's server did not start: {lines[-1] if lines else 'its log is empty'}")


def _create_campaign(address: str, content: dict[str, Any]) -> None:
    import httpx

    response = httpx.post(f"{address}/v1/campaigns", json=content | {"name": CAMPAIGN, "start": True}, trust_env=False)
    if response.is_error:
        raise InputError(response.json()["detail"])


def _show_progress(
    output: "DemoOutput", clients: "DemoClients", address: str, process: "subprocess.Popen[bytes]"
) -> None:
    """Show the campaign until all clients have made all their pulls."""
    import httpx

    with httpx.Client(base_url=address, trust_env=False, timeout=10.0) as http, output.drawing():
        while True:
            are_finished = clients.are_finished
            try:
                campaign = http.get(f"/v1/campaigns/{CAMPAIGN}").raise_for_status().json()
            except httpx.HTTPError:
                if process.poll() is not None:
                    raise InputError(
                        "The demo's server was ended by another program: run tutelage demo again."
                    ) from None
                continue
            target = None if campaign["target"] is None else campaign["arms"].index(campaign["target"])
            output.update(campaign, clients, target, is_last=are_finished)
            if are_finished:
                return
            time.sleep(_UPDATE_SECONDS)
