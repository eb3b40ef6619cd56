"""`tutelage-server` and `tutelage-client`, each built, installed alone from its lock and run."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
NOT_IN_SERVER = ("numba", "llvmlite", "polars", "matplotlib", "bokeh", "xarray", "h5py", "pandas")
DOCKERFILE = (ROOT / "deploy" / "Dockerfile").read_text()
MOST_MEGABYTES = {"server": 200, "client": 15}
PULLS = """
import sys
from tutelage.client import Client
with Client(sys.argv[1], "shop") as client:
    for number in range(20):
        print(client.reveal("ab"[number % 2], "xy"[number // 2 % 2], number / 20))
"""


class Environment:
    """A virtual environment with a wheel and nothing but what it depends on."""

    def __init__(self, name, folder):
        self.folder = folder / name
        dist = folder / "dist"
        build = ["-m", "build", "--no-isolation", "--wheel", "--outdir", dist, ROOT / "wheels" / name]
        subprocess.run([sys.executable, *build], check=True, capture_output=True)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", self.folder], check=True)
        pip = [sys.executable, "-m", "pip", "--python", self.folder / "bin" / "python", "install", "--no-deps"]
        pip += ["--quiet", "--disable-pip-version-check", "--no-compile"]
        subprocess.run([*pip, "--require-hashes", "-r", ROOT / "requirements" / f"{name}.txt"], check=True)
        subprocess.run([*pip, *dist.glob(f"tutelage_{name}-*.whl")], check=True)

    def run(self, *arguments, status=0):
        """Run this environment's Python, outside the repository."""
        plain = {name: text for name, text in os.environ.items() if not name.startswith("PYTHON")}
        command = [self.folder / "bin" / "python", *arguments]
        done = subprocess.run(command, check=False, cwd=self.folder, env=plain, capture_output=True, text=True)
        assert done.returncode == status, done.stdout + done.stderr
        return done

    def tutelage(self, *arguments, **options):
        """Run its command `tutelage`."""
        return self.run("-m", "tutelage", *arguments, **options)

    def megabytes(self):
        """Size of what is installed, which is neither pip nor setuptools."""
        site = next(self.folder.glob("lib/python*/site-packages"))
        return sum(file.stat().st_size for file in site.rglob("*") if file.is_file()) / 1e6


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """The server's environment and the client's."""
    folder = tmp_path_factory.mktemp("wheels")
    return Environment("server", folder), Environment("client", folder)


def test_wheels_are_small_and_bring_nothing_heavy(both):
    """Both stay below their sizes; the server lacks what only simulations need, the client all but httpx."""
    for name, environment in zip(("server", "client"), both, strict=True):
        size = environment.megabytes()
        print(f"tutelage-{name}: {size:.0f} MB")  # noqa: T201 - for CI's log
        assert size < MOST_MEGABYTES[name]
        absent = NOT_IN_SERVER if name == "server" else (*NOT_IN_SERVER, "numpy", "sqlalchemy", "starlette", "typer")
        code = f"from importlib.util import find_spec; print([name for name in {absent} if find_spec(name)])"
        assert environment.run("-c", code).stdout == "[]\n"
        assert environment.run("-c", "import tutelage; print(tutelage.__version__)").stdout != "unknown\n"


def test_the_client_pulls_from_the_server(both, tmp_path):
    """Campaign, pulls, the image's health check, page, metrics, export, backup and check; then it ends well."""
    server, client = both
    store = f"sqlite:///{tmp_path}/t.db"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    address = f"http://127.0.0.1:{port}"
    command = [server.folder / "bin" / "tutelage", "serve", "--store", store, "--port", port]
    with (tmp_path / "log").open("wb") as log, subprocess.Popen(command, cwd=tmp_path, stderr=log) as process:
        try:
            deadline = time.monotonic() + 60
            while "listening on" not in (tmp_path / "log").read_text():
                assert process.poll() is None, (tmp_path / "log").read_text()
                assert time.monotonic() < deadline
                time.sleep(0.1)
            campaign = ["--arm", "x", "--arm", "y", "--client", "a", "--client", "b", "--horizon", "1000"]
            for name, teacher in (("shop", "blt"), ("other", "twl")):
                server.tutelage(
                    *("campaign", "create", name, *campaign, "--teacher", teacher, "--start", "--server", address)
                )
            revealed = client.run("-c", PULLS, address).stdout.splitlines()
            assert len(revealed) == 20
            check = json.loads(re.search(r"HEALTHCHECK[^\[]*(\[.*\])$", DOCKERFILE, re.MULTILINE)[1])
            server.run(*(word.replace(":8321", f":{port}") for word in check[1:]))
            server.run(*(word.replace(":8321", ":9") for word in check[1:]), status=1)
            for path in ("/", "/c/shop/", "/metrics", "/docs", "/v1/campaigns/shop/totals"):
                code = "import httpx, sys; print(httpx.get(sys.argv[1]).raise_for_status().text)"
                assert client.run("-c", code, address + path).stdout
            assert "20" in server.tutelage("campaign", "show", "shop", "--server", address).stdout
            server.tutelage("campaign", "export", "shop", "--out", tmp_path / "shop.ndjson", "--server", address)
        finally:
            process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0, (tmp_path / "log").read_text()
    for arguments in (["ledger", "verify"], ["ledger", "dependence", "shop"], ["db", "backup", tmp_path / "copy.db"]):
        server.tutelage(*arguments, "--store", store)


def test_commands_that_need_more_say_so(both):
    """One sentence with the package to install, and status 1."""
    ended = both[0].tutelage("simulate", "paper", status=1)
    assert ended.stderr == "This command needs llvmlite, which tutelage-server does not bring: install tutelage.\n"
