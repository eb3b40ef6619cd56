"""The live server's commands: a server in a process of its own, and what talks to it or its store."""

import contextlib
import json
import os
import signal
import sqlite3
import threading
import time
import tomllib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from tests.cli.commands import output_of, running_server
from tutelage.cli.app import execute

CAMPAIGN = """
arms = ["x", "y"]
clients = ["a", "b"]
horizon = 1000
teacher = "twl"
"""


def test_a_campaign_from_its_file_to_its_end(tmp_path, capsys, monkeypatch):
    """Every command against a real server; SIGTERM leaves one whole file, whose ledger verifies."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "campaign.toml").write_text(CAMPAIGN)
    with running_server(tmp_path) as (address, process):
        monkeypatch.setenv("TUTELAGE_SERVER", address)
        made = json.loads(output_of(capsys, "campaign", "create", "c", "--file", "campaign.toml", "--start", "--json"))
        assert (made["status"], made["horizon"], made["arms"]) == ("running", 1000, ["x", "y"])
        pull = {"id": "1", "client": "a", "arm": "x", "reward": 0.5}
        assert httpx.post(f"{address}/v1/campaigns/c/pulls", json=pull).status_code == 200
        assert "c: running" in output_of(capsys, "campaign", "list")
        assert "1 by 2 clients" in output_of(capsys, "campaign", "show", "c")
        output_of(capsys, "campaign", "exclude", "c", "b", "--yes")
        assert execute(["campaign", "exclude", "c", "a", "--yes"]) == 1
        assert "last" in capsys.readouterr().err
        assert execute(["campaign", "delete", "c", "--yes"]) == 1  # the question is right, the time is not
        assert "stop it before" in capsys.readouterr().err
        output_of(capsys, "campaign", "stop", "c")
        output_of(capsys, "campaign", "start", "c")
        output_of(capsys, "campaign", "stop", "c")
        output_of(capsys, "campaign", "export", "c", "--out", "c.ndjson")
        assert execute(["campaign", "export", "c", "--out", "c.ndjson"]) == 2
        assert "add --force" in capsys.readouterr().err
        output_of(capsys, "campaign", "export", "c", "--out", "c.ndjson", "--force")
        kinds = [json.loads(line)["kind"] for line in (tmp_path / "c.ndjson").read_text().splitlines()]
        assert kinds == ["started", "pull", "excluded", "stopped", "started", "stopped", "exported"]
        assert "c: 8 rows agree" in output_of(capsys, "ledger", "verify", "--store", "sqlite:///t.db")
        assert "verified copy" in output_of(capsys, "db", "backup", "copy.db", "--store", "sqlite:///t.db")
        assert execute(["db", "upgrade", "--store", "sqlite:///t.db"]) == 1
        assert "in use" in capsys.readouterr().err
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 0
        assert not list(tmp_path.glob("t.db-*")), "the store was not closed: its log is still there"
    log = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines() if line.startswith("{")]
    assert all(line["request"] for line in log if line["message"] == "request")
    output_of(capsys, "db", "check", "--store", "sqlite:///t.db")
    exported = output_of(capsys, "ledger", "export", "c", "--format", "csv", "--store", "sqlite:///copy.db")
    assert exported.splitlines()[0].startswith("position,kind,")


def test_the_first_key_is_created_next_to_a_server(tmp_path, capsys, monkeypatch):
    """From then on it is needed, within five seconds; revoked, it opens nothing within as many."""
    monkeypatch.chdir(tmp_path)
    with running_server(tmp_path) as (address, _):
        secret = output_of(capsys, "key", "create", "boss", "--role", "admin", "--store", "sqlite:///t.db").strip()
        campaigns, headers = f"{address}/v1/campaigns", {"Authorization": f"Bearer {secret}"}

        def becomes(status, headers):
            end = time.monotonic() + 30
            while time.monotonic() < end:
                if httpx.get(campaigns, headers=headers).status_code == status:
                    return True
                time.sleep(0.05)
            return False

        assert becomes(401, {})
        assert becomes(200, headers)
        monkeypatch.setenv("TUTELAGE_KEY", secret)
        assert output_of(capsys, "campaign", "list", "--server", address) == ""
        output_of(capsys, "key", "revoke", "boss", "--yes", "--store", "sqlite:///t.db")
        assert becomes(401, headers)
    (row,) = json.loads(output_of(capsys, "key", "list", "--store", "sqlite:///t.db", "--json"))["keys"]
    assert (row["name"], row["revoked"] is None) == ("boss", False)
    with contextlib.closing(sqlite3.connect(tmp_path / "t.db")) as database:
        assert secret not in "\n".join(database.iterdump())


def test_a_changed_ledger_does_not_verify(tmp_path, capsys, monkeypatch):
    """A change that bypasses the triggers is found: status 1, and where."""
    monkeypatch.chdir(tmp_path)
    with running_server(tmp_path) as (address, _):
        content = {"name": "c", "arms": ["x"], "clients": ["a"], "horizon": 9, "teacher": "none", "start": True}
        assert httpx.post(f"{address}/v1/campaigns", json=content).status_code == 201
        pull = {"id": "1", "client": "a", "arm": "x", "reward": 0.5}
        assert httpx.post(f"{address}/v1/campaigns/c/pulls", json=pull).status_code == 200
    with contextlib.closing(sqlite3.connect(tmp_path / "t.db")) as database:
        for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            database.execute(f"DROP TRIGGER {name}")
        database.execute("UPDATE pulls SET revealed = 0.25")
        database.commit()
    assert execute(["ledger", "verify", "c", "--store", "sqlite:///t.db"]) == 1
    assert "Position 2 of c has revealed = 0.25" in capsys.readouterr().err


def test_settings_come_from_option_environment_and_file(tmp_path, capsys, monkeypatch):
    """In that order; passwords are not shown; an unknown setting is refused."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tutelage.toml").write_text(
        'port = 1\nhost = "::1"\nstore = "postgresql://u:secret@h/d?password=secret"\n'
    )
    monkeypatch.setenv("TUTELAGE_PORT", "2")
    out = output_of(capsys, "config", "--json")
    document = json.loads(out)
    assert (document["port"], document["host"], document["body_timeout"]) == (2, "::1", 10.0)
    assert "secret" not in out
    sources = document["sources"]
    assert (sources["port"], sources["host"]) == ("TUTELAGE_PORT", "host in tutelage.toml")
    assert (sources["body_timeout"], document["store"]) == ("default", "postgresql://u:***@h/d?password=***")
    plain = output_of(capsys, "config")
    assert 'host = "::1"  # host in tutelage.toml\n' in plain
    assert tomllib.loads(plain)["port"] == 2
    monkeypatch.setenv("TUTELAGE_PORT", "many")
    assert execute(["config"]) == 2
    assert "TUTELAGE_PORT" in capsys.readouterr().err
    monkeypatch.delenv("TUTELAGE_PORT")
    (tmp_path / "tutelage.toml").write_text("ports = 1\n")
    assert execute(["config"]) == 2
    assert "Unknown setting 'ports' in tutelage.toml" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ("campaign", "show", "a b"),
        ("campaign", "list", "--server", "http://[::1"),
        ("campaign", "create", "c", "--low", "nan"),
        ("campaign", "create", "c", "--arm", "\udcff"),
        ("campaign", "create", "c", "--file", "date.toml"),
        ("campaign", "create", "c", "--file", "."),
        ("campaign", "create", "c", "--file", "deep.toml"),
        ("serve", "--config", "deep.toml"),
        ("campaign", "export", "c", "--out", "."),
        ("campaign", "export", "c", "--out", "no/file"),
        ("key", "create", "n", "--role", "king", "--store", "sqlite:///t.db"),
        ("ledger", "verify", "--store", "sqlite:///none.db"),
        ("serve", "--store", "mysql://x", "--port", "0"),
        ("serve", "--own-teachers", "a:b,c", "--store", "sqlite:///t.db"),
        ("serve", "--tls-key", "k.pem", "--store", "sqlite:///t.db"),
        ("serve", "--tls-key", "k.pem", "--tls-certificate", "c.pem", "--store", "sqlite:///t.db"),
        ("campaign",),
        ("key",),
    ],
)
def test_errors_are_one_sentence(tmp_path, capsys, monkeypatch, arguments):
    """Status 2 and no traceback."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "date.toml").write_text("horizon = 2026-01-01\n")
    (tmp_path / "deep.toml").write_text(f"horizon = {'[' * 5000}{']' * 5000}\n")
    assert execute(arguments) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "Traceback" not in err


@pytest.mark.parametrize("key", ["two\nlines", "käse", "a b"])
def test_an_invalid_key_is_explained(capsys, monkeypatch, key):
    """Not what becomes of it in a header, and not the key itself."""
    monkeypatch.setenv("TUTELAGE_KEY", key)
    assert execute(["campaign", "list"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("TUTELAGE_KEY contains a character that is not allowed in a key")
    assert key not in err


def test_a_server_of_another_program_is_recognised(capsys, monkeypatch):
    """Whatever it answers, and nothing is made of it."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("TUTELAGE_SERVER", f"http://127.0.0.1:{server.server_port}")
    assert execute(["campaign", "show", "c"]) == 2
    assert "is not a Tutelage server" in capsys.readouterr().err
    server.shutdown()
    server.server_close()


def test_the_server_loads_nothing_of_the_lab(python):
    """Neither numba nor pictures, in a fresh interpreter."""
    code = """
import sys
import tutelage.service.server_process
heavy = {"numba", "matplotlib", "bokeh", "xarray", "tutelage.engine.simulation", "tutelage.simulator",
         "tutelage.results", "tutelage.engine.compiled_loop", "tutelage.engine.memory",
         "tutelage.engine.kernel_compiler", "tutelage.engine.kernels"}
print(sorted(heavy & set(sys.modules)))
"""
    assert python("-c", code, env=dict(os.environ)).stdout.strip() == "[]"
