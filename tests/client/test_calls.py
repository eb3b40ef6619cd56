"""The calls of the client: retries, deadlines, odd answers, and what is reported of what was bypassed."""

import asyncio
import contextlib
import gzip
import json
import os
import pickle
import random
import socket
import threading
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx
import pytest
from tests.client.fake_server import FakeServer, client_of, emptied, problem

from tutelage.client import AsyncClient, Client, PullRefusal

ANSWER = b'{"pulls": [{"id": "mine", "reward": 0.9, "adjustment": 0.4, "directive": 1, "replayed": false}]}'


def test_reveals_what_the_server_says():
    """The answer's reward and adjustment, under the id that was sent."""
    server = FakeServer()
    with client_of(server) as client:
        response = client.reveal("anna", "a", 0.25)
    assert (response.reward, response.adjustment, response.bypassed) == (0.75, 0.5, False)
    assert server.pulls == [{"id": response.id, "client": "anna", "arm": "a", "reward": 0.25}]


@pytest.mark.parametrize(
    "fault",
    [
        httpx.ConnectError("no"),
        httpx.ReadTimeout("late"),
        RuntimeError("whatever"),
        httpx.Response(503),
        httpx.Response(429),
        httpx.Response(200, text="<html>a proxy</html>"),
        httpx.Response(200, json={"pulls": [{"id": "another", "reward": 0, "adjustment": 0}]}),
        httpx.Response(200, json=[]),
        httpx.Response(200, content=b"[" * 60_000),
        httpx.Response(200, content=b'{"pulls":' * 5_000),
        httpx.Response(200, content=b" " * 10**6 + ANSWER),
        httpx.Response(200, content=ANSWER.replace(b"0.9", b"NaN")),
        httpx.Response(200, content=ANSWER.replace(b"0.4", b"-Infinity")),
        httpx.Response(200, content=ANSWER.replace(b"0.9", b"1" + b"0" * 400)),
        httpx.Response(200, content=ANSWER.replace(b"0.9", b"9" * 5_000)),
        httpx.Response(200, content=ANSWER.replace(b"0.9", b'"0.7"')),
        httpx.Response(200, content=ANSWER.replace(b"0.9", b"true")),
        httpx.Response(200, content=ANSWER.replace(b"0.4", b"null")),
        httpx.Response(200, content=ANSWER.replace(b'"directive": 1', b'"directive": 1.5')),
        httpx.Response(200, content=ANSWER.replace(b'"directive": 1', b'"directive": true')),
        httpx.Response(200, content=gzip.compress(ANSWER), headers={"Content-Encoding": "gzip"}),
        httpx.Response(500, json={"type": "urn:tutelage:problem:conflict"}),
        httpx.Response(500, json={"type": ["invalid"], "detail": [["odd"]]}),
    ],
)
def test_tries_again_with_the_same_id(fault):
    """What may pass is tried again; the pull keeps its id, so that it counts once."""
    server = FakeServer(fault, fault)
    with client_of(server, deadline=10.0) as client:
        response = client.reveal("anna", "a", 0.25, id="mine")
    assert response.reward == 0.75
    assert [pull["id"] for pull in server.pulls] == ["mine"]


@pytest.mark.parametrize(("encoding", "most"), [("identity", 2), ("gzip", 0)])
def test_an_answer_is_read_no_further_than_an_answer_can_be_long(encoding, most):
    """Whatever a server sends, memory and time stay bounded: nothing compressed, and nothing endless."""
    server, asked, sent = FakeServer(), [], []

    def endless(request):
        async def content():
            while len(sent) < 1_000:
                sent.append(None)
                yield b" " * 65_536

        asked.append(request.headers["Accept-Encoding"])
        if len(asked) > 1:
            return server(request)
        return httpx.Response(200, content=content(), headers={"Content-Encoding": encoding})

    with client_of(endless, deadline=600.0, headers={"Accept-Encoding": "gzip"}) as client:
        assert client.reveal("anna", "a", 0.25).reward == 0.75
    assert asked == ["identity"] * 2
    assert len(sent) == most


def test_a_strangers_sentence_is_one_line_of_the_log(caplog):
    """It cannot pretend to be other lines, nor fill the disk."""
    server = FakeServer(problem("forbidden", 403, "No.\nERROR:root:All\x1b[2J is lost. " + "x" * 9_000))
    with client_of(server) as client:
        assert client.reveal("anna", "a", 0.25).bypassed
        assert emptied(client.spool)
    message = caplog.records[0].getMessage()
    assert "later: No. ERROR:root:All [2J is lost. xxx" in message
    assert len(message) < 600


def test_after_the_deadline_the_observed_reward_is_shown_and_reported(tmp_path):
    """Nobody waits for ever; the report says ``bypassed`` and carries the same pull."""
    server = FakeServer(*[httpx.ConnectError("no")] * 6)
    with client_of(server, deadline=0.05, spool=tmp_path / "spool") as client:
        response = client.reveal("anna", "a", 0.25)
        assert (response.reward, response.adjustment, response.bypassed) == (0.25, 0.0, True)
        assert emptied(client.spool)
    assert server.pulls[-1] == {"id": response.id, "client": "anna", "arm": "a", "reward": 0.25, "bypassed": True}
    assert (tmp_path / "spool").read_text() == ""


@pytest.mark.parametrize("kind", ["conflict", "invalid", "malformed", "too-large"])
def test_what_will_never_be_taken_is_raised(kind):
    """A conflict or an unknown arm is the caller's to mend; its text is the server's."""
    server = FakeServer(problem(kind, 409, "Sent before."))
    with client_of(server) as client, pytest.raises(PullRefusal, match="Sent before") as caught:
        client.reveal("anna", "a", 0.5)
    assert caught.value.status == 409


def test_a_refusal_says_what_is_wrong():
    """The first fault's sentence is in the text, all of them are at hand, and it survives pickling."""
    faults = [
        {"index": 0, "id": "1", "field": "arm", "what": "There is no arm 'z'."},
        {"index": 0, "id": "1", "field": "reward", "what": "2.5 lies outside [0, 1]."},
    ]
    content = {"type": "urn:tutelage:problem:invalid", "detail": "2 things are wrong.", "faults": faults}
    server = FakeServer(httpx.Response(422, json=content))
    with client_of(server) as client, pytest.raises(PullRefusal) as caught:
        client.reveal("anna", "z", 2.5)
    assert str(caught.value) == "2 things are wrong. Pull 0, arm: There is no arm 'z'."
    assert (caught.value.status, caught.value.faults, caught.value.problem) == (422, faults, content)
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301 - our own
    assert (str(again), again.faults) == (str(caught.value), faults)
    assert str(PullRefusal(400, {"faults": ["odd"]})) == "The server answered with status 400."


@pytest.mark.parametrize(
    "fault",
    [
        problem("unauthorized", 401),
        problem("forbidden", 403),
        problem("unknown-campaign", 404),
        problem("stopped", 409),
        problem("not-started", 409),
        httpx.Response(301, headers={"Location": "http://elsewhere"}),
        httpx.Response(413, text="<html>nginx</html>"),
        httpx.Response(413, content=b"[" * 60_000),
    ],
)
def test_what_the_operator_has_to_mend_is_not_raised(fault):
    """The observed reward is shown at once, without using the deadline up, and the pull is reported."""
    server = FakeServer(fault)
    with client_of(server, deadline=600.0) as client:
        response = client.reveal("anna", "a", 0.25)
        assert (response.reward, response.bypassed) == (0.25, True)
        assert emptied(client.spool)
    assert [(pull["id"], pull["bypassed"]) for pull in server.pulls] == [(response.id, True)]


@pytest.mark.parametrize("form", ["seconds", "date"])
def test_retry_after_is_honoured(form):
    """A server that asks for more time than is left is not asked again: the observed reward is shown."""
    date = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    server = FakeServer(problem("unavailable", 503, Retry_After={"seconds": "2", "date": date}[form]))
    asked = []

    def counting(request):
        asked.append(json.loads(request.content)["pulls"][0].get("bypassed", False))
        return server(request)

    client = client_of(counting, deadline=1.0)
    assert client.reveal("anna", "a", 0.25).bypassed
    assert asked[0] is False
    assert all(asked[1:])  # only its report
    client.close(seconds=0)


def test_retry_after_delays_the_next_try():
    """It is waited for if the deadline allows."""
    times = []
    server = FakeServer(problem("busy", 429, Retry_After="1"))

    def timed(request):
        times.append(time.monotonic())
        return server(request)

    with client_of(timed, deadline=600.0) as client:
        assert client.reveal("anna", "a", 0.25).reward == 0.75
    assert times[1] - times[0] >= 1.0


def test_the_deadline_holds_for_a_server_that_drips():
    """Every read is quick, the whole is not: the call ends all the same."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        is_over = threading.Event()

        def drip(connection):
            with connection, contextlib.suppress(OSError):
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
                while not is_over.wait(0.02):
                    connection.sendall(b" ")

        def accept():
            with contextlib.suppress(OSError):
                while True:
                    threading.Thread(target=drip, args=(listening.accept()[0],)).start()

        threading.Thread(target=accept, daemon=True).start()
        client = Client(f"http://127.0.0.1:{listening.getsockname()[1]}", "c", deadline=0.2)
        assert client.reveal("anna", "a", 0.25).bypassed
        client.close(seconds=0)
        is_over.set()


def test_a_repeated_id_is_answered_as_it_was_shown(tmp_path):
    """While its report waits, the pull goes out as bypassed: no second answer can differ."""
    server = FakeServer(*[httpx.ConnectError("no")] * 10_000)
    client = client_of(server, deadline=0.01, spool=tmp_path / "spool")
    client.reveal("anna", "a", 0.25, id="mine")
    client.close(seconds=0)
    fixed = FakeServer(problem("unavailable", 503, Retry_After="600"))  # its report waits, the call does not
    with client_of(fixed, deadline=600, spool=tmp_path / "spool") as client:
        end = time.monotonic() + 30
        while fixed.faults and time.monotonic() < end:
            time.sleep(0.01)
        response = client.reveal("anna", "a", 0.25, id="mine")
        assert (response.reward, response.bypassed, len(client.spool)) == (0.25, True, 0)
    assert [pull["bypassed"] for pull in fixed.pulls] == [True]


def test_a_cancelled_call_is_reported():
    """A caller that stops waiting has used the observed reward."""

    async def play():
        server = FakeServer(problem("unavailable", 503, Retry_After="60"))
        async with client_of(server, AsyncClient, deadline=600.0) as client:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(client.reveal("anna", "a", 0.25), 0.05)
        return server.pulls

    assert [pull["bypassed"] for pull in asyncio.run(play())] == [True]


def test_async_client_does_the_same():
    """Retry, deadline and report, awaited."""

    async def play():
        server = FakeServer(httpx.Response(503))
        async with client_of(server, AsyncClient, deadline=10.0) as client:
            response = await client.reveal("anna", "a", 0.25)
            server.faults = [httpx.ConnectError("no")] * 6
            client.deadline = 0.05
            missed = await client.reveal("anna", "b", 0.5)
            async with asyncio.timeout(30):
                while len(client.spool):  # noqa: ASYNC110 - there is nothing else to wait for
                    await asyncio.sleep(0.01)
        return server.pulls, response, missed

    received, response, missed = asyncio.run(play())
    assert (response.reward, response.bypassed, missed.reward, missed.bypassed) == (0.75, False, 0.5, True)
    assert [(pull["id"], pull.get("bypassed", False)) for pull in received] == [(response.id, False), (missed.id, True)]


def test_it_imports_no_other_part_of_the_project(python):
    """A platform's process loads httpx and this module: no numpy, no numba, no server."""
    code = "import sys, tutelage.client; print(*sorted(sys.modules))"
    loaded = python("-c", code).stdout.split()
    heavy = {"numpy", "numba", "msgspec", "starlette", "uvicorn", "sqlalchemy", "psycopg"}
    assert not heavy.intersection(loaded)
    own = {name.partition(".")[2].partition(".")[0] for name in loaded if name.startswith("tutelage.")}
    assert own == {"client"}


async def answering(reader, writer):
    """A server's side of a connection: each request is answered after some milliseconds."""
    with contextlib.closing(writer), contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            size = int(head.lower().partition(b"content-length:")[2].partition(b"\r")[0])
            pulls = json.loads(await reader.readexactly(size))["pulls"]
            await asyncio.sleep(random.uniform(0, 0.004))
            responses = [
                {"id": pull["id"], "reward": 0.5, "adjustment": 0.0, "directive": 1, "replayed": False}
                for pull in pulls
            ]
            content = json.dumps({"pulls": responses}).encode()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(content), content))


def test_calls_that_are_cut_off_leave_their_connections_usable():
    """Many callers who wait no longer, at any moment, of a connection's opening too."""

    async def impatient(client, draw):
        for _ in range(60):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(client.reveal("anna", "a", 0.5), draw.uniform(0.0002, 0.006))

    async def play():
        server = await asyncio.start_server(answering, "127.0.0.1", 0)
        address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        few = httpx.Limits(max_connections=4, max_keepalive_connections=2)
        async with server:
            async with AsyncClient(address, "c", deadline=60.0, limits=few) as client:
                await asyncio.gather(*(impatient(client, random.Random(seed)) for seed in range(8)))
                response = await client.reveal("anna", "a", 0.5)
            await asyncio.sleep(0)
        return response

    assert not asyncio.run(play()).bypassed


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_is_told_to_make_its_own(python):
    """Its parent's thread is not in it: a call would wait for ever."""
    script = """
import os, warnings
warnings.simplefilter("ignore")
from tutelage.client import Client
client = Client("http://127.0.0.1:9", "c")
if os.fork() == 0:
    try:
        client.reveal("a", "x", 0.5)
    except RuntimeError as error:
        print(error, flush=True)
    os._exit(0)
os.wait()
"""
    assert "forked" in python("-c", script).stdout


def test_while_the_server_is_down_calls_return_at_once():
    """After three calls without an answer none is sent; reports that are delivered let calls through again."""
    asked = []

    async def play():
        server = FakeServer(*[httpx.ConnectError("no")] * 10_000)

        def noting(request):
            asked.extend(pull for pull in json.loads(request.content)["pulls"] if "bypassed" not in pull)
            return server(request)

        async with client_of(noting, AsyncClient, deadline=0.01) as client:
            for _ in range(3):
                assert (await client.reveal("anna", "a", 0.25)).bypassed
            client.deadline, before = 600.0, len(asked)
            assert all([(await client.reveal("anna", "a", 0.25)).bypassed for _ in range(50)])
            assert len(asked) == before
            down, server.faults = client.counters, []
            async with asyncio.timeout(30):
                while len(client.spool):  # noqa: ASYNC110 - there is nothing else to wait for
                    await asyncio.sleep(0.01)
            assert not (await client.reveal("anna", "a", 0.25)).bypassed
            return down, client.counters, len(asked)

    down, up, sent = asyncio.run(play())
    assert (down.answered, down.bypassed, down.at_once, down.waiting, down.reported) == (0, 53, 50, 53, 0)
    assert (up.answered, up.bypassed, up.at_once, up.waiting, up.reported) == (1, 53, 50, 0, 53)
    assert up.retried == sent - 4


def test_what_can_wait_for_no_report_is_sent():
    """Without room for reports nothing would find out that the server is back."""
    server = FakeServer(*[httpx.ConnectError("no")] * 1_000)
    with client_of(server, deadline=0.01, most_reports=0) as client:
        assert all(client.reveal("anna", "a", 0.25).bypassed for _ in range(4))
        server.faults = []
        assert not client.reveal("anna", "a", 0.25).bypassed
        counted = client.counters
    assert (counted.lost, counted.at_once, counted.answered) == (4, 0, 1)


def test_a_server_that_refuses_is_up():
    """Refusals, of the caller or the operator, are answers: calls are sent, and counted."""
    server = FakeServer(*[problem("invalid", 422)] * 4, *[problem("stopped", 409)] * 4)
    with client_of(server, most_reports=0) as client:
        for _ in range(4):
            with pytest.raises(PullRefusal):
                client.reveal("anna", "a", 0.25)
        assert all(client.reveal("anna", "a", 0.25).bypassed for _ in range(4))
        assert not client.reveal("anna", "a", 0.25).bypassed
        assert (client.counters.refused, client.counters.at_once) == (4, 0)
