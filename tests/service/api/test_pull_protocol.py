"""The short path of pulls through an edge, over sockets, and the ordinary one, which answers the same."""

import contextlib
import json
import socket
import threading
import time
from typing import Any

import httpx
import pytest
from tests.service.campaigns.senders import until
from tests.service.listening_server import ListeningServer

from tutelage.service.api.access import make_key
from tutelage.service.api.pull_protocol import PullGroups, PullProtocol
from tutelage.service.campaigns.writer import Writer
from tutelage.stores import open_keys
from tutelage.stores.base import PullRow

CAMPAIGN = {"name": "c", "arms": ["x", "y"], "clients": ["a", "b"], "horizon": 1000, "teacher": "twl", "start": True}
VARYING = {"date", "x-request-id"}


@pytest.fixture
def edge(tmp_path):
    """An edge that holds both clients of a running campaign; each has made one pull."""
    with contextlib.ExitStack() as stack:
        leader = ListeningServer(tmp_path / "leader.db")
        stack.callback(leader.close)
        httpx.post(f"{leader.plain}/v1/campaigns", json=CAMPAIGN).raise_for_status()
        server = ListeningServer(tmp_path / "north.db", upstream=leader.plain, edge="north")
        stack.callback(server.close)
        first = [pull("a0"), pull("b0", client="b")]
        httpx.post(f"{server.plain}/v1/campaigns/c/pulls", json={"pulls": first}).raise_for_status()
        yield server


@pytest.fixture
def taken(monkeypatch):
    """For each request that arrived between two others, whether the short path took it."""
    found, begin = [], PullGroups.begin

    def note(groups, connection, data):
        found.append(begin(groups, connection, data))
        return found[-1]

    monkeypatch.setattr(PullGroups, "begin", note)
    return found


def pull(id, client="a", arm="x", reward=0.25):
    """A pull as it is sent."""
    return {"id": id, "client": client, "arm": arm, "reward": reward}


def write(content, *headers, target="/v1/campaigns/c/pulls", version="1.1", kind="application/json"):
    """The bytes of a request."""
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    lines = [f"POST {target} HTTP/{version}", "Host: 127.0.0.1", f"Content-Length: {len(body)}", *headers]
    lines += [f"Content-Type: {kind}"] if kind else []
    return "\r\n".join([*lines, "", ""]).encode() + body


class Sender:
    """A connection that sends bytes and reads responses."""

    def __init__(self, server):
        host, port = server.plain.removeprefix("http://").split(":")
        self.socket = socket.create_connection((host, int(port)), timeout=30)
        self.file = self.socket.makefile("rb")

    def send(self, *parts):
        """Send parts, each in a segment of its own."""
        for part in parts:
            self.socket.sendall(part)
            time.sleep(0.05 * (len(parts) > 1))

    def read(self):
        """The status, the headers and the content of the next response."""
        status = int(self.file.readline().split()[1])
        lines = iter(self.file.readline, b"\r\n")
        headers = dict(line.decode().strip().lower().split(": ", 1) for line in lines)
        if status == 100:
            return self.read()
        return status, headers, json.loads(self.file.read(int(headers["content-length"])))


@pytest.fixture
def connect(edge):
    """``connect()`` gives a connection to the edge; it ends with the test."""
    with contextlib.ExitStack() as stack:

        def open_connection():
            one = Sender(edge)
            stack.callback(one.socket.close)
            stack.callback(one.file.close)
            return one

        yield open_connection


@pytest.fixture
def sender(connect):
    """A connection to the edge."""
    return connect()


def test_a_large_batch_takes_the_ordinary_path(sender, taken):
    """It is answered alone; a small one takes the short path."""
    for start, number, is_short in ((0, 2, True), (2, 400, False)):
        sender.send(write({"pulls": [pull(f"{start + n:04}") for n in range(number)]}))
        status, _, content = sender.read()
        assert (status, len(content["pulls"]), taken.pop(), taken) == (200, number, is_short, [])


def test_both_paths_answer_the_same(edge, sender, taken):
    """One pull, a list, and an id of the sender's: same status, headers, fields; the ledger is one."""
    for number, content in enumerate((pull("1"), {"pulls": [pull("2"), pull("3", "b", "y")]}, pull("4"))):
        answers = []
        for path, headers in (("s", ()), ("o", ("Cookie: other=1",))):
            same = json.loads(json.dumps(content).replace('"id": "', f'"id": "{path}'))
            sender.send(write(same, f"X-Request-ID: mine-{number}", *headers))
            status, found, answer = sender.read()
            assert found["x-request-id"] == f"mine-{number}"
            answers.append((status, {key: found[key] for key in found.keys() - VARYING}, answer))
        for _, _, answer in answers:
            for one in answer.get("pulls", [answer]):
                one["id"] = one["id"][1:]
        assert answers[0] == answers[1]
    assert taken == [True, False] * 3
    sender.send(write(pull("5")))
    assert "x-request-id" in sender.read()[1]
    totals = httpx.get(f"{edge.plain}/v1/campaigns/c/totals").json()
    assert sum(totals["rounds"]) == 11


UNUSUAL = [
    (write(pull("new"), "Expect: 100-continue"), 200),
    (write(pull("new"), "Connection: close"), 200),
    (write(pull("new"), "Accept: a", "Accept: b"), 200),
    (write(pull("new"), "X-Empty:"), 200),
    (write(pull("new"), kind="application/json; charset=utf-8"), 200),
    (write(pull("new"), target="/v1/campaigns/c/pulls?x=1"), 200),
    (write(pull("new"), target="/v1/campaigns/%63/pulls"), 200),
    (write(pull("new") | {"bypassed": True}), 200),
    (write(pull("a0")), 200),
    (write(pull("new"), "Host: b"), 400),
    (write(pull("new"), "Origin: http://other.example"), 403),
    (write(pull("new"), "X-Forwarded-For: 10.1.1.1"), 401),
    (write(pull("new"), version="1.0"), 401),
    (write(pull("new"), target="/v1/campaigns/d/pulls"), 404),
    (write(pull("new"), target="/v1/campaigns/c/stop"), 422),
    (write(pull("a0", reward=0.75)), 409),
    (write(pull("new"), kind="text/plain"), 415),
    (write(pull("new"), "Content-Encoding: gzip"), 415),
    (write(b"{"), 400),
    (write({"pulls": [pull("new"), pull("new2", client="z")]}), 422),
    (write({"pulls": [pull("new"), pull("new")]}), 200),
]


def test_unusual_requests_are_answered_as_ever(connect):
    """What the short path does not take, or the writer gives back, has the ordinary answer."""
    for number, (content, status) in enumerate(UNUSUAL):
        sender = connect()
        sender.send(content.replace(b'"id": "new', f'"id": "{number:03}'.encode()))
        found, headers, answer = sender.read()
        assert found == status, (content, answer)
        assert headers["content-type"] == ("application/json" if status == 200 else "application/problem+json")


def test_requests_in_pieces_and_in_a_row(sender, taken):
    """A request in two pieces, two in one piece, and one that comes while another waits: answered in their order."""
    whole = write(pull("1"))
    sender.send(whole[:30], whole[30:])
    assert sender.read()[2]["id"] == "1"
    sender.send(whole[:-5], whole[-5:] + write(pull("2")))
    assert [sender.read()[2]["id"] for _ in range(2)] == ["1", "2"]
    sender.send(write(pull("3")) + write(pull("4")))
    assert [sender.read()[2]["id"] for _ in range(2)] == ["3", "4"]
    assert not any(taken)
    sender.send(write(pull("5")))
    assert sender.read()[2]["id"] == "5"
    assert taken[-1]


@pytest.fixture
def held(monkeypatch):
    """Holds the writer's groups back until it is set, and says whether one is there."""
    gate: Any = threading.Event()
    group = Writer._group
    gate.has_group = False

    def wait(writer, jobs):
        gate.has_group = True
        gate.wait(30)
        gate.has_group = False
        group(writer, jobs)

    monkeypatch.setattr(Writer, "_group", wait)
    gate.set()
    yield gate
    gate.set()


def test_waiting_requests_are_one_step(edge, connect, taken, held):
    """Those that arrive while the writer is busy share a step and are answered each on its own connection."""
    senders = [connect() for _ in range(6)]
    held.clear()
    for number, one in enumerate(senders):
        one.send(write(pull(f"p{number}", "ab"[number % 2])))
        until(lambda: held.has_group)  # the first alone, and nobody else before it
    until(lambda: sum(taken) == len(senders))
    senders[0].send(write(pull("later")))  # waits for the answer before it
    time.sleep(0.1)
    assert edge.gateway.instruments.in_flight >= len(senders)
    held.set()
    assert [one.read()[2]["id"] for one in senders] == [f"p{number}" for number in range(6)]
    assert senders[0].read()[2]["id"] == "later"
    with contextlib.closing(edge.store.reader()) as reader:
        rows = reader.read("c", 0, 1000)
    steps = {row.id: row.step for row in rows if isinstance(row, PullRow)}
    assert len({steps[f"p{number}"] for number in range(1, 6)}) == 1
    assert steps["later"] > steps["p0"]


def test_an_error_leaves_no_sender_without_an_answer(edge, sender, taken, monkeypatch):
    """Whatever goes wrong on the short path, the ordinary one answers."""

    async def fail_once(job):
        monkeypatch.undo()
        raise RuntimeError("broken")

    monkeypatch.setattr(edge.gateway.handoff, "ask", fail_once)
    sender.send(write(pull("one")))
    status, _, content = sender.read()
    assert (taken[0], status, content["id"]) == (True, 200, "one")
    until(lambda: edge.gateway.instruments.in_flight == 0)


def test_a_server_that_ends_answers_first(edge, sender, taken, held):
    """A request that waits when the server is asked to end is answered, and its connection closed."""
    held.clear()
    sender.send(write(pull("last")))
    until(lambda: any(taken))
    stopping = threading.Thread(target=edge.stop)
    stopping.start()
    time.sleep(0.3)
    held.set()
    assert sender.read()[2]["id"] == "last"
    assert sender.file.read() == b""
    stopping.join()


def test_idle_connections_are_closed(connect, monkeypatch):
    """After uvicorn's time without a request, and not before."""
    made, opened = PullProtocol.connection_made, []

    def note(protocol, transport):
        opened.append(protocol)
        made(protocol, transport)

    monkeypatch.setattr(PullProtocol, "connection_made", note)
    one = connect()
    for number in range(2):
        one.send(write(pull(f"i{number}")))
        assert one.read()[0] == 200
        (protocol,) = opened
        protocol.timeout_keep_alive = 1_000 * (1 - number)  # seconds
        protocol.loop.call_soon_threadsafe(protocol.timeout_keep_alive_handler)
    assert one.file.read() == b""


def test_keys_are_checked_as_ever(edge, connect, taken, monkeypatch):
    """A key on a connection is refused once it is revoked, has expired, or is not for the client."""
    own, other = edge.key("own", "reporter", "c"), edge.key("other", "viewer")
    kept = connect()

    def answer(sender, id, secret, client="a"):
        sender.send(write(pull(id, client), f"Authorization: Bearer {secret}"))
        return sender.read()[0]

    assert [answer(kept, "k1", own), answer(kept, "k2", own)] == [200, 200]
    assert taken == [True, True]
    assert [answer(kept, "k3", other), answer(kept, "k4", "tutelage_none"), answer(kept, "k5", own)] == [403, 401, 200]
    secret, row = make_key("ending", "reporter", "c", ["a"], 1, time.time_ns() // 1000 + 1_500_000)
    with contextlib.closing(open_keys(edge.url)) as keys:
        keys.revoke_key("own", 2)
        keys.create_key(row)
        edge.gateway.access.update(keys.keys())
    monkeypatch.setattr(edge.gateway.access, "update", lambda *_: None)  # only the time passes from now on
    assert answer(kept, "k6", own) == 401
    assert [answer(kept, "k7", secret), answer(kept, "k8", secret, "b"), answer(kept, "k9", secret)] == [200, 403, 200]
    time.sleep(max(0.0, row.expires / 1e6 - time.time()))
    assert answer(kept, "k10", secret) == 401
