"""How many pulls a second one server answers, beside a bare ASGI handler that stores nothing.

    python benchmarks/server.py [--rows R,R] [--stores S,S] [--campaigns C,C] [--ids I,I] [--seconds S]

Rows: single, batches, replays, state, memory.  Stores: bare, sqlite, postgresql (needs --postgresql URL, an
empty database).  Campaigns: 5x5 and 1000x100 with TWL, 20x10 with BLT.  Ids: ordered, random.

The generator (benchmarks/load.py) is a process of its own beside the server: on two cores both compete, so
the server's processor time per pull is printed too, which a busy machine changes least.  The median time of
fdatasync on the same disk, taken right after each load, is printed beside it, as no store can be quicker.
"""

import argparse
import contextlib
import json
import os
import socket
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

HERE = Path(__file__).parent
CAMPAIGNS = {"5x5": (5, 5, "twl"), "1000x100": (1_000, 100, "twl"), "20x10": (20, 10, "blt")}
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


@dataclass
class Server:
    """A server process, and how far the numbers of its pulls have come."""

    process: subprocess.Popen[bytes]
    port: int
    folder: Path
    clients: int
    arms: int
    sent: int = 0

    def processor(self) -> float:
        """Seconds of processor time so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> float:
        """Resident MiB."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024

    def load(self, count: int, **options: Any) -> dict[str, float]:
        """Send ``count`` pulls and say how it went: the next ones, or without ``is_new`` those of before."""
        is_new = options.pop("is_new", True)
        content = {"port": self.port, "count": count, "clients": self.clients, "arms": self.arms}
        content |= {"first": self.sent} if is_new else {}
        file = self.folder / "load.json"
        file.write_text(json.dumps(content | options), encoding="utf-8")
        before = self.processor()
        done = subprocess.run(  # noqa: S603
            [sys.executable, str(HERE / "load.py"), str(file)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(done.stderr or done.stdout)
        found: dict[str, float] = json.loads(done.stdout)
        found["cost"] = 1e6 * (self.processor() - before) / found["pulls"]
        self.sent += count if is_new else 0
        return found

    def tell(self, what: str, found: dict[str, float], more: str = "") -> None:
        """Print a line."""
        sync = fdatasync_milliseconds(self.folder)
        print(
            f"{what:44} {found['rate']:9,.0f} pulls/s, half under {found['half']:6.1f} ms, 99 % under "
            f"{found['late']:6.1f} ms, {found['cost']:5.1f} us of processor a pull "
            f"(fdatasync {sync:.2f} ms){more}",
            flush=True,
        )


@contextlib.contextmanager
def serving(setting: argparse.Namespace, store: str, campaign: str) -> Iterator[Server]:
    """A server that is ready, with the campaign ``c``."""
    clients, arms, teacher = CAMPAIGNS[campaign]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    if store == "bare":
        command = ["uvicorn", "server:bare", "--app-dir", str(HERE), "--lifespan", "off"]
        command += ["--no-access-log", "--log-level", "error", "--loop", "uvloop", "--http", "httptools"]
    else:
        url = "sqlite:///t.db" if store == "sqlite" else setting.postgresql
        command = ["tutelage", "serve", "--store", url]
    with tempfile.TemporaryDirectory(dir=setting.folder) as folder:
        log = Path(folder) / "log"
        with log.open("wb") as told:
            process = subprocess.Popen(  # noqa: S603
                [sys.executable, "-m", *command, "--port", str(port)], cwd=folder, stderr=told
            )
        try:
            _await(process, port, log)
            if store != "bare":
                _create(port, clients, arms, teacher)
            yield Server(process, port, Path(folder), clients, arms)
            if store == "postgresql":
                _remove(port)
        finally:
            process.terminate()
            process.wait()


def _await(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """Until the server answers."""
    for _ in range(600):
        with contextlib.suppress(httpx.TransportError):
            httpx.get(f"http://127.0.0.1:{port}/healthz")
            return
        if process.poll() is not None:
            break
        time.sleep(0.1)
    raise SystemExit(f"The server did not begin: {log.read_text(encoding='utf-8')[-2000:]}")


def _create(port: int, clients: int, arms: int, teacher: str) -> None:
    content = {
        "name": "c",
        "arms": [f"k{k}" for k in range(arms)],
        "clients": [f"m{m}" for m in range(clients)],
        "horizon": 10**9,
        "teacher": teacher,
        "start": True,
    }
    httpx.post(f"http://127.0.0.1:{port}/v1/campaigns", json=content, timeout=60).raise_for_status()


def _remove(port: int) -> None:
    """Leave the database empty for the next."""
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=600) as http:
        http.post("/v1/campaigns/c/stop").raise_for_status()
        with http.stream("GET", "/v1/campaigns/c/export") as response:
            for _ in response.iter_bytes():
                pass
        http.delete("/v1/campaigns/c").raise_for_status()


def single(server: Server, setting: argparse.Namespace, ids: str) -> None:
    """One pull a request."""
    server.load(1_000, ids=ids, connections=setting.connections)
    rate = server.load(2_000, ids=ids, connections=setting.connections)["rate"]
    found = server.load(int(rate * setting.seconds), ids=ids, connections=setting.connections)
    server.tell(f"  single, {setting.connections} connections, {ids} ids", found)


def batches(server: Server, setting: argparse.Namespace, ids: str) -> None:
    """Many pulls a request."""
    options = {"ids": ids, "connections": 4, "batch": setting.batch}
    rate = server.load(20 * setting.batch, **options)["rate"]
    count = int(rate * setting.seconds / setting.batch + 1) * setting.batch
    server.tell(f"  batches of {setting.batch}, 4 connections, {ids} ids", server.load(count, **options))


def replays(server: Server, setting: argparse.Namespace, ids: str) -> None:
    """The same pulls again: the last 100,000, and any of all that are stored; and the memory before."""
    memory(server, setting, ids)
    for batch, connections in ((1, setting.connections), (setting.batch, 4)):
        options = {"ids": ids, "connections": connections, "batch": batch, "is_new": False}
        sample = (20 if batch == 1 else 100) * 1_000
        first = max(0, server.sent - 100_000)
        found = server.load(server.sent - first, first=first, sample=sample, **options)
        server.tell(f"  replays of the last 100,000, batches of {batch}", found)
        found = server.load(server.sent, first=0, sample=sample, **options)
        server.tell(f"  replays of any of {server.sent:,}, batches of {batch}", found)


def state(server: Server, setting: argparse.Namespace, ids: str) -> None:
    """How long the state takes while pulls come at 80 % of the peak."""
    options = {"ids": ids, "connections": setting.connections}
    peak = server.load(5_000, **options)["rate"]
    times: list[float] = []
    ended = threading.Event()

    def ask() -> None:
        with httpx.Client(base_url=f"http://127.0.0.1:{server.port}", timeout=60) as http:
            while not ended.wait(0.2):
                begun = time.perf_counter()
                http.get("/v1/campaigns/c/totals").raise_for_status()
                times.append(1000 * (time.perf_counter() - begun))

    asking = threading.Thread(target=ask)
    asking.start()
    found = server.load(int(0.8 * peak * setting.seconds), rate=0.8 * peak, **options)
    ended.set()
    asking.join()
    more = f"; the state took {statistics.median(times):.1f} ms, at most {max(times):.1f}"
    server.tell("  single at 80 % of the peak", found, more)


def memory(server: Server, setting: argparse.Namespace, ids: str) -> None:
    """What the process holds after many pulls."""
    fill(server, setting, ids)
    print(f"  memory after {server.sent:,} pulls: {server.memory():.0f} MiB", flush=True)


def fill(server: Server, setting: argparse.Namespace, ids: str) -> None:
    """Store ``--stored`` pulls."""
    while server.sent < setting.stored:
        part = min(500_000, setting.stored - server.sent)
        server.load(part, ids=ids, connections=4, batch=setting.batch)


ROWS = {"single": single, "batches": batches, "replays": replays, "state": state, "memory": memory}


def measure(setting: argparse.Namespace) -> None:
    """Print a line for each load."""
    for campaign in setting.campaigns.split(","):
        for store in setting.stores.split(","):
            for row in setting.rows.split(","):
                if store == "bare" and row not in {"single", "batches"}:
                    continue
                for ids in setting.ids.split(","):
                    with serving(setting, store, campaign) as server:
                        print(f"{store}, {campaign} {CAMPAIGNS[campaign][2]}", flush=True)
                        ROWS[row](server, setting, ids)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", default="single,batches")
    parser.add_argument("--stores", default="bare,sqlite")
    parser.add_argument("--campaigns", default="5x5,1000x100,20x10")
    parser.add_argument("--ids", default="ordered")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--batch", type=int, default=1_000)
    parser.add_argument("--stored", type=int, default=10_000_000, help="pulls before replays and memory")
    parser.add_argument("--postgresql", metavar="URL", help="an empty database")
    parser.add_argument("--folder", type=Path, default=None, help="where files are put: its disk counts")
    measure(parser.parse_args())
