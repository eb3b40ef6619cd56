"""Measure how long a campaign has no leader after its leader was killed, until the next answered pull.

    python benchmarks/server_takeover.py --postgresql URL [--times N]

URL is an empty database.  Two servers share it.  In each repetition the leader is killed at a random moment
of its lease, while four senders repeat a pull to the other server until it is answered.  Then the killed
server is started again, and the other one is the next to be killed.  The documented limit is the length of a
lease and a renewal: 13 seconds.
"""

import contextlib
import itertools
import random
import statistics
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
from arguments import make_parser
from live_server import ServerProcess, create_campaign, find_free_port

PAUSE = 0.05  # seconds between two requests of a sender
LONGEST_WAIT = 6.0  # seconds before a kill: two renewals, so any moment of a lease
_NUMBERS = itertools.count()


def start_server(url: str, folder: Path) -> ServerProcess:
    """Start a server that others find at its address."""
    port = find_free_port()
    command = ["tutelage", "serve", "--store", url, "--advertise", f"http://127.0.0.1:{port}"]
    server = ServerProcess(command, folder, port=port)
    server.start()
    return server


def send_pull(server: ServerProcess) -> bool:
    """Send a new pull and return whether it was answered."""
    number = next(_NUMBERS)
    content = {"id": str(number), "client": f"m{number % 5}", "arm": f"k{number // 5 % 5}", "reward": 0.5}
    return httpx.post(f"{server.address}/v1/campaigns/takeover/pulls", json=content, timeout=60).is_success


def wait_for_answer(server: ServerProcess) -> float:
    """Send pulls until one is answered and return that time."""
    while not send_pull(server):
        time.sleep(PAUSE)
    return time.monotonic()


def measure(url: str, times: int) -> list[float]:
    """Return the seconds from each kill to the first answer, and print them one by one."""
    found: list[float] = []
    drawn = random.Random(1)
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack, ThreadPoolExecutor(4) as pool:

        def begin() -> ServerProcess:
            server = start_server(url, Path(name))
            stack.callback(server.kill)
            return server

        leader, follower = begin(), begin()
        create_campaign(leader.address, "takeover", "twl", horizon=10**6)
        for _ in range(times):
            wait_for_answer(leader)
            wait_for_answer(follower)  # which forwards the pull to the leader
            time.sleep(drawn.uniform(0.0, LONGEST_WAIT))
            leader.running.kill()
            killed = time.monotonic()
            senders = [pool.submit(wait_for_answer, follower) for _ in range(4)]
            found.append(min(sender.result() for sender in senders) - killed)
            print(f"{found[-1]:6.2f} s", flush=True)
            leader.running.wait()
            leader, follower = follower, begin()
    return found


if __name__ == "__main__":
    parser = make_parser(__doc__)
    parser.add_argument("--postgresql", metavar="URL", required=True, help="URL of an empty database")
    parser.add_argument("--times", type=int, default=20, help="number of kills (%(default)s)")
    options = parser.parse_args()
    seconds = measure(options.postgresql, options.times)
    print(
        f"{len(seconds)} leaders killed: the next pull was answered after {statistics.median(seconds):.1f} s "
        f"(median) and at most {max(seconds):.1f} s"
    )
