"""What stands before every route, by one table over the quick route, the others and the pages."""

import asyncio
import gzip
import json

import pytest
from tests.service.api.test_access import PULL, key

from tutelage.errors import InputError
from tutelage.service.api.security_headers import POLICY
from tutelage.service.configuration import OWN_FOLDERS, load_configuration

QUICK = ("POST", "/v1/campaigns/c/pulls", PULL)
OTHER = ("POST", "/v1/campaigns/c/start", {})
READ = ("GET", "/v1/campaigns/c", None)
STATES = ("GET", "/v1/campaigns/c/status", None)
PAGE = ("GET", "/c/c/", None)
LIST = ("GET", "/", None)
DOCS = ("GET", "/docs", None)
METRICS = ("GET", "/metrics", None)
EVERY = [QUICK, OTHER, READ, STATES, PAGE, LIST, DOCS, METRICS]
WRITES = [QUICK, OTHER]

every = pytest.mark.parametrize("route", EVERY, ids=lambda route: route[1])
writing = pytest.mark.parametrize("route", WRITES, ids=lambda route: route[1])


def call(server, route, **options):
    """One request of the table."""
    method, path, body = route
    return server.call(method, options.pop("before", "") + path, body, **options)


@every
def test_it_answers(server, route):
    """Every route of the table works when nothing is in its way."""
    server.create()
    assert call(server, route).status_code == 200


@every
def test_a_foreign_host_is_refused_without_keys(server, route):
    """A foreign name that was rebound to this machine can read and write nothing."""
    server.create()
    assert call(server, route, headers={"host": "evil.example"}).status_code == 401


@every
def test_a_key_is_needed_once_one_exists(server, route):
    """Once a key exists, a missing or unknown key is refused."""
    server.create()
    admin = key(server, "boss", "admin")
    assert call(server, route).status_code == 401
    assert call(server, route, headers={"authorization": "Bearer tutelage_x"}).status_code == 401
    assert call(server, route, headers=admin).status_code == 200


@every
def test_headers_are_the_same(server, route):
    """Request ids, no sniffing, no caching; pages under the policy, each header once."""
    server.create()
    answer = call(server, route, headers={"x-request-id": "mine-1"})
    names = [name.lower() for name, _ in answer.headers.multi_items()]
    assert len(names) == len(set(names))
    assert answer.headers["x-request-id"] == "mine-1"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"
    if "html" in answer.headers["content-type"]:
        policy = POLICY.replace("img-src 'self'", "img-src 'self' data:") if route is DOCS else POLICY
        assert answer.headers["content-security-policy"] == policy


@every
def test_a_root_path_may_be_cut_off_or_not(serve, route):
    """The same response at both addresses; only the prefix redirects to the list."""
    server = serve(root_path="/t")
    server.create()
    assert call(server, route).status_code == 200
    assert call(server, route, before="/t").status_code == 200
    moved = server.call("GET", "/t")
    assert (moved.status_code, moved.headers["location"]) == (307, "t/")


def test_a_root_path_is_never_an_address_of_ours(server):
    """Cut off or not, a path has one meaning; every folder that the server has is refused."""
    paths = {route.path for route in server.gateway.table.routes}
    paths |= server.call("GET", "/openapi.json").json()["paths"].keys()
    folders = {path.split("/")[1] for path in paths} - {""}
    assert folders == OWN_FOLDERS
    for folder in folders:
        for path in (f"/{folder}", f"/{folder}/", f"/{folder}/below"):
            with pytest.raises(InputError) as refused:
                load_configuration({"root_path": path}, environment={})
            sentence = str(refused.value)
            assert sentence.startswith(f"Invalid --root-path '{path}': use another path")
            assert f"/{folder} is one of the server's own addresses" in sentence
    for path in ("", "/", "/t", "/cc", "/t/c", "/v1.2"):
        assert load_configuration({"root_path": path}, environment={}).root_path == path.rstrip("/")


@writing
def test_pages_of_other_sites_write_nothing(server, route):
    """Whatever a browser says of where it comes from."""
    server.create()
    for headers in ({"sec-fetch-site": "cross-site"}, {"origin": "https://evil.example"}):
        assert call(server, route, headers=headers).status_code == 403


@writing
def test_a_body_has_limits(serve, route):
    """In length, declared or not, and in kind."""
    server = serve(max_body=2_000)
    server.create()

    async def parts():
        for _ in range(30):
            yield b" " * 100

    def send(content, kind="application/json"):
        request = server.http.request(route[0], route[1], content=content, headers={"content-type": kind})
        return server.loop.run_until_complete(request)

    for content in (b" " * 2_001, parts()):
        answer = send(content)
        assert (answer.status_code, answer.headers["connection"]) == (413, "close")
    assert send(b"{}", "text/plain").status_code == 415


def send_slowly(server, route, parts, *, is_whole):
    """Send a body in parts, each of which is waited for, and then nothing; return the messages of the answer."""
    sent, left = [], list(parts)

    async def receive():
        await asyncio.sleep(0.001 if left else 60)
        return {"type": "http.request", "body": left.pop(0), "more_body": bool(left) or not is_whole}

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http",
        "method": route[0],
        "path": route[1],
        "query_string": b"",
        "headers": [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")],
        "client": ("127.0.0.1", 1),
        "scheme": "http",
    }
    server.loop.run_until_complete(server.gateway(scope, receive, send))
    return sent


@writing
@pytest.mark.parametrize("parts", [(), (b'{"pulls":',)])
def test_a_body_has_its_time(serve, route, parts):
    """One that stays away, as a whole or in part, is not waited for."""
    server = serve(body_timeout=0.05)
    server.create()
    sent = send_slowly(server, route, parts, is_whole=False)
    assert sent[0]["status"] == 408
    assert dict(sent[0]["headers"])[b"connection"] == b"close"


@pytest.mark.parametrize("size", [1, 20, 1_000])
def test_a_body_that_arrives_in_parts_is_read_whole(server, size):
    """Also if its first part is waited for."""
    server.create()
    body = b'{"id":"1","client":"a","arm":"x","reward":0.5}'
    parts = [body[start : start + size] for start in range(0, len(body), size)]
    sent = send_slowly(server, QUICK, parts, is_whole=True)
    assert sent[0]["status"] == 200
    answer = json.loads(sent[1]["body"])
    assert (answer["id"], answer["reward"] - answer["adjustment"]) == ("1", 0.5)


@pytest.mark.parametrize("role", ["viewer", "reporter"])
def test_who_sees_pages_and_metrics(server, role):
    """A viewer; a reporter sees none of them."""
    server.create()
    headers = key(server, "one", role, "c" if role == "reporter" else None)
    wanted = 200 if role == "viewer" else 403
    for route in (PAGE, LIST, DOCS, METRICS, STATES):
        assert call(server, route, headers=headers).status_code == wanted
    for path in ("/healthz", "/readyz", "/static/style.css", "/static/red.svg", "/login"):
        assert server.call("GET", path).status_code == 200


def test_a_browser_is_shown_a_page_and_a_program_a_problem(server):
    """Of the same refusal, with the same status."""
    server.create()
    key(server, "boss", "admin")
    for path, status in (("/c/c/", 401), ("/nothing/here", 401), ("/v1/campaigns/c", 401)):
        page = server.call("GET", path, headers={"accept": "text/html,*/*"})
        problem = server.call("GET", path, headers={"accept": "*/*"})
        assert page.status_code == problem.status_code == status
        assert problem.headers["content-type"] == "application/problem+json"
        assert ("html" in page.headers["content-type"]) == (not path.startswith("/v1"))


def test_metrics_count_pulls(server):
    """The queue's depth, and those of a campaign; a look at a page does not count."""
    server.create()
    server.pull(*(PULL | {"id": str(number)} for number in range(7)))
    server.gateway.handoff.waiting = 12
    text = server.call("GET", "/metrics").text
    server.gateway.handoff.waiting = 0
    assert "tutelage_waiting_pulls 12.0" in text
    assert 'tutelage_pulls_total{campaign="c"} 7.0' in text
    for name in ("pulls", "ledger_rows", "beyond_horizon_pulls", "replayed_pulls", "refused_conflicts"):
        assert f"# TYPE tutelage_{name}_total counter" in text
    assert "# TYPE tutelage_round gauge" in text


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "x"])
@pytest.mark.parametrize(
    "path",
    ["campaigns", *(f"campaigns/c/{part}" for part in ("pulls", "start", "stop", "clients", "exclude")), "/login"],
)
def test_an_encoded_body_is_refused(server, path, encoding):
    """Whatever would read it: the sentence says what to send instead."""
    server.create()
    place = path if path.startswith("/") else f"/v1/{path}"
    content = gzip.compress(json.dumps(PULL).encode())
    headers = {"content-type": "application/json", "content-encoding": encoding}
    answer = server.call("POST", place, headers=headers)
    assert "Content-Encoding" not in answer.text  # without a body there is nothing to decode
    answer = server.loop.run_until_complete(server.http.post(place, content=content, headers=headers))
    assert (answer.status_code, answer.headers["accept-encoding"]) == (415, "identity")
    assert answer.json()["detail"].endswith("send it without Content-Encoding.")
    plain = server.loop.run_until_complete(
        server.http.post(place, content=b"{}", headers=headers | {"content-encoding": "Identity"})
    )
    assert "Content-Encoding" not in plain.text


def test_head_is_get_without_a_body(server):
    """Of every route that is read: health checks and monitors ask so."""
    server.create()
    values = {"{name}": "c", "{file}": "style.css", "{client:path}": "a", "{id}": "1", "{act}": "stop"}
    paths = {route.path for route in server.gateway.table.routes if route.method == "GET"}
    assert {"/healthz", "/readyz", "/metrics", "/", "/v1/campaigns/{name}/export"} <= paths
    for path in sorted(paths):
        place = path
        for field, value in values.items():
            place = place.replace(field, value)
        got, asked = server.call("GET", place), server.call("HEAD", place)
        assert asked.status_code == got.status_code, place
        assert got.status_code < 400 or place == "/docs/style.css"
        assert asked.headers.get("content-type") == got.headers.get("content-type"), place


def test_head_of_an_export_is_no_export(server):
    """It gives no rows, so the campaign cannot be deleted after it."""
    server.create()
    server.call("POST", "/v1/campaigns/c/stop")
    answer = server.call("HEAD", "/v1/campaigns/c/export?format=csv")
    assert answer.headers["content-disposition"] == 'attachment; filename="c.csv"'
    assert "has not been exported" in server.call("DELETE", "/v1/campaigns/c").json()["detail"]
    server.call("GET", "/v1/campaigns/c/export")
    assert server.call("DELETE", "/v1/campaigns/c").status_code < 300
