"""A Tutelage server in a process of its own, for the benchmarks of the live server (Linux: reads /proc)."""

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import httpx

START_SECONDS = 120.0  # that a server may take to start


def find_free_port() -> int:
    """Return a port of this machine that no process uses."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


class ServerProcess:
    """A Python module that serves HTTP on a port: ``python -m MODULE ... --port PORT``.

    Its standard error goes to ``log`` in ``folder``, which is also its working directory.
    """

    def __init__(self, command: Sequence[str], folder: Path, *, port: int | None = None) -> None:
        self.command, self.folder = command, folder
        self.port = find_free_port() if port is None else port
        self.address = f"http://127.0.0.1:{self.port}"
        self.log = folder / f"log-{self.port}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, path: str = "/healthz") -> float:
        """Start the process and return the seconds until ``path`` is answered with success.

        Raises ``SystemExit`` with the end of the log if the process does not start.
        """
        begun = time.monotonic()
        command = [sys.executable, "-m", *self.command, "--port", str(self.port)]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, cwd=self.folder, stderr=log)  # noqa: S603
        while time.monotonic() < begun + START_SECONDS and self.process.poll() is None:
            with contextlib.suppress(httpx.TransportError):
                if httpx.get(f"{self.address}{path}").is_success:
                    return time.monotonic() - begun
            time.sleep(0.05)
        raise SystemExit(f"The server does not start: {self.log.read_text(encoding='utf-8')[-2000:]}")

    @property
    def running(self) -> subprocess.Popen[bytes]:
        """The process, once it is started."""
        assert self.process is not None  # noqa: S101
        return self.process

    def send_signal(self, number: int) -> int:
        """Send a signal, wait for the end, and return the exit status."""
        self.running.send_signal(number)
        return self.running.wait(timeout=60)

    def kill(self) -> None:
        """Kill the process if it is running."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def processor_seconds(self) -> float:
        """Return the processor time used so far."""
        stat = Path(f"/proc/{self.running.pid}/stat").read_text(encoding="ascii")
        fields = stat.rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> float:
        """Return the resident memory in MiB."""
        lines = Path(f"/proc/{self.running.pid}/status").read_text(encoding="ascii").splitlines()
        return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024

    def count_open_files(self) -> int:
        """Count open files and connections."""
        return len(list(Path(f"/proc/{self.running.pid}/fd").iterdir()))


def create_campaign(
    address: str, name: str, teacher: str, *, clients: int = 5, arms: int = 5, horizon: int = 10**9
) -> None:
    """Create and start a campaign with clients m0, m1, ... and arms k0, k1, ...."""
    content = {
        "name": name,
        "arms": [f"k{k}" for k in range(arms)],
        "clients": [f"m{m}" for m in range(clients)],
        "horizon": horizon,
        "teacher": teacher,
        "start": True,
    }
    httpx.post(f"{address}/v1/campaigns", json=content, timeout=60).raise_for_status()
