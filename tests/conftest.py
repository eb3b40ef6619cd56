"""Test-wide settings."""

import contextlib
import logging
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tutelage.cli import app
from tutelage.service.configuration import SETTINGS

# `pytest --hypothesis-profile=long` looks for what the everyday examples miss.
settings.register_profile(
    "everyday", max_examples=30, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck)
)
settings.register_profile("long", max_examples=2000, deadline=None, suppress_health_check=list(HealthCheck))
settings.load_profile("everyday")


@pytest.fixture(scope="session", autouse=True)
def default_port_in_use():
    """The server's default port is taken while tests run, as where a server runs: no test may need it."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):  # it is taken
            stack.enter_context(socket.create_server(("127.0.0.1", SETTINGS["port"].default)))
        yield


@pytest.fixture(scope="session", autouse=True)
def no_lines_about_compiling():
    """A command that compiles the simulator in a test does not say so among what the test expects."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(app, "LOG_LEVEL", logging.WARNING)
        yield


@pytest.fixture(scope="session")
def python():
    """Runs this Python in a process of its own: ``python("-m", "tutelage", ..., check=False)``."""

    def run(*arguments, **options):
        options = {"capture_output": True, "text": True, "timeout": 600, "check": True} | options
        return subprocess.run([sys.executable, *map(str, arguments)], **options)  # noqa: PLW1510

    return run


@pytest.fixture
def data():
    """The folder of real data sets that TUTELAGE_DATA names; without it the test is skipped."""
    folder = os.environ.get("TUTELAGE_DATA")
    if not folder:
        pytest.skip("set TUTELAGE_DATA to the folder that holds ml-latest-small and grenoble-k7")
    return Path(folder)
