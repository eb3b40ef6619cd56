"""A Redis server of the tests' own, on a socket in a temporary folder."""

import contextlib
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
import redis

from tutelage.redis_adapter import connect_redis


@contextlib.contextmanager
def running_redis(folder, **settings):
    """Start a server on ``folder / "s"``, where its data stay, and give its URL; without Redis skip the test."""
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("install redis-server")
    socket = folder / "s"
    options = {"port": 0, "unixsocket": socket, "dir": folder, "save": "", "appendonly": "yes"} | settings
    command = [program, *(str(text) for name, value in options.items() for text in (f"--{name}", value))]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            _wait_until_ready(f"unix://{socket}", process)
            yield f"unix://{socket}"
        finally:
            process.kill()


def _wait_until_ready(url, process):
    with connect_redis(url) as client:  # it does not repeat commands by itself
        for _ in range(400):
            try:
                client.ping()
            except redis.AuthenticationError:  # it answers
                return
            except redis.ConnectionError:
                assert process.poll() is None
                time.sleep(0.02)
            else:
                return
    raise AssertionError


@contextlib.contextmanager
def short_folder():
    """Give a temporary folder whose path is short enough for a socket."""
    with tempfile.TemporaryDirectory(prefix="tutelage-") as name:
        yield Path(name)
