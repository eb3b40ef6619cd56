"""Signing in with a form: the cookie, where it leads, and how often one may try."""

import asyncio
import re
import time

import pytest
from tests.service.api.test_access import key
from tests.service.conftest import InProcessServer

from tutelage.service.api.login_attempts import MAX_IN_TOTAL, MAX_PER_ADDRESS, PERIOD_SECONDS, LoginAttempts

FORM = {"content-type": "application/x-www-form-urlencoded"}


def sign_in(server, secret, onward="/", **headers):
    """Send the form."""
    request = server.http.post("/login", data={"key": secret, "next": onward, "username": "tutelage"}, headers=headers)
    return server.loop.run_until_complete(request)


def secret_of(server, *args):
    """A new key."""
    return key(server, *args)["authorization"].removeprefix("Bearer ")


def test_the_cookie_opens_pages_and_writes_nothing_from_elsewhere(server):
    """It is not the key, and out of reach of scripts and of other sites; it dies with the key."""
    server.create()
    secret = secret_of(server, "boss", "admin")
    answer = sign_in(server, secret, "/c/c/?at=3")
    assert (answer.status_code, answer.headers["location"]) == (303, "./c/c/?at=3")
    assert secret not in answer.headers["set-cookie"]
    cookie = answer.headers["set-cookie"].lower()
    assert "max-age=43200" in cookie
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert "path=/" in cookie
    assert "secure" not in cookie
    held = {"cookie": answer.headers["set-cookie"].partition(";")[0]}
    assert server.call("GET", "/c/c/", headers=held).status_code == 200
    assert server.call("POST", "/v1/campaigns/c/stop", headers=held).status_code == 200
    foreign = held | {"sec-fetch-site": "cross-site"}
    assert server.call("POST", "/v1/campaigns/c/start", headers=foreign).status_code == 403
    server.store.revoke_key("boss", 2)
    server.keys_changed()
    assert server.call("GET", "/c/c/", headers=held).status_code == 401


def test_a_session_ends_on_every_server(new_database, monkeypatch):
    """It opens pages of all servers of the store at once; signing out at one ends it at the others within a second."""
    monkeypatch.setattr("tutelage.service.app.KEYS_SECONDS", 0.05)
    url = new_database()
    one, other = InProcessServer(url), InProcessServer(url)
    secret = secret_of(one, "boss", "admin")
    other.keys_changed()
    answer = sign_in(one, secret)
    held = {"cookie": answer.headers["set-cookie"].partition(";")[0]}
    shown = other.call("GET", "/", headers=held | {"accept": "text/html"})
    assert shown.status_code == 200
    assert "Signed in as <b>boss</b> (admin)" in shown.text
    out = other.call("POST", "/logout", headers=held)
    assert "max-age=0" in out.headers["set-cookie"].lower()
    assert other.call("GET", "/", headers=held).status_code == 401
    while one.call("GET", "/", headers=held).status_code == 200:
        one.loop.run_until_complete(asyncio.sleep(0.02))
    assert one.call("GET", "/", headers=held).status_code == 401
    assert [(row.actor, row.action) for row in one.store.audit(0, 9)] == [("boss", "sign in"), ("boss", "sign out")]
    for server in (one, other):
        server.close()


def test_a_session_expires(serve, monkeypatch):
    """After the hours that the setting names; the form says so, and the key signs in again."""
    server = serve(session_hours=0.5)
    secret = secret_of(server, "boss", "admin")
    answer = sign_in(server, secret)
    assert "max-age=1800" in answer.headers["set-cookie"].lower()
    held = {"cookie": answer.headers["set-cookie"].partition(";")[0], "accept": "text/html"}
    assert server.call("GET", "/", headers=held).status_code == 200
    later = time.time_ns() + 1800 * 10**9
    monkeypatch.setattr("tutelage.service.api.access.time.time_ns", lambda: later)
    ended = server.call("GET", "/", headers=held)
    assert ended.status_code == 401
    assert "The session is unknown or has expired: sign in again." in ended.text
    assert sign_in(server, secret).status_code == 303


def test_administrators_act_on_pages(server):
    """After one question, with the token of their own session; the ledger says who, and a viewer is refused."""
    server.create()
    boss, other, eye = (
        {"cookie": sign_in(server, secret_of(server, name, role)).headers["set-cookie"].partition(";")[0]}
        for name, role in (("boss", "admin"), ("other", "admin"), ("eye", "viewer"))
    )

    def token_of(headers):
        asked = server.call("GET", "/c/c/act/exclude?client=b", headers=headers).text
        assert '<option value="b" selected>' in asked
        return re.search('name="token" value="([0-9a-f]{64})"', asked)[1]

    def act(act, headers, **fields):
        return server.call("POST", f"/c/c/act/{act}", data=fields, headers=headers)

    assert 'href="act/stop"' in server.call("GET", "/c/c/", headers=boss).text
    assert 'href="act/stop"' not in server.call("GET", "/c/c/", headers=eye).text
    assert server.call("GET", "/c/c/act/stop", headers=eye).status_code == 403
    token = token_of(boss)
    assert act("stop", eye, token=token).status_code == 403
    for wrong in ({}, {"token": ""}, {"token": token_of(other)}):
        assert act("stop", boss, **wrong).status_code == 403
    assert act("stop", boss, token=token, **{f"a{number}": "1" for number in range(50)}).status_code == 403
    assert act("delete", boss, token=token).status_code == 404
    assert server.call("GET", "/v1/campaigns/c", headers=boss).json()["status"] == "running"
    done = [act(*each, token=token) for each in (("stop", boss), ("start", boss))]
    done.append(act("exclude", boss, token=token, client="b"))
    assert [(one.status_code, one.headers["location"]) for one in done] == [(303, "../")] * 3
    again = act("exclude", boss, token=token, client="b")
    assert again.status_code == 409
    assert "Nothing was changed" in again.text
    assert [(row.actor, row.action) for row in server.store.audit(0, 99)][-3:] == [
        ("boss", "stop campaign"), ("boss", "start campaign"), ("boss", "exclude client"),
    ]  # fmt: skip
    assert "v1/campaigns/c/export" in server.call("GET", "/c/c/act/export", headers=boss).text


def test_a_key_or_a_digest_in_the_cookie_opens_nothing(server, monkeypatch):
    """Neither what signs in, nor what the store holds of a session, is a session."""
    monkeypatch.setattr("tutelage.service.api.access.MAX_KEY_WAIT", 0.01)
    secret = secret_of(server, "boss", "admin")
    sign_in(server, secret)
    (row,) = server.store.sessions()
    for wrong in (secret, row.digest.hex(), row.key_digest.hex(), ""):
        assert server.call("GET", "/", headers={"cookie": f"tutelage_session={wrong}"}).status_code == 401


@pytest.mark.parametrize("headers", [{"origin": "https://127.0.0.1:8321"}, {"x-forwarded-proto": "https"}])
def test_over_tls_the_cookie_is_secure(server, headers):
    """Also where a proxy ends it: the browser's Origin or the proxy says so."""
    secret = secret_of(server, "boss", "admin")
    assert "secure" in sign_in(server, secret, **headers).headers["set-cookie"].lower()


@pytest.mark.parametrize("onward", ["//evil.example/", "https://evil.example", "\\\\evil", "/a\r\nx: y", ""])
def test_it_leads_nowhere_else(server, onward):
    """Whatever the form says, the address is relative, on one line."""
    place = sign_in(server, secret_of(server, "boss", "admin"), onward).headers["location"]
    assert place.startswith("./")
    assert not place.startswith(".//")
    assert "\n" not in place


def test_keys_that_see_no_pages(server):
    """An unknown one, a reporter's, none; and a form from another site."""
    reporter = secret_of(server, "app", "reporter", "c")
    for secret, status in (("x", 401), (reporter, 403), ("", 401)):
        answer = sign_in(server, secret)
        assert answer.status_code == status
        assert "set-cookie" not in answer.headers
    assert sign_in(server, reporter, **{"sec-fetch-site": "cross-site"}).status_code == 403
    request = server.http.post("/login", content="a=1&" * 50, headers=FORM)
    assert server.loop.run_until_complete(request).status_code == 401


def test_too_many_attempts_are_sent_away(server):
    """429 with Retry-After, for the right key as well."""
    secret = secret_of(server, "boss", "admin")
    for _ in range(MAX_PER_ADDRESS):
        assert sign_in(server, "guess").status_code == 401
    refused = sign_in(server, secret)
    assert refused.status_code == 429
    assert 0 < int(refused.headers["retry-after"]) <= PERIOD_SECONDS


def test_valid_keys_do_not_count_as_guesses(server):
    """A valid key is not counted and does not reset the count of earlier guesses."""
    secret = secret_of(server, "boss", "admin")
    for _ in range(MAX_PER_ADDRESS - 1):
        assert sign_in(server, "guess").status_code == 401
    for _ in range(MAX_PER_ADDRESS + 1):
        assert sign_in(server, secret).status_code == 303
    assert sign_in(server, "guess").status_code == 401
    assert sign_in(server, secret).status_code == 429


def test_behind_a_proxy_of_this_machine_each_browser_counts(serve):
    """By the proxy's own entry, which is the last; what a sender says of itself, or afar, is not believed."""
    near = serve()
    secret = secret_of(near, "boss", "admin")
    for number in range(MAX_PER_ADDRESS):
        forged = {"x-forwarded-for": f"10.0.0.{number}, 192.0.2.1"}
        assert sign_in(near, "guess", **forged).status_code == 401
    assert sign_in(near, secret, **{"x-forwarded-for": "10.0.0.9, 192.0.2.1"}).status_code == 429
    assert sign_in(near, secret, **{"x-forwarded-for": "192.0.2.2"}).status_code == 303
    assert sign_in(near, secret).status_code == 303


def test_from_afar_nobody_names_another(serve):
    """A connection that does not come from a proxy on this machine counts by its own address."""
    server = serve(client=("192.0.2.7", 5000))
    secret = secret_of(server, "boss", "admin")
    for number in range(MAX_PER_ADDRESS):
        assert sign_in(server, "guess", **{"x-forwarded-for": f"10.0.0.{number}"}).status_code == 401
    assert sign_in(server, secret, **{"x-forwarded-for": "10.0.0.9"}).status_code == 429


def test_signing_in_leads_to_the_prefix(serve):
    """There the cookie is sent to; without the prefix the form would come again without a word."""
    server = serve(root_path="/t")
    answer = sign_in(server, secret_of(server, "boss", "admin"), "/c/c/?at=3")
    assert (answer.status_code, answer.headers["location"]) == (303, "/t/c/c/?at=3")
    assert "path=/t" in answer.headers["set-cookie"].lower()
    evil = sign_in(server, secret_of(server, "eve", "viewer"), "//evil.example/")
    assert evil.headers["location"] == "/t/evil.example/"


def test_a_page_that_is_not_there_has_the_way_out(server):
    """A signed-in user can sign out there too, whichever part of the server refuses."""
    server.create()
    cookie = sign_in(server, secret_of(server, "boss", "admin")).headers["set-cookie"].partition(";")[0]
    held = {"cookie": cookie, "accept": "text/html"}
    for path in ("/nothing", "/c/nothing/", "/c/c/client/nobody", "/c/c/?at=0"):
        answer = server.call("GET", path, headers=held)
        assert answer.status_code == 404
        assert "Sign out" in answer.text


def test_a_store_that_does_not_answer_is_named(server, monkeypatch):
    """Not only the keys that are in it."""
    monkeypatch.setattr("tutelage.service.api.access.MAX_KEY_AGE", -1.0)
    answer = server.call("GET", "/", headers={"accept": "text/html"})
    assert answer.status_code == 503
    assert "The store does not answer" in answer.text


def test_attempts_are_counted_by_address_and_in_all():
    """An address waits for its own, a network of IPv6 is one, all wait together; it ends in a minute."""
    now = [0.0]
    attempts = LoginAttempts(lambda: now[0])
    for _ in range(MAX_PER_ADDRESS):
        assert attempts.register("2001:db8::1") == 0
        now[0] += 1
    assert attempts.register("2001:db8::2") == PERIOD_SECONDS - MAX_PER_ADDRESS
    assert attempts.register("2001:db8:1::2") == 0
    for number in range(MAX_IN_TOTAL - MAX_PER_ADDRESS - 1):
        assert attempts.register(f"10.0.0.{number}") == 0
    assert attempts.register("10.0.1.1") > 0
    now[0] += PERIOD_SECONDS
    assert attempts.register("2001:db8::2") == 0
