"""A live server for an example: a process of its own with a temporary store and one campaign."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import httpx

CAMPAIGN = "example"


@contextmanager
def run_campaign(settings):
    """Start a server with a campaign of these settings, and return its address; end the server afterwards.

    SIGTERM ends the example, too, as Ctrl-C does, so that its server never outlives it.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TUTELAGE_")}
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "log").open("wb") as log:
        command = ["serve", "--store", f"sqlite:///{folder}/campaign.db", "--port", str(port)]
        server = subprocess.Popen(  # noqa: S603 - this package
            [sys.executable, "-m", "tutelage", *command], cwd=folder, env=environment, stderr=log
        )
        try:
            address = f"http://127.0.0.1:{port}"
            begun = time.monotonic()
            while not is_ready(address):
                if server.poll() is not None or time.monotonic() - begun > 60:
                    sys.exit(f"The server did not start:\n{(Path(folder) / 'log').read_text()}")
                time.sleep(0.1)
            content = {**settings, "name": CAMPAIGN, "start": True}
            httpx.post(f"{address}/v1/campaigns", json=content, trust_env=False).raise_for_status()
            yield address
        finally:
            server.kill()
            server.wait()


def is_ready(address):
    """Whether the server accepts requests."""
    try:
        return httpx.get(f"{address}/readyz", trust_env=False).is_success
    except httpx.HTTPError:
        return False


def read_campaign(address):
    """Return the campaign's document."""
    return httpx.get(f"{address}/v1/campaigns/{CAMPAIGN}", trust_env=False).raise_for_status().json()


def find_decision(address):
    """Return the round in which the campaign decided on its target; None if it has not."""
    decisions = httpx.get(f"{address}/v1/campaigns/{CAMPAIGN}/decisions", trust_env=False).raise_for_status().json()
    return next((each["round"] for each in decisions["decisions"] if each["kind"] == "decided"), None)
