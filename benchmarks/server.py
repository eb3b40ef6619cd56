"""How many pulls a second one server answers, on SQLite, beside a bare ASGI handler that stores nothing.

    python benchmarks/server.py [--seconds S] [--connections N] [--batch B]

The generator runs in a process of its own beside the server: on two cores both compete.  The time of
fdatasync on the same disk is printed beside each figure, as no store can be quicker.
"""

import argparse
import asyncio
import contextlib
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

ARMS, CLIENTS = 5, 5
_BODY = b'{"pulls":[]}'


async def bare(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Reads the body and answers."""
    if scope["type"] != "http":
        return
    while (await receive()).get("more_body"):
        pass
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(_BODY)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": _BODY})


def fdatasync_milliseconds(folder: Path) -> float:
    """The median of 200."""
    times = []
    with (folder / "sync").open("wb") as file:
        for _ in range(200):
            file.write(b"x" * 4096)
            file.flush()
            begun = time.perf_counter()
            os.fdatasync(file.fileno())
            times.append(time.perf_counter() - begun)
    return 1000 * statistics.median(times)


def request(path: str, number: int, batch: int) -> bytes:
    """A request of ``batch`` pulls, ids in the order of time."""
    pulls = [
        {
            "id": f"{number + n:016x}",
            "client": f"m{(number + n) % CLIENTS}",
            "arm": f"k{n % ARMS}",
            "reward": 0.5,
        }
        for n in range(batch)
    ]
    body = json.dumps(pulls[0] if batch == 1 else {"pulls": pulls}).encode()
    head = (
        f"POST {path} HTTP/1.1",
        "Host: 127.0.0.1",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
    )
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


async def load(port: int, path: str, seconds: float, connections: int, batch: int) -> tuple[float, float]:
    """Pulls a second, and the milliseconds below which 99 % of the answers came."""
    times: list[float] = []
    begun, numbers = time.perf_counter(), iter(range(0, 10**12, batch))

    async def one() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while time.perf_counter() < begun + seconds:
            content = request(path, next(numbers), batch)
            sent = time.perf_counter()
            writer.write(content)
            head = await reader.readuntil(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 200"):
                raise SystemExit(head.decode())
            length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            await reader.readexactly(int(length.split(b":")[1]))
            times.append(time.perf_counter() - sent)
        writer.close()

    await asyncio.gather(*(one() for _ in range(connections)))
    rate = len(times) * batch / (time.perf_counter() - begun)
    return rate, 1000 * statistics.quantiles(times, n=100)[98]


@contextlib.contextmanager
def running(folder: Path, command: list[str]) -> Iterator[int]:
    """The port of a server that is ready."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, "-m", *command, "--port", str(port)], cwd=folder, stderr=subprocess.DEVNULL
    )
    try:
        for _ in range(200):
            with contextlib.suppress(httpx.TransportError):
                httpx.get(f"http://127.0.0.1:{port}/healthz")
                break
            time.sleep(0.05)
        yield port
    finally:
        process.terminate()
        process.wait()


def measure(setting: argparse.Namespace) -> None:
    """Print a line for each load."""
    bare_server = ["uvicorn", "server:bare", "--app-dir", str(Path(__file__).parent), "--lifespan", "off"]
    servers = {
        "bare handler": [*bare_server, "--no-access-log", "--log-level", "error"],
        "SQLite": ["tutelage", "serve", "--store", "sqlite:///t.db"],
    }
    for batch, connections in ((1, setting.connections), (setting.batch, 4)):
        for what, command in servers.items():
            with (
                tempfile.TemporaryDirectory(dir=setting.folder) as name,
                running(Path(name), command) as port,
            ):
                content = {
                    "name": "c",
                    "arms": [f"k{k}" for k in range(ARMS)],
                    "clients": [f"m{m}" for m in range(CLIENTS)],
                    "horizon": 10**9,
                    "teacher": "twl",
                    "start": True,
                }
                httpx.post(f"http://127.0.0.1:{port}/v1/campaigns", json=content).raise_for_status()
                told = load(port, "/v1/campaigns/c/pulls", setting.seconds, connections, batch)
                rate, late = asyncio.run(told)
                sync = fdatasync_milliseconds(Path(name))
                print(
                    f"{what:13} batches of {batch:5}, {connections:3} connections: {rate:9,.0f} pulls/s, "
                    f"99 % under {late:6.1f} ms (fdatasync {sync:.2f} ms)",
                    flush=True,
                )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--batch", type=int, default=1_000)
    parser.add_argument("--folder", type=Path, default=None)
    measure(parser.parse_args())
