"""Send requests to a server as fast as it answers, from a process of its own.

    python benchmarks/load_generator.py SETTINGS.json

The settings are those of :class:`Load`; the measurements are printed as one JSON object.  All requests are
built before the clock starts.  Each connection sends its next request when the previous one is answered.
"""

import asyncio
import json
import random
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Load:
    """What to send: the pulls with the numbers ``first`` to ``first + count - 1``.

    ``rate`` limits the pulls per second, unless it is 0.  ``ids`` are ``ordered`` in time or ``random``.
    With ``sample``, that many pulls are drawn from the range instead, all of which were sent before.
    """

    port: int
    count: int
    batch: int = 1
    connections: int = 64
    first: int = 0
    clients: int = 5
    first_client: int = 0
    arms: int = 5
    ids: str = "ordered"
    sample: int = 0
    rate: float = 0.0
    path: str = "/v1/campaigns/c/pulls"


def write_pull(number: int, load: Load) -> str:
    """Return a pull as JSON; the same number gives the same pull."""
    id = f"{number:016x}" if load.ids == "ordered" else f"{number * 0x9E3779B97F4A7C15 % 2**64:016x}"
    client, arm = load.first_client + number % load.clients, number // load.clients % load.arms
    return f'{{"id":"{id}","client":"m{client}","arm":"k{arm}","reward":{(number * 7 % 11) / 10}}}'


def build_requests(load: Load) -> list[bytes]:
    """Return the bytes of every request, in the order of state."""
    if load.sample:
        drawn = random.Random(1).choices(range(load.first, load.first + load.count), k=load.sample)
    else:
        drawn = list(range(load.first, load.first + load.count))
    found = []
    for start in range(0, len(drawn), load.batch):
        pulls = [write_pull(number, load) for number in drawn[start : start + load.batch]]
        body = (pulls[0] if load.batch == 1 else f'{{"pulls":[{",".join(pulls)}]}}').encode()
        head = (
            f"POST {load.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        found.append(head.encode() + body)
    return found


class Connection(asyncio.Protocol):
    """Sends one request after another."""

    def __init__(self, state: "LoadState") -> None:
        self.state, self.done = state, asyncio.get_running_loop().create_future()
        self.content, self.wanted, self.sent = b"", 0, 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.send_next()

    def send_next(self) -> None:
        """Send the next request, if there is one, when its time has come."""
        content = next(self.state.left, None)
        if content is None:
            self.transport.close()
            self.done.set_result(None)
            return
        self.content, self.wanted = b"", 0
        wait = self.state.wait()
        if wait > 0:
            asyncio.get_running_loop().call_later(wait, self.send, content)
        else:
            self.send(content)

    def send(self, content: bytes) -> None:
        self.sent = time.perf_counter()
        self.transport.write(content)  # type: ignore[attr-defined]

    def data_received(self, data: bytes) -> None:
        self.content += data
        if not self.wanted:
            end = self.content.find(b"\r\n\r\n")
            if end < 0:
                return
            if not self.content.startswith(b"HTTP/1.1 200"):
                raise SystemExit(self.content.decode())
            head = self.content[:end].lower()
            self.wanted = end + 4 + int(head.partition(b"content-length:")[2].partition(b"\r")[0])
        if len(self.content) >= self.wanted:
            self.state.times.append(time.perf_counter() - self.sent)
            self.send_next()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(exc or ConnectionResetError("the server closed the connection"))


class LoadState:
    """The requests left to send, and the times of the answers so far."""

    def __init__(self, load: Load) -> None:
        self.left, self.times, self.load = iter(build_requests(load)), list[float](), load
        self.started, self.begun = 0, 0.0

    def wait(self) -> float:
        """Return the seconds until the next request may be sent."""
        self.started += 1
        if not self.load.rate:
            return 0.0
        return self.begun + self.started * self.load.batch / self.load.rate - time.perf_counter()


async def run(load: Load) -> dict[str, float]:
    """Send everything; return pulls per second, answer times in ms, and processor seconds."""
    state, loop = LoadState(load), asyncio.get_running_loop()
    state.begun = time.perf_counter()
    connections = [
        await loop.create_connection(lambda: Connection(state), "127.0.0.1", load.port) for _ in range(load.connections)
    ]
    await asyncio.gather(*(protocol.done for _, protocol in connections))
    seconds = time.perf_counter() - state.begun
    percentiles = statistics.quantiles(state.times, n=100) if len(state.times) > 1 else state.times * 99
    return {
        "pulls": len(state.times) * load.batch,
        "seconds": seconds,
        "rate": len(state.times) * load.batch / seconds,
        "median": 1000 * percentiles[49],
        "p99": 1000 * percentiles[98],
        "processor": time.process_time(),
    }


if __name__ == "__main__":
    import uvloop

    setting = Load(**json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    print(json.dumps(uvloop.run(run(setting))))
