"""Proxies and certificates of the environment: a server on this machine is asked directly, errors name the rest."""

import contextlib
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from tests.cli.commands import error_of, output_of, running_server

from tutelage.client import AsyncClient, Client, connections

VARIABLES = [name for word in ("http", "https", "all", "no") for name in (f"{word}_proxy", f"{word.upper()}_PROXY")]
DEAD = "http://me:sesame@127.0.0.1:9"  # a proxy that nobody reaches


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    """An environment without proxies and certificates."""
    for name in [*VARIABLES, "SSL_CERT_FILE", "SSL_CERT_DIR", "TUTELAGE_KEY", "TUTELAGE_SERVER"]:
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "[::1]", "localhost", "a.localhost", "0.0.0.0"])  # noqa: S104
def test_a_server_on_this_machine_has_no_proxy(host, environment):
    """By each of its names and addresses, its host name too."""
    environment.setenv("ALL_PROXY", DEAD)
    assert connections.find_proxy(f"http://{host}:8321") is None
    assert connections.find_proxy(f"https://{socket.gethostname()}") is None


@pytest.mark.parametrize("host", ["example.org", "192.0.2.7", "localhost.example.org", "mylocalhost"])
def test_another_server_has_the_proxy(host, environment):
    """The one of its scheme before the one for all; a password is not shown."""
    environment.setenv("ALL_PROXY", "proxy.example:3128")
    environment.setenv("HTTPS_PROXY", DEAD)
    assert connections.find_proxy(f"http://{host}:8321").url == "http://proxy.example:3128"
    assert connections.name_proxy(f"http://{host}") == " through the proxy http://proxy.example:3128 of ALL_PROXY"
    assert connections.name_proxy(f"https://{host}") == " through the proxy http://me:***@127.0.0.1:9 of HTTPS_PROXY"


@pytest.mark.parametrize("exempt", ["example.org", ".example.org", "a.example.org:8321", "b.org, example.org", "*"])
def test_no_proxy_is_respected(exempt, environment):
    """Hosts and domains, and all."""
    environment.setenv("http_proxy", DEAD)
    environment.setenv("NO_PROXY", exempt)
    assert connections.find_proxy("http://me:p@a.example.org:8321") is None
    assert exempt == "*" or connections.find_proxy("http://a.example.com:8321") is not None


def test_commands_and_clients_reach_this_machine(tmp_path, capsys, environment):
    """Whatever proxy is set; SOCKS without its package and missing certificates do not matter either."""
    with running_server(tmp_path) as (address, _):
        environment.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
        environment.setenv("SSL_CERT_FILE", "/nowhere.pem")
        environment.setenv("TUTELAGE_SERVER", address)
        create = ("--arm", "red", "--arm", "blue", "--client", "a", "--horizon", "9")
        create += ("--teacher", "known(target=0)", "--start")
        output_of(capsys, "campaign", "create", "c", *create)
        with Client(address, "c", deadline=20.0) as client:
            assert not client.reveal("a", "red", 0.5).bypassed
        assert "1 pull" in output_of(capsys, "campaign", "list")


@pytest.mark.parametrize("answer", [False, True])
def test_errors_name_the_proxy(answer, capsys, environment):
    """Whether it cannot be reached, or answers itself."""
    with contextlib.ExitStack() as stack:
        place = DEAD.rpartition("@")[2]
        if answer:
            server = stack.enter_context(ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler))
            environment.setattr(BaseHTTPRequestHandler, "log_message", lambda *arguments: None)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            stack.callback(server.shutdown)
            place = f"127.0.0.1:{server.server_port}"
        environment.setenv("HTTP_PROXY", f"http://me:sesame@{place}")
        err = error_of(capsys, 2 if answer else 1, "campaign", "list", "--server", "http://tutelage.example")
        assert f"through the proxy http://me:***@{place} of HTTP_PROXY " in err
        assert ("is not a Tutelage server: it answers with status 501" in err) == answer
        with Client("http://tutelage.example", "c", deadline=0.05) as client:
            shown = client.reveal("a", "red", 0.5)
        assert shown.bypassed


def test_a_client_logs_the_proxy(caplog, environment):
    """The warning of a bypassed pull names it."""
    environment.setenv("HTTP_PROXY", DEAD)
    with Client("http://tutelage.example", "c", deadline=0.05) as client:
        client.reveal("a", "red", 0.5)
    (line, *_) = [record.getMessage() for record in caplog.records if "unchanged" in record.getMessage()]
    assert line.endswith(" through the proxy http://me:***@127.0.0.1:9 of HTTP_PROXY")


@pytest.mark.parametrize(
    ("variable", "value", "expected"),
    [
        ("ALL_PROXY", "socks5://me:sesame@h:1", "socks5://me:***@h:1 of ALL_PROXY needs the package socksio: install"),
        ("https_proxy", "h:x", "Invalid https_proxy 'http://h:"),
        ("HTTPS_PROXY", "ftp://me:sesame@h", "Invalid HTTPS_PROXY 'ftp://me:***@h' ("),
        ("SSL_CERT_FILE", "/nowhere.pem", "SSL_CERT_FILE=/nowhere.pem (No such file or directory): name a PEM file"),
        ("SSL_CERT_FILE", __file__, f"SSL_CERT_FILE={__file__} ("),
        ("SSL_CERT_DIR", "/nowhere", "SSL_CERT_DIR=/nowhere (No such file or directory): name a folder with"),
    ],
)
def test_what_cannot_be_used_is_named(variable, value, expected, capsys, environment):
    """One sentence from a command, and a ``ValueError`` from both clients."""
    environment.setenv(variable, value)
    err = error_of(capsys, 2, "campaign", "list", "--server", "https://tutelage.example")
    assert expected in err
    assert "sesame" not in err
    for kind in (Client, AsyncClient):
        with pytest.raises(ValueError, match=variable) as caught:
            kind("https://tutelage.example", "c")
        assert expected in str(caught.value)
