"""What an operator does around a server: settings, stores, keys, mistakes and what is said of them."""

import contextlib
import io
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import tomllib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from tests.cli.commands import error_of, free_port, output_of, running_server
from tutelage import stores
from tutelage.cli.app import execute
from tutelage.errors import InputError
from tutelage.service.configuration import load_configuration, read_toml
from tutelage.testing.ledger_rows import grow


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Every command runs in an empty folder, without settings."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("TUTELAGE_")]:
        monkeypatch.delenv(name)
    return tmp_path


@pytest.mark.parametrize("store", ["sqlite:///tutelage.db", "sqlite:////var/lib/tutelage.db"])
def test_output_of_config_can_be_used_as_a_file(here, capsys, monkeypatch, store):
    """Every setting comes back as it was, the store's address too."""
    monkeypatch.setenv("TUTELAGE_STORE", store)
    monkeypatch.setenv("TUTELAGE_ADVERTISE", "http://10.0.0.1:8321")
    printed = output_of(capsys, "config")
    assert tomllib.loads(printed)["store"] == store
    before = json.loads(output_of(capsys, "config", "--json"))
    monkeypatch.delenv("TUTELAGE_STORE")
    monkeypatch.delenv("TUTELAGE_ADVERTISE")
    (here / "printed.toml").write_text(printed)
    after = json.loads(output_of(capsys, "config", "--json", "--config", "printed.toml"))
    assert {**before, "sources": None} == {**after, "sources": None}


@pytest.mark.parametrize("store", ["postgresql://u:secret@h/d", "host=h user=u password=secret"])
def test_config_says_that_a_password_is_left_out(capsys, monkeypatch, store):
    """In the line itself, and whichever form the address has."""
    monkeypatch.setenv("TUTELAGE_STORE", store)
    printed = output_of(capsys, "config")
    assert "secret" not in printed + output_of(capsys, "config", "--json")
    (line,) = (line for line in printed.splitlines() if line.startswith("store"))
    assert line.endswith("  # TUTELAGE_STORE; the password is left out")
    assert "left out" not in printed.replace(line, "")


def test_a_new_key_is_printed_with_its_store(here, capsys):
    """On standard error, so that standard output is only the key; a new file is named."""
    assert execute(["key", "create", "boss", "--role", "admin", "--store", "sqlite:///t.db"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("tutelage_")
    assert out.count("\n") == 1
    assert err == f"{here}/t.db was created.\nThe key boss is in the store sqlite:///{here}/t.db.\n"
    (here / "other.toml").write_text('store = "sqlite:///t.db"\n')
    assert execute(["key", "create", "eye", "--role", "viewer", "--config", "other.toml", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["store"] == f"sqlite:///{here}/t.db"
    assert err == f"The key eye is in the store sqlite:///{here}/t.db.\n"
    listed = json.loads(output_of(capsys, "key", "list", "--config", "other.toml", "--json"))["keys"]
    assert [key["name"] for key in listed] == ["boss", "eye"]
    gone = json.loads(output_of(capsys, "key", "revoke", "eye", "--yes", "--config", "other.toml", "--json"))
    assert (gone["name"], gone["revoked"] is None) == ("eye", False)
    assert json.loads(output_of(capsys, "db", "check", "--config", "other.toml", "--json")) == {"faults": []}
    assert json.loads(output_of(capsys, "ledger", "verify", "--config", "other.toml", "--json")) == {"campaigns": []}
    assert "already has schema 2" in output_of(capsys, "db", "upgrade", "--config", "other.toml")
    assert "verified copy" in output_of(capsys, "db", "backup", "copy.db", "--config", "other.toml")


def test_the_size_of_a_store(here, capsys):
    """As text and as JSON; a full table says what a pull takes, an empty one does not."""
    url = f"sqlite:///{here}/t.db"
    with contextlib.closing(stores.open_store(url)) as store:
        store.create("c", "{}", 1, 17_000_000, "{}")
        assert grow(store, store.lead("c", "here"), 0, 50) == 50
        printed = output_of(capsys, "db", "stats", "--store", url)
        document = json.loads(output_of(capsys, "db", "stats", "--store", url, "--json"))
    assert document["first"] == "1970-01-01T00:00:17Z"
    assert document["log_bytes"] > 0
    pulls = document["tables"][0]
    assert (pulls["name"], pulls["rows"]) == ("pulls", 50)
    assert f"bytes per pull   {document['bytes_per_pull']:,.0f}, with indexes" in printed
    assert "oldest campaign  1970-01-01T00:00:17Z, " in printed
    assert "bytes per pull   \N{EN DASH}" in output_of(
        capsys, "db", "upgrade", "--store", "sqlite:///e.db"
    ) + output_of(capsys, "db", "stats", "--store", "sqlite:///e.db")


def test_a_key_is_rotated_and_ends(here, capsys):
    """The new secret is printed alone, what becomes of the old one next to it, and the list has both times."""
    output_of(capsys, "key", "create", "eye", "--role", "viewer", "--campaign", "c", "--expires", "30d")
    assert execute(["key", "rotate", "eye", "--yes", "--overlap", "2h"]) == 0
    out, err = capsys.readouterr()
    assert re.fullmatch(r"tutelage_\S{43}\n", out)
    old, new = err.splitlines()
    assert old.startswith("The old secret of the key eye is valid until 20")
    line = output_of(capsys, "key", "list")
    assert re.fullmatch(r"eye: viewer of c, created \S+, expires \S+, never used, old secret valid until \S+\n", line)
    assert new.removeprefix("The new one expires ").removesuffix(".") in line
    assert "rotate key c eye" in output_of(capsys, "audit")
    output_of(capsys, "key", "revoke", "eye", "--yes")
    assert "was revoked: make a new one" in error_of(capsys, 1, "key", "rotate", "eye", "--yes")
    assert "Unknown key 'z'" in error_of(capsys, 1, "key", "rotate", "z", "--yes")
    assert "Invalid --overlap 'long'" in error_of(capsys, 2, "key", "rotate", "eye", "--yes", "--overlap", "long")
    output_of(capsys, "key", "create", "eye", "--role", "viewer", "--expires", "2999-01-01")
    assert "eye: viewer, created" in output_of(capsys, "key", "list")


@pytest.mark.parametrize(
    "arguments",
    [
        ("key", "list"),
        ("key", "rotate", "a", "--yes"),
        ("key", "revoke", "a", "--yes"),
        ("db", "check"),
        ("db", "stats"),
        ("db", "backup", "copy.db"),
        ("ledger", "verify"),
        ("ledger", "export", "c"),
        ("ledger", "dependence", "c"),
    ],
)
def test_other_commands_create_no_store(here, capsys, arguments):
    """All other commands say that the store does not exist, and leave nothing behind."""
    err = error_of(capsys, 2, *arguments)
    assert err.startswith(f"The database {here}/tutelage.db does not exist: ")
    assert list(here.iterdir()) == []


def test_a_key_for_an_unknown_campaign_or_client_prints_a_warning(here, capsys):
    """It is made all the same: who makes keys first and campaigns afterwards is right too."""

    def warned(name, campaign, *clients):
        options = [word for client in clients for word in ("--client", client)]
        command = ["key", "create", name, "--role", "reporter", "--campaign", campaign, *options]
        assert execute([*command, "--store", "sqlite:///t.db"]) == 0
        return capsys.readouterr().err.splitlines()[1:]

    with running_server(here) as (address, _):
        content = {"arms": ["x"], "horizon": 9, "teacher": "none"}
        for name, more in (("fixed", {"clients": ["a"]}), ("open", {"open_registration": True})):
            httpx.post(f"{address}/v1/campaigns", json=content | {"name": name} | more).raise_for_status()
        httpx.post(f"{address}/v1/campaigns/open/clients", json={"client": "b"}).raise_for_status()
        assert warned("1", "nope", "a") == ["The campaign 'nope' does not exist yet; the key works once it is created."]
        assert warned("2", "fixed", "a", "z") == [
            "The campaign fixed has no client 'z', and clients can no longer be added."
        ]
        assert warned("3", "open", "b", "z") == ["The campaign open has no client 'z' yet; register it."]
        assert warned("4", "fixed") == []


def test_a_campaign_that_clients_register_in(here, capsys, monkeypatch):
    """Clients are let in by a command and counted; before its start it is deleted, as it holds no pulls."""
    with running_server(here) as (address, _):
        monkeypatch.setenv("TUTELAGE_SERVER", address)
        created = ("campaign", "create", "c", "--arm", "red", "--arm", "blue", "--horizon", "9", "--teacher", "none")
        output_of(capsys, *created, "--open-registration")
        output_of(capsys, "campaign", "register", "c", "anna")
        assert "c: registering, none, 1 client, 2 arms, 0 pulls" in output_of(capsys, "campaign", "list")
        document = json.loads(output_of(capsys, "campaign", "register", "c", "ben", "--json"))
        assert document == {"client": "ben", "added": True}
        assert "2 clients, 2 arms, " in output_of(capsys, "campaign", "list")
        assert "has not started and need not be stopped: delete it directly." in error_of(
            capsys, 1, "campaign", "stop", "c"
        )
        assert json.loads(output_of(capsys, "campaign", "delete", "c", "--yes", "--json")) == {"deleted": "c"}
        assert output_of(capsys, "campaign", "list") == ""


def test_weights_by_client_or_in_order(here, capsys, monkeypatch):
    """Both forms of the option; what is neither is refused here, what does not fit by the server."""
    with running_server(here) as (address, _):
        monkeypatch.setenv("TUTELAGE_SERVER", address)
        create = ("campaign", "create", "--arm", "red", "--arm", "blue", "--client", "a=b", "--client", "c")
        create += ("--horizon", "9", "--teacher", "none", "--json")
        for name, weights in (
            ("by-name", ("--weights", "c=.25", "--weights", "a=b=.75")),
            ("at-once", ("--weights", "a=b=.75,c=.25")),
            ("in-order", ("--weights", ".75,.25")),
        ):
            assert json.loads(output_of(capsys, *create, name, *weights))["weights"] == [0.75, 0.25]
        assert "1 weight for 2 clients" in error_of(capsys, 2, *create, "n", "--weights", "1")
        for odd in (("1,x",), ("c=.25", "c=.75"), ("c=.25", ".75"), ("c=",), ("a=b=1,c",), ("c=1,c=2",)):
            options = [word for text in odd for word in ("--weights", text)]
            assert "use NAME=NUMBER once for each client" in error_of(capsys, 2, *create, "n", *options)


def test_errors_name_field_file_and_option(here, capsys, monkeypatch):
    """In our words, whether it stands in a file, an option or nowhere."""
    monkeypatch.setenv("TUTELAGE_PORT", "many")
    err = error_of(capsys, 2, "config")
    assert err == "Invalid TUTELAGE_PORT 'many': use a whole number in [0, 65535].\n"
    monkeypatch.delenv("TUTELAGE_PORT")
    (here / "s.toml").write_text("body_timeout = 0\n")
    err = error_of(capsys, 2, "config", "--config", "s.toml")
    assert err == "Invalid body_timeout in s.toml 0: use a number in (0, 3600].\n"
    err = error_of(capsys, 2, "serve", "--log-level", "loud")
    assert err == "Invalid --log-level 'loud': use debug, info, warning or error.\n"
    (here / "c.toml").write_text('clients = ["a"]\n')
    with running_server(here) as (address, _):
        monkeypatch.setenv("TUTELAGE_SERVER", address)
        create = ("campaign", "create", "c", "--file", "c.toml", "--teacher", "none")
        err = error_of(capsys, 2, *create)
        assert err == "The field arms is missing (give it with --arm or in c.toml).\n"
        (here / "c.toml").write_text('horizon = "9"\n')
        err = error_of(capsys, 2, *create, "--arm", "x")
        assert err == "The field horizon must be a whole number, not text (in c.toml).\n"
        err = error_of(capsys, 2, *create, "--arm", "x", "--horizon", "9", "--seed", "-1")
        assert err == "The field seed must be a whole number of at least 0 (--seed).\n"
        (here / "c.toml").write_text('colour = "blue"\n')
        err = error_of(capsys, 2, *create, "--arm", "x", "--horizon", "9")
        assert err.startswith("The field colour is unknown; the fields are name, arms, ")
        assert err.endswith(" (in c.toml).\n")
        err = error_of(capsys, 1, "campaign", "show", "nope")
        assert err.startswith("Unknown campaign 'nope': `tutelage campaign list --server ")


def test_messages_use_names_instead_of_numbers(here, capsys, monkeypatch):
    """No numbers for clients and arms, neither in refusals nor in what a teacher says."""
    with running_server(here) as (address, _):
        monkeypatch.setenv("TUTELAGE_SERVER", address)
        create = ("campaign", "create", "c", "--arm", "red", "--arm", "blue", "--client", "anna", "--client", "ben")
        create += ("--horizon", "9e0", "--teacher", "known(target=blue)", "--start")
        assert "teaching the known target, arm blue" in output_of(capsys, *create)
        assert "arm blue" in output_of(capsys, "campaign", "list")
        output_of(capsys, "campaign", "exclude", "--yes", "c", "ben")
        err = error_of(capsys, 1, "campaign", "exclude", "--yes", "c", "anna")
        assert err == "The client 'anna' is the last client that is not excluded, and must stay.\n"
        assert (
            error_of(capsys, 1, "campaign", "exclude", "--yes", "c", "ben") == "The client 'ben' is already excluded.\n"
        )
        (decision,) = httpx.get(f"{address}/v1/campaigns/c/decisions").json()["decisions"]
        assert decision["report"] == "teaching the known target, arm blue"


def test_exit_statuses_tell_wrong_from_refused(here, capsys, monkeypatch):
    """2 for what is asked wrongly, 1 for what server or store refuse, 0 for a repeat, which says so."""
    store = ("--store", "sqlite:///t.db")

    def repeated(*arguments):
        output_of(capsys, *arguments)
        assert execute(arguments) == 0
        return "".join(capsys.readouterr())

    with running_server(here) as (address, _):
        monkeypatch.setenv("TUTELAGE_SERVER", address)
        create = ("campaign", "create", "c", "--arm", "red", "--arm", "blue", "--horizon", "1e1", "--teacher", "none")
        output_of(capsys, *create, "--open-registration")
        assert "already exists" in error_of(capsys, 1, *create, "--open-registration")
        assert "anna is already registered in c." in repeated("campaign", "register", "c", "anna")
        assert "c is already running: nothing was changed." in repeated("campaign", "start", "c")
        assert "c is already stopped: nothing was changed." in repeated("campaign", "stop", "c")
        for act in (
            ("show",),
            ("start",),
            ("stop",),
            ("exclude", "x", "--yes"),
            ("export", "--out", "f"),
            ("delete", "--yes"),
        ):
            err = error_of(capsys, 1, "campaign", act[0], "z", *act[1:])
            assert err == f"Unknown campaign 'z': `tutelage campaign list --server {address}` lists all campaigns.\n"
        (item,) = httpx.get(f"{address}/v1/campaigns/c/status").json()["items"]
        assert item["command"] == f"tutelage campaign start --server {address} c"
        assert item["command"] in output_of(capsys, "campaign", "show", "c").splitlines()[-1]
        assert "in use" in error_of(capsys, 1, "db", "upgrade", *store)
        assert "Unknown campaign 'z'" in error_of(capsys, 1, "ledger", "export", "z", *store)
        assert "Unknown key 'z'" in error_of(capsys, 1, "key", "revoke", "z", "--yes", *store)
        make = ("key", "create", "boss", "--role", "admin", *store)
        output_of(capsys, *make)
        assert "already exists" in error_of(capsys, 1, *make)
        assert "was already revoked 20" in repeated("key", "revoke", "boss", "--yes", *store)
        output_of(capsys, *make)
        assert "Invalid role" in error_of(capsys, 2, "key", "create", "z", "--role", "king", *store)
    assert "does not answer" in error_of(capsys, 1, "campaign", "list")
    assert f"`tutelage key create --store sqlite:///{here}/t.db`" in (here / "log").read_text()


class Terminal(io.StringIO):
    """A terminal on which an answer is typed."""

    def isatty(self):
        return True


def test_what_cannot_be_undone_is_asked_once(here, capsys, monkeypatch):
    """On a terminal; without one it needs --yes, and without an answer nothing is done."""
    output_of(capsys, "key", "create", "boss", "--role", "admin")
    commands = (("key", "revoke", "boss"), ("key", "rotate", "boss"))
    for command in (*commands, ("campaign", "exclude", "c", "a"), ("campaign", "delete", "c")):
        assert "add --yes" in error_of(capsys, 2, *command)
        monkeypatch.setattr(sys, "stdin", Terminal("\n"))
        assert error_of(capsys, 1, *command).endswith(" This cannot be undone. [y/N] Nothing was changed.\n")
        monkeypatch.undo()
        monkeypatch.chdir(here)
    monkeypatch.setattr(sys, "stdin", Terminal("y\n"))
    assert output_of(capsys, "key", "revoke", "boss") == "The key boss was revoked.\n"


def test_a_missing_key_and_keys_in_the_clear_are_explained(here, capsys, monkeypatch):
    """The variable that holds a key, not the header it travels in; and at a start, that others can read it there.

    SIGHUP ends no server.
    """
    secret = output_of(capsys, "key", "create", "boss", "--role", "admin", "--store", "sqlite:///t.db").strip()
    with running_server(here, "--host", "0.0.0.0") as (address, process):  # noqa: S104
        process.send_signal(signal.SIGHUP)
        monkeypatch.setenv("TUTELAGE_SERVER", address)
        err = error_of(capsys, 1, "campaign", "list")
        assert err.startswith("The server needs a key: set TUTELAGE_KEY")
        assert "Authorization" not in err
        monkeypatch.setenv("TUTELAGE_KEY", "tutelage_wrong")
        unknown = "The key is unknown or has been revoked: ask an administrator for a new one.\n"
        assert error_of(capsys, 1, "campaign", "list") == unknown
        monkeypatch.setenv("TUTELAGE_KEY", secret)
        assert output_of(capsys, "campaign", "list") == ""
    assert "travel in the clear" in (here / "log").read_text()
    with running_server(here):
        assert "travel in the clear" not in (here / "log").read_text()


def _make_certificate(name):
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", f"{name}.key"]
    command += ["-out", f"{name}.pem", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("openssl is not installed")


def test_sighup_reloads_the_certificate(here):
    """New connections get it; an invalid one is logged and changes nothing; the server goes on."""
    for name in ("one", "two"):
        _make_certificate(name)
    for end in ("pem", "key"):
        shutil.copy(f"one.{end}", f"used.{end}")
    port = free_port()
    command = [sys.executable, "-m", "tutelage", "serve", "--port", str(port)]
    command += ["--tls-certificate", "used.pem", "--tls-key", "used.key"]

    def served():
        return ssl.get_server_certificate(("127.0.0.1", port)).strip()

    def next_message(log, *contents):
        for end, content in zip(("pem", "key"), contents, strict=False):
            (here / f"used.{end}").write_text(content)
        process.send_signal(signal.SIGHUP)
        return next(line["message"] for line in map(json.loads, log) if line["message"].startswith("SIGHUP"))

    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            next(line for line in process.stderr if "listening on" in line)
            assert served() == (here / "one.pem").read_text().strip()
            new = [(here / f"two.{end}").read_text() for end in ("pem", "key")]
            assert next_message(process.stderr, *new) == "SIGHUP: the certificate was reloaded"
            assert served() == new[0].strip()
            assert next_message(process.stderr, "none") == "SIGHUP: the certificate was not reloaded"
            assert served() == new[0].strip()
        finally:
            process.terminate()
    assert process.returncode == 0


def test_the_log_is_json_from_its_first_line(here):
    """What was created and what is wrong with a library too, and where it listens."""
    with running_server(here, "--insecure") as (address, _):
        pass
    log = [json.loads(line) for line in (here / "log").read_text().splitlines()]
    assert log[0]["message"] == f"{here}/t.db was created."
    assert any("--insecure" in line["message"] for line in log)
    assert any(line["message"] == f"listening on {address}" for line in log)


def test_a_port_in_use_leaves_no_file(here, capsys):
    """The server binds its address before it opens the store."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        err = error_of(capsys, 2, "serve", "--port", str(port))
    assert err.startswith(f"The server cannot listen on 127.0.0.1:{port} (Address already in use): ")
    assert list(here.iterdir()) == []
    assert "cannot listen on no.such.host.invalid:1234" in error_of(
        capsys, 2, "serve", "--host", "no.such.host.invalid", "--port", "1234"
    )


def test_an_invalid_certificate_leaves_no_file(here, capsys):
    """TLS is tried before the store is opened."""
    for name in ("c.pem", "k.pem"):
        (here / name).write_text("-----BEGIN NOTHING-----\n")
    err = error_of(capsys, 2, "serve", "--port", "0", "--tls-certificate", "c.pem", "--tls-key", "k.pem")
    assert err.startswith("Cannot use the certificate c.pem with the key k.pem (")
    assert {path.name for path in here.iterdir()} == {"c.pem", "k.pem"}


def test_an_untrusted_certificate_is_explained(here, capsys, monkeypatch):
    """Not as if nobody answered; with SSL_CERT_FILE it is trusted."""
    _make_certificate("c")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain("c.pem", "c.key")
    server = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.handle_error = lambda request, address: None
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("TUTELAGE_SERVER", f"https://localhost:{server.server_port}")
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    err = error_of(capsys, 2, "campaign", "list")
    assert err.startswith(f"The certificate of https://localhost:{server.server_port} is not trusted (")
    assert "set SSL_CERT_FILE to a file" in err
    monkeypatch.setenv("SSL_CERT_FILE", str(here / "c.pem"))
    assert "is not a Tutelage server" in error_of(capsys, 2, "campaign", "list")
    monkeypatch.setattr(BaseHTTPRequestHandler, "do_GET", lambda request: request.send_error(502), raising=False)
    assert "status 502, as a proxy does while its server is away" in error_of(capsys, 1, "campaign", "list")
    server.shutdown()
    server.server_close()


def test_passwords_are_never_printed(here, capsys, monkeypatch):
    """Whatever is wrong with the server or its address: nobody there, another server, no address at all."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    place = f"http://me:sesame@127.0.0.1:{port}"
    err = error_of(capsys, 1, "campaign", "list", "--server", place)
    assert err.startswith(f"The server http://me:***@127.0.0.1:{port} does not answer (")
    server = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    monkeypatch.setattr(BaseHTTPRequestHandler, "log_message", lambda *arguments: None)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("TUTELAGE_SERVER", f"http://me:sesame@127.0.0.1:{server.server_port}")
    err = error_of(capsys, 2, "campaign", "list")
    assert err.startswith(f"http://me:***@127.0.0.1:{server.server_port}/v1/campaigns is not a Tutelage")
    server.shutdown()
    server.server_close()
    for odd in ("ftp://me:sesame@host", "http://me:sesame@[", "http://me:ses/ame@h", "http://me:sesame@h:x"):
        monkeypatch.setenv("TUTELAGE_SERVER", odd)
        err = error_of(capsys, 2, "campaign", "list")
        assert err.startswith("Invalid TUTELAGE_SERVER '")
        assert "://me:***@" in err
        assert "ame@" not in err
    monkeypatch.delenv("TUTELAGE_SERVER")
    err = error_of(capsys, 2, "db", "check", "--store", "postgresql://me:sesame@[x")
    assert err.startswith("Invalid database URL 'postgresql://me:***@[x' (")


def test_parquet_without_its_library_names_the_command(here, capsys, monkeypatch):
    """One that works from a checkout and from anywhere else."""
    with running_server(here) as (address, _):
        content = {"name": "c", "arms": ["x"], "clients": ["a"], "horizon": 9, "teacher": "none"}
        httpx.post(f"{address}/v1/campaigns", json=content).raise_for_status()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    err = error_of(capsys, 2, "ledger", "export", "c", "--format", "parquet", "--store", "sqlite:///t.db")
    assert "bin/pip install pyarrow`" in err


def test_help_is_not_cut_off(capsys):
    """Each command's line in a list is whole, at 80 columns."""
    for group in ((), ("campaign",), ("key",), ("ledger",), ("db",)):
        help = output_of(capsys, *group, "--help")
        listed = help.partition("Commands:\n")[2]
        assert listed.strip()
        assert "..." not in listed


def test_settings_with_a_byte_order_mark_and_exponents(here, capsys):
    """Windows' editors begin a file with a byte-order mark; 5e4 is a whole number in a file, option and variable."""
    (here / "tutelage.toml").write_text(
        "\ufeffstore = 'sqlite:///none.db'\nmax_waiting_pulls = 5e4\n", encoding="utf-8"
    )
    settings = load_configuration({"max_body": "2e4"}, environment={"TUTELAGE_PORT": "1e3"})
    assert (settings.store, settings.max_waiting_pulls) == ("sqlite:///none.db", 50_000)
    assert (settings.max_body, settings.port) == (20_000, 1000)
    (here / "c.toml").write_text("\ufeffhorizon = 2e4\narms = ['a']\nlow = 0.0\n", encoding="utf-8")
    assert read_toml(here / "c.toml") == {"horizon": 20_000, "arms": ["a"], "low": 0.0}
    for wrong in ("1.5e0", "x"):
        with pytest.raises(InputError, match="a whole number in"):
            load_configuration({"max_body": wrong}, environment={})
    (here / "tutelage.toml").write_text("port = 1.5e0\n")
    with pytest.raises(InputError, match="a whole number in"):
        load_configuration(environment={})


SERVICE_LINKS = {
    "TUTELAGE_SERVICE_HOST": "10.0.0.1",
    "TUTELAGE_SERVICE_PORT": "8321",
    "TUTELAGE_SERVICE_PORT_HTTP": "8321",
    "TUTELAGE_PORT": "tcp://10.0.0.1:8321",
    "TUTELAGE_PORT_8321_TCP": "tcp://10.0.0.1:8321",
    "TUTELAGE_PORT_8321_TCP_PROTO": "tcp",
    "TUTELAGE_PORT_8321_TCP_PORT": "8321",
    "TUTELAGE_PORT_8321_TCP_ADDR": "10.0.0.1",
}  # what Kubernetes sets for a service "tutelage"


def test_service_links_of_kubernetes_are_ignored(here, capsys, monkeypatch):
    """With a warning where the setting matters: in the server's log and in `config`."""
    for name, value in SERVICE_LINKS.items():
        monkeypatch.setenv(name, value)
    ignored = "TUTELAGE_PORT=tcp://10.0.0.1:8321 is ignored: Kubernetes sets it for a service of this name; "
    with running_server(here) as (address, _):
        assert output_of(capsys, "campaign", "list", "--server", address) == ""
    messages = [json.loads(line)["message"] for line in (here / "log").read_text().splitlines()]
    assert len([message for message in messages if message.startswith(ignored)]) == 1
    printed = output_of(capsys, "config")
    assert f"# {ignored}use --port, or enableServiceLinks: false in the pod.\n" in printed
    assert "port = 8321  # default\n" in printed
    assert "is ignored" not in output_of(capsys, "key", "list", "--store", "sqlite:///t.db")


def test_commands_read_only_the_settings_that_they_use(here, capsys, monkeypatch):
    """A server's setting that is wrong fails the server, and nothing else."""
    for name in ("PORT", "LOG_LEVEL", "MAX_BODY", "ADVERTISE"):
        monkeypatch.setenv(f"TUTELAGE_{name}", "odd")
    assert execute(["key", "create", "n", "--role", "admin", "--store", "sqlite:///t.db"]) == 0
    capsys.readouterr()
    for command in (("key", "list"), ("db", "check"), ("ledger", "verify")):
        output_of(capsys, *command, "--store", "sqlite:///t.db")
    assert "does not answer" in error_of(capsys, 1, "campaign", "list", "--server", "http://127.0.0.1:9")
    assert "Invalid TUTELAGE_" in error_of(capsys, 2, "serve")


def test_usage_errors_hide_passwords(capsys):
    """A word too many may be a store's address."""
    err = error_of(capsys, 2, "serve", "postgresql://me:p@ses/ame@h/d")
    assert "postgresql://me:***@h/d" in err
