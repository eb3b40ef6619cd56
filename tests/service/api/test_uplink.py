"""An edge and its leader over HTTP, both in threads of this process."""

import contextlib
import itertools
import time

import httpx
import pytest
from tests.service.campaigns.senders import until
from tests.service.listening_server import ListeningServer

from tutelage.client import Client
from tutelage.service.api.uplink import copy_keys
from tutelage.service.campaigns import edges
from tutelage.stores import open_keys, upgrade
from tutelage.stores.base import KeyRow

CAMPAIGN = {"name": "c", "arms": ["x", "y"], "clients": ["a", "b"], "horizon": 1000, "teacher": "blt", "start": True}


@pytest.fixture
def leader(tmp_path):
    """A server with a campaign that runs."""
    server = ListeningServer(tmp_path / "leader.db")
    httpx.post(f"{server.plain}/v1/campaigns", json=CAMPAIGN).raise_for_status()
    yield server
    server.close()


@pytest.fixture
def start_edge(leader, tmp_path):
    """``start_edge(name)`` gives an edge of the leader; it ends with the test."""
    with contextlib.ExitStack() as stack:

        def start(name="north"):
            edge = ListeningServer(tmp_path / f"{name}.db", upstream=leader.plain, edge=name)
            stack.callback(edge.close)
            return edge

        yield start


def pull(server, id, client="a", arm="x", reward=0.25, **options):
    """The response to a pull."""
    content = {"id": id, "client": client, "arm": arm, "reward": reward}
    return httpx.post(f"{server.plain}/v1/campaigns/c/pulls", json=content, timeout=30, **options)


def totals(server):
    """Counts, sums and costs of clients and arms."""
    found = httpx.get(f"{server.plain}/v1/campaigns/c/totals").json()
    return [found[name] for name in ("rounds", "pulls", "observed", "revealed", "costs")]


def test_a_client_needs_nothing_but_the_address(leader, start_edge):
    """The client checks and reveals; the leader comes to know the sums, and what changes the campaign reaches it."""
    edge = start_edge()
    with Client(edge.plain, "c", key="") as client:
        assert client.check() == "running"
        for round in range(30):
            for name in "ab":
                revealed = client.reveal(name, "xy"[round % 2], 0.5)
                assert not revealed.bypassed
    until(lambda: totals(leader) == totals(edge))
    assert totals(leader)[0] == [30, 30]
    assert pull(leader, "new").json()["type"] == "urn:tutelage:problem:moved"
    until(lambda: httpx.get(f"{edge.plain}/v1/campaigns/c").json()["directive"] > 1)
    assert httpx.post(f"{edge.plain}/v1/campaigns/c/stop").json()["status"] == "stopped"
    assert httpx.get(f"{leader.plain}/v1/campaigns/c").json()["status"] == "stopped"
    ids = map("late{}".format, itertools.count())  # a pull that is sent again is answered as before
    until(lambda: pull(edge, next(ids)).status_code == 409)
    assert httpx.get(f"{edge.plain}/c/c/").is_success  # its page


def test_what_an_edge_does_not_have_is_asked_of_the_leader(leader, start_edge):
    """An unknown campaign, one that has not started, and an unknown client."""
    edge = start_edge()
    other = CAMPAIGN | {"name": "d", "start": False}
    assert httpx.post(f"{edge.plain}/v1/campaigns", json=other).status_code == 201
    assert httpx.get(f"{edge.plain}/v1/campaigns/d/access").json()["status"] == "registering"
    content = {"id": "1", "client": "a", "arm": "x", "reward": 0.5}
    for name, kind in (("d", "not-started"), ("e", "unknown-campaign")):
        answer = httpx.post(f"{edge.plain}/v1/campaigns/{name}/pulls", json=content)
        assert answer.json()["type"] == f"urn:tutelage:problem:{kind}"
    assert pull(edge, "1", client="z").json()["faults"][0]["what"] == "Unknown client 'z'."


def test_one_report_a_second(leader, start_edge, monkeypatch):
    """Pulls that keep coming do not make an edge report all the time."""
    edge = start_edge()
    assert pull(edge, "0").is_success
    reports, collect = [], edges.collect
    monkeypatch.setattr(edges, "collect", lambda *given, **options: reports.append(1) or collect(*given, **options))
    begun, numbers = time.monotonic(), itertools.count(1)
    with httpx.Client() as http:
        while len(reports) < 2:
            content = {"id": f"{next(numbers)}", "client": "a", "arm": "x", "reward": 0.25}
            http.post(f"{edge.plain}/v1/campaigns/c/pulls", json=content).raise_for_status()
    assert time.monotonic() - begun >= 1.0


def test_without_the_leader(leader, start_edge):
    """Clients that the edge holds are answered; others are refused for now."""
    edge = start_edge()
    assert pull(edge, "1").is_success
    leader.stop()
    assert pull(edge, "2").is_success
    assert pull(edge, "3", client="b").json()["type"] == "urn:tutelage:problem:no-leader"


def test_a_client_is_moved(leader, start_edge):
    """The old edge refuses it once it knows; the new one answers it."""
    north, south = start_edge("north"), start_edge("south")
    assert pull(north, "1").is_success
    until(lambda: totals(leader)[0][0] == 1)  # what is not reported is lost by a move
    assert pull(south, "1").json()["type"] == "urn:tutelage:problem:moved"
    moved = httpx.post(f"{north.plain}/v1/campaigns/c/assign", json={"client": "a", "edge": "south"})
    assert moved.is_success
    until(lambda: pull(south, "2").is_success)
    ids = map(str, itertools.count(3))
    until(lambda: pull(north, next(ids)).status_code == 409)
    until(lambda: totals(leader)[0][0] >= 2)
    audited = httpx.get(f"{leader.plain}/v1/audit").json()["records"]
    assert [(one["action"], one["subject"]) for one in audited[-3:]] == [
        ("assign clients", "north"),
        ("assign client", "a"),
        ("assign clients", "south"),
    ]


def test_a_key_of_the_leader_is_valid_at_the_edge(leader, start_edge, monkeypatch):
    """The keys come with the first claim."""
    secrets = {role: leader.key(role, role, "c") for role in ("admin", "reporter", "viewer")}
    headers = {role: {"Authorization": f"Bearer {secret}"} for role, secret in secrets.items()}
    monkeypatch.setenv("TUTELAGE_KEY", secrets["admin"])
    edge = start_edge()
    until(lambda: pull(edge, "1", headers=headers["reporter"]).is_success)
    until(lambda: pull(edge, "2").status_code == 401)
    assert pull(edge, "3", headers=headers["viewer"]).status_code == 403
    assert pull(edge, "4", headers=headers["reporter"]).is_success


def test_keys_are_copied_as_they_are(tmp_path):
    """New, replaced and revoked keys; what is the same stays."""
    url = f"sqlite:///{tmp_path}/t.db"
    upgrade(url)
    first = [KeyRow("a", b"1", "reporter", "c", ("x",), 5), KeyRow("b", b"2", "admin", None, (), 6, expires=9)]
    copy_keys(url, first)
    copy_keys(url, first)
    second = [KeyRow("a", b"3", "viewer", "c", (), 7), KeyRow("b", b"2", "admin", None, (), 6, revoked=8)]
    copy_keys(url, second)
    with contextlib.closing(open_keys(url)) as keys:
        rows = keys.keys()
    found = {row.name: row for row in rows}
    assert found["a"] == second[0]
    assert found["b"].revoked is not None
