"""``tutelage demo``: a live server, and five clients that are taught by it."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tutelage.errors import InputError

if TYPE_CHECKING:
    from tutelage.cli.demo_players import Players

NAME = "demo"
_START_SECONDS = 60.0
_LOOK_SECONDS = 0.25
_DEADLINE = 10.0  # of a client's call: nothing is lost by waiting here


def demo(
    teacher: Annotated[str, typer.Option(metavar="SPEC", help="Who teaches, as in blt or twl.")] = "blt",
    horizon: Annotated[int, typer.Option(metavar="T", help="Rounds of the campaign.")] = 10_000,
    seed: Annotated[int, typer.Option(metavar="S", help="The clients' randomness and the teacher's.")] = 1,
    port: Annotated[
        int | None, typer.Option(metavar="N", show_default="a free one", help="The server's port.")
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave the server up afterwards, until Ctrl-C.")
    ] = False,
) -> None:
    """Watch a live server teach five clients, in about a minute.

    Two UCB1, two epsilon-greedy and one Thompson sampling client play the paper's instance over HTTP.
    """
    _check(teacher, horizon, seed, port)
    from tutelage.cli.demo_page import DemoPage
    from tutelage.cli.demo_players import CLIENTS, Players
    from tutelage.client import Client

    signal.signal(
        signal.SIGTERM, signal.default_int_handler
    )  # the folder and the server are removed then too
    with tempfile.TemporaryDirectory(prefix="tutelage-demo-") as folder:
        players, page = Players(seed, horizon), DemoPage()
        page.wait()
        with _served(Path(folder), port) as (address, process):
            arms = [f"arm {number}" for number in range(len(players.gaps))]
            clients = [f"{spec} {number}" for number, spec in enumerate(CLIENTS)]
            _create(
                address,
                {"arms": arms, "clients": clients, "horizon": horizon, "teacher": teacher, "seed": seed},
            )
            page.begin(f"{address}/c/{NAME}/", players)
            with Client(address, NAME, deadline=_DEADLINE) as asking:
                players.begin(
                    lambda client, arm, reward: asking.reveal(clients[client], arms[arm], reward).reward
                )
                try:
                    _watch(page, players, address, process)
                finally:
                    players.end()
            page.end(address, is_kept=keep)
            sys.stdout.flush()
            if keep:
                with contextlib.suppress(KeyboardInterrupt):
                    process.wait()


def _check(teacher: str, horizon: int, seed: int, port: int | None) -> None:
    from tutelage.service.campaigns.settings import parse_teacher

    parse_teacher(teacher)
    if not 1 <= horizon <= 10**7:
        raise InputError(f"The horizon {horizon} lies outside 1 to 10000000.")
    if not 0 <= seed <= 2**53:
        raise InputError(f"The seed {seed} lies outside 0 to 2^53.")
    if port is not None and not 1 <= port <= 65_535:
        raise InputError(f"The port {port} lies outside 1 to 65535.")


@contextlib.contextmanager
def _served(folder: Path, port: int | None) -> Iterator[tuple[str, "subprocess.Popen[bytes]"]]:
    """A server in a process of its own, ready; ended at once afterwards, since its file is not kept."""
    try:
        with socket.create_server(("127.0.0.1", port or 0)) as free:
            port = free.getsockname()[1]
    except OSError as error:
        raise InputError(f"The port {port} cannot be used: {error.strerror}.") from None
    empty = folder / "tutelage.toml"
    empty.touch()  # no setting of this folder or environment counts
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TUTELAGE_")}
    where = ["--store", f"sqlite:///{folder / 'demo.db'}", "--port", str(port), "--config", str(empty)]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(  # noqa: S603 - this program
            [sys.executable, "-m", "tutelage", "serve", *where],
            env=environment,
            stdin=subprocess.DEVNULL,
            stderr=log,
        )
    try:
        address = f"http://127.0.0.1:{port}"
        _await(address, process, folder / "log")
        yield address, process
    finally:
        process.kill()
        process.wait()


def _await(address: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    import httpx

    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(httpx.TransportError):
            if httpx.get(f"{address}/readyz", trust_env=False).is_success:
                return
        time.sleep(0.1)
    told = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    raise InputError(f"The demo's server does not start: {told[-1] if told else 'it says nothing'}")


def _create(address: str, content: dict[str, Any]) -> None:
    import httpx

    response = httpx.post(
        f"{address}/v1/campaigns", json=content | {"name": NAME, "start": True}, trust_env=False
    )
    if response.is_error:
        raise InputError(response.json()["detail"])


def _watch(page: Any, players: "Players", address: str, process: "subprocess.Popen[bytes]") -> None:
    """Show how it goes until all clients follow the target, or have made all their pulls."""
    import httpx

    with httpx.Client(base_url=address, trust_env=False, timeout=10.0) as http, page.live():
        while True:
            are_over = players.are_over
            try:
                told = http.get(f"/v1/campaigns/{NAME}").raise_for_status().json()
            except httpx.HTTPError:
                if process.poll() is not None:
                    raise InputError("The demo's server has been ended from outside.") from None
                continue
            target = None if told["target"] is None else told["arms"].index(told["target"])
            is_taught = target is not None and players.follow(target)
            page.show(told, players, target, is_last=is_taught or are_over)
            if is_taught or are_over:
                return
            time.sleep(_LOOK_SECONDS)
