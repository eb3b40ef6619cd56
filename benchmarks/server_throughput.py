"""Measure how many pulls per second one server answers, compared with a bare ASGI handler that stores nothing.

    python benchmarks/server_throughput.py [--rows R,R] [--stores S,S] [--campaigns C,C] [--ids I,I]

Rows: single, batches, replays, totals, memory.  Stores: bare, sqlite, postgresql (needs --postgresql URL, an
empty database).  Campaigns: 5x5 and 1000x100 with TWL, 20x10 with BLT.  Ids: ordered, random.

The load generator (benchmarks/load_generator.py) is a process of its own.  On two cores it competes with the
server, so the server's processor time per pull is printed too, which depends least on other work of the
machine.  The median time of fdatasync on the same disk, taken right after each load, is the lower limit for
any store.
"""

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from arguments import make_parser
from live_server import ServerProcess, create_campaign

HERE = Path(__file__).parent
CAMPAIGNS = {"5x5": (5, 5, "twl"), "1000x100": (1_000, 100, "twl"), "20x10": (20, 10, "blt")}
_BODY = b'{"pulls":[]}'


async def bare(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """An ASGI application that reads the body and answers, without storing anything."""
    if scope["type"] != "http":
        return
    while (await receive()).get("more_body"):
        pass
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(_BODY)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": _BODY})


def fdatasync_milliseconds(folder: Path) -> float:
    """Return the median time of 200 calls of fdatasync in a folder."""
    times = []
    with (folder / "sync").open("wb") as file:
        for _ in range(200):
            file.write(b"x" * 4096)
            file.flush()
            begun = time.perf_counter()
            os.fdatasync(file.fileno())
            times.append(time.perf_counter() - begun)
    return 1000 * statistics.median(times)


@dataclass
class LoadedServer:
    """A server under load, and the number of pulls that it has been sent so far."""

    process: ServerProcess
    clients: int
    arms: int
    sent: int = 0

    def load(self, count: int, **options: Any) -> dict[str, float]:
        """Send ``count`` new pulls, or without ``is_new`` earlier ones again, and return the measurements."""
        is_new = options.pop("is_new", True)
        content = {"port": self.process.port, "count": count, "clients": self.clients, "arms": self.arms}
        content |= {"first": self.sent} if is_new else {}
        file = self.process.folder / "load.json"
        file.write_text(json.dumps(content | options), encoding="utf-8")
        before = self.process.processor_seconds()
        done = subprocess.run(  # noqa: S603
            [sys.executable, str(HERE / "load_generator.py"), str(file)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(done.stderr or done.stdout)
        found: dict[str, float] = json.loads(done.stdout)
        found["cost"] = 1e6 * (self.process.processor_seconds() - before) / found["pulls"]
        self.sent += count if is_new else 0
        return found

    def print_result(self, what: str, found: dict[str, float], more: str = "") -> None:
        """Print a line."""
        sync = fdatasync_milliseconds(self.process.folder)
        print(
            f"{what:44} {found['rate']:9,.0f} pulls/s, median {found['median']:6.1f} ms, 99th percentile "
            f"{found['p99']:6.1f} ms, {found['cost']:5.1f} µs processor time per pull "
            f"(fdatasync {sync:.2f} ms){more}",
            flush=True,
        )


@contextlib.contextmanager
def start_server(options: argparse.Namespace, store: str, campaign: str) -> Iterator[LoadedServer]:
    """Start a server with the campaign ``c``, and stop it at the end."""
    clients, arms, teacher = CAMPAIGNS[campaign]
    if store == "bare":
        command = ["uvicorn", "server_throughput:bare", "--app-dir", str(HERE), "--lifespan", "off"]
        command += ["--no-access-log", "--log-level", "error", "--loop", "uvloop", "--http", "httptools"]
    else:
        url = "sqlite:///t.db" if store == "sqlite" else options.postgresql
        command = ["tutelage", "serve", "--store", url]
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        process = ServerProcess(command, Path(folder))
        try:
            process.start()
            if store != "bare":
                create_campaign(process.address, "c", teacher, clients=clients, arms=arms)
            yield LoadedServer(process, clients, arms)
            if store == "postgresql":
                delete_campaign(process.address)
        finally:
            if process.process is not None:
                process.process.terminate()
                process.process.wait()


def delete_campaign(address: str) -> None:
    """Leave the database empty for the next measurement."""
    with httpx.Client(base_url=address, timeout=600) as http:
        http.post("/v1/campaigns/c/stop").raise_for_status()
        with http.stream("GET", "/v1/campaigns/c/export") as response:
            for _ in response.iter_bytes():
                pass
        http.delete("/v1/campaigns/c").raise_for_status()


def single(server: LoadedServer, options: argparse.Namespace, ids: str) -> None:
    """Measure requests of one pull."""
    server.load(1_000, ids=ids, connections=options.connections)
    rate = server.load(2_000, ids=ids, connections=options.connections)["rate"]
    found = server.load(int(rate * options.seconds), ids=ids, connections=options.connections)
    server.print_result(f"  single, {options.connections} connections, {ids} ids", found)


def batches(server: LoadedServer, options: argparse.Namespace, ids: str) -> None:
    """Measure requests of many pulls."""
    load = {"ids": ids, "connections": 4, "batch": options.batch}
    rate = server.load(20 * options.batch, **load)["rate"]
    count = int(rate * options.seconds / options.batch + 1) * options.batch
    server.print_result(f"  batches of {options.batch}, 4 connections, {ids} ids", server.load(count, **load))


def replays(server: LoadedServer, options: argparse.Namespace, ids: str) -> None:
    """Measure pulls sent again: the last 100,000, and any of all that are stored; and the memory before."""
    memory(server, options, ids)
    for batch, connections in ((1, options.connections), (options.batch, 4)):
        load = {"ids": ids, "connections": connections, "batch": batch, "is_new": False}
        sample = (20 if batch == 1 else 100) * 1_000
        first = max(0, server.sent - 100_000)
        found = server.load(server.sent - first, first=first, sample=sample, **load)
        server.print_result(f"  replays of the last 100,000, batches of {batch}", found)
        found = server.load(server.sent, first=0, sample=sample, **load)
        server.print_result(f"  replays of any of {server.sent:,}, batches of {batch}", found)


def totals(server: LoadedServer, options: argparse.Namespace, ids: str) -> None:
    """Measure the answer time of /totals while pulls come at 80 % of the peak rate."""
    load = {"ids": ids, "connections": options.connections}
    peak = server.load(5_000, **load)["rate"]
    times: list[float] = []
    ended = threading.Event()

    def ask() -> None:
        with httpx.Client(base_url=server.process.address, timeout=60) as http:
            while not ended.wait(0.2):
                begun = time.perf_counter()
                http.get("/v1/campaigns/c/totals").raise_for_status()
                times.append(1000 * (time.perf_counter() - begun))

    asking = threading.Thread(target=ask)
    asking.start()
    found = server.load(int(0.8 * peak * options.seconds), rate=0.8 * peak, **load)
    ended.set()
    asking.join()
    more = f"; /totals took {statistics.median(times):.1f} ms (median), at most {max(times):.1f} ms"
    server.print_result("  single at 80 % of the peak", found, more)


def memory(server: LoadedServer, options: argparse.Namespace, ids: str) -> None:
    """Print the memory of the process after many pulls."""
    fill(server, options, ids)
    print(f"  memory after {server.sent:,} pulls: {server.process.memory():.0f} MiB", flush=True)


def fill(server: LoadedServer, options: argparse.Namespace, ids: str) -> None:
    """Store ``--stored`` pulls."""
    while server.sent < options.stored:
        count = min(500_000, options.stored - server.sent)
        server.load(count, ids=ids, connections=4, batch=options.batch)


ROWS = {"single": single, "batches": batches, "replays": replays, "totals": totals, "memory": memory}


def measure(options: argparse.Namespace) -> None:
    """Print one line for each load."""
    for campaign in options.campaigns.split(","):
        for store in options.stores.split(","):
            for row in options.rows.split(","):
                if store == "bare" and row not in {"single", "batches"}:
                    continue
                for ids in options.ids.split(","):
                    with start_server(options, store, campaign) as server:
                        print(f"{store}, {campaign} {CAMPAIGNS[campaign][2]}", flush=True)
                        ROWS[row](server, options, ids)


if __name__ == "__main__":
    parser = make_parser(__doc__)
    parser.add_argument("--rows", default="single,batches", help="what to measure (%(default)s)")
    parser.add_argument("--stores", default="bare,sqlite", help="stores to measure (%(default)s)")
    parser.add_argument("--campaigns", default="5x5,1000x100,20x10", help="sizes of campaigns (%(default)s)")
    parser.add_argument("--ids", default="ordered", help="order of the pulls' ids (%(default)s)")
    parser.add_argument("--seconds", type=float, default=10.0, help="length of a load (%(default)s)")
    parser.add_argument("--connections", type=int, default=64, help="for single pulls (%(default)s)")
    parser.add_argument("--batch", type=int, default=1_000, help="pulls in a batch (%(default)s)")
    parser.add_argument(
        "--stored", type=int, default=10_000_000, help="pulls stored before replays and memory (%(default)s)"
    )
    parser.add_argument("--postgresql", metavar="URL", help="URL of an empty database")
    parser.add_argument("--folder", type=Path, default=None, help="folder for the stores, whose disk counts")
    measure(parser.parse_args())
