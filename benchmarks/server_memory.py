"""Measure the memory of a server after pulls of many campaigns, with and without a bound on its newest pulls.

    python benchmarks/server_memory.py [--campaigns 10] [--pulls 100000]

Each campaign receives that many pulls, in batches, and the resident memory is printed after every tenth of the
campaigns; then all are stopped.  Needs /proc.
"""

import sys
import tempfile
from pathlib import Path

import httpx
from arguments import make_parser
from live_server import ServerProcess, create_campaign

BATCH = 1_000
UNBOUNDED, BOUNDED = 100_000_000, 250_000  # --max-cached-pulls: more than are sent, and the default


def send_pulls(http: httpx.Client, name: str, pulls: int) -> None:
    """Send pulls in batches of rising ids."""
    for first in range(0, pulls, BATCH):
        batch = [
            {"id": f"{number:012}", "client": f"m{number % 5}", "arm": f"k{number // 5 % 5}", "reward": number % 3 / 2}
            for number in range(first, min(first + BATCH, pulls))
        ]
        http.post(f"/v1/campaigns/{name}/pulls", json={"pulls": batch}).raise_for_status()


def measure(campaigns: int, pulls: int, most_cached: int) -> list[float]:
    """Return the memory in MiB at the start, after each tenth of the campaigns, and after all are stopped."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["tutelage", "serve", "--store", "sqlite:///memory.db", "--max-cached-pulls", str(most_cached)]
        server = ServerProcess(command, Path(folder))
        server.start()
        found = [server.memory()]
        try:
            with httpx.Client(base_url=server.address, timeout=60.0) as http:
                for number in range(1, campaigns + 1):
                    create_campaign(server.address, f"c{number}", "blt")
                    send_pulls(http, f"c{number}", pulls)
                    if number % max(1, campaigns // 10) == 0:
                        found.append(server.memory())
                for number in range(1, campaigns + 1):
                    http.post(f"/v1/campaigns/c{number}/stop").raise_for_status()
            found.append(server.memory())
        finally:
            server.kill()
    return found


def main() -> None:
    """Print one line for each bound."""
    parser = make_parser(__doc__)
    parser.add_argument("--campaigns", type=int, default=10)
    parser.add_argument("--pulls", type=int, default=100_000)
    given = parser.parse_args()
    for most_cached in (UNBOUNDED, BOUNDED):
        first, *between, last = measure(given.campaigns, given.pulls, most_cached)
        steps = " ".join(f"{each:.0f}" for each in between)
        sys.stdout.write(f"--max-cached-pulls {most_cached:,}: {first:.0f} MiB, then {steps}, stopped {last:.0f}\n")


if __name__ == "__main__":
    main()
