"""The client of a live server: retries, deadlines, reports of what was bypassed."""

import asyncio
import contextlib
import gzip
import json
import math
import os
import pickle
import random
import signal
import socket
import threading
import time
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from email.utils import format_datetime
from fractions import Fraction

import httpx
import numpy as np
import pytest

from tests.cli.test_serve import serving
from tutelage.client import AsyncClient, Client, Observed, PullRefused, Spool, new_id


class Server:
    """Answers with 1 - reward, except where ``faults`` has something else for the next requests."""

    def __init__(self, *faults):
        self.faults, self.taken = list(faults), []

    def __call__(self, request):
        fault = self.faults.pop(0) if self.faults else None
        if isinstance(fault, Exception):
            raise fault
        if fault is not None:
            return fault
        pulls = json.loads(request.content)["pulls"]
        self.taken += pulls
        told = [
            {"id": pull["id"], "reward": pull["reward"], "adjustment": 0.0, "epoch": 1, "replayed": False}
            if pull.get("bypassed")
            else {
                "id": pull["id"],
                "reward": 1 - pull["reward"],
                "adjustment": 1 - 2 * pull["reward"],
                "epoch": 1,
                "replayed": False,
            }
            for pull in pulls
        ]
        return httpx.Response(200, json={"pulls": told})


ANSWER = b'{"pulls": [{"id": "mine", "reward": 0.9, "adjustment": 0.4, "epoch": 1, "replayed": false}]}'


def client_of(server, kind=Client, **options):
    """A client whose requests go to ``server``."""
    return kind("http://server", "c", transport=httpx.MockTransport(server), **options)


def emptied(spool):
    """Whether all reports are delivered in the end."""
    end = time.monotonic() + 30
    while len(spool) and time.monotonic() < end:
        time.sleep(0.01)
    return not len(spool)


def problem(kind, status=409, detail="What is wrong.", **headers):
    """A refusal as the server words it."""
    told = {"type": f"urn:tutelage:problem:{kind}", "status": status, "detail": detail}
    return httpx.Response(
        status, json=told, headers={name.replace("_", "-"): headers[name] for name in headers}
    )


def report(id, arm="a"):
    """A pull as it waits in a spool."""
    return {"id": id, "client": "anna", "arm": arm, "reward": 0.5, "bypassed": True}


def test_reveals_what_the_server_says():
    """The answer's reward and adjustment, under the id that was sent."""
    server = Server()
    with client_of(server) as client:
        told = client.reveal("anna", "a", 0.25)
    assert (told.reward, told.adjustment, told.bypassed) == (0.75, 0.5, False)
    assert server.taken == [{"id": told.id, "client": "anna", "arm": "a", "reward": 0.25}]


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
        httpx.Response(200, content=ANSWER.replace(b'"epoch": 1', b'"epoch": 1.5')),
        httpx.Response(200, content=ANSWER.replace(b'"epoch": 1', b'"epoch": true')),
        httpx.Response(200, content=gzip.compress(ANSWER), headers={"Content-Encoding": "gzip"}),
        httpx.Response(500, json={"type": "urn:tutelage:problem:conflict"}),
        httpx.Response(500, json={"type": ["invalid"], "detail": [["odd"]]}),
    ],
)
def test_tries_again_with_the_same_id(fault):
    """What may pass is tried again; the pull keeps its id, so that it counts once."""
    server = Server(fault, fault)
    with client_of(server, deadline=10.0) as client:
        told = client.reveal("anna", "a", 0.25, id="mine")
    assert told.reward == 0.75
    assert [pull["id"] for pull in server.taken] == ["mine"]


@pytest.mark.parametrize(("encoding", "most"), [("identity", 2), ("gzip", 0)])
def test_an_answer_is_read_no_further_than_an_answer_can_be_long(encoding, most):
    """Whatever a server sends, memory and time stay bounded: nothing compressed, and nothing endless."""
    server, asked, sent = Server(), [], []

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
    server = Server(problem("forbidden", 403, "No.\nERROR:root:All\x1b[2J is lost. " + "x" * 9_000))
    with client_of(server) as client:
        assert client.reveal("anna", "a", 0.25).bypassed
        assert emptied(client.spool)
    told = caplog.records[0].getMessage()
    assert "later: No. ERROR:root:All [2J is lost. xxx" in told
    assert len(told) < 600


def test_after_the_deadline_the_observed_reward_is_shown_and_reported(tmp_path):
    """Nobody waits for ever; the report says ``bypassed`` and carries the same pull."""
    server = Server(*[httpx.ConnectError("no")] * 6)
    with client_of(server, deadline=0.05, spool=tmp_path / "spool") as client:
        told = client.reveal("anna", "a", 0.25)
        assert (told.reward, told.adjustment, told.bypassed) == (0.25, 0.0, True)
        assert emptied(client.spool)
    assert server.taken[-1] == {
        "id": told.id,
        "client": "anna",
        "arm": "a",
        "reward": 0.25,
        "bypassed": True,
    }
    assert (tmp_path / "spool").read_text() == ""


def test_reports_outlive_the_process(tmp_path):
    """What could not be reported is in the file, and the next client delivers it; a cut line is left out."""
    path = tmp_path / "spool"
    client = client_of(Server(*[httpx.ConnectError("no")] * 10_000), deadline=0.01, spool=path)
    told = client.reveal("anna", "a", 0.25)
    client.close(seconds=0)
    with path.open("a") as file:
        file.write('{"id": "cut o')
    server = Server()
    with client_of(server, spool=path) as client:
        assert emptied(client.spool)
    assert [pull["id"] for pull in server.taken] == [told.id]


@pytest.mark.parametrize(
    "refusal",
    [
        problem("invalid", 422),
        problem("forbidden", 403),
        problem("internal", 500),
        httpx.Response(200, json={}),
    ],
)
def test_a_report_that_is_refused_does_not_hold_up_the_others(tmp_path, refusal):
    """A batch that is refused is halved until what is wrong stands alone, whoever's mistake it is."""
    spool = Spool(tmp_path / "spool")
    spool.add([report(id, arm=id) for id in "xyz"])
    spool.close()
    server = Server()

    def choosy(request):
        return refusal if b'"x"' in request.content else server(request)

    with client_of(choosy, spool=tmp_path / "spool") as client:
        end = time.monotonic() + 30
        while len(server.taken) < 2 and time.monotonic() < end:
            time.sleep(0.01)
        assert sorted(pull["id"] for pull in server.taken) == ["y", "z"]
        assert emptied(client.spool) if refusal.status_code == 422 else "x" in client.spool
        client.close(seconds=0)


@pytest.mark.parametrize("kind", ["conflict", "invalid", "malformed", "too-large"])
def test_what_will_never_be_taken_is_raised(kind):
    """A conflict or an unknown arm is the caller's to mend; its text is the server's."""
    server = Server(problem(kind, 409, "Sent before."))
    with client_of(server) as client, pytest.raises(PullRefused, match="Sent before") as caught:
        client.reveal("anna", "a", 0.5)
    assert caught.value.status == 409


def test_a_refusal_says_what_is_wrong():
    """The first fault's sentence is in the text, all of them are at hand, and it survives pickling."""
    faults = [
        {"index": 0, "id": "1", "field": "arm", "what": "There is no arm 'z'."},
        {"index": 0, "id": "1", "field": "reward", "what": "2.5 lies outside [0, 1]."},
    ]
    content = {"type": "urn:tutelage:problem:invalid", "detail": "2 things are wrong.", "faults": faults}
    server = Server(httpx.Response(422, json=content))
    with client_of(server) as client, pytest.raises(PullRefused) as caught:
        client.reveal("anna", "z", 2.5)
    assert str(caught.value) == "2 things are wrong. Pull 0, arm: There is no arm 'z'."
    assert (caught.value.status, caught.value.faults, caught.value.problem) == (422, faults, content)
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301 - our own
    assert (str(again), again.faults) == (str(caught.value), faults)
    assert str(PullRefused(400, {"faults": ["odd"]})) == "The server answered with status 400."


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
    server = Server(fault)
    with client_of(server, deadline=600.0) as client:
        told = client.reveal("anna", "a", 0.25)
        assert (told.reward, told.bypassed) == (0.25, True)
        assert emptied(client.spool)
    assert [(pull["id"], pull["bypassed"]) for pull in server.taken] == [(told.id, True)]


@pytest.mark.parametrize(
    "pull",
    [
        ("anna", "a", math.nan),
        ("anna", "a", math.inf),
        ("", "a", 0.5),
        ("anna", "a" * 129, 0.5),
        ("\ud800", "a", 0.5),
        ("anna", "a\nb", 0.5),
        ("anna\x7f", "a", 0.5),
        ("anna", 5, 0.5),
        ("anna", None, 0.5),
        ("anna", "a", 10**400),
        ("anna", "a", 10**5_000),
        ("anna", "a", Decimal("sNaN")),
        ("anna", "a", Decimal("1e999")),
        ("anna", "a", "0.5"),
        ("anna", "a", b"0.5"),
        ("anna", "a", None),
        ("anna", "a", [0.5]),
        ("anna", "a", 1 + 2j),
        ("anna", "a", True),
        ("anna", "a", np.True_),
    ],
)
def test_the_callers_mistakes_are_raised_before_anything_is_sent(pull):
    """Also while the server is dead: nothing wrong ends in the spool."""
    server = Server()
    with client_of(server) as client:
        with pytest.raises(ValueError, match="is no "):
            client.reveal(*pull)
        for id in ("", "a\0b", "\udfff", "x" * 129, 5):
            with pytest.raises(ValueError, match=r"The id .* is no "):
                client.reveal("anna", "a", 0.5, id=id)
        with pytest.raises(ValueError, match="number of ids is 2, and that of the pulls 1"):
            client.reveal_all([Observed("anna", "a", 0.5)], ids=["x", "y"])
        assert client.reveal_all([]) == []
        assert not len(client.spool)
    assert not server.taken
    with pytest.raises(RuntimeError, match="closed"):
        client.reveal("anna", "a", 0.5)


@pytest.mark.parametrize("reward", [np.float32(0.5), Decimal("0.5"), Fraction(1, 2), np.float64(0.5)])
def test_every_kind_of_number_is_a_reward(reward):
    """It is sent as JSON's; whole ones too, of Python and of numpy."""
    server = Server()
    with client_of(server) as client:
        assert client.reveal("anna é", "a\u2028", reward, id="x" * 128).reward == 0.5
        assert client.reveal("anna", "a", type(reward)(1)).reward == 0.0
        assert client.reveal("anna", "a", np.int64(1)).reward == 0.0
    assert [pull["reward"] for pull in server.taken] == [0.5, 1.0, 1.0]


@pytest.mark.parametrize(
    "server",
    ["localhost:8321", "http://", "ftp://x", "http://[", "http://a:99999", "http://a:b", "http://a b", ""],
)
def test_an_address_that_is_none_is_refused(server):
    """At once: otherwise every reward would be shown as observed for ever."""
    with pytest.raises(ValueError, match="no server's address"):
        Client(server, "c")


def test_a_refused_address_is_shown_without_its_password():
    """Nor does a key that none can be, in characters that no header takes, show itself."""
    with pytest.raises(ValueError, match=r"^'\*\*\*@host' is no server's address"):
        Client("ftp://me:sesame@host", "c")
    with pytest.raises(ValueError, match=r"The key is none: it holds a character that no key has\.$"):
        Client("http://host", "c", key="sesame\n")
    with pytest.raises(ValueError, match="'1' seconds is no positive number"):
        Client("http://host", "c", deadline="1")


@pytest.mark.parametrize("form", ["seconds", "date"])
def test_retry_after_is_honoured(form):
    """A server that asks for more time than is left is not asked again: the observed reward is shown."""
    date = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    server = Server(problem("unavailable", 503, Retry_After={"seconds": "2", "date": date}[form]))
    asked = []

    def counting(request):
        asked.append(json.loads(request.content)["pulls"][0].get("bypassed", False))
        return server(request)

    client = client_of(counting, deadline=1.0)
    assert client.reveal("anna", "a", 0.25).bypassed
    assert asked[0] is False
    assert all(asked[1:])  # its report alone
    client.close(seconds=0)


def test_retry_after_delays_the_next_try():
    """It is waited for if the deadline allows."""
    times = []
    server = Server(problem("busy", 429, Retry_After="1"))

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
    server = Server(*[httpx.ConnectError("no")] * 10_000)
    client = client_of(server, deadline=0.01, spool=tmp_path / "spool")
    client.reveal("anna", "a", 0.25, id="mine")
    client.close(seconds=0)
    fixed = Server(problem("unavailable", 503, Retry_After="600"))  # its report waits, the call does not
    with client_of(fixed, deadline=600, spool=tmp_path / "spool") as client:
        end = time.monotonic() + 30
        while fixed.faults and time.monotonic() < end:
            time.sleep(0.01)
        told = client.reveal("anna", "a", 0.25, id="mine")
        assert (told.reward, told.bypassed, len(client.spool)) == (0.25, True, 0)
    assert [pull["bypassed"] for pull in fixed.taken] == [True]


def test_a_cancelled_call_is_reported():
    """Whoever stops waiting has shown what was observed."""

    async def play():
        server = Server(problem("unavailable", 503, Retry_After="60"))
        async with client_of(server, AsyncClient, deadline=600.0) as client:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(client.reveal("anna", "a", 0.25), 0.05)
        return server.taken

    assert [pull["bypassed"] for pull in asyncio.run(play())] == [True]


def test_a_damaged_spool_loses_only_its_damage(tmp_path):
    """Lines that are no reports are put aside, whatever they are; the others are delivered."""
    path = tmp_path / "spool"
    damaged = [b"\xff\xfe\n", b"[1]\n", b"7\n", b'{"id": 7}\n', b"\n", b"[" * 100_000 + b"\n"]
    refused = [
        {"reward": math.nan},
        {"reward": 10**400},
        {"reward": True},
        {"reward": "0.5"},
        {"id": "\ud800"},
        {"id": ""},
        {"arm": "x" * 129},
        {"client": "a\nb"},
        {"client": ["anna"]},
        {"another": 1},
        {"bypassed": "yes"},
        {"bypassed": False},
    ]
    damaged += [json.dumps(report("odd") | change).encode() + b"\n" for change in refused]
    odd = [*damaged, b'{"id": "cut o']
    good = [json.dumps(report(id)).encode() + b"\n" for id in "xy"]
    path.write_bytes(odd[0] + good[0] + b"".join(odd[1:-1]) + good[1] + odd[-1])
    server = Server()
    with client_of(server, spool=path) as client:
        assert emptied(client.spool)
    assert [pull["id"] for pull in server.taken] == ["x", "y"]
    assert (tmp_path / "spool.damaged").read_bytes() == b"".join(odd)


def test_a_spool_belongs_to_one_process(tmp_path):
    """A second one is told so when it opens it; a file that cannot be written likewise."""
    spool = Spool(tmp_path / "spool")
    with pytest.raises(OSError, match="in use already as a spool, by this process or another"):
        Spool(tmp_path / "spool")
    link = tmp_path / "link"
    link.symlink_to("spool")
    with pytest.raises(OSError, match="in use already as a spool"):
        Spool(link)
    spool.close()
    Spool(tmp_path / "spool").close()
    spool = Spool(link)
    spool.add([report("x")])
    spool.close()
    assert link.is_symlink()
    assert json.loads((tmp_path / "spool").read_text()) == report("x")
    with pytest.raises(OSError, match="No such file"):
        Spool(tmp_path / "missing" / "spool")


def test_a_spool_is_a_regular_file(tmp_path):
    """Another thing, a device for instance, would be replaced by one: it is refused, and nothing is made."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder"):
        with pytest.raises(OSError, match="is no regular file"):
            Spool(tmp_path / name)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "pipe"]


def test_a_full_disk_is_no_concern_of_the_caller(tmp_path):
    """Reports are then in memory alone, and in the file again once there is room."""
    folder = tmp_path / "disk"
    folder.mkdir()
    spool = Spool(folder / "spool")
    folder.rename(tmp_path / "gone")
    spool.add([report("x")])
    spool.add([report("y")])
    (tmp_path / "gone").rename(folder)
    spool.add([report("z")])
    spool.close()
    reopened = Spool(folder / "spool")
    assert [pull["id"] for pull in reopened.first(9)] == ["x", "y", "z"]
    reopened.close()


def test_a_spool_has_a_bound(tmp_path):
    """Beyond it reports are counted as lost; the file follows what has been delivered."""
    spool = Spool(tmp_path / "spool", most=5_000)
    spool.add([report(f"{n}") for n in range(5_003)])
    assert (len(spool), spool.lost) == (5_000, 3)
    for _ in range(4):
        spool.remove(spool.first(1_000))
    assert len((tmp_path / "spool").read_text().splitlines()) < 5_000
    spool.close()


def test_async_client_does_the_same():
    """Retry, deadline and report, awaited."""

    async def play():
        server = Server(httpx.Response(503))
        async with client_of(server, AsyncClient, deadline=10.0) as client:
            told = await client.reveal("anna", "a", 0.25)
            server.faults = [httpx.ConnectError("no")] * 6
            client.deadline = 0.05
            missed = await client.reveal("anna", "b", 0.5)
            async with asyncio.timeout(30):
                while len(client.spool):  # noqa: ASYNC110 - there is nothing else to wait for
                    await asyncio.sleep(0.01)
        return server.taken, told, missed

    taken, told, missed = asyncio.run(play())
    assert (told.reward, told.bypassed, missed.reward, missed.bypassed) == (0.75, False, 0.5, True)
    assert [(pull["id"], pull.get("bypassed", False)) for pull in taken] == [
        (told.id, False),
        (missed.id, True),
    ]


def test_ids_sort_by_time_and_are_names():
    """1 to 128 characters, each once, later ones behind earlier ones."""
    ids = [new_id() for _ in range(2_000)]
    assert len(set(ids)) == len(ids)
    assert all(len(id) == 32 for id in ids)
    assert [id[:12] for id in ids] == sorted(id[:12] for id in ids)


def test_it_imports_no_other_part_of_the_project(python):
    """A platform's process loads httpx and this module: no numpy, no numba, no server."""
    code = "import sys, tutelage.client; print(*sorted(sys.modules))"
    loaded = python("-c", code).stdout.split()
    heavy = {"numpy", "numba", "msgspec", "fastapi", "pydantic", "sqlalchemy", "psycopg"}
    assert not heavy.intersection(loaded)
    own = {name.partition(".")[2].partition(".")[0] for name in loaded if name.startswith("tutelage.")}
    assert own == {"client"}


CAMPAIGN = {"name": "c", "arms": ["x", "y"], "clients": ["anna", "ben"], "horizon": 10**6, "start": True}


def test_no_pull_is_lost_or_counted_twice_whatever_becomes_of_the_server(tmp_path):
    """A real server is paused, killed, begun anew and stopped: it has each pull once, as it was shown."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shown = []

    def pull(client, times):
        told = []
        for _ in range(times):
            arm = "xy"[len(shown + told) % 2]
            told.append((client.reveal("anna", arm, 0.5), arm))
        shown.extend(told)
        return [one.bypassed for one, _ in told]

    with contextlib.ExitStack() as ended:
        with serving(tmp_path, port=port) as (address, server):
            made = CAMPAIGN | {"teacher": "known(target=0)"}
            httpx.post(f"{address}/v1/campaigns", json=made).raise_for_status()
            client = Client(address, "c", deadline=0.3, spool=tmp_path / "spool")
            ended.callback(client.close)
            client.reveal("ben", "x", 0.5)
            assert not any(pull(client, 4))
            server.send_signal(signal.SIGSTOP)
            assert all(pull(client, 2))
            server.send_signal(signal.SIGCONT)
            assert emptied(client.spool)
            batch = client.reveal_all([Observed("anna", "y", 0.5)] * 3)
            shown.extend((one, "y") for one in batch)
            assert [one.reward for one in batch] == [0.0] * 3
            with pytest.raises(PullRefused, match="sent before"):
                client.reveal("anna", "x", 0.5, id=shown[1][0].id)
            server.kill()
            server.wait()
            assert all(pull(client, 2))
        with serving(tmp_path, port=port) as (address, server):
            assert emptied(client.spool)
            assert not any(pull(client, 2))
            httpx.post(f"{address}/v1/campaigns/c/stop").raise_for_status()
            assert all(pull(client, 2))
            httpx.post(f"{address}/v1/campaigns/c/start").raise_for_status()
            assert not any(pull(client, 2))
            assert emptied(client.spool)
            pulls = [{"id": one.id, "client": "anna", "arm": arm, "reward": 0.5} for one, arm in shown]
            again = httpx.post(f"{address}/v1/campaigns/c/pulls", json={"pulls": pulls}).json()["pulls"]
            assert all(told["replayed"] for told in again)
            assert [told["reward"] for told in again] == [one.reward for one, _ in shown]
            assert httpx.get(f"{address}/v1/campaigns/c").json()["num_pulls"] == len(shown) + 1


def test_what_a_killed_process_bypassed_is_reported_by_the_next(tmp_path, python):
    """SIGKILL right after the answer; and a key that is missing is no reason to raise or to lose anything."""
    script = """
import os, signal, sys
from tutelage.client import Client
client = Client("http://127.0.0.1:9", "c", deadline=0.05, spool="spool")
print(client.reveal("anna", "x", 0.5).id, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    killed = python("-c", script, cwd=tmp_path, check=False)
    assert killed.returncode == -signal.SIGKILL
    with serving(tmp_path) as (address, _):
        httpx.post(f"{address}/v1/campaigns", json=CAMPAIGN | {"teacher": "none"}).raise_for_status()
        secret = python(
            *("-m", "tutelage", "key", "create", "app", "--role", "reporter", "--campaign", "c"),
            *("--store", "sqlite:///t.db"),
            cwd=tmp_path,
        ).stdout.strip()
        end = time.monotonic() + 30
        while httpx.get(f"{address}/v1/campaigns").status_code != 401 and time.monotonic() < end:
            time.sleep(0.05)
        keyless = Client(address, "c", spool=tmp_path / "spool")
        assert keyless.reveal("ben", "y", 0.5).bypassed
        assert len(keyless.spool) == 2
        keyless.close(seconds=0)
        with Client(address, "c", key=secret, spool=tmp_path / "spool") as client:
            assert emptied(client.spool)
            told = client.reveal("anna", "x", 0.5, id=killed.stdout.strip())
            assert told.reward == 0.5


async def answering(reader, writer):
    """A server's side of a connection: each request is answered after some milliseconds."""
    with contextlib.closing(writer), contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            size = int(head.lower().partition(b"content-length:")[2].partition(b"\r")[0])
            pulls = json.loads(await reader.readexactly(size))["pulls"]
            await asyncio.sleep(random.uniform(0, 0.004))
            told = [
                {"id": pull["id"], "reward": 0.5, "adjustment": 0.0, "epoch": 1, "replayed": False}
                for pull in pulls
            ]
            content = json.dumps({"pulls": told}).encode()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(content), content))


def test_calls_that_are_cut_off_leave_their_connections_usable():
    """Many callers who wait no longer, at any moment, of a connection's opening too."""

    async def impatient(client, draw):
        for _ in range(150):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(client.reveal("anna", "a", 0.5), draw.uniform(0.0002, 0.006))

    async def play():
        server = await asyncio.start_server(answering, "127.0.0.1", 0)
        address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        few = httpx.Limits(max_connections=4, max_keepalive_connections=2)
        async with server:
            async with AsyncClient(address, "c", deadline=20.0, limits=few) as client:
                await asyncio.gather(*(impatient(client, random.Random(seed)) for seed in range(8)))
                told = await client.reveal("anna", "a", 0.5)
            await asyncio.sleep(0)
        return told

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
