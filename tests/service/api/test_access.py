"""Who is let in, by one table over the quick route and the others."""

import asyncio
import functools
import time

import httpx
import pytest

from tutelage.client import AsyncClient, CheckFailure
from tutelage.errors import InputError
from tutelage.service.api import access
from tutelage.service.api.access import AccessControl, digest_of, make_key
from tutelage.service.api.problems import HttpProblem

PULL = {"id": "1", "client": "a", "arm": "x", "reward": 0.5}
WRITES = [("POST", "/v1/campaigns/c/pulls", PULL), ("POST", "/v1/campaigns/c/start", None)]
READS = [("GET", "/v1/campaigns/c", None), ("GET", "/docs", None), ("GET", "/v1/campaigns/c/ledger", None)]


def key(server, name, role, campaign=None, clients=()):
    """A new key's header."""
    secret, row = make_key(name, role, campaign, clients, 1)
    server.store.create_key(row)
    server.keys_changed()
    return {"authorization": f"Bearer {secret}"}


def statuses(server, calls, headers=None):
    """What each call is answered with."""
    return [server.call(method, path, body, headers=headers).status_code for method, path, body in calls]


def test_without_keys_this_machine_is_let_in(server):
    """From a loopback address, by a loopback name."""
    server.create()
    for host in ("localhost:8321", "127.0.0.1", "[::1]:8321", "127.8.9.1"):
        assert statuses(server, WRITES + READS, {"host": host}) == [200] * 5


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example"},
        {"host": "localhost.evil.example"},
        {"host": "127.0.0.1@evil.example"},
        {"host": ""},
        {"host": "[::1"},
        {"forwarded": "for=10.0.0.1"},
        {"x-forwarded-for": "127.0.0.1"},
        {"x-forwarded-host": "localhost"},
        {"x-forwarded-proto": "https"},
        {"via": "1.1 somebody"},
    ],
)
def test_without_keys_nobody_passes_through_another(server, headers):
    """A rebound name, a proxy: 401, on every route."""
    server.create()
    assert statuses(server, WRITES + READS, headers) == [401] * 5


def test_without_keys_no_old_http_is_let_in(server):
    """A proxy that is configured with only its address speaks HTTP/1.0 and names this machine as the host."""
    server.create()
    plain = server.gateway.__class__.__call__

    async def old(self, scope, receive, send):
        await plain(self, scope | {"http_version": "1.0"}, receive, send)

    server.http._transport.app = functools.partial(old, server.gateway)
    assert statuses(server, WRITES + READS) == [401] * 5


def test_without_keys_no_other_machine_is_let_in(serve):
    """Unless the operator insists; then only while no key exists."""
    server = serve(client=("10.0.0.9", 5000))
    assert statuses(server, WRITES + READS) == [401] * 5
    assert statuses(server, [("GET", "/healthz", None), ("GET", "/readyz", None)]) == [200, 200]
    server.gateway.access.insecure = True
    server.create()
    assert statuses(server, WRITES + READS) == [200] * 5
    key(server, "first", "viewer")
    assert statuses(server, WRITES + READS) == [401] * 5


def test_each_role_may_do_its_own(server):
    """Admin everything, a viewer reads, a reporter sends pulls and sees no state."""
    server.create()
    admin = key(server, "boss", "admin")
    assert statuses(server, WRITES + READS, admin) == [200] * 5
    assert statuses(server, WRITES + READS, key(server, "eye", "viewer")) == [403] * 2 + [200] * 3
    assert statuses(server, WRITES + READS, key(server, "app", "reporter", "c")) == [200] + [403] * 4
    assert statuses(server, WRITES + READS) == [401] * 5
    assert statuses(server, WRITES + READS, {"authorization": "Bearer nonsense"}) == [401] * 5
    assert statuses(server, WRITES + READS, {"authorization": "Basic boss"}) == [401] * 5


def test_a_reporter_has_its_campaign_and_clients(server):
    """Others are refused, without a word on whether they exist."""
    server.create(start=True)
    mine = key(server, "app", "reporter", "c", ["a"])
    other = key(server, "else", "reporter", "d")
    assert server.pull(PULL, headers=mine).status_code == 200
    assert server.pull(PULL | {"id": "2"}, PULL | {"id": "3", "client": "b"}, headers=mine).status_code == 403
    assert server.pull(PULL, headers=other).status_code == 403
    assert server.pull(PULL, name="none", headers=mine).status_code == 403


def test_a_revoked_key_is_dead_and_the_door_stays_shut(server):
    """Revoking the only key does not make the server keyless again."""
    server.create()
    admin = key(server, "boss", "admin")
    server.store.revoke_key("boss", 2)
    server.keys_changed()
    assert statuses(server, WRITES + READS, admin) == [401] * 5
    assert statuses(server, WRITES + READS) == [401] * 5


@pytest.mark.parametrize(
    "headers", [{"sec-fetch-site": "cross-site"}, {"origin": "https://evil.example"}, {"origin": "null"}]
)
def test_writes_refuse_pages_of_other_sites(server, headers):
    """Reading stays what the browser makes of it."""
    server.create()
    assert statuses(server, WRITES, headers) == [403] * 2
    assert statuses(server, READS, headers) == [200] * 3
    assert statuses(server, WRITES, {"origin": "http://127.0.0.1:8321"}) == [200] * 2


def test_keys_that_cannot_be_read_anew_expire(monkeypatch):
    """After five seconds nobody knows whether one has been revoked: 503."""
    secret, row = make_key("boss", "admin", None, (), 1)
    door, scope = AccessControl(), {"method": "GET", "client": ("10.0.0.1", 1)}
    headers = {b"authorization": b"Bearer " + secret.encode()}
    door.update([row])
    assert door.authorize(scope, headers, "admin").name == "boss"
    later = time.monotonic() + access.MAX_KEY_AGE + 1
    monkeypatch.setattr(access.time, "monotonic", lambda: later)
    with pytest.raises(HttpProblem) as refused:
        door.authorize(scope, headers, "admin")
    assert refused.value.status == 503


@pytest.mark.parametrize("has_failed", [False, True])
def test_a_process_that_stood_still_waits_for_its_keys(monkeypatch, has_failed):
    """The reading that is due admits the request; after a reading that failed, nobody waits."""
    secret, row = make_key("boss", "admin", None, (), 1)
    door, scope = AccessControl(), {"method": "GET", "client": ("10.0.0.1", 1)}
    headers = {b"authorization": b"Bearer " + secret.encode()}
    door.update([row])
    later = time.monotonic() + access.MAX_KEY_AGE + 1
    monkeypatch.setattr(access.time, "monotonic", lambda: later)
    door.has_failed = has_failed

    async def ask():
        waiting = asyncio.create_task(door.wait_for_keys())
        await asyncio.sleep(0)
        if waiting.done():
            return door.authorize(scope, headers, "admin")
        door.update([row])
        await waiting
        return door.authorize(scope, headers, "admin")

    async def run():
        if has_failed:
            with pytest.raises(HttpProblem):
                await ask()
        else:
            assert (await ask()).name == "boss"

    with asyncio.Runner() as runner:  # its own event loop, whose clock is not the patched one
        runner.run(run())


def test_a_key_is_256_random_bits_of_which_the_digest_is_kept():
    """Two keys differ, and the row does not hold the secret."""
    (one, row), (two, _) = (make_key("n", "admin", None, (), 1) for _ in range(2))
    assert one != two
    assert len(one.removeprefix("tutelage_")) * 6 >= 256
    assert row.digest == digest_of(one)
    assert one not in repr(row)


@pytest.mark.parametrize(
    ("role", "campaign", "clients"),
    [("boss", None, ()), ("reporter", None, ()), ("admin", "c", ()), ("viewer", None, ("a",)), ("reporter", "a b", ())],
)
def test_no_key_is_made_of_this(role, campaign, clients):
    """A sentence instead."""
    with pytest.raises(InputError):
        make_key("n", role, campaign, clients, 1)


@pytest.mark.parametrize(
    ("campaign", "secret", "sentence"),
    [
        ("d", "own", r"http://server: The key only is for the campaign c only\.$"),
        ("d", "admin", r"http://server: Unknown campaign 'd'"),
        ("c", "", r"http://server: A key is required"),
        ("c", "wrong", r"http://server: The key is unknown or has been revoked\.$"),
        ("c", "viewer", r"http://server: The key seeing has the role viewer; this request needs the role reporter\.$"),
    ],
)
def test_a_client_finds_out_that_its_campaign_or_key_is_wrong(server, campaign, secret, sentence):
    """What no ``reveal`` raises, ``check`` does; with the right ones it says whether pulls are taken."""
    server.create()
    secrets = {"own": key(server, "only", "reporter", "c"), "viewer": key(server, "seeing", "viewer")}
    secrets["admin"] = key(server, "all", "admin")
    known = {name: header["authorization"].partition(" ")[2] for name, header in secrets.items()}

    async def check(campaign, secret):
        transport = httpx.ASGITransport(server.gateway)
        async with AsyncClient("http://server", campaign, key=known.get(secret, secret), transport=transport) as client:
            return await client.check()

    with pytest.raises(CheckFailure, match=sentence):
        server.loop.run_until_complete(check(campaign, secret))
    assert server.loop.run_until_complete(check("c", "own")) == "running"
    server.call("POST", "/v1/campaigns/c/stop", headers=secrets["admin"])
    assert server.loop.run_until_complete(check("c", "own")) == "stopped"


def no_answer(request):
    """Nobody listens."""
    raise httpx.ConnectError("refused")


def late(request):
    """Somebody listens and says nothing."""
    raise httpx.ReadTimeout("late")


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (no_answer, r"^http://server cannot be reached: refused\.$"),
        (late, r"^http://server did not answer within 5 s\.$"),
        (lambda _: httpx.Response(200, text="<html>"), "is not a Tutelage server: it answers with status 200"),
        (lambda _: httpx.Response(404, json={"detail": "Not Found"}), "is not a Tutelage server: .* status 404"),
    ],
)
def test_a_client_finds_out_that_its_address_is_wrong(server, answer, sentence):
    """Nobody there, somebody silent, and another program."""

    async def check():
        async with AsyncClient("http://server", "c", transport=httpx.MockTransport(answer)) as client:
            await client.check()

    with pytest.raises(CheckFailure, match=sentence):
        server.loop.run_until_complete(check())
