"""The adapter for Redis Streams on a real Redis, before a server in plain Python and before a real one."""

import contextlib
import json
import logging
import signal
import subprocess
import sys
import threading
import time

import httpx
import pytest

pytest.importorskip("redis")

import redis

from tests.cli.commands import error_of, running_server
from tests.redis_server import running_redis, short_folder
from tutelage.errors import InputError, RefusalError
from tutelage.redis_adapter import RedisAdapter, StreamOptions, connect_redis

OPTIONS = StreamOptions("in", "out", "g", "one", claim_after=0.0)
PROBLEM = "urn:tutelage:problem:"


class FakeServer:
    """Stores pulls by id and reveals the observed reward plus one; only the arm x and the clients a and b are known."""

    def __init__(self):
        self.stored, self.requests, self.is_away = {}, 0, False

    def __call__(self, request):
        """Answer a request with pulls."""
        self.requests += 1
        if self.is_away:
            return httpx.Response(503, json={"type": f"{PROBLEM}unavailable", "detail": "The disk is full."})
        pulls = json.loads(request.content)["pulls"]
        bad = [index for index, pull in enumerate(pulls) if pull["arm"] != "x"]
        if bad:
            faults = [{"index": index, "what": "There is no such arm."} for index in bad]
            return httpx.Response(422, json={"type": f"{PROBLEM}invalid", "detail": "Faults.", "faults": faults})
        if any(pull["client"] == "far" for pull in pulls):
            return httpx.Response(409, json={"type": f"{PROBLEM}moved", "detail": "It is at an edge."})
        for index, pull in enumerate(pulls):
            if self.stored.setdefault(pull["id"], pull) != pull:
                faults = [{"index": index, "what": "The id belongs to another pull."}]
                return httpx.Response(409, json={"type": f"{PROBLEM}conflict", "detail": "No.", "faults": faults})
        answers = [{"id": one["id"], "reward": one["reward"] + 1, "adjustment": 1, "directive": 1} for one in pulls]
        return httpx.Response(200, json={"pulls": answers})


@pytest.fixture(scope="module")
def redis_url():
    """The address of a Redis of this module's own."""
    with short_folder() as folder, running_redis(folder) as url:
        yield url


@pytest.fixture
def database(redis_url):
    """A client of an empty Redis."""
    with connect_redis(redis_url) as client:
        yield client
        client.config_set("maxmemory", 0)
        client.flushall()


def make_adapter(database, server, **changes):
    """Return an adapter before a fake server."""
    http = httpx.Client(transport=httpx.MockTransport(server), base_url="http://fake")
    return RedisAdapter(database, http, "shop", StreamOptions(**(vars(OPTIONS) | changes)))


def add_pulls(database, number, client="a"):
    """Add pulls whose rewards count from 0; return the entries' ids."""
    return [database.xadd("in", {"client": client, "arm": "x", "reward": one}) for one in range(number)]


def responses_of(database):
    """The responses so far, as text."""
    return [{name.decode(): value.decode() for name, value in fields.items()} for _, fields in database.xrange("out")]


def pending_of(database):
    """The number of entries that were read and are not acknowledged."""
    return database.xpending("in", "g")["pending"]


def test_each_entry_gets_one_response_in_order(database):
    """Good pulls are answered; malformed and refused ones get the reason, and hold up nothing."""
    good = {"client": "a", "arm": "x", "reward": "0.25"}
    expected = []
    for fields, reason in (
        (good, None),
        (good | {"id": "mine"}, None),
        (good | {"id": "mine"}, None),  # sent twice
        (good | {"id": "mine", "reward": "0.5"}, "belongs to another pull"),
        (good | {"arm": "z"}, "no such arm"),
        (good | {"client": "far"}, "at an edge"),
        (good | {"reward": "a lot"}, "Invalid reward 'a lot'"),
        (good | {"reward": "nan"}, "Invalid reward nan"),
        (good | {"client": ""}, "Invalid client"),
        (good | {"colour": "red"}, "Unknown field 'colour'"),
        ({"client": "a", "reward": "1"}, "field arm is missing"),
        (good | {"client": b"\xff"}, "not UTF-8"),
        (good | {"client": "b"}, None),
    ):
        expected.append((database.xadd("in", fields).decode(), reason))
    server = FakeServer()
    adapter = make_adapter(database, server)
    adapter.step()
    found = responses_of(database)
    assert [one["entry"] for one in found] == [entry for entry, _ in expected]
    for one, (entry, reason) in zip(found, expected, strict=True):
        if reason is None:
            assert (one["reward"], one["adjustment"]) == ("1.25", "1.0")
            assert one["id"] in {f"in/{entry}", "mine"}
        else:
            assert reason in one["refused"]
            assert "reward" not in one
    assert len(server.stored) == 3
    assert (pending_of(database), adapter.written) == (0, len(expected))


def test_many_refusals_need_no_deep_recursion(database):
    """A thousand pulls with one id, of which the server names one conflict at a time."""
    for one in range(300):
        database.xadd("in", {"id": "same", "client": "a", "arm": "x", "reward": one})
    make_adapter(database, FakeServer()).step()
    assert sum("refused" in one for one in responses_of(database)) == 299


@pytest.mark.parametrize("consumer", ["one", "two"])
def test_an_adapter_that_dies_before_it_writes_loses_nothing(database, consumer):
    """The next one, of the same or another name, sends the pulls again: they are counted once."""
    server = FakeServer()
    add_pulls(database, 5)
    first = make_adapter(database, server)
    list(first._answer(first._read()))  # and it dies
    assert (len(server.stored), pending_of(database), responses_of(database)) == (5, 5, [])
    add_pulls(database, 2)
    second = make_adapter(database, server, consumer=consumer)
    second.step()
    second.step()
    assert [one["reward"] for one in responses_of(database)] == ["1.0", "2.0", "3.0", "4.0", "5.0", "1.0", "2.0"]
    assert (len(server.stored), pending_of(database)) == (7, 0)


def test_an_entry_that_two_adapters_hold_gets_one_response(database):
    """One stands still after its request, another claims its entries and writes; then the first goes on."""
    server = FakeServer()
    add_pulls(database, 3)
    slow, fast = make_adapter(database, server), make_adapter(database, server, consumer="two")
    read = slow._read()
    slow._read = lambda: read
    fast.step()
    slow.step()
    assert [one["reward"] for one in responses_of(database)] == ["1.0", "2.0", "3.0"]
    assert (fast.written, slow.written, len(server.stored)) == (3, 0, 3)


@contextlib.contextmanager
def running(adapter):
    """Run an adapter in a thread and end it."""
    ended = threading.Event()
    thread = threading.Thread(target=adapter.run, args=[ended])
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(20)
        assert not thread.is_alive()


def wait_until(condition):
    """Wait for what another thread or process brings about."""
    for _ in range(2_000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError


def test_while_the_server_is_away_nothing_is_lost(database, caplog):
    """It is asked again until it answers; the log has a line when the fault begins, and one when it ends."""
    server = FakeServer()
    server.is_away = True
    add_pulls(database, 4)
    with caplog.at_level(logging.INFO, "tutelage.stream"), running(make_adapter(database, server, batch=3)):
        wait_until(lambda: server.requests >= 3)
        assert responses_of(database) == []
        server.is_away = False
        wait_until(lambda: len(responses_of(database)) == 4)
    assert [record.getMessage() for record in caplog.records] == [
        "pulls cannot be answered", "pulls are answered again"
    ]  # fmt: skip
    assert caplog.records[0].reason == "The disk is full."
    assert (len(server.stored), pending_of(database)) == (4, 0)


def test_a_stream_that_is_deleted_is_made_again(database):
    """With its group; pulls that are added afterwards are answered."""
    add_pulls(database, 2)
    with running(make_adapter(database, FakeServer())):
        wait_until(lambda: len(responses_of(database)) == 2)
        database.delete("in", "out")
        add_pulls(database, 3)
        wait_until(lambda: len(responses_of(database)) == 3)


def test_where_redis_is_full_nothing_is_acknowledged(database):
    """Once there is room again, the entry is answered."""
    add_pulls(database, 1)
    adapter = make_adapter(database, FakeServer())
    answer = adapter._answer

    def fill_up(entries):
        database.config_set("maxmemory", 1)
        return answer(entries)

    adapter._answer = fill_up
    with pytest.raises(redis.exceptions.OutOfMemoryError):
        adapter.step()
    assert (responses_of(database), pending_of(database)) == ([], 1)
    ended = threading.Event()
    adapter._fault.report = lambda *_: ended.set()
    adapter.run(ended)  # it would wait and try again
    database.config_set("maxmemory", 0)
    adapter._answer = answer
    adapter.step()
    assert (len(responses_of(database)), pending_of(database)) == (1, 0)


def test_a_redis_that_restarts_is_survived():
    """Redis is killed and started again on its append-only file while pulls wait."""
    with short_folder() as folder, contextlib.ExitStack() as ended:
        server = FakeServer()
        with running_redis(folder, appendfsync="always") as url:
            database = ended.enter_context(connect_redis(url))
            adapter = make_adapter(database, server, batch=2)
            add_pulls(database, 3)
            adapter.step()
            server.is_away = True
            ended.enter_context(running(adapter))
            wait_until(lambda: pending_of(database) == 1)
        server.is_away = False
        with running_redis(folder, appendfsync="always"):
            wait_until(lambda: len(responses_of(database)) == 3)
            assert (len(server.stored), pending_of(database)) == (3, 0)
            ended.close()


def test_old_responses_are_trimmed(database):
    """`max_responses` is a bound to within one node of Redis's tree, of 100 entries."""
    add_pulls(database, 1_000)
    make_adapter(database, FakeServer(), max_responses=50).step()
    assert 50 <= database.xlen("out") <= 150
    assert responses_of(database)[-1]["reward"] == "1000.0"


def test_what_redis_refuses_for_good_ends_the_adapter(database):
    """A key of another type, and a wrong password, in one sentence."""
    database.set("out", "text")
    add_pulls(database, 1)
    with pytest.raises(RefusalError, match="WRONGTYPE"):
        make_adapter(database, FakeServer()).run(threading.Event())
    assert pending_of(database) == 1
    with short_folder() as folder, running_redis(folder, requirepass="right") as url:
        with connect_redis(f"{url}?password=wrong") as refused, pytest.raises(RefusalError) as caught:
            make_adapter(refused, FakeServer()).run(threading.Event())
        assert "wrong" not in str(caught.value)
        with connect_redis(f"{url}?password=right") as allowed:
            make_adapter(allowed, FakeServer()).step()


@pytest.mark.parametrize(
    "url", ["http://u:s3cret@h", "redis://u:s3cret@h:port", "redis://:s3cret@h/?colour=1", "u:s3cret@h:6379"]
)
def test_passwords_of_invalid_urls_are_not_shown(url, capsys):
    """In whatever part of a URL that is refused."""
    error = error_of(capsys, 2, "stream", url, "--campaign", "shop")
    assert "Invalid Redis URL" in error
    assert "s3cret" not in error


@pytest.mark.parametrize(
    "options",
    [
        ("--pulls", "same", "--responses", "same"),
        ("--pulls", "x" * 81),
        ("--batch", "0"),
        ("--claim-after", "nan"),
        ("--max-responses", "-1"),
        ("--group", ""),
    ],
)
def test_invalid_options_are_refused(options, capsys):
    """With the option's name."""
    assert f"{options[-2]}" in error_of(capsys, 2, "stream", "redis://h", "--campaign", "shop", *options)


def test_without_the_package_a_sentence_says_what_to_install(monkeypatch):
    """The package is an extra."""
    monkeypatch.setitem(sys.modules, "redis", None)
    with pytest.raises(InputError, match=r"pip install 'tutelage\[redis\]'"):
        connect_redis("redis://h")


def test_killed_adapters_lose_nothing_and_count_nothing_twice(database, redis_url, tmp_path):
    """Real processes: one is killed in the middle of 600 pulls, another goes on; a real server has each pull once."""
    campaign = {"name": "shop", "arms": ["x", "y"], "clients": ["a", "b"], "horizon": 10**6, "start": True}
    with running_server(tmp_path) as (address, _):
        httpx.post(f"{address}/v1/campaigns", json=campaign | {"teacher": "known(target=0)"}).raise_for_status()
        names = ["--campaign", "shop", "--pulls", "in", "--responses", "out", "--group", "g", "--batch", "3"]
        command = [sys.executable, "-m", "tutelage", "stream", redis_url, "--server", address, *names]
        command += ["--claim-after", "1"]
        with database.pipeline() as pipeline:
            for number in range(600):
                fields = {"client": "ab"[number % 2], "arm": "xy"[number // 2 % 2], "reward": 0.5}
                pipeline.xadd("in", fields)
            entries = [entry.decode() for entry in pipeline.execute()]
        status = None
        for number, consumer in enumerate(["one", "two"]):
            with subprocess.Popen([*command, "--consumer", consumer], stderr=subprocess.PIPE, text=True) as process:
                try:
                    many = (200, 600)[number]
                    wait_until(lambda many=many: database.xlen("out") >= many)
                finally:
                    process.send_signal((signal.SIGKILL, signal.SIGTERM)[number])
                status = process.wait(timeout=30)
        found = responses_of(database)
        assert status == 0
        assert sorted(one["entry"] for one in found) == sorted(entries)
        assert all(one["reward"] == ("0.5" if one["arm"] == "x" else "0.0") for one in found)
        assert httpx.get(f"{address}/v1/campaigns/shop").json()["num_pulls"] == 600
        assert pending_of(database) == 0
        assert error_of_refused(command, "nowhere") == (1, True)


def error_of_refused(command, name):
    """Run the command for a campaign that does not exist; give its status, and whether it says so."""
    place = command.index("shop")
    wrong = [*command[:place], name, *command[place + 1 :]]
    done = subprocess.run(wrong, check=False, capture_output=True, text=True, timeout=60)
    return done.returncode, name in done.stderr
