"""Runs the server in this process: store, application and uvicorn, from start to shutdown."""

import asyncio
import contextlib
import errno
import gc
import logging
import signal
import socket
import ssl
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import uvicorn

from tutelage.errors import InputError, RefusalError
from tutelage.service import logs
from tutelage.service.api.access import is_loopback
from tutelage.service.api.pull_protocol import choose_protocol
from tutelage.service.app import build
from tutelage.service.configuration import SETTINGS, Configuration, describe_ignored_variables
from tutelage.service.start_screen import format_start, is_terminal
from tutelage.stores import open_store
from tutelage.stores.base import StoreError
from tutelage.text import name_place

LOG = logging.getLogger("tutelage.server")


class _Server(uvicorn.Server):
    """uvicorn on sockets that are already bound; it logs the addresses, then calls ``announce``."""

    announce: Callable[[], None]

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to listen."""
        try:
            await super().startup(sockets)
        except OSError as error:  # another process has started to listen there meanwhile
            LOG.error("cannot listen", extra={"reason": str(error)})  # noqa: TRY400
            await self.lifespan.shutdown()
            sys.exit(1)
        scheme = "https" if self.config.is_ssl else "http"
        for one in sockets or ():
            host, port = one.getsockname()[:2]
            LOG.info("listening on %s://%s:%s", scheme, f"[{host}]" if ":" in host else host, port)
        self.announce()


def run(configuration: Configuration) -> str | None:
    """Serve until a signal arrives; return the reason if the server ended by itself.  Raises ``InputError``.

    The address is bound and the TLS files are loaded before the store is opened, so that a server that cannot
    listen creates no file.
    """
    _check_tls(configuration)
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(one) for one in _bind_all(configuration.host, configuration.port)]
        return _serve_on(replace(configuration, port=sockets[0].getsockname()[1]), sockets)


def _serve_on(configuration: Configuration, sockets: list[socket.socket]) -> str | None:
    try:
        store = open_store(configuration.store, migrate=configuration.migrate)
    except StoreError as error:
        raise RefusalError(str(error)) from error
    as_text = configuration.log_format == "text" or (configuration.log_format == "auto" and is_terminal(sys.stderr))
    log = logs.configure_logging(configuration.log_level, as_text=as_text)
    try:
        for note in [*store.notes, *(() if as_text else store.caveats)]:
            LOG.info(note)
        for note in describe_ignored_variables():
            LOG.warning(note)
        has_keys = bool(store.keys())
        is_local = all(is_loopback(one.getsockname()[0]) for one in sockets)
        if has_keys and configuration.tls_certificate is None and not is_local:
            LOG.warning(
                "Keys and rewards travel in the clear to and from other machines: give --tls-certificate and "
                "--tls-key, or publish the server only through a proxy with TLS."
            )
        if configuration.insecure:
            LOG.warning("While no key exists, anyone who can reach this server may do anything (--insecure).")
        elif not has_keys and not as_text:
            LOG.warning(
                name_place(
                    "No key exists: anyone on this machine may do anything. Create a key with `tutelage key create`.",
                    *("key", "--store", "" if configuration.store == SETTINGS["store"].default else store.url),
                )
            )
        # Rows come by the thousand and hold no cycles: searching for some at Python's pace takes a quarter of
        # the time.
        gc.set_threshold(50_000, 20, 50)
        server: _Server

        def stop() -> None:
            server.should_exit = True

        gateway = build(store, configuration, stopping=stop)
        server = _Server(
            uvicorn.Config(
                gateway,
                http=choose_protocol(gateway),
                host=configuration.host,
                port=configuration.port,
                ssl_certfile=configuration.tls_certificate,
                ssl_keyfile=configuration.tls_key,
                timeout_graceful_shutdown=configuration.shutdown_timeout,
                proxy_headers=False,
                server_header=False,
                access_log=False,
                log_config=None,
                lifespan="on",
                ws="none",
                backlog=4096,
            )
        )
        num_campaigns = len(store.campaigns())
        start = format_start(configuration, store.url, num_campaigns=num_campaigns, has_keys=has_keys)
        server.announce = (lambda: log.print(start)) if as_text else lambda: None
        # uvicorn raises the signal again when it has ended; as an exception it leaves time to close the
        # store.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            with asyncio.Runner(loop_factory=_loop_factory()) as runner:
                if sys.platform != "win32":  # in the loop: a handler between any two lines could meet the log's lock
                    loop = runner.get_loop()
                    loop.add_signal_handler(signal.SIGHUP, _reload_certificate, server.config, configuration)
                runner.run(server.serve(sockets))
        except KeyboardInterrupt:
            return None
        except SystemExit:  # from uvicorn, if it cannot start
            return f"The server could not start on {configuration.host}:{configuration.port}: see the log above."
        return gateway.handoff.writer.failure if gateway.handoff.writer.broken else None
    finally:
        store.close()
        log.finish()
        gc.freeze()  # otherwise Python looks through all objects several times before it exits


def _check_tls(configuration: Configuration) -> None:
    """Raise ``InputError`` unless the certificate and its key can be used."""
    certificate, key = configuration.tls_certificate, configuration.tls_key
    if certificate is None or key is None:
        return
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password="")
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
        raise InputError(
            f"Cannot use the certificate {certificate} with the key {key} ({reason}): use PEM files that belong "
            "together, the key without a password."
        ) from None


def _reload_certificate(serving: uvicorn.Config, configuration: Configuration) -> None:
    """Use the TLS files as they are now for new connections; if they are not usable, those in use stay."""
    if serving.ssl is None:
        LOG.info("SIGHUP: nothing to reload, since the server uses no TLS")
        return
    try:
        _check_tls(configuration)
    except InputError as error:
        LOG.error("SIGHUP: the certificate was not reloaded", extra={"reason": str(error)})  # noqa: TRY400
        return
    serving.ssl.load_cert_chain(str(configuration.tls_certificate), configuration.tls_key)
    LOG.info("SIGHUP: the certificate was reloaded")


def _bind_all(host: str, port: int) -> list[socket.socket]:
    """Return a bound socket for each address of a host name; nothing listens on them yet."""
    found: list[socket.socket] = []
    reason = "the name is not an address of this machine"
    try:
        infos = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, kind, protocol, _, address in dict.fromkeys(infos):
            try:
                found.append(_bind(family, kind, protocol, address))
            except OSError as error:
                reason = error.strerror or str(error)
                if error.errno not in {errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT}:  # IPv6 that is switched off
                    for one in found:
                        one.close()
                    found = []
                    break
    except (OSError, UnicodeError) as error:
        reason = str(getattr(error, "strerror", None) or error)
    if not found:
        raise InputError(
            f"The server cannot listen on {host}:{port} ({reason}): "
            "end the program that listens there, or use another --host or --port."
        )
    return found


def _bind(family: int, kind: int, protocol: int, address: Any) -> socket.socket:
    one = socket.socket(family, kind, protocol)
    try:
        if sys.platform != "win32":  # on Windows it would admit two servers
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        one.bind(address)
    except OSError:
        one.close()
        raise
    return one


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    """Return the factory of the fastest event loop for this platform."""
    if sys.platform == "win32":
        return asyncio.new_event_loop
    import uvloop

    return uvloop.new_event_loop
