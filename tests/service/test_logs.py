"""The log: lines are written by a thread, dropped where nobody reads them, and their number is said later."""

import json
import logging
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
from tests.cli.commands import free_port

from tutelage.service.logs import QueuedHandler
from tutelage.versions import package_version


def test_lines_that_nobody_reads_are_dropped_and_counted():
    """A full pipe stops no caller; once it is read, the log says how many lines are missing."""
    reading, writing = os.pipe()
    handler = QueuedHandler(writing, most_lines=50)
    for number in range(200):
        handler.handle(logging.makeLogRecord({"msg": f"{number} {'x' * 10_000}"}))
    with ThreadPoolExecutor() as reader, os.fdopen(reading, "rb") as lines:
        content = reader.submit(lines.read)
        handler.finish(30)
        os.close(writing)
        messages = [json.loads(line)["message"].split() for line in content.result().splitlines()]
    dropped = sum(int(words[0]) for words in messages if "dropped," in words)
    numbers = [int(words[0]) for words in messages if "dropped," not in words]
    assert dropped == 200 - len(numbers) > 0
    assert numbers == sorted(set(numbers))


def test_a_full_pipe_does_not_delay_the_end():
    """At its end the server waits for its last lines, but not for ever."""
    reading, writing = os.pipe()
    handler = QueuedHandler(writing)
    for _ in range(20):
        handler.handle(logging.makeLogRecord({"msg": "x" * 10_000}))
    handler.finish(0.05)
    os.read(reading, 65_536)  # the thread goes on, and its pipe stays open


def test_a_closed_standard_error_is_no_error():
    """Nobody reads any more, and nobody will."""
    reading, writing = os.pipe()
    os.close(reading)
    handler = QueuedHandler(writing)
    handler.handle(logging.makeLogRecord({"msg": "x"}))
    handler.finish(30)
    assert not handler._thread.is_alive()
    os.close(writing)


def test_the_server_answers_while_nobody_reads_its_log(tmp_path):
    """Each request here is a line of 8 KB: ten fill the pipe."""
    address = f"http://127.0.0.1:{(port := free_port())}"
    command = [sys.executable, "-m", "tutelage", "serve", "--store", f"sqlite:///{tmp_path}/t.db", "--port", str(port)]
    with (
        subprocess.Popen(command, stderr=subprocess.PIPE) as process,
        httpx.Client(base_url=address, trust_env=False, timeout=20) as http,
    ):
        while True:
            try:
                http.get("/readyz").raise_for_status()
                break
            except httpx.HTTPError:
                assert process.poll() is None
                time.sleep(0.05)
        for _ in range(40):
            assert http.get("/" + "x" * 8_000).status_code == 404
        content = {"name": "c", "arms": ["x"], "clients": ["a"], "horizon": 9, "teacher": "none", "start": True}
        assert http.post("/v1/campaigns", json=content).status_code == 201
        pull = {"id": "1", "client": "a", "arm": "x", "reward": 0.5}
        assert http.post("/v1/campaigns/c/pulls", json=pull).status_code == 200
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=30)


def test_a_terminal_shows_where_to_go(tmp_path):
    """Text with version, store, addresses and the next command; JSON if that is asked for."""
    shown = {}
    for form in ("auto", "json"):
        controller, terminal = os.openpty()
        command = [sys.executable, "-m", "tutelage", "serve", "--port", "0", "--log-format", form]
        with (
            subprocess.Popen(command, cwd=tmp_path, stderr=terminal) as process,
            os.fdopen(controller, "rb", 0) as screen,
        ):
            os.close(terminal)
            content = b""
            while b"listening on" not in content or (form == "auto" and b"Ctrl-C" not in content):
                content += screen.read(65_536)
            process.send_signal(signal.SIGINT)
            process.wait(timeout=30)
        shown[form] = content.decode()
    (address,) = {word for word in shown["auto"].split() if word.startswith("http") and word.count("/") == 2}
    rows = {line.split()[0]: line.split(maxsplit=1)[1].strip() for line in shown["auto"].splitlines()}
    assert rows["Tutelage"] == package_version()
    assert rows["store"] == f"sqlite:///{tmp_path}/tutelage.db (0 campaigns)"
    assert (rows["address"], rows["dashboard"], rows["API"]) == (address, f"{address}/", f"{address}/docs")
    assert rows["next"].startswith(f"tutelage campaign create --server {address} ")
    assert "warning" not in shown["auto"]
    assert all(json.loads(line) for line in shown["json"].splitlines())
