"""``tutelage serve`` in a child process, with a client that does not retry."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx

ROOT = Path(__file__).parents[2]
CAMPAIGN = {"name": "c", "arms": ["x", "y"], "clients": ["a", "b"], "horizon": 100, "teacher": "twl"}


def pull(number):
    """The pull of a number."""
    return {"id": f"p{number}", "client": "ab"[number % 2], "arm": "xy"[number // 2 % 2], "reward": 0.25}


class ServerProcess:
    """A server on a store, until :meth:`end`.  ``before`` are commands of Python's that come first.

    It listens on ``port``, or on a free one.  With ``advertise`` others find it.  It is ready then, unless it is not
    ``awaited``.
    """

    def __init__(self, url, folder, *arguments, before="", advertise=False, awaited=True, port=0):
        with socket.socket() as free:
            free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            free.bind(("127.0.0.1", port))
            self.port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        if advertise:
            arguments = (*arguments, "--advertise", self.address)
        program = f"{before}\nimport sys\nfrom tutelage.cli import main\nmain()"
        command = [sys.executable, "-c", program, "serve", "--store", url, "--port", str(self.port)]
        paths = os.pathsep.join([str(ROOT), *filter(None, sys.path)])
        self.log = folder / f"log-{self.port}"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [*command, *arguments], cwd=folder, stderr=log, env=os.environ | {"PYTHONPATH": paths}
            )
        self.http = httpx.Client(base_url=self.address, timeout=30, trust_env=False)
        deadline = time.monotonic() + 60
        while awaited and not self.is_ready():
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.05)

    def is_ready(self):
        """What ``/readyz`` says; False without a server."""
        with contextlib.suppress(httpx.TransportError):
            return self.http.get("/readyz").is_success
        return False

    def create(self, **changed):
        """The campaign ``c``, which runs."""
        answer = self.http.post("/v1/campaigns", json=CAMPAIGN | {"start": True} | changed)
        assert answer.is_success, answer.text

    def pull(self, *numbers):
        """The response to a request of these pulls; None if the server died over it."""
        with contextlib.suppress(httpx.TransportError):
            return self.http.post("/v1/campaigns/c/pulls", json={"pulls": [pull(n) for n in numbers]})

    def end(self, number=signal.SIGTERM):
        """A signal; the exit status."""
        self.http.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.send_signal(number)
        return self.process.wait(60)
