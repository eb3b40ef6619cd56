"""Run a live server under mixed load for long, with kills, and check that nothing is lost and nothing grows.

    python benchmarks/server_soak.py [--minutes 60] [--kill-every SECONDS] [--rate N] [--folder DIR]

Clients send single pulls and batches through ``tutelage.client``, repeat old ones, report bypassed ones, and
read totals, ledgers, pages of the dashboard and metrics.  Limits apply to the server's memory, its open
files, the bytes on disk per pull, and the time until it is ready after a kill.  At the end every pull must be
stored once, repeated pulls must have had the same answer, and ``ledger verify`` and ``db check`` must
succeed.  The exit status is 1 if anything is wrong.  Needs /proc.
"""

import argparse
import asyncio
import contextlib
import json
import random
import signal
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
from arguments import make_parser
from live_server import ServerProcess, create_campaign

from tutelage.client import AsyncClient, ObservedReward

CAMPAIGNS = {"betting": "blt", "epochs": "twl"}
ARMS, CLIENTS = [f"k{k}" for k in range(5)], [f"m{m}" for m in range(5)]
WORKERS, BATCH, RECENT = 8, 100, 2_000
PAGES = (
    *("/", "/c/{}/", "/metrics", "/readyz", "/v1/campaigns", "/v1/campaigns/{}", "/v1/campaigns/{}/totals"),
    *("/v1/campaigns/{}/decisions", "/v1/campaigns/{}/ledger?after=1000&limit=500"),
)
EXPECTED_FAULTS = frozenset({429, 503})  # of a server that is starting
SAMPLE_SECONDS = 1.0
FIXED_BYTES = 16 * 2**20  # an empty store, its journal and snapshots


class SoakedServer(ServerProcess):
    """A server with a SQLite store in its folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__(["tutelage", "serve", "--store", "sqlite:///soak.db"], folder)

    def bytes_per_pull(self, pulls: int) -> float:
        """Return the size of the store and its journal per pull, beyond that of an empty one."""
        size = sum(path.stat().st_size for path in self.folder.glob("soak.db*"))
        return max(0, size - FIXED_BYTES) / max(1, pulls)


@dataclass
class SoakRecord:
    """What was done, and what went wrong."""

    pulls: Counter[str] = field(default_factory=Counter)  # by campaign
    done: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    shown: dict[str, deque[dict[str, Any]]] = field(default_factory=dict)
    memory: float = 0.0
    files: int = 0
    slowest_start: float = 0.0

    def add_fault(self, sentence: str) -> None:
        """Record and print that something is wrong."""
        self.wrong.append(sentence)
        print(f"WRONG: {sentence}", flush=True)


class MixedLoad:
    """Everything that clients and readers do, at ``rate`` pulls per second."""

    def __init__(self, server: SoakedServer, record: SoakRecord, rate: float) -> None:
        self.server, self.record, self.rate = server, record, rate
        self.ended = asyncio.Event()
        self.clients = {
            name: AsyncClient(server.address, name, deadline=0.5, spool=server.folder / f"spool-{name}")
            for name in CAMPAIGNS
        }
        for name in CAMPAIGNS:
            record.shown[name] = deque(maxlen=RECENT)

    async def run(self, work: Any) -> None:
        """Send load until ``work`` ends."""
        async with httpx.AsyncClient(base_url=self.server.address, timeout=30.0) as http:
            loads = [asyncio.create_task(self._work(number, http)) for number in range(WORKERS)]
            try:
                await work
            finally:
                self.ended.set()
                for done in await asyncio.gather(*loads, return_exceptions=True):
                    if isinstance(done, BaseException):
                        self.record.add_fault(f"A client failed: {type(done).__name__}: {done}")
        for name, client in self.clients.items():
            await client.close(seconds=60.0)
            if len(client.spool):
                self.record.add_fault(f"{len(client.spool)} reports of {name} were never delivered.")

    async def _work(self, number: int, http: httpx.AsyncClient) -> None:
        """Do the work of one client: a random sequence of actions with these weights."""
        draw = random.Random(number)
        kinds = {self._single: 70, self._batch: 4, self._replay: 12, self._bypass: 4, self._read: 10}
        while not self.ended.is_set():
            name = draw.choice(list(CAMPAIGNS))
            begun, before = time.monotonic(), sum(self.record.pulls.values())
            (act,) = draw.choices(list(kinds), list(kinds.values()))
            await act(name, draw, http)
            self.record.done[act.__name__.strip("_")] += 1
            made = max(1, min(BATCH, sum(self.record.pulls.values()) - before))
            await asyncio.sleep(max(0.0, begun + made * WORKERS / self.rate / 4 - time.monotonic()))

    async def _single(self, name: str, draw: random.Random, http: httpx.AsyncClient) -> None:
        await self._send(name, [self._pull(draw)])

    async def _batch(self, name: str, draw: random.Random, http: httpx.AsyncClient) -> None:
        await self._send(name, [self._pull(draw) for _ in range(BATCH)])

    async def _send(self, name: str, pulls: list[ObservedReward]) -> None:
        self.record.pulls[name] += len(pulls)
        answers = await self.clients[name].reveal_all(pulls)
        for pull, one in zip(pulls, answers, strict=True):
            sent = {"id": one.id, "client": pull.client, "arm": pull.arm, "reward": pull.reward}
            self.record.shown[name].append({"pull": sent, "shown": one.reward})
            self.record.done["bypassed" if one.bypassed else "answered"] += 1

    def _pull(self, draw: random.Random) -> ObservedReward:
        return ObservedReward(draw.choice(CLIENTS), draw.choice(ARMS), float(draw.random() < 0.5))

    async def _bypass(self, name: str, draw: random.Random, http: httpx.AsyncClient) -> None:
        """Cancel a call, as a client does that no longer waits and uses the observed reward."""
        self.record.pulls[name] += 1
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.clients[name].reveal_all([self._pull(draw)]), draw.uniform(0.0005, 0.01))

    async def _replay(self, name: str, draw: random.Random, http: httpx.AsyncClient) -> None:
        if not self.record.shown[name]:
            return
        old = [draw.choice(self.record.shown[name]) for _ in range(draw.choice((1, 20)))]
        waiting = self.clients[name].spool
        old = [one for one in old if one["pull"]["id"] not in waiting]
        pulls = {"pulls": [one["pull"] for one in old]}
        if not old or (response := await self._request(http, "POST", f"/v1/campaigns/{name}/pulls", pulls)) is None:
            return
        for one, answer in zip(old, response.json()["pulls"], strict=True):
            if answer["reward"] != one["shown"] or not answer["replayed"]:
                self.record.add_fault(f"{answer} was first answered {one['shown']}.")

    async def _read(self, name: str, draw: random.Random, http: httpx.AsyncClient) -> None:
        await self._request(http, "GET", draw.choice(PAGES).format(name))

    async def _request(
        self, http: httpx.AsyncClient, method: str, path: str, content: Any = None
    ) -> httpx.Response | None:
        """Return the answer; None if the server is down or not ready."""
        try:
            response = await http.request(method, path, json=content)
        except httpx.TransportError:
            return None
        if response.is_success:
            return response
        if response.status_code not in EXPECTED_FAULTS:
            self.record.add_fault(f"{method} {path} had the status {response.status_code}: {response.text[:200]}")
        return None


async def monitor(server: SoakedServer, record: SoakRecord, options: argparse.Namespace) -> None:
    """Measure the server and kill it at intervals, until the time is over."""
    begun = killed = said = time.monotonic()
    while (now := time.monotonic()) < begun + 60 * options.minutes:
        await asyncio.sleep(SAMPLE_SECONDS)
        record.memory, record.files = (
            max(record.memory, server.memory()),
            max(record.files, server.count_open_files()),
        )
        if now - said >= 60:
            said = now
            size = server.bytes_per_pull(sum(record.pulls.values()))
            print(
                f"{(now - begun) / 60:.0f} min: {sum(record.pulls.values()):,} pulls, "
                f"{server.memory():.0f} MiB, {server.count_open_files()} files, {size:.0f} bytes on disk per pull",
                flush=True,
            )
        if now - killed >= options.kill_every and now < begun + 60 * options.minutes - 5:
            await asyncio.to_thread(server.send_signal, signal.SIGKILL)
            record.done["killed"] += 1
            record.slowest_start = max(record.slowest_start, await asyncio.to_thread(server.start, "/readyz"))
            killed = time.monotonic()


def check_everything(server: SoakedServer, record: SoakRecord, options: argparse.Namespace) -> None:
    """Check store, ledger, log and limits at the end."""
    for name in CAMPAIGNS:
        answer = httpx.get(f"{server.address}/v1/campaigns/{name}", timeout=60)
        found = answer.json()["num_pulls"] if answer.is_success else answer.text
        if found != record.pulls[name]:
            record.add_fault(f"{name} has {found} pulls, but {record.pulls[name]} were sent.")
    size = server.bytes_per_pull(sum(record.pulls.values()))
    status = server.send_signal(signal.SIGTERM)
    if status not in {0, -signal.SIGTERM}:
        record.add_fault(f"The server ended with status {status}.")
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
            record.add_fault(f"{' '.join(command)} ended with status {ran.returncode}: {ran.stderr.strip()}")
    with server.log.open(encoding="utf-8") as log:
        for line in log:
            if '"level": "error"' in line or '"level": "critical"' in line:
                record.add_fault(f"The log contains an error: {line.strip()[:300]}")
    for what, found, most, unit in (
        ("memory", record.memory, options.most_memory, "MiB"),
        ("open files", record.files, options.most_files, ""),
        ("bytes on disk per pull", size, options.most_bytes, ""),
        ("slowest start after a kill", record.slowest_start, options.most_seconds, "s"),
    ):
        print(f"{what}: {found:,.1f} {unit}, limit {most:,.0f}")
        if found > most:
            record.add_fault(f"{what}: {found:,.1f} {unit} exceed the limit of {most:,.0f}.")


def soak(options: argparse.Namespace, folder: Path) -> int:
    """Run everything and return the exit status."""
    server, record = SoakedServer(folder), SoakRecord()
    server.start("/readyz")
    try:
        for name, teacher in CAMPAIGNS.items():
            create_campaign(server.address, name, teacher, horizon=10**8)

        async def load() -> None:
            await MixedLoad(server, record, options.rate).run(monitor(server, record, options))

        asyncio.run(load())
        check_everything(server, record, options)
    finally:
        server.kill()
    print(json.dumps({"pulls": dict(record.pulls)} | dict(record.done)))
    print(f"{len(record.wrong)} faults found." if record.wrong else "No fault found.")
    return 1 if record.wrong else 0


@contextlib.contextmanager
def open_folder(options: argparse.Namespace) -> Iterator[Path]:
    """Return the folder of the store; without a name it is temporary."""
    if options.folder is not None:
        options.folder.mkdir(parents=True, exist_ok=True)
        yield options.folder
        return
    with tempfile.TemporaryDirectory(prefix="tutelage-soak-") as name:
        yield Path(name)


if __name__ == "__main__":
    parser = make_parser(__doc__)
    parser.add_argument("--minutes", type=float, default=60.0, help="length of the run (%(default)s)")
    parser.add_argument("--kill-every", type=float, default=120.0, help="seconds between kills (%(default)s)")
    parser.add_argument("--rate", type=float, default=500.0, help="approximate pulls per second (%(default)s)")
    parser.add_argument("--folder", type=Path, default=None, help="new folder for the store, which is kept")
    parser.add_argument("--most-memory", type=float, default=400.0, help="limit in MiB (%(default)s)")
    parser.add_argument("--most-files", type=int, default=128, help="limit of open files (%(default)s)")
    parser.add_argument("--most-bytes", type=float, default=1_000.0, help="limit per pull (%(default)s)")
    parser.add_argument("--most-seconds", type=float, default=60.0, help="limit of a start (%(default)s)")
    chosen = parser.parse_args()
    with open_folder(chosen) as place:
        sys.exit(soak(chosen, place))
