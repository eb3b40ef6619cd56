"""Edges and leaders are killed at every point, and sums and decisions stay those of the pulls."""

import contextlib
import itertools
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
    assert store == "sqlite" or counts["reports refused"] > 0
    assert min(counts["sums"], counts["decisions"], counts["records compared"], counts["answered together"]) > 0


EDGES = ("north", "south")
PULLS = 120  # of each client


class KilledServers:
    """A leader and two edges, each of which is killed now and then and started again at the same address.

    On PostgreSQL a second server shares the leader's database, and takes over when the leader is killed.
    """

    def __init__(self, folder, leader_store):
        self.folder, self.running = folder, {}
        self.leader_store = leader_store or f"sqlite:///{folder}/leader.db"
        self.start("leader")
        self.running["leader"].create(clients=["a", "b", "c", "d"], horizon=100_000, teacher="blt")
        for name in [*(["standby"] if leader_store else []), "north", "south"]:
            self.start(name)

    def store(self, name):
        return f"sqlite:///{self.folder}/{name}.db" if name in EDGES else self.leader_store

    def start(self, name):
        arguments = ["--edge", name, "--upstream", self.running["leader"].address] if name in EDGES else []
        port = self.running[name].port if name in self.running else 0
        self.running[name] = ServerProcess(
            self.store(name), self.folder, *arguments, advertise=name not in EDGES, port=port
        )

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


@pytest.mark.parametrize("store", ["sqlite", "postgresql"])
def test_killed_processes(tmp_path, request, store):
    """``kill -9`` of leader and edges over HTTP: no answered pull is missing, and the leader has all sums."""
    servers = KilledServers(tmp_path, request.getfixturevalue("new_database")() if store == "postgresql" else "")
    victims = itertools.cycle(servers.running)
    try:
        with httpx.Client(timeout=20, trust_env=False) as http:
            for number in range(PULLS):
                for client in "abcd":
                    send(http, servers.running["north" if client in "ab" else "south"], client, number)
                if number % 20 == 10:
                    servers.kill(next(victims))
            leader = servers.running["leader"].http
            until(lambda: read_totals(leader).get("rounds") == [PULLS] * 4)
            leads, north, south = (read_totals(servers.running[name].http) for name in ("leader", *EDGES))
    finally:
        servers.end()
    for what in ("rounds", "pulls", "observed", "revealed", "costs"):
        assert leads[what] == north[what][:2] + south[what][2:], what
    for name, clients in (("leader", ""), ("north", "ab"), ("south", "cd")):
        with contextlib.closing(open_reader(servers.store(name))) as reader:
            rows = list(pages(reader, "c"))
            assert verify_ledger(reader, "c") == (len(rows), [])
        ids = [row.id for row in rows if isinstance(row, PullRow)]
        assert sorted(ids) == sorted(f"{client}{number:06}" for client in clients for number in range(PULLS))


def read_totals(http):
    """The totals of the campaign; nothing while another server is to take it over."""
    with contextlib.suppress(httpx.TransportError):
        return http.get("/v1/campaigns/c/totals").json()
    return {}
