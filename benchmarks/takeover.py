"""How long a campaign is without a leader once its leader is killed: from SIGKILL to the next answered pull.

    python benchmarks/takeover.py --postgresql URL [--times N]

URL is an empty database.  Each time one of two servers leads and is killed at a random moment of its lease;
four senders ask the other again and again, as clients do, until a pull is answered.  The server is begun
anew, and the other is the next to be killed.  The contract is the lease and a renewal: 13 seconds.
"""

import argparse
import contextlib
import itertools
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx

PAUSE = 0.05  # seconds between two requests of a sender
_NUMBERS = itertools.count()


class Server:
    """A server process that others find."""

    def __init__(self, url: str, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port: int = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{port}"
        command = [sys.executable, "-m", "tutelage", "serve", "--store", url, "--port", str(port)]
        log = folder / f"log-{port}"
        with log.open("wb") as file:
            self.process = subprocess.Popen(  # noqa: S603
                [*command, "--advertise", self.address], cwd=folder, stderr=file
            )
        while not self.is_up():
            if self.process.poll() is not None:
                raise SystemExit(log.read_text(encoding="utf-8"))
            time.sleep(PAUSE)

    def is_up(self) -> bool:
        """Whether it answers."""
        with contextlib.suppress(httpx.TransportError):
            return httpx.get(f"{self.address}/healthz").is_success
        return False

    def pull(self) -> bool:
        """Whether a new pull is answered."""
        number = next(_NUMBERS)
        content = {"id": str(number), "client": f"m{number % 5}", "arm": f"k{number // 5 % 5}", "reward": 0.5}
        return httpx.post(f"{self.address}/v1/campaigns/takeover/pulls", json=content, timeout=60).is_success

    def first_answer(self) -> float:
        """When a pull is answered, by asking until one is."""
        while not self.pull():
            time.sleep(PAUSE)
        return time.monotonic()


def create(server: Server) -> None:
    """The campaign, which the server leads from then on."""
    content = {
        "name": "takeover",
        "arms": [f"k{k}" for k in range(5)],
        "clients": [f"m{m}" for m in range(5)],
        "horizon": 10**6,
        "teacher": "twl",
        "start": True,
    }
    httpx.post(f"{server.address}/v1/campaigns", json=content, timeout=60).raise_for_status()


def measure(url: str, times: int) -> list[float]:
    """Seconds from each SIGKILL to the first answer, printed as they come."""
    found: list[float] = []
    drawn = random.Random(1)
    with (
        tempfile.TemporaryDirectory() as name,
        contextlib.ExitStack() as stack,
        ThreadPoolExecutor(4) as pool,
    ):

        def begin() -> Server:
            server = Server(url, Path(name))
            stack.callback(server.process.kill)
            return server

        leader, follower = begin(), begin()
        create(leader)
        for _ in range(times):
            leader.first_answer()
            follower.first_answer()  # handed on
            time.sleep(drawn.uniform(0.0, 6.0))  # two renewals: any moment of a lease
            leader.process.kill()
            killed = time.monotonic()
            asking = [pool.submit(follower.first_answer) for _ in range(4)]
            found.append(min(one.result() for one in asking) - killed)
            print(f"{found[-1]:6.2f} s", flush=True)
            leader.process.wait()
            leader, follower = follower, begin()
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--postgresql", metavar="URL", required=True, help="an empty database")
    parser.add_argument("--times", type=int, default=20, help="how often a leader is killed")
    given = parser.parse_args()
    seconds = measure(given.postgresql, given.times)
    print(
        f"{len(seconds)} leaders killed: the next pull was answered after {statistics.median(seconds):.1f} s "
        f"(median), {max(seconds):.1f} s at worst"
    )
