"""Who is let in, by one table over the quick route and the others."""

import asyncio
import dataclasses
import functools
import json
import time
from datetime import UTC, datetime

import httpx
import pytest

from tutelage.client import AsyncClient, CheckFailure
from tutelage.errors import InputError
from tutelage.service import app
from tutelage.service.api import access
from tutelage.service.api.access import AccessControl, digest_of, make_key
from tutelage.service.api.key_rotation import read_expiry, rotate
from tutelage.service.api.problems import HttpProblem
from tutelage.service.configuration import load_configuration
from tutelage.text import format_second

PULL = {"id": "1", "client": "a", "arm": "x", "reward": 0.5}
WRITES = [("POST", "/v1/campaigns/c/pulls", PULL), ("POST", "/v1/campaigns/c/start", None)]
READS = [("GET", "/v1/campaigns/c", None), ("GET", "/docs", None), ("GET", "/v1/campaigns/c/ledger", None)]


def key(server, name, role, campaign=None, clients=(), expires=None):
    """A new key's header."""
    secret, row = make_key(name, role, campaign, clients, 1, expires)
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


def test_a_key_of_one_campaign_is_good_for_it_alone(server):
    """An administrator's and a viewer's: 403 at every other campaign and at what concerns all of them."""
    server.create()
    server.create(name="d")
    only = "is for the campaign c only"
    everything = f"{only}, and this address concerns all campaigns."
    elsewhere = [("GET", "/metrics", None), ("GET", "/v1/audit", None), ("GET", "/v1/keys", None)]
    for role in ("admin", "viewer"):
        headers = key(server, f"{role} of c", role, "c")
        assert statuses(server, READS, headers) == [200] * 3
        assert statuses(server, WRITES, headers) == [200 if role == "admin" else 403] * 2
        listed = server.call("GET", "/v1/campaigns", headers=headers).json()["campaigns"]
        assert [one["name"] for one in listed] == ["c"]
        listed = server.call("GET", "/v1/status", headers=headers).json()["campaigns"]
        assert [one["name"] for one in listed] == ["c"]
        assert server.call("GET", "/", headers=headers).headers["location"] == "c/c/"
        for method, path, body in (*READS[::2], *WRITES):
            refused = server.call(method, path.replace("campaigns/c", "campaigns/d"), body, headers=headers)
            assert refused.status_code == 403
            assert role == "viewer" or refused.json()["detail"] == f"The key admin of c {only}."
        assert server.call("GET", "/c/d/", headers=headers).status_code == 403
        for method, path, body in elsewhere:
            refused = server.call(method, path, body, headers=headers)
            assert refused.status_code == 403
            assert role == "viewer" or refused.json()["detail"].endswith(everything)
    made = server.call("POST", "/v1/campaigns", {"name": "e"}, headers=key(server, "another", "admin", "c"))
    assert made.json()["detail"].endswith(everything)


def test_a_key_ends_at_its_expiry(server, monkeypatch):
    """At that moment, with its time in the answer; also in the login form."""
    server.create()
    end = time.time_ns() // 1000 + 10**9
    headers = key(server, "brief", "admin", expires=end)
    assert statuses(server, WRITES + READS, headers) == [200] * 5
    monkeypatch.setattr(access.time, "time_ns", lambda: end * 1000)
    refused = server.call("GET", "/v1/campaigns", headers=headers)
    assert refused.status_code == 401
    assert (
        refused.json()["detail"]
        == f"The key brief expired at {format_second(end)}: ask an administrator for a new one."
    )
    form = {"key": headers["authorization"].partition(" ")[2]}
    signed_in = server.call("POST", "/login", data=form)
    assert signed_in.status_code == 401


def test_a_rotated_keys_old_secret_ends_with_the_overlap(server, monkeypatch):
    """Both are good until then, and never longer than the old one was made for."""
    server.create()
    old = key(server, "app", "reporter", "c")
    (row,) = server.store.keys()
    now = time.time_ns() // 1000
    secret, changed = rotate(row, now, 10**9)
    server.store.rotate_key(changed)
    server.keys_changed()
    new = {"authorization": f"Bearer {secret}"}
    assert statuses(server, WRITES, old) == statuses(server, WRITES, new) == [200, 403]
    monkeypatch.setattr(access.time, "time_ns", lambda: (now + 10**9) * 1000)
    assert statuses(server, WRITES[:1], old) == [401]
    assert statuses(server, WRITES[:1], new) == [200]
    brief = dataclasses.replace(row, created=now - 50, expires=now + 100)
    assert rotate(brief, now, 10**9)[1].old_until == now + 100
    assert rotate(brief, now, 10**9)[1].expires == now + 150
    assert rotate(brief, now, 10**9, now + 7)[1].expires == now + 7


def test_the_last_use_of_a_key_is_stored_and_listed(serve, monkeypatch):
    """Of each secret that was accepted, also at the end of the server, and nothing of those that were refused."""
    monkeypatch.setattr(app, "KEY_USES_SECONDS", 0.0)
    monkeypatch.setattr(app, "KEYS_SECONDS", 0.01)
    server = serve()
    before = time.time_ns() // 1000
    boss = key(server, "boss", "admin")
    key(server, "idle", "viewer", expires=2**52)
    server.call("GET", "/v1/campaigns", headers=boss)
    while server.store.keys()[0].used is None:
        server.loop.run_until_complete(asyncio.sleep(0.02))
    assert before < server.store.keys()[0].used < time.time_ns() // 1000
    used, idle = server.call("GET", "/v1/keys", headers=boss).json()["keys"]
    assert (used["name"], used["role"], used["expires"], used["revoked"]) == ("boss", "admin", None, None)
    assert used["last_used"] >= f"{format_second(before)[:-1]}"
    assert (idle["last_used"], idle["expires"][:19] + "Z") == (None, format_second(2**52))
    assert "tutelage_" not in json.dumps([used, idle])
    monkeypatch.setattr(app, "KEY_USES_SECONDS", 1e9)
    monkeypatch.setattr(server.gateway.access, "_uses", {digest_of("x"): 1})
    written = []
    monkeypatch.setattr(server.store, "note_key_uses", written.append)
    server.loop.run_until_complete(app._note_key_uses(server.gateway.access, server.gateway.handoff))
    assert {digest_of("x"): 1} in written  # next to the boss's, which the server may be writing


@pytest.mark.parametrize(
    ("text", "microseconds"),
    [
        ("90d", 90 * 86_400 * 10**6),
        ("12 h", 12 * 3_600 * 10**6),
        ("2030-01-31", datetime(2030, 1, 31, tzinfo=UTC).timestamp() * 10**6),
        ("2030-01-31T01:00+01:00", datetime(2030, 1, 31, tzinfo=UTC).timestamp() * 10**6),
    ],
)
def test_an_expiry_is_a_duration_or_a_time(text, microseconds):
    """From now, or in UTC unless a zone is given."""
    now = 0 if text[-1] in "dh" else 5
    assert read_expiry(text, now) == microseconds


@pytest.mark.parametrize(
    "text", ["", "soon", "90", "1.5d", "-1d", "0d", "36501d", "9" * 400 + "d", "1969-01-01", "9999-13"]
)
def test_no_expiry_is_made_of_this(text):
    """A sentence with the value instead."""
    with pytest.raises(InputError, match="Invalid --expires"):
        read_expiry(text, 5)


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


SHOP = "https://shop.example.org"


def test_pages_of_allowed_origins_may_call(serve):
    """By the headers that a browser asks for, also of a refusal; without a cookie, and no other origin."""
    server = serve(cors_origins=f"{SHOP}, http://localhost:3000")
    server.create()
    asked = {"access-control-request-method": "POST", "access-control-request-headers": "authorization,content-type"}
    for origin, status in ((SHOP, 200), ("https://evil.example", 400)):
        answer = server.call("OPTIONS", WRITES[0][1], headers=asked | {"origin": origin})
        assert answer.status_code == status
        assert answer.headers.get("access-control-allow-origin") == (origin if status == 200 else None)
        assert "access-control-allow-credentials" not in answer.headers
    mine = key(server, "app", "reporter", "c") | {"origin": SHOP, "sec-fetch-site": "cross-site"}
    answer = server.call(*WRITES[0], headers=mine)
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == SHOP
    assert "Origin" in answer.headers["vary"]
    assert "X-Request-ID" in answer.headers["access-control-expose-headers"]
    refused = server.call(*WRITES[1], headers=mine)
    assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (403, SHOP)
    assert statuses(server, WRITES[:1], mine | {"cookie": "other=1"}) == [403]
    foreign = server.call(*WRITES[0], headers=mine | {"origin": "https://evil.example"})
    assert foreign.status_code == 403
    assert "access-control-allow-origin" not in foreign.headers


def test_without_the_setting_no_origin_is_allowed(server):
    """A browser's question is answered by nobody."""
    asked = {"origin": SHOP, "access-control-request-method": "POST"}
    assert server.call("OPTIONS", WRITES[0][1], headers=asked).status_code == 405
    assert "access-control-allow-origin" not in server.call("GET", "/healthz", headers=asked).headers


@pytest.mark.parametrize("origin", ["*", "shop.example.org", f"{SHOP}/", "null", "https://Shop.org", f"{SHOP}:443"])
def test_an_origin_is_what_browsers_send(origin):
    """Anything else would never match; a star would open a server without keys to all pages."""
    with pytest.raises(InputError, match=r"Invalid --cors-origins .*: use origins as in"):
        load_configuration({"cors_origins": origin}, environment={})


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
        waiting = asyncio.create_task(door.wait_for_keys({}))
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
    [
        ("boss", None, ()),
        ("reporter", None, ()),
        ("admin", None, ("a",)),
        ("viewer", "c", ("a",)),
        ("reporter", "a b", ()),
        ("admin", "a b", ()),
    ],
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
        ("c", "wrong", r"http://server: The key is unknown or has been revoked: ask an administrator for a new one\.$"),
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
        (lambda _: httpx.Response(502, text="<html>"), "status 502, as a proxy does while its server is away"),
    ],
)
def test_a_client_finds_out_that_its_address_is_wrong(server, answer, sentence):
    """Nobody there, somebody silent, and another program."""

    async def check():
        async with AsyncClient("http://server", "c", transport=httpx.MockTransport(answer)) as client:
            await client.check()

    with pytest.raises(CheckFailure, match=sentence):
        server.loop.run_until_complete(check())
