"""The server of the examples."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples" / "agents"
EXAMPLE = """
import time
from live_server import run_campaign
settings = {"arms": ["x", "y"], "clients": ["a", "b"], "horizon": 10, "teacher": "twl"}
with run_campaign(settings) as address:
    print(address, flush=True)
    time.sleep(600)
"""


def find_children(process):
    """The processes that a process has started."""
    return [int(pid) for pid in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_no_server_outlives_its_example(number):
    """Whichever signal ends the example."""
    command = [sys.executable, "-c", EXAMPLE]
    with subprocess.Popen(
        command, cwd=EXAMPLES, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as example:
        assert example.stdout.readline().startswith("http://")
        (server,) = find_children(example.pid)
        example.send_signal(number)
    end = time.monotonic() + 60
    while Path(f"/proc/{server}").exists() and time.monotonic() < end:
        time.sleep(0.05)
    assert not Path(f"/proc/{server}").exists()
