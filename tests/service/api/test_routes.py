"""The HTTP of the contract, called without sockets: campaigns, ledgers, health; pulls are in test_pull_routes.py."""

import asyncio
import contextlib
import json
import re
import sys
import threading

import pytest
from sqlalchemy import text
from tests.service.api.messages import kind, pull

from tutelage.service.api import campaign_routes, ledger_pages, ledger_routes
from tutelage.service.api.ledger_formats import make_writer
from tutelage.service.api.problems import BrokenStream
from tutelage.service.campaigns.failover import Failover
from tutelage.service.campaigns.handoff import Readers
from tutelage.service.campaigns.messages import Origin, Refusal
from tutelage.service.campaigns.writer import ActionJob
from tutelage.service.monitoring.monitor import Monitor
from tutelage.stores.base import StoreBroken


@pytest.fixture
def url(either_url):
    """On both stores."""
    return either_url


def test_a_campaign_that_never_started_is_deleted(server):
    """By an administrator, without an export; one that has been started is not."""
    server.create("d")
    server.create(start=False)
    assert server.call("DELETE", "/v1/campaigns/c").status_code == 204
    missing = server.call("GET", "/v1/campaigns/c")
    assert missing.json()["detail"] == "Unknown campaign 'c': `tutelage campaign list` lists all campaigns."
    assert kind(server.call("DELETE", "/v1/campaigns/d")) == "not-removable"


def test_commands_in_refusals_name_the_server(serve):
    """A command that is copied from a refusal acts on the server that refused, also if it has another port."""
    server = serve(port=8400)
    command = "`tutelage campaign list --server http://127.0.0.1:8400`"
    assert command in server.call("GET", "/v1/campaigns/c").json()["detail"]
    assert "`tutelage campaign list`" not in server.call("GET", "/c/c/", headers={"Accept": "text/html"}).text


def test_an_export_that_was_not_noted_is_asked_for_again(server):
    """One from before the stop does not count."""
    server.create()
    server.pull(pull())
    server.call("GET", "/v1/campaigns/c/export")
    server.call("POST", "/v1/campaigns/c/stop")
    refused = server.call("DELETE", "/v1/campaigns/c")
    assert kind(refused) == "not-removable"
    assert "export the stopped campaign with an administrator's key" in refused.json()["detail"]
    server.call("GET", "/v1/campaigns/c/export")
    assert server.call("DELETE", "/v1/campaigns/c").status_code == 204


def test_campaigns_come_run_and_go(server):
    """Created, listed, started, stopped, exported, deleted; each out of order is refused."""
    made = server.create(start=False)
    assert (made.status_code, made.json()["status"]) == (201, "registering")
    assert kind(server.create()) == "exists"
    assert kind(server.pull(pull())) == "not-started"
    assert server.call("POST", "/v1/campaigns/c/start").json()["status"] == "running"
    server.pull(pull())
    assert kind(server.call("DELETE", "/v1/campaigns/c")) == "not-removable"
    assert server.call("POST", "/v1/campaigns/c/stop").json()["status"] == "stopped"
    assert kind(server.call("DELETE", "/v1/campaigns/c")) == "not-removable"
    listed = server.call("GET", "/v1/campaigns").json()["campaigns"]
    assert [(one["name"], one["status"]) for one in listed] == [("c", "stopped")]
    assert server.call("GET", "/v1/campaigns/c/export").status_code == 200
    assert server.call("DELETE", "/v1/campaigns/c").status_code == 204
    assert kind(server.call("GET", "/v1/campaigns/c")) == "unknown-campaign"
    assert kind(server.pull(pull())) == "unknown-campaign"


def test_clients_register_before_the_start(server):
    """In any number of tries; not afterwards."""
    server.create(clients=[], open_registration=True, start=False)
    for client in ("z", "y", "z"):
        assert server.call("POST", "/v1/campaigns/c/clients", {"client": client}).status_code == 200
    assert kind(server.call("POST", "/v1/campaigns/c/clients", {"client": "\x01"})) == "invalid"
    server.call("POST", "/v1/campaigns/c/start")
    assert server.call("GET", "/v1/campaigns/c").json()["clients"] == ["z", "y"]
    assert kind(server.call("POST", "/v1/campaigns/c/clients", {"client": "w"})) == "registration-closed"
    server.pull(pull(client="y"))
    rows = server.call("GET", "/v1/campaigns/c/ledger").json()["rows"]
    assert [row["client"] for row in rows if row["kind"] == "pull"] == ["y"]


@pytest.mark.parametrize(
    "changed",
    [
        {"name": "no spaces"},
        {"arms": []},
        {"horizon": 0},
        {"horizon": 1.5},
        {"teacher": "na"},
        {"teacher": "nobody"},
        {"low": 1, "high": 0},
        {"weights": [0.5, 0.6]},
        {"weights": {"a": 1.0}},
        {"weights": [1.0], "open_registration": True},
        {"clients": ["a", "a"]},
        {"unknown": 1},
    ],
)
def test_no_campaign_is_made_of_this(server, changed):
    """Each is refused with a sentence, and nothing is stored."""
    refused = server.create(**changed)
    assert (refused.status_code, kind(refused)) == (422, "invalid")
    assert refused.json()["detail"]
    assert server.call("GET", "/v1/campaigns").json() == {"campaigns": []}


def test_the_ledger_is_read_in_pages(server):
    """``after`` and ``limit`` walk through all of it, as does the export, line by line."""
    server.create(teacher="none")
    for n in range(7):
        server.pull(pull(str(n)))
    rows, after = [], 0
    while after is not None:
        page = server.call("GET", "/v1/campaigns/c/ledger", params={"after": after, "limit": 3}).json()
        rows += page["rows"]
        after = page["next"]
    assert [row["position"] for row in rows] == list(range(1, 9))
    exported = server.call("GET", "/v1/campaigns/c/export").text.splitlines()
    assert [json.loads(line) for line in exported] == rows
    lines = server.call("GET", "/v1/campaigns/c/export", params={"format": "csv"}).text.splitlines()
    assert len(lines) == 1 + len(rows)
    assert kind(server.call("GET", "/v1/campaigns/c/ledger", params={"limit": 0})) == "invalid"


def test_an_unchanged_campaign_is_listed_without_asking_the_writer(server, monkeypatch):
    """Whatever adds a row is listed at once; after some seconds without a commit the writer is asked again."""

    def list_one():
        return server.call("GET", "/v1/campaigns").json()["campaigns"][0]

    server.create()
    first, asked = list_one(), []
    ask = server.gateway.handoff.ask

    async def count(job):
        asked.append(job)
        return await ask(job)

    monkeypatch.setattr(server.gateway.handoff, "ask", count)
    assert (list_one(), asked) == (first, [])
    server.pull(pull())
    assert list_one()["num_pulls"] == 1
    server.call("POST", "/v1/campaigns/c/stop")
    assert list_one()["status"] == "stopped"
    asked.clear()
    monkeypatch.setattr(campaign_routes, "KNOWN_SECONDS", 0.0)
    assert list_one()["status"] == "stopped"
    assert len(asked) == 1


def test_a_exclusion_is_a_decision(server):
    """It stands among the decisions, and the last client stays."""
    server.create()
    assert server.call("POST", "/v1/campaigns/c/exclude", {"client": "a"}).json()["excluded"] == ["a"]
    (decision,) = server.call("GET", "/v1/campaigns/c/decisions").json()["decisions"]
    assert (decision["kind"], decision["client"]) == ("excluded", "a")
    for client in ("a", "b", "nobody", ""):
        expected = {"nobody": "unknown-client", "": "invalid"}.get(client, "not-excludable")
        assert kind(server.call("POST", "/v1/campaigns/c/exclude", {"client": client})) == expected


def test_health_and_what_is_not_there(server):
    """The open pages; unknown ones; other methods."""
    assert server.call("GET", "/healthz").json() == {"status": "ok"}
    assert server.call("GET", "/readyz").json() == {"status": "ok"}
    assert kind(server.call("GET", "/v2")) == "not-found"
    assert kind(server.call("GET", "/v1/campaigns/c/pulls")) == "method-not-allowed"
    assert kind(server.call("PUT", "/v1/campaigns")) == "method-not-allowed"
    given = server.call("GET", "/healthz", headers={"x-request-id": "mine"})
    assert given.headers["x-request-id"] == "mine"


def test_the_document_names_all_routes(server):
    """OpenAPI, the quick route included; all references lead somewhere."""
    document = server.call("GET", "/openapi.json").json()
    assert "/v1/campaigns/{name}/pulls" in document["paths"]
    for part in json.dumps(document).split('"$ref": "#/components/schemas/')[1:]:
        assert part.partition('"')[0] in document["components"]["schemas"]
    assert server.call("GET", "/docs").status_code == 200


def test_under_a_prefix(serve):
    """A proxy may keep its prefix or cut it off."""
    server = serve(root_path="/t")
    server.create()
    for path in ("/v1/campaigns/c/pulls", "/t/v1/campaigns/c/pulls"):
        assert server.call("POST", path, pull()).status_code == 200
    for path in ("/v1/campaigns", "/t/v1/campaigns"):
        assert server.call("GET", path).status_code == 200


def test_keys_are_read_while_other_reads_wait(server, monkeypatch):
    """All readers are busy for long: keys stay fresh, and pulls and /readyz are answered."""
    server.create()
    free = threading.Event()
    monkeypatch.setattr(ledger_pages, "read_page", lambda *_: free.wait(60))

    async def look():
        blocked = [asyncio.ensure_future(server.http.get("/v1/campaigns/c/ledger", timeout=60)) for _ in range(8)]
        for _ in range(2):
            read = server.gateway.access._read_at
            while server.gateway.access._read_at == read:  # noqa: ASYNC110 - a round of the watch
                await asyncio.sleep(0.05)
        answers = [await server.http.post("/v1/campaigns/c/pulls", json=pull()), await server.http.get("/readyz")]
        assert not any(one.done() for one in blocked)
        free.set()
        await asyncio.gather(*blocked)
        return [answer.status_code for answer in answers]

    assert server.loop.run_until_complete(asyncio.wait_for(look(), 60)) == [200, 200]


def test_a_reader_that_meets_a_broken_disk_ends_the_server(server, monkeypatch):
    """What cannot be read cannot be trusted either: nothing is written any more."""
    server.create()

    def broken(*_):
        raise StoreBroken("the disk failed")

    monkeypatch.setattr(ledger_pages, "read_page", broken)
    assert kind(server.call("GET", "/v1/campaigns/c/ledger")) == "unavailable"
    refused = server.pull(pull())
    assert (kind(refused), server.call("GET", "/readyz").status_code) == ("unavailable", 503)
    assert "the disk failed" in refused.json()["detail"]


def test_the_list_tells_of_campaigns_what_their_own_page_does(serve, monkeypatch):
    """Those at hand, those that are not, those that register, and one that cannot be served."""
    for task in (Failover, Monitor):  # they would load the campaigns again, if this takes a second
        monkeypatch.setattr(task, "run", lambda self: asyncio.Event().wait())
    server = serve()
    server.create("c")
    server.pull(*(pull(id=str(i), client="ab"[i % 2], arm="xy"[i % 2]) for i in range(6)))
    server.create("d", clients=[], open_registration=True, start=False)
    server.call("POST", "/v1/campaigns/d/clients", {"client": "eva"})
    ones = [server.call("GET", f"/v1/campaigns/{name}").json() for name in "cd"]
    assert server.call("GET", "/v1/campaigns").json()["campaigns"] == ones
    assert ones[0]["num_pulls"] == 6
    server.gateway.handoff.writer.sessions.clear()
    assert server.call("GET", "/v1/campaigns").json()["campaigns"] == ones
    assert not server.gateway.handoff.writer.sessions
    server.store._run(text("UPDATE campaigns SET rules_version = 99 WHERE name = 'c'"), {})
    listed = server.call("GET", "/v1/campaigns").json()["campaigns"]
    assert [one["name"] for one in listed] == ["c", "d"]
    assert listed[0]["report"].startswith("cannot be served: c uses version 99 of the rules")


@pytest.mark.parametrize("allowed", ["", "other:Y, odd_teachers:TWL"])
def test_nothing_is_imported_because_somebody_names_it(serve, tmp_path, monkeypatch, allowed):
    """The server's settings must allow the teacher of a package."""
    (tmp_path / "odd_teachers.py").write_text("from tutelage.teachers.twl import TWL\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "odd_teachers", raising=False)
    server = serve(own_teachers=allowed)
    answers = [server.create(teacher=f"{spec}(gamma1=1,gamma2=0)") for spec in ("odd_teachers:TWL", " this:that ")]
    assert [answer.status_code for answer in answers] == [201 if allowed else 422, 422]
    assert "--own-teachers" in answers[1].json()["detail"]
    assert "this" not in sys.modules
    assert ("odd_teachers" in sys.modules) == bool(allowed)


@pytest.mark.parametrize("name", ["%00", "a%00b", "%F0%9F%8E%B0", "a b", "-a", "a" * 65, "%ED%A0%80"])
def test_no_campaign_has_such_a_name(server, name):
    """404 at the door, on either store: nobody else's request is touched by it."""
    server.create()
    for method, path in (("GET", ""), ("GET", "/ledger"), ("POST", "/pulls"), ("POST", "/start"), ("DELETE", "")):
        content = pull() if path == "/pulls" else None
        refused = server.call(method, f"/v1/campaigns/{name}{path}", content)
        assert refused.status_code == 404
    assert server.call("GET", f"/c/{name}/").status_code == 404
    assert server.pull(pull()).status_code == 200


def test_a_campaign_of_another_release_harms_nobody(server):
    """Its teacher is unknown here: its requests are unavailable, and tell why; others are answered."""
    for name in "cd":
        server.create(name)
    update = "UPDATE campaigns SET settings = replace(settings, '\"twl\"', '\"twl9\"') WHERE name = 'd'"
    server.store._run(text(update), {})
    server.gateway.handoff.writer.sessions.clear()

    async def both():
        posted = (
            server.http.post(f"/v1/campaigns/{name}/pulls", json=pull(id=str(number)))
            for number, name in enumerate("cdcdc")
        )
        return await asyncio.gather(*posted)

    answers = server.loop.run_until_complete(both())
    assert [answer.status_code for answer in answers] == [200, 503, 200, 503, 200]
    assert "twl9" in answers[1].json()["detail"]
    assert server.call("GET", "/v1/campaigns/d/ledger").status_code == 200
    assert "twl9" in server.call("GET", "/v1/campaigns").json()["campaigns"][1]["report"]


def test_an_export_is_of_one_campaign(server, monkeypatch):
    """The campaign is deleted and its name reused during an export: the export has no end and does not count as one."""
    monkeypatch.setattr(ledger_routes, "_ROWS_PER_PART", 2)
    server.create()
    server.pull(*(pull(id=str(i)) for i in range(6)))
    handoff = server.gateway.handoff
    with contextlib.closing(server.store.reader()) as reader:
        names = ledger_pages.load_names(reader, "c")
    readers = Readers(server.store)
    handlers = ledger_routes.LedgerHandlers(handoff, readers)
    stream = handlers.stream_rows("c", names, make_writer("ndjson"), noted_for=Origin())
    step = server.loop.run_until_complete
    step(anext(stream))
    step(anext(stream))
    server.call("POST", "/v1/campaigns/c/stop")
    server.call("GET", "/v1/campaigns/c/export")
    assert server.call("DELETE", "/v1/campaigns/c").status_code == 204
    server.create()
    server.pull(*(pull(id=str(i)) for i in range(6)))
    server.call("POST", "/v1/campaigns/c/stop")

    async def rest():
        return [part async for part in stream]

    with pytest.raises(BrokenStream, match="another one has its name"):
        step(rest())
    readers.close()
    late = ActionJob("c", act="exported", position=names.head.position + 1, created=names.created)
    with pytest.raises(Refusal, match="deleted"):
        step(handoff.ask(late))
    assert kind(server.call("DELETE", "/v1/campaigns/c")) == "not-removable"


@pytest.mark.parametrize("origin", ["http://[", "http://]", "\xe9", "http://a:b:c", ""])
def test_an_odd_origin_is_another_site(server, origin):
    """403, and no error of the server's."""
    server.create()
    headers = {"origin": origin.encode("latin-1")}
    assert kind(server.call("POST", "/v1/campaigns/c/stop", headers=headers)) == "forbidden"


def test_what_nobody_foresaw_is_a_problem_too(server, monkeypatch):
    """With the documented body, and the connection goes on."""
    server.create()
    monkeypatch.setattr(ledger_pages, "read_page", lambda *_: 1 / 0)
    failed = server.call("GET", "/v1/campaigns/c/ledger")
    assert (failed.status_code, kind(failed)) == (500, "internal")
    assert "ZeroDivisionError" in failed.json()["detail"]


def test_a_campaign_of_too_many_cells_is_refused(server):
    """Clients times arms are bounded, those that register too."""
    arms, clients = [f"k{k}" for k in range(10_000)], [f"m{m}" for m in range(101)]
    assert "1000000" in server.create(arms=arms, clients=clients).json()["detail"]
    assert server.create(arms=arms, clients=clients[:100], open_registration=True, start=False).status_code == 201
    refused = server.call("POST", "/v1/campaigns/c/clients", {"client": "m100"})
    assert "is full" in refused.json()["detail"]


def test_readyz_tells_strangers_no_paths(server):
    """Why nothing can be written stands in the log and on the pages."""
    server.gateway.handoff.writer.failure = "there is no room left for /a/secret/place"
    unready = server.call("GET", "/readyz")
    assert (unready.status_code, "secret" in unready.text) == (503, False)


def test_two_hosts_are_malformed(server):
    """Nobody can tell which of them counts."""
    server.create()
    headers = [("host", "evil.example"), ("host", "localhost")]
    assert kind(server.call("GET", "/v1/campaigns/c", headers=headers)) == "malformed"


def test_the_audit_log_names_the_key(server):
    """Who created, started, excluded, stopped, exported and deleted, in the ledger and in a log that outlives it."""
    boss = server.make_key("boss", "admin")
    made = {"name": "c", "arms": ["x", "y"], "horizon": 1000, "teacher": "twl", "open_registration": True}
    server.call("POST", "/v1/campaigns", made, headers=boss)
    for client in ("a", "b", "a"):
        server.call("POST", "/v1/campaigns/c/clients", {"client": client}, headers=boss)
    server.call("POST", "/v1/campaigns/c/start", headers=boss)
    server.call("POST", "/v1/campaigns/c/start", headers=boss)  # changes nothing
    server.call("POST", "/v1/campaigns/c/exclude", {"client": "b"}, headers=boss)
    server.call("POST", "/v1/campaigns/c/stop", headers=boss)
    rows = server.call("GET", "/v1/campaigns/c/ledger", headers=boss).json()["rows"]
    assert [(row["kind"], row["key"]) for row in rows] == [
        (kind, "boss") for kind in ("registered", "registered", "started", "excluded", "stopped")
    ]
    server.call("GET", "/v1/campaigns/c/export", headers=boss)
    assert server.call("DELETE", "/v1/campaigns/c", headers=boss).status_code == 204
    viewer = server.make_key("eve", "viewer")
    assert server.call("GET", "/v1/audit", headers=viewer).status_code == 403
    page = server.call("GET", "/v1/audit?limit=3", headers=boss).json()
    records = page["records"] + server.call("GET", f"/v1/audit?after={page['next']}", headers=boss).json()["records"]
    assert [(one["action"], one["subject"]) for one in records] == [
        ("create campaign", None),
        ("register client", "a"),
        ("register client", "b"),
        ("start campaign", None),
        ("exclude client", "b"),
        ("stop campaign", None),
        ("export campaign", None),
        ("delete campaign", None),
    ]
    assert {(one["actor"], one["campaign"], one["source"]) for one in records} == {("boss", "c", "127.0.0.1")}


def test_what_cannot_end_is_said_and_refused_if_that_is_asked(server):
    """One arm, and a horizon that even the best case does not meet; a horizon as advised has no warning."""
    (one_arm,) = server.create(arms=["x"]).json()["warnings"]
    assert "only one arm" in one_arm
    short = {"name": "d", "horizon": 50, "start": False}
    (sentence,) = server.create(**short).json()["warnings"]
    refused = server.create(**short | {"name": "e", "strict": True})
    assert (refused.status_code, kind(refused)) == (422, "warned")
    assert refused.json()["detail"] == sentence
    assert server.call("GET", "/v1/campaigns/e").status_code == 404
    needed = int(re.search(r"at least ([\d,]+)", sentence)[1].replace(",", ""))
    assert server.create(**short | {"name": "e", "horizon": needed, "strict": True}).json()["warnings"] == []
    assert server.call("POST", "/v1/campaigns/d/start").json()["warnings"] == [sentence]
