"""Measure how long a server needs to answer pulls again after its database was stopped and started.

    python benchmarks/server_recovery.py --postgresql URL --data FOLDER [--times 10]

FOLDER is the data folder of the database's server, which pg_ctl stops and starts; run this as its user.  In each
repetition the database is away for a random time, and a pull and /readyz are asked for every 50 ms from the moment
at which it accepts connections again.
"""

import random
import subprocess
import tempfile
import time
from pathlib import Path

import httpx
from arguments import make_parser
from live_server import ServerProcess, create_campaign

PAUSE, LONGEST_AWAY = 0.05, 15.0  # seconds


def control(data: str, act: str) -> None:
    """Stop or start the database, and wait until that is done."""
    command = ["pg_ctl", "--pgdata", data, "--wait", act, "--log", f"{data}/recovery.log"]
    subprocess.run([*command, "--mode", "fast"] if act == "stop" else command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603


def wait_until_answered(http: httpx.Client, number: int) -> tuple[float, float]:
    """Return when a pull and when /readyz were answered."""
    pull = {"id": f"{number}", "client": "m0", "arm": "k0", "reward": 0.5}
    pulled = ready = 0.0
    while not (pulled and ready):
        if not pulled and http.post("/v1/campaigns/recovery/pulls", json=pull).is_success:
            pulled = time.monotonic()
        if not ready and http.get("/readyz").is_success:
            ready = time.monotonic()
        time.sleep(PAUSE)
    return pulled, ready


def measure(url: str, data: str, times: int) -> None:
    """Print the seconds of each repetition."""
    drawn = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        server = ServerProcess(["tutelage", "serve", "--store", url], Path(folder))
        server.start()
        try:
            create_campaign(server.address, "recovery", "twl")
            with httpx.Client(base_url=server.address, timeout=60.0) as http:
                for number in range(times):
                    wait_until_answered(http, 2 * number)
                    away = drawn.uniform(1.0, LONGEST_AWAY)
                    control(data, "stop")
                    time.sleep(away)
                    control(data, "start")
                    begun = time.monotonic()
                    pulled, ready = wait_until_answered(http, 2 * number + 1)
                    found = f"pulls {pulled - begun:.2f} s, /readyz {ready - begun:.2f} s"
                    print(f"away {away:4.1f} s: {found}", flush=True)
        finally:
            server.kill()


if __name__ == "__main__":
    parser = make_parser(__doc__)
    parser.add_argument("--postgresql", metavar="URL", required=True, help="a database of the server")
    parser.add_argument("--data", metavar="FOLDER", required=True, help="data folder of the server")
    parser.add_argument("--times", type=int, default=10)
    given = parser.parse_args()
    measure(given.postgresql, given.data, given.times)
