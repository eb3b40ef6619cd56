"""Test-wide settings."""

import subprocess
import sys

import pytest
from hypothesis import HealthCheck, settings

# `pytest --hypothesis-profile=long` looks for what the everyday examples miss.
settings.register_profile(
    "everyday", max_examples=60, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck)
)
settings.register_profile("long", max_examples=2000, deadline=None, suppress_health_check=list(HealthCheck))
settings.load_profile("everyday")


@pytest.fixture(scope="session")
def python():
    """Runs this Python in a process of its own: ``python("-m", "tutelage", ..., check=False)``."""

    def run(*arguments, **options):
        options = {"capture_output": True, "text": True, "timeout": 600, "check": True} | options
        return subprocess.run([sys.executable, *map(str, arguments)], **options)  # noqa: PLW1510, S603

    return run
