"""Reports that wait: in a file that outlives the process, whatever is in it."""

import json
import math
import os
import time

import httpx
import pytest
from tests.client.fake_server import FakeServer, client_of, emptied, problem, report

from tutelage.client import Spool


def test_reports_outlive_the_process(tmp_path):
    """What could not be reported is in the file, and the next client delivers it; a cut line is left out."""
    path = tmp_path / "spool"
    client = client_of(FakeServer(*[httpx.ConnectError("no")] * 10_000), deadline=0.01, spool=path)
    response = client.reveal("anna", "a", 0.25)
    client.close(seconds=0)
    with path.open("a") as file:
        file.write('{"id": "cut o')
    server = FakeServer()
    with client_of(server, spool=path) as client:
        assert emptied(client.spool)
    assert [pull["id"] for pull in server.pulls] == [response.id]


@pytest.mark.parametrize(
    "refusal",
    [problem("invalid", 422), problem("forbidden", 403), problem("internal", 500), httpx.Response(200, json={})],
)
def test_a_report_that_is_refused_does_not_hold_up_the_others(tmp_path, refusal):
    """A refused batch is halved until only the wrong report is left."""
    spool = Spool(tmp_path / "spool")
    spool.add([report(id, arm=id) for id in "xyz"])
    spool.close()
    server = FakeServer()

    def choosy(request):
        return refusal if b'"x"' in request.content else server(request)

    with client_of(choosy, spool=tmp_path / "spool") as client:
        end = time.monotonic() + 30
        while len(server.pulls) < 2 and time.monotonic() < end:
            time.sleep(0.01)
        assert sorted(pull["id"] for pull in server.pulls) == ["y", "z"]
        assert emptied(client.spool) if refusal.status_code == 422 else "x" in client.spool
        client.close(seconds=0)


def test_a_damaged_spool_loses_only_its_damage(tmp_path):
    """Lines that are not reports are put aside; the others are delivered."""
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
    server = FakeServer()
    with client_of(server, spool=path) as client:
        assert emptied(client.spool)
    assert [pull["id"] for pull in server.pulls] == ["x", "y"]
    assert (tmp_path / "spool.damaged").read_bytes() == b"".join(odd)


def test_a_spool_belongs_to_one_process(tmp_path):
    """A second process gets an error when it opens the file; so does one that cannot write it."""
    spool = Spool(tmp_path / "spool")
    with pytest.raises(OSError, match="is already used as a spool by this or another process"):
        Spool(tmp_path / "spool")
    link = tmp_path / "link"
    link.symlink_to("spool")
    with pytest.raises(OSError, match="is already used as a spool"):
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
        with pytest.raises(OSError, match="is not a regular file"):
            Spool(tmp_path / name)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "pipe"]


def test_a_full_disk_is_no_concern_of_the_caller(tmp_path):
    """Reports are then only in memory, and in the file again once there is room."""
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
