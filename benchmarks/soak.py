"""A live server under mixed load for long, killed and begun anew now and then: does anything grow or go?

    python benchmarks/soak.py [--minutes 60] [--kill-every SECONDS] [--rate N] [--folder DIR]

Clients send single pulls and batches through ``tutelage.client``, repeat old ones, report bypassed ones, and
read states, ledgers, pages of the dashboard and metrics.  Bounds: the server's memory, its open files, the
bytes on disk a pull, and the time until it is ready again.  At the end every pull must be there once and
answered as it was shown, and ``ledger verify`` and ``db check`` must be content.  The exit status is 1 if
anything is not so.  Works where there is /proc.
"""

import argparse
import asyncio
import contextlib
import json
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from tutelage.client import AsyncClient, Observed

CAMPAIGNS = {"betting": "blt", "epochs": "twl"}
ARMS, CLIENTS = [f"k{k}" for k in range(5)], [f"m{m}" for m in range(5)]
WORKERS, BATCH, REMEMBERED = 8, 100, 2_000
PAGES = (
    *("/", "/c/{}/", "/metrics", "/readyz", "/v1/campaigns", "/v1/campaigns/{}", "/v1/campaigns/{}/totals"),
    *("/v1/campaigns/{}/decisions", "/v1/campaigns/{}/ledger?after=1000&limit=500"),
)
FAULTS = frozenset({429, 503})  # that a server may have while it begins
LOOK_SECONDS = 1.0
FIXED_BYTES = 16 * 2**20  # an empty store, its journal and snapshots


class Server:
    """One server on one file, and what it takes of the machine."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.folder, self.address = folder, f"http://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None

    def begin(self) -> float:
        """Start it; the seconds until it is ready."""
        begun = time.monotonic()
        command = [sys.executable, "-m", "tutelage", "serve", "--store", "sqlite:///soak.db"]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(  # noqa: S603
                [*command, "--port", str(self.port)], cwd=self.folder, stderr=log
            )
        while time.monotonic() < begun + 120:
            with contextlib.suppress(httpx.TransportError):
                if httpx.get(f"{self.address}/readyz").is_success:
                    return time.monotonic() - begun
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        raise SystemExit(f"The server does not start: {(self.folder / 'log').read_text()[-500:]}")

    def end(self, number: int) -> int:
        """Signal it and wait; its status."""
        assert self.process is not None  # noqa: S101
        self.process.send_signal(number)
        return self.process.wait(timeout=60)

    def memory(self) -> float:
        """What it has in memory now, MiB."""
        assert self.process is not None  # noqa: S101
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024

    def files(self) -> int:
        """How many files and connections it has open."""
        assert self.process is not None  # noqa: S101
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))

    def bytes(self, pulls: int) -> float:
        """What its store takes on the disk a pull, the journal included, beyond what it may always take."""
        size = sum(path.stat().st_size for path in self.folder.glob("soak.db*"))
        return max(0, size - FIXED_BYTES) / max(1, pulls)


@dataclass
class Account:
    """What was done, and what went wrong."""

    pulls: Counter[str] = field(default_factory=Counter)  # by campaign
    done: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    shown: dict[str, deque[dict[str, Any]]] = field(default_factory=dict)
    memory: float = 0.0
    files: int = 0
    slowest_start: float = 0.0

    def fault(self, sentence: str) -> None:
        """Something is not as it must be."""
        self.wrong.append(sentence)
        print(f"WRONG: {sentence}", flush=True)


class Load:
    """Everything that clients and onlookers do, at ``rate`` pulls a second."""

    def __init__(self, server: Server, account: Account, rate: float) -> None:
        self.server, self.account, self.rate = server, account, rate
        self.ended = asyncio.Event()
        self.asking = {
            name: AsyncClient(server.address, name, deadline=0.5, spool=server.folder / f"spool-{name}")
            for name in CAMPAIGNS
        }
        for name in CAMPAIGNS:
            account.shown[name] = deque(maxlen=REMEMBERED)

    async def run(self, work: Any) -> None:
        """Load while ``work`` goes on."""
        async with httpx.AsyncClient(base_url=self.server.address, timeout=30.0) as http:
            loads = [asyncio.create_task(self._work(number, http)) for number in range(WORKERS)]
            try:
                await work
            finally:
                self.ended.set()
                for done in await asyncio.gather(*loads, return_exceptions=True):
                    if isinstance(done, BaseException):
                        self.account.fault(f"A client fell: {type(done).__name__}: {done}")
        for name, asking in self.asking.items():
            await asking.close(seconds=60.0)
            if len(asking.spool):
                self.account.fault(f"{len(asking.spool)} reports of {name} were never delivered.")

    async def _work(self, number: int, http: httpx.AsyncClient) -> None:
        """One client: now this, now that, in the proportions of the weights."""
        draw = random.Random(number)
        kinds = {self._single: 70, self._batch: 4, self._replay: 12, self._bypass: 4, self._read: 10}
        while not self.ended.is_set():
            name = draw.choice(list(CAMPAIGNS))
            begun, before = time.monotonic(), sum(self.account.pulls.values())
            (act,) = draw.choices(list(kinds), list(kinds.values()))
            await act(name, draw, http)
            self.account.done[act.__name__.strip("_")] += 1
            made = max(1, min(BATCH, sum(self.account.pulls.values()) - before))
            await asyncio.sleep(max(0.0, begun + made * WORKERS / self.rate / 4 - time.monotonic()))

    async def _single(self, name: str, draw: random.Random, http: httpx.AsyncClient) -> None:
        await self._send(name, [self._pull(draw)])

    async def _batch(self, name: str, draw: random.Random, http: httpx.AsyncClient) -> None:
        await self._send(name, [self._pull(draw) for _ in range(BATCH)])

    async def _send(self, name: str, pulls: list[Observed]) -> None:
        self.account.pulls[name] += len(pulls)
        told = await self.asking[name].reveal_all(pulls)
        for pull, one in zip(pulls, told, strict=True):
            sent = {"id": one.id, "client": pull.client, "arm": pull.arm, "reward": pull.reward}
            self.account.shown[name].append({"pull": sent, "shown": one.reward})
            self.account.done["bypassed" if one.bypassed else "answered"] += 1

    def _pull(self, draw: random.Random) -> Observed:
        return Observed(draw.choice(CLIENTS), draw.choice(ARMS), float(draw.random() < 0.5))

    async def _bypass(self, name: str, draw: random.Random, http: httpx.AsyncClient) -> None:
        """Somebody who waits no longer: the call is cut off, and what was observed shown."""
        self.account.pulls[name] += 1
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(
                self.asking[name].reveal_all([self._pull(draw)]), draw.uniform(0.0005, 0.01)
            )

    async def _replay(self, name: str, draw: random.Random, http: httpx.AsyncClient) -> None:
        if not self.account.shown[name]:
            return
        old = [draw.choice(self.account.shown[name]) for _ in range(draw.choice((1, 20)))]
        waiting = self.asking[name].spool
        old = [one for one in old if one["pull"]["id"] not in waiting]
        pulls = {"pulls": [one["pull"] for one in old]}
        if (
            not old
            or (response := await self._ask(http, "POST", f"/v1/campaigns/{name}/pulls", pulls)) is None
        ):
            return
        for one, told in zip(old, response.json()["pulls"], strict=True):
            if told["reward"] != one["shown"] or not told["replayed"]:
                self.account.fault(f"{told} was first answered {one['shown']}.")

    async def _read(self, name: str, draw: random.Random, http: httpx.AsyncClient) -> None:
        await self._ask(http, "GET", draw.choice(PAGES).format(name))

    async def _ask(
        self, http: httpx.AsyncClient, method: str, path: str, content: Any = None
    ) -> httpx.Response | None:
        """The answer; None if the server is down or not ready."""
        try:
            response = await http.request(method, path, json=content)
        except httpx.TransportError:
            return None
        if response.is_success:
            return response
        if response.status_code not in FAULTS:
            self.account.fault(f"{method} {path} was answered {response.status_code}: {response.text[:200]}")
        return None


async def watch(server: Server, account: Account, setting: argparse.Namespace) -> None:
    """Look at the server, and kill it now and then, until the time is over."""
    begun = killed = said = time.monotonic()
    while (now := time.monotonic()) < begun + 60 * setting.minutes:
        await asyncio.sleep(LOOK_SECONDS)
        account.memory, account.files = (
            max(account.memory, server.memory()),
            max(account.files, server.files()),
        )
        if now - said >= 60:
            said = now
            size = server.bytes(sum(account.pulls.values()))
            print(
                f"{(now - begun) / 60:.0f} min: {sum(account.pulls.values()):,} pulls, "
                f"{server.memory():.0f} MiB, {server.files()} files, {size:.0f} bytes on disk a pull",
                flush=True,
            )
        if now - killed >= setting.kill_every and now < begun + 60 * setting.minutes - 5:
            await asyncio.to_thread(server.end, signal.SIGKILL)
            account.done["killed"] += 1
            account.slowest_start = max(account.slowest_start, await asyncio.to_thread(server.begin))
            killed = time.monotonic()


def settle(server: Server, account: Account, setting: argparse.Namespace) -> None:
    """Compare everything at the end."""
    for name in CAMPAIGNS:
        told = httpx.get(f"{server.address}/v1/campaigns/{name}", timeout=60)
        found = told.json()["num_pulls"] if told.is_success else told.text
        if found != account.pulls[name]:
            account.fault(f"{name} has {found} pulls, and {account.pulls[name]} were made.")
    size = server.bytes(sum(account.pulls.values()))
    status = server.end(signal.SIGTERM)
    if status not in {0, -signal.SIGTERM}:
        account.fault(f"The server ended with status {status}.")
    for command in (["ledger", "verify"], ["db", "check"]):
        ran = subprocess.run(  # noqa: S603
            [sys.executable, "-m", "tutelage", *command, "--store", "sqlite:///soak.db"],
            cwd=server.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        print(f"{' '.join(command)}: {ran.stdout.strip() or ran.stderr.strip()}".replace("\n", "; "))
        if ran.returncode:
            account.fault(f"{' '.join(command)} ended with status {ran.returncode}: {ran.stderr.strip()}")
    with (server.folder / "log").open(encoding="utf-8") as log:
        for line in log:
            if '"level": "error"' in line or '"level": "critical"' in line:
                account.fault(f"The log says {line.strip()[:300]}")
    for what, found, most, unit in (
        ("memory", account.memory, setting.most_memory, "MiB"),
        ("open files", account.files, setting.most_files, ""),
        ("bytes on disk a pull", size, setting.most_bytes, ""),
        ("slowest start after a kill", account.slowest_start, setting.most_seconds, "s"),
    ):
        print(f"{what}: {found:,.1f} {unit}, at most {most:,.0f}")
        if found > most:
            account.fault(f"{what}: {found:,.1f} {unit} are more than {most:,.0f}.")


def soak(setting: argparse.Namespace, folder: Path) -> int:
    """Run it; the exit status."""
    server, account = Server(folder), Account()
    server.begin()
    try:
        for name, teacher in CAMPAIGNS.items():
            content = {"name": name, "arms": ARMS, "clients": CLIENTS, "horizon": 10**8, "teacher": teacher}
            httpx.post(f"{server.address}/v1/campaigns", json=content | {"start": True}).raise_for_status()

        async def load() -> None:
            await Load(server, account, setting.rate).run(watch(server, account, setting))

        asyncio.run(load())
        settle(server, account, setting)
    finally:
        if server.process is not None and server.process.poll() is None:
            server.process.kill()
            server.process.wait()
    print(json.dumps({"pulls": dict(account.pulls)} | dict(account.done)))
    print("All is well." if not account.wrong else f"{len(account.wrong)} things are wrong.")
    return 1 if account.wrong else 0


@contextlib.contextmanager
def folder_of(setting: argparse.Namespace) -> Iterator[Path]:
    """Where the store is: kept if it was named."""
    if setting.folder is not None:
        setting.folder.mkdir(parents=True, exist_ok=True)
        yield setting.folder
        return
    with tempfile.TemporaryDirectory(prefix="tutelage-soak-") as name:
        yield Path(name)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--kill-every", type=float, default=120.0, help="seconds between two kills")
    parser.add_argument("--rate", type=float, default=500.0, help="pulls a second at most, about")
    parser.add_argument("--folder", type=Path, default=None, help="a new folder for the store, kept")
    parser.add_argument("--most-memory", type=float, default=400.0, help="MiB")
    parser.add_argument("--most-files", type=int, default=128)
    parser.add_argument("--most-bytes", type=float, default=1_000.0, help="on disk, a pull")
    parser.add_argument("--most-seconds", type=float, default=60.0, help="until ready again")
    chosen = parser.parse_args()
    with folder_of(chosen) as place:
        sys.exit(soak(chosen, place))
