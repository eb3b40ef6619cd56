"""A short run of benchmarks/server_soak.py."""

import sys
from pathlib import Path

import pytest

SOAK = Path(__file__).parents[2] / "benchmarks" / "server_soak.py"

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it reads /proc")


def test_a_short_soak_finds_no_fault(tmp_path, python):
    """Mixed load with a kill in the middle: nothing is lost, nothing grows, the ledger verifies."""
    ran = python(SOAK, "--minutes", "0.25", "--kill-every", "6", "--folder", tmp_path, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "No fault found." in ran.stdout
    assert '"killed": 1' in ran.stdout or '"killed": 2' in ran.stdout


def test_an_exceeded_limit_is_a_fault(tmp_path, python):
    """The exit status is then 1."""
    ran = python(SOAK, "--minutes", "0.03", "--most-memory", "1", "--folder", tmp_path, check=False)
    assert ran.returncode == 1
    assert "MiB exceed the limit of 1." in ran.stdout
