"""The client of a live server: retries, deadlines, reports of what was bypassed."""

import asyncio
import json
import time

import httpx
import pytest

from tutelage.client import AsyncClient, Client, PullRefused, Spool, new_id


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


def client_of(server, kind=Client, **options):
    """A client whose requests go to ``server``."""
    return kind("http://server", "c", transport=httpx.MockTransport(server), **options)


def test_reveals_what_the_server_says():
    """The answer's reward and adjustment, under the id that was sent."""
    server = Server()
    with client_of(server) as client:
        told = client.reveal("anna", "a", 0.25)
    assert (told.reward, told.adjustment, told.bypassed) == (0.75, 0.5, False)
    assert server.taken == [{"id": told.id, "client": "anna", "arm": "a", "reward": 0.25}]


@pytest.mark.parametrize(
    "fault", [httpx.ConnectError("no"), httpx.ReadTimeout("late"), httpx.Response(503), httpx.Response(429)]
)
def test_tries_again_with_the_same_id(fault):
    """What may pass is tried again; the pull keeps its id, so that it counts once."""
    server = Server(fault, fault)
    with client_of(server, deadline=10.0) as client:
        told = client.reveal("anna", "a", 0.25, id="mine")
    assert told.reward == 0.75
    assert [pull["id"] for pull in server.taken] == ["mine"]


def test_after_the_deadline_the_observed_reward_is_shown_and_reported(tmp_path):
    """Nobody waits for ever; the report says ``bypassed`` and carries the same pull."""
    server = Server(*[httpx.ConnectError("no")] * 6)
    with client_of(server, deadline=0.05, spool=tmp_path / "spool") as client:
        told = client.reveal("anna", "a", 0.25)
        assert (told.reward, told.adjustment, told.bypassed) == (0.25, 0.0, True)
        end = time.monotonic() + 20
        while len(client.spool) and time.monotonic() < end:
            time.sleep(0.01)
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
    with client_of(Server(*[httpx.ConnectError("no")] * 10_000), deadline=0.01, spool=path) as client:
        told = client.reveal("anna", "a", 0.25)
    with path.open("a") as file:
        file.write('{"id": "cut o')
    server = Server()
    with client_of(server, spool=path) as client:
        end = time.monotonic() + 20
        while len(client.spool) and time.monotonic() < end:
            time.sleep(0.01)
    assert [pull["id"] for pull in server.taken] == [told.id]


def test_a_report_that_is_refused_does_not_hold_up_the_others(tmp_path):
    """A batch that is refused is sent one by one, and only what is refused alone is given up."""
    spool = Spool(tmp_path / "spool")
    spool.add([{"id": id, "client": "anna", "arm": id, "reward": 0.5, "bypassed": True} for id in "xyz"])
    refused = httpx.Response(422, json={"type": "about:invalid", "detail": "No arm x."})
    server = Server(refused, refused)
    with client_of(server, spool=tmp_path / "spool") as client:
        end = time.monotonic() + 20
        while len(client.spool) and time.monotonic() < end:
            time.sleep(0.01)
    assert [pull["id"] for pull in server.taken] == ["y", "z"]


def test_what_will_never_be_taken_is_raised():
    """A conflict or an unknown arm is the caller's to mend; its text is the server's."""
    refused = httpx.Response(409, json={"type": "https://x/conflict", "detail": "Sent before."})
    with client_of(Server(refused)) as client, pytest.raises(PullRefused, match="Sent before") as caught:
        client.reveal("anna", "a", 0.5)
    assert caught.value.status == 409


def test_a_stopped_campaign_shows_the_observed_reward():
    """While an operator has paused teaching, clients go on untaught."""
    stopped = httpx.Response(409, json={"type": "https://x/stopped", "detail": "Stopped."})
    with client_of(Server(*[stopped] * 100), deadline=0.05) as client:
        assert client.reveal("anna", "a", 0.25).bypassed


def test_async_client_does_the_same():
    """Retry, deadline and report, awaited."""

    async def play():
        server = Server(httpx.Response(503))
        async with client_of(server, AsyncClient, deadline=10.0) as client:
            told = await client.reveal("anna", "a", 0.25)
            server.faults = [httpx.ConnectError("no")] * 6
            client.deadline = 0.05
            missed = await client.reveal("anna", "b", 0.5)
            async with asyncio.timeout(20):
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
    others = ("numpy", "numba", "msgspec", "fastapi", "sqlalchemy", "tutelage.errors", "tutelage.teachers")
    code = f"import sys, tutelage.client; print(*sorted(set(sys.modules) & set({others})))"
    assert not python("-c", code).stdout.strip()
