"""What a `tutelage serve` process does when its disk, its clock or its clients misbehave."""

import contextlib
import json
import os
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import time
from pathlib import Path

import httpx
import pytest
from tests.service.server_processes import ServerProcess, pull

from tutelage import stores


@pytest.fixture
def serve(tmp_path):
    """``serve(*arguments, url=, before=, **settings)``: a server with the campaign ``c``."""
    with contextlib.ExitStack() as stack:

        def begin(*arguments, url=f"sqlite:///{tmp_path}/t.db", before="", **changed):
            served = ServerProcess(url, tmp_path, *arguments, before=before)
            stack.callback(served.end, signal.SIGKILL)
            served.create(**changed)
            return served

        yield begin


def until(condition):
    """Waits for it, a minute at most."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def positions(url):
    """How many positions of the ledger agree, all of them."""
    from tutelage.service.campaigns.verifying import verify_ledger

    with contextlib.closing(stores.open_reader(url)) as reader:
        position, faults = verify_ledger(reader, "c")
    assert faults == []
    return position


@pytest.fixture
def small_disk(tmp_path):
    """A file system of two megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = [shutil.which("mount") or "mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]
    if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("file systems cannot be mounted here")
    yield folder
    subprocess.run([shutil.which("umount"), "-l", str(folder)], check=True)


def test_a_full_disk_and_back(serve, small_disk):
    """Writes get 503 and nothing of them is stored, `/readyz` fails; with room the same requests succeed."""
    url = f"sqlite:///{small_disk}/t.db"
    served = serve(url=url)
    assert served.pull(0).is_success
    other = pull(0) | {"reward": 1.0}
    assert served.http.post("/v1/campaigns/c/pulls", json=other).status_code == 409
    filler = small_disk / "filler"
    with contextlib.suppress(OSError), filler.open("wb") as file:
        while True:
            file.write(bytes(4096))
            file.flush()
    number = 1
    while (answer := served.pull(*range(number, number + 50))).is_success:
        number += 50
    assert answer.status_code == 503
    assert int(answer.headers["retry-after"]) >= 1
    assert answer.headers["content-type"].startswith("application/problem+json")
    until(lambda: not served.is_ready())
    assert served.pull(0).json()["pulls"][0]["replayed"]  # stored pulls are still answered
    filler.unlink()
    again = served.pull(*range(number, number + 50))
    assert again.is_success
    assert not any(one["replayed"] for one in again.json()["pulls"])
    until(served.is_ready)
    counters = served.http.get("/metrics").text
    assert 'tutelage_refused_conflicts_total{campaign="c"} 1.0' in counters  # this server led throughout
    assert 'tutelage_replayed_pulls_total{campaign="c"} 1.0' in counters
    kinds = {item["kind"] for item in served.http.get("/v1/campaigns/c/status").json()["items"]}
    assert "id conflict" in kinds
    served.end()
    assert positions(url) == 1 + number + 50
    lines = [json.loads(line) for line in served.log.read_text().splitlines()]
    begun, ended = (
        [line for line in lines if line["message"] == text] for text in ("the store fails", "the store works again")
    )
    assert [(line["level"], "is full" in line["reason"]) for line in begun] == [("error", True)]
    assert [line["level"] for line in ended] == ["info"]
    refused = next(line for line in lines if line.get("status") == 503 and line["path"].endswith("/pulls"))
    assert (refused["campaign"], refused["address"]) == ("c", "127.0.0.1")
    assert refused["reason"].startswith("unavailable: The disk of")


FAILING = """
import sqlite3
from tests.service.campaigns import crash_child
crash_child.install()
Connection, ids = crash_child.TrappedSqlite, set()
many = Connection.executemany
def executemany(self, statement, rows):
    ids.update(row[-1] for row in rows)
    return many(self, statement, rows)
def around(connection, statement, run):
    if statement == "COMMIT" and "p7" in ids:
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorcode, error.sqlite_errorname = sqlite3.SQLITE_IOERR_FSYNC, "SQLITE_IOERR_FSYNC"
        raise error
    return run()
Connection.executemany, crash_child.TRAP.around = executemany, around
"""


def test_a_failing_disk_ends_the_server(serve, tmp_path):
    """The request gets 503, the process ends by itself with a sentence, and what it answered is there."""
    served = serve(before=FAILING)
    assert served.pull(0).is_success
    assert served.pull(7).status_code == 503
    assert served.process.wait(60) != 0
    assert "The disk under" in served.log.read_text()
    url = f"sqlite:///{tmp_path}/t.db"
    assert positions(url) == 2
    again = ServerProcess(url, tmp_path)
    assert again.pull(0, 7).json()["pulls"][0]["replayed"]
    again.end()


@pytest.mark.parametrize("fault", ["truncated", "foreign", "newer"])
def test_a_file_that_cannot_be_served(tmp_path, python, fault):
    """One sentence; status 1 for a damaged store, 2 for one that is not of this release; the file stays as it is."""
    path = tmp_path / "t.db"
    stores.upgrade(f"sqlite:///{path}")
    if fault == "truncated":
        os.truncate(path, path.stat().st_size - 4096)
    elif fault == "foreign":
        path.write_bytes(b"SQLite format 3\0" + bytes(84))
    else:
        content = bytearray(path.read_bytes())
        content[60:64] = (99).to_bytes(4)
        path.write_bytes(content)
    before = path.read_bytes()
    ended = python("-m", "tutelage", "serve", "--store", f"sqlite:///{path}", "--port", "0", check=False)
    assert ended.returncode == (1 if fault == "truncated" else 2)
    assert "Traceback" not in ended.stderr
    assert str(path) in " ".join(ended.stderr.split())
    assert path.read_bytes() == before


def test_a_half_sent_body(serve):
    """It gets 408 or a closed connection once the body's time is over; others are answered meanwhile."""
    served = serve("--body-timeout", "0.5")
    head = b"POST /v1/campaigns/c/pulls HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    with socket.create_connection(("127.0.0.1", served.port), timeout=30) as half:
        half.sendall(head + b'Content-Length: 100\r\n\r\n{"id": "p9"')
        assert served.pull(0).is_success
        answer = half.recv(4096)
    assert not answer or answer.startswith(b"HTTP/1.1 408")
    with socket.create_connection(("127.0.0.1", served.port), timeout=30) as gone:
        gone.sendall(head + b'Content-Length: 100\r\n\r\n{"id": "p9"')
    assert not served.pull(9).json()["pulls"][0]["replayed"]


def test_a_slow_reader(serve, tmp_path):
    """Who asks for an export and does not read it holds nobody up, and little memory."""
    served = serve(horizon=10**6)
    for start in range(0, 40_000, 2000):
        assert served.pull(*range(start, start + 2000)).is_success
    before = _resident(served.process.pid)
    with contextlib.ExitStack() as stack:
        for _ in range(20):
            slow = stack.enter_context(socket.create_connection(("127.0.0.1", served.port), timeout=30))
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            slow.sendall(b"GET /v1/campaigns/c/export?format=ndjson HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert slow.recv(100).startswith(b"HTTP/1.1 200")
        assert served.pull(40_000).is_success
        assert served.http.get("/v1/campaigns/c/totals").is_success
        assert _resident(served.process.pid) - before < 100e6
    assert served.pull(40_001).is_success


def _resident(pid):
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()


FEW_FILES = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))"


def test_idle_connections(serve):
    """More than the server may hold: those it has are served, and once some are gone new ones are."""
    served = serve(before=FEW_FILES)
    idle = [socket.create_connection(("127.0.0.1", served.port), timeout=30) for _ in range(300)]
    try:
        assert served.pull(0).is_success
        assert served.is_ready()
    finally:
        for connection in idle:
            connection.close()
    while True:  # until the server has seen that they are gone
        with contextlib.suppress(httpx.TransportError):
            assert httpx.get(f"{served.http.base_url}/healthz", timeout=30).is_success
            break
    assert served.pull(1).is_success


def test_a_corrupted_page_ends_the_server(serve, tmp_path):
    """Whether a request or the monitor meets the fault first: nothing is stored, and the server ends."""
    served = serve(horizon=10**6)
    for start in range(0, 8000, 2000):
        assert served.pull(*range(start, start + 2000)).is_success
    served.end()
    path = tmp_path / "t.db"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # else the log would mend it
    with path.open("rb+") as file:
        for page in range(20, path.stat().st_size // 4096):
            file.seek(page * 4096)
            file.write(b"\xff" * 512)
    again = ServerProcess(f"sqlite:///{path}", tmp_path, awaited=False)
    try:
        while again.process.poll() is None:
            answer = again.pull(*range(0, 8000, 97))
            assert answer is None or answer.status_code == 503
        assert again.process.wait(60) != 0
        assert "is damaged" in again.log.read_text()
    finally:
        again.end(signal.SIGKILL)
