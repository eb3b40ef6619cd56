"""Running commands: in this process, on a terminal, and a server in a process of its own."""

import contextlib
import os
import pty
import socket
import subprocess
import sys
import time

import httpx

from tutelage.cli.app import execute


def output_of(capsys, *arguments):
    """Run a command that succeeds and return its standard output."""
    status = execute(arguments)
    out, err = capsys.readouterr()
    assert status == 0, err
    return out


def error_of(capsys, status, *arguments):
    """Run a command that fails with this status and return its sentence on standard error."""
    assert execute(arguments) == status
    out, err = capsys.readouterr()
    assert out == ""
    assert err.endswith((".\n", "?\n"))
    return err


def free_port():
    """Return a port that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@contextlib.contextmanager
def running_server(folder, *arguments, port=None):
    """Run a server on ``folder / "t.db"``; give its address, once it is ready, and its process."""
    port = free_port() if port is None else port
    command = [sys.executable, "-m", "tutelage", "serve", "--store", "sqlite:///t.db", "--port", str(port)]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([*command, *arguments], cwd=folder, stderr=log)
        try:
            address = f"http://127.0.0.1:{port}"
            for _ in range(400):
                with contextlib.suppress(httpx.TransportError):
                    if httpx.get(f"{address}/readyz", trust_env=False).is_success:
                        break
                assert process.poll() is None, (folder / "log").read_text()
                time.sleep(0.05)
            yield address, process
        finally:
            process.kill()
            process.wait()


def run_on_terminal(*arguments, standard_output=None):
    """Run a command on a terminal of 100 columns; return its output there, and in a pipe if it has one."""
    terminal, other_end = pty.openpty()
    command = [sys.executable, "-m", "tutelage", *arguments]
    environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": "100"}
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=standard_output or other_end, stderr=other_end, env=environment
    ) as running:
        os.close(other_end)
        on_terminal = _read_all(terminal)
        out = running.stdout.read() if running.stdout else b""
        assert running.wait(timeout=60) == 0
    os.close(terminal)
    return on_terminal.decode(), out.decode()


def _read_all(terminal):
    content = b""
    while True:
        try:
            part = os.read(terminal, 4096)
        except OSError:  # Linux says so when the other end is closed
            return content
        if not part:
            return content
        content += part
