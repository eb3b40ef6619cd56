"""Sends requests to a server as quickly as it answers: a process of its own, whose work is done beforehand.

    python benchmarks/load.py SETTINGS.json

The settings are those of :class:`Load`; one JSON object with the outcome is printed.  All requests are built
before the clock starts; each connection sends one when the answer to the one before is there.
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
    """``first`` .. ``first + count - 1`` are the numbers of the pulls; ``rate`` holds it back, in pulls/s.

    ``ids`` are ``ordered``, in the order of time, or ``random``.  With ``sample`` the pulls are that many
    drawn from the range, which have been sent before.
    """

    port: int
    count: int
    batch: int = 1
    connections: int = 64
    first: int = 0
    clients: int = 5
    arms: int = 5
    ids: str = "ordered"
    sample: int = 0
    rate: float = 0.0
    path: str = "/v1/campaigns/c/pulls"


def pull(number: int, load: Load) -> str:
    """A pull's JSON; the same number gives the same pull."""
    id = f"{number:016x}" if load.ids == "ordered" else f"{number * 0x9E3779B97F4A7C15 % 2**64:016x}"
    client, arm = number % load.clients, number // load.clients % load.arms
    return f'{{"id":"{id}","client":"m{client}","arm":"k{arm}","reward":{(number * 7 % 11) / 10}}}'


def requests(load: Load) -> list[bytes]:
    """Every request's bytes, in the order of sending."""
    if load.sample:
        drawn = random.Random(1).choices(range(load.first, load.first + load.count), k=load.sample)
    else:
        drawn = list(range(load.first, load.first + load.count))
    found = []
    for start in range(0, len(drawn), load.batch):
        pulls = [pull(number, load) for number in drawn[start : start + load.batch]]
        body = (pulls[0] if load.batch == 1 else f'{{"pulls":[{",".join(pulls)}]}}').encode()
        head = (
            f"POST {load.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        found.append(head.encode() + body)
    return found


class Connection(asyncio.Protocol):
    """Sends one request after the other."""

    def __init__(self, sending: "Sending") -> None:
        self.sending, self.done = sending, asyncio.get_running_loop().create_future()
        self.content, self.wanted, self.sent = b"", 0, 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.next()

    def next(self) -> None:
        """The next request, if any is left, and if it is time."""
        content = next(self.sending.left, None)
        if content is None:
            self.transport.close()
            self.done.set_result(None)
            return
        self.content, self.wanted = b"", 0
        wait = self.sending.wait()
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
            self.sending.times.append(time.perf_counter() - self.sent)
            self.next()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(exc or ConnectionResetError("the server ended the connection"))


class Sending:
    """What is left to send, and how long the answers took."""

    def __init__(self, load: Load) -> None:
        self.left, self.times, self.load = iter(requests(load)), list[float](), load
        self.started, self.begun = 0, 0.0

    def wait(self) -> float:
        """Seconds until the next request may go."""
        self.started += 1
        if not self.load.rate:
            return 0.0
        return self.begun + self.started * self.load.batch / self.load.rate - time.perf_counter()


async def run(load: Load) -> dict[str, float]:
    """Pulls a second and the milliseconds that answers took."""
    sending, loop = Sending(load), asyncio.get_running_loop()
    sending.begun = time.perf_counter()
    made = [
        await loop.create_connection(lambda: Connection(sending), "127.0.0.1", load.port)
        for _ in range(load.connections)
    ]
    await asyncio.gather(*(protocol.done for _, protocol in made))
    seconds = time.perf_counter() - sending.begun
    parts = statistics.quantiles(sending.times, n=100) if len(sending.times) > 1 else sending.times * 99
    return {
        "pulls": len(sending.times) * load.batch,
        "seconds": seconds,
        "rate": len(sending.times) * load.batch / seconds,
        "half": 1000 * parts[49],
        "late": 1000 * parts[98],
        "processor": time.process_time(),
    }


if __name__ == "__main__":
    import uvloop

    setting = Load(**json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    print(json.dumps(uvloop.run(run(setting))))
