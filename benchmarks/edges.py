"""Measure what a pull costs through an edge, compared with one server, and the throughput of several edges.

    python benchmarks/edges.py [--pulls N] [--edges N] [--loads single,batches] [--campaign 5x5]

One server, then a leader with one edge, get the same requests: single pulls over 64 connections, and batches.
Processor times per pull are those of the processes while the load lasts and the last report is made; the time of
the leader includes the requests of an edge that has nothing to report.  Then N edges get single pulls and batches
at once, each for clients of its own.  The load generators share the cores with the servers, so a throughput holds
for these cores only.
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from arguments import make_parser
from live_server import ServerProcess, create_campaign
from server_throughput import CAMPAIGNS, HERE

REPORTED_SECONDS = 2.0  # after a load, for the last report
LOADS = {"single": (1, 64), "batches": (1_000, 4)}  # pulls in a request, connections


def start(stack: contextlib.ExitStack, folder: Path, name: str, *arguments: str) -> ServerProcess:
    """Start a server that ends with the stack."""
    place = folder / name
    place.mkdir()
    server = ServerProcess(["tutelage", "serve", *arguments], place)
    stack.callback(server.kill)
    server.start()
    return server


class Loads:
    """Sends loads to servers at once; each server has ``clients`` of its own, and pulls that were not sent before."""

    def __init__(self, servers: list[ServerProcess], leader: ServerProcess | None, clients: int, arms: int) -> None:
        self.servers, self.leader, self.clients, self.arms = servers, leader, clients, arms
        self.sent = 0

    def send(self, count: int, batch: int, connections: int) -> dict[str, float]:
        """Send ``count`` pulls to each server; return their rate, and µs of processor time per pull."""
        everyone = [*self.servers, *([self.leader] if self.leader else [])]
        before = [one.processor_seconds() for one in everyone]
        loads = [self._begin(number, count, batch, connections) for number in range(len(self.servers))]
        outputs = [load.communicate()[0] for load in loads]
        if any(load.returncode for load in loads):
            raise SystemExit("A load failed: see above.")
        self.sent += count
        found: list[dict[str, Any]] = [json.loads(output) for output in outputs]
        time.sleep(REPORTED_SECONDS)
        used = [one.processor_seconds() - then for one, then in zip(everyone, before, strict=True)]
        pulls = sum(one["pulls"] for one in found)
        return {
            "rate": pulls / max(one["seconds"] for one in found),
            "cost": 1e6 * sum(used) / pulls,
            "leader": 1e6 * used[-1] / pulls,
        }

    def _begin(self, number: int, count: int, batch: int, connections: int) -> "subprocess.Popen[str]":
        server = self.servers[number]
        load = {"port": server.port, "count": count, "batch": batch, "connections": connections, "first": self.sent}
        load |= {"clients": self.clients, "first_client": number * self.clients, "arms": self.arms}
        file = server.folder / "load.json"
        file.write_text(json.dumps(load), encoding="utf-8")
        command = [sys.executable, str(HERE / "load_generator.py"), str(file)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603

    def measure(self, pulls: int, batch: int, connections: int) -> dict[str, float]:
        """Send this number of pulls, ten times as many in batches, after some that warm the servers up."""
        self.send(2_000, batch, connections)
        return self.send(pulls if batch == 1 else 10 * pulls, batch, connections)


def measure(options: argparse.Namespace) -> None:
    """Print a line for each load."""
    clients, arms, teacher = CAMPAIGNS[options.campaign]
    for name in options.loads.split(","):
        batch, connections = LOADS[name]
        print(f"{options.campaign} {teacher}, {name}: {batch} pulls in a request, {connections} connections each")
        print(f"  {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before", flush=True)
        one = 0.0
        for edges in (0, 1, options.edges):
            with tempfile.TemporaryDirectory(dir=options.folder) as place, contextlib.ExitStack() as stack:
                folder = Path(place)
                leader = start(stack, folder, "leader")
                create_campaign(leader.address, "c", teacher, clients=clients * max(edges, 1), arms=arms)
                names = [f"e{number}" for number in range(edges)]
                servers = [
                    start(stack, folder, name, "--upstream", leader.address, "--edge", name) for name in names
                ] or [leader]
                loads = Loads(servers, leader if edges else None, clients, arms)
                found = loads.measure(options.pulls // max(edges, 1), batch, connections)
            what = f"{edges} edges" if edges > 1 else "1 edge" if edges else "one server"
            line = f"  {what:12} {found['rate']:9,.0f} pulls/s, {found['cost']:6.2f} µs of processor time per pull"
            if edges:
                line += f" ({found['cost'] / one:.2f} of one server's)"
                line += f", of it the leader's {found['leader']:.3f} µs (1/{one / max(found['leader'], 1e-9):.0f})"
            else:
                one = found["cost"]
            print(line, flush=True)


if __name__ == "__main__":
    parser = make_parser(__doc__)
    parser.add_argument("--campaign", choices=CAMPAIGNS, default="5x5", help="size of the campaign (%(default)s)")
    parser.add_argument("--edges", type=int, default=4, help="edges that are loaded at once (%(default)s)")
    parser.add_argument("--pulls", type=int, default=200_000, help="single pulls in all, a tenth of those in batches")
    parser.add_argument("--loads", default="single,batches", help="what to send (%(default)s)")
    parser.add_argument("--folder", type=Path, default=None, help="folder for the stores, whose disk counts")
    measure(parser.parse_args())
