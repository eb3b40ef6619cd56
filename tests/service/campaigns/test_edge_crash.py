"""Edges and leaders are killed at every point, and sums and decisions stay those of the pulls."""

import contextlib
import random
import signal

import httpx
import pytest
from tests.service.campaigns import crash_histories, edge_histories
from tests.service.campaigns.senders import until
from tests.service.server_processes import ServerProcess

from tutelage.service.campaigns.verifying import verify_ledger
from tutelage.stores import open_reader
from tutelage.stores.base import PullRow, pages


@pytest.mark.parametrize(("store", "histories", "steps"), [("sqlite", 30, 25), ("postgresql", 15, 25)])
def test_histories(store, histories, steps):
    """Sums at the leader are those of the edges' ledgers, and decisions those of a leader that saw the pulls."""
    counts = crash_histories.play_in_test(edge_histories.EdgeHistories, store, histories, steps)
    assert counts["histories"] >= histories
    assert min(counts["sums"], counts["decisions"], counts["records compared"], counts["answered together"]) > 0


PULLS = 120  # of each client


class KilledServers:
    """A leader and two edges, each of which is killed now and then and started again at the same address."""

    def __init__(self, folder):
        self.folder, self.running = folder, {}
        self.start("leader")
        self.running["leader"].create(clients=["a", "b", "c", "d"], horizon=100_000, teacher="blt")

    def start(self, name):
        arguments = ["--edge", name, "--upstream", self.running["leader"].address] if name != "leader" else []
        port = self.running[name].port if name in self.running else 0
        self.running[name] = ServerProcess(f"sqlite:///{self.folder}/{name}.db", self.folder, *arguments, port=port)

    def kill(self, name):
        assert self.running[name].end(signal.SIGKILL) == -signal.SIGKILL
        self.start(name)

    def end(self):
        for server in self.running.values():
            server.end()


def send(http, server, client, number):
    """Send a pull until it is answered; 409 and 422 are errors."""

    def is_answered():
        with contextlib.suppress(httpx.TransportError):
            content = {
                "id": f"{client}{number:06}",
                "client": client,
                "arm": "xy"[number % 2],
                "reward": number % 4 / 4,
            }
            response = http.post(f"{server.address}/v1/campaigns/c/pulls", json=content)
            assert response.is_success or response.status_code >= 500, response.text
            return response.is_success
        return False

    until(is_answered)


def test_killed_processes(tmp_path):
    """``kill -9`` of leader and edges over HTTP: no answered pull is missing, and the leader has all sums."""
    servers, drawn = KilledServers(tmp_path), random.Random(1)
    try:
        for name in ("north", "south"):
            servers.start(name)
        with httpx.Client(timeout=5, trust_env=False) as http:
            for number in range(PULLS):
                for client in "abcd":
                    send(http, servers.running["north" if client in "ab" else "south"], client, number)
                if number % 40 == 20:
                    servers.kill(drawn.choice(["leader", "north", "south"]))
            leader = servers.running["leader"].http
            until(lambda: leader.get("/v1/campaigns/c/totals").json()["rounds"] == [PULLS] * 4)
            totals = [server.http.get("/v1/campaigns/c/totals").json() for server in servers.running.values()]
    finally:
        servers.end()
    for what in ("rounds", "pulls", "observed", "revealed", "costs"):
        assert totals[0][what] == totals[1][what][:2] + totals[2][what][2:], what
    for name in servers.running:
        with contextlib.closing(open_reader(f"sqlite:///{tmp_path}/{name}.db")) as reader:
            rows = list(pages(reader, "c"))
            assert verify_ledger(reader, "c") == (len(rows), [])
        ids = [row.id for row in rows if isinstance(row, PullRow)]
        clients = {"leader": "", "north": "ab", "south": "cd"}[name]
        assert sorted(ids) == sorted(f"{client}{number:06}" for client in clients for number in range(PULLS))
