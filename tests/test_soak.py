"""The short form of benchmarks/soak.py."""

import sys
from pathlib import Path

import pytest

SOAK = Path(__file__).parent.parent / "benchmarks" / "soak.py"

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it reads /proc")


def test_a_short_soak_finds_nothing(tmp_path, python):
    """Mixed load with a kill in the middle: nothing is lost, nothing grows, the ledger verifies."""
    ran = python(SOAK, "--minutes", "0.25", "--kill-every", "6", "--folder", tmp_path, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "All is well." in ran.stdout
    assert '"killed": 1' in ran.stdout or '"killed": 2' in ran.stdout


def test_a_bound_that_breaks_is_told(tmp_path, python):
    """The exit status is not 0 then."""
    ran = python(SOAK, "--minutes", "0.03", "--most-memory", "1", "--folder", tmp_path, check=False)
    assert ran.returncode == 1
    assert "MiB are more than 1." in ran.stdout
