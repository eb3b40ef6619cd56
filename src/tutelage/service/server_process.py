"""A server in its process: the store, the application, uvicorn, and how all of it ends."""

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
from typing import Any

import uvicorn

from tutelage.errors import InputError
from tutelage.service import logs
from tutelage.service.app import build
from tutelage.service.configuration import Configuration
from tutelage.stores import StoreError, open_store

LOG = logging.getLogger("tutelage.server")


class _Server(uvicorn.Server):
    """uvicorn on sockets that are bound already; it says where it listens."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen."""
        try:
            await super().startup(sockets)
        except OSError as error:  # another has begun to listen there in the meantime
            LOG.error("cannot listen", extra={"reason": str(error)})  # noqa: TRY400
            await self.lifespan.shutdown()
            sys.exit(1)
        scheme = "https" if self.config.is_ssl else "http"
        for one in sockets or ():
            host, port = one.getsockname()[:2]
            LOG.info("listening on %s://%s:%s", scheme, f"[{host}]" if ":" in host else host, port)


def run(configuration: Configuration) -> str | None:
    """Serve until a signal comes; why it ended by itself, if it did.  Raises ``InputError``.

    The address is taken before the store is opened, and TLS tried: a server that cannot listen leaves no file
    behind.
    """
    _check_tls(configuration)
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(one) for one in _bound(configuration.host, configuration.port)]
        return _served(configuration, sockets)


def _served(configuration: Configuration, sockets: list[socket.socket]) -> str | None:
    try:
        store = open_store(configuration.store, migrate=configuration.migrate)
    except StoreError as error:
        raise InputError(str(error)) from error
    try:
        logs.begin(configuration.log_level)
        for note in store.notes:
            LOG.warning(note)
        if configuration.insecure:
            LOG.warning(
                "While no key exists, everybody who reaches this server may do everything (--insecure)."
            )
        elif not store.keys():
            LOG.warning(
                "No key exists: everybody on this machine may do everything, and whom a proxy here lets in. "
                "Make a key with `tutelage key create`."
            )
        # Rows come by the thousand and hold no circles: to look for some at Python's pace costs a quarter.
        gc.set_threshold(50_000, 20, 50)
        server: _Server

        def stop() -> None:
            server.should_exit = True

        gateway = build(store, configuration, stopping=stop)
        server = _Server(
            uvicorn.Config(
                gateway,
                http="httptools",
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
        # uvicorn raises a signal again once it has ended: as an exception it leaves time to close the store.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            with asyncio.Runner(loop_factory=_loop_factory()) as runner:
                runner.run(server.serve(sockets))
        except KeyboardInterrupt:
            return None
        except SystemExit:  # uvicorn's, if it cannot begin
            return f"The server could not begin on {configuration.host}:{configuration.port}: see above."
        return gateway.handoff.engine.failure if gateway.handoff.engine.broken else None
    finally:
        store.close()


def _check_tls(configuration: Configuration) -> None:
    """Whether the certificate and its key can be used."""
    certificate, key = configuration.tls_certificate, configuration.tls_key
    if certificate is None or key is None:
        return
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password="")
    except (OSError, ValueError) as error:
        why = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
        raise InputError(
            f"The certificate {certificate} and the key {key} cannot be used ({why}): give PEM files that "
            "belong together, the key without a password."
        ) from None


def _bound(host: str, port: int) -> list[socket.socket]:
    """A socket for each address that a name stands for; nobody listens on them yet."""
    found: list[socket.socket] = []
    why = "the name stands for no address of this machine"
    try:
        infos = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, kind, protocol, _, address in dict.fromkeys(infos):
            try:
                found.append(_bound_to(family, kind, protocol, address))
            except OSError as error:
                why = error.strerror or str(error)
                if error.errno not in {errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT}:  # an IPv6 that is off
                    for one in found:
                        one.close()
                    found = []
                    break
    except (OSError, UnicodeError) as error:
        why = str(getattr(error, "strerror", None) or error)
    if not found:
        raise InputError(
            f"The server cannot listen on {host}:{port} ({why}): "
            "end what listens there, or take another --host or --port."
        )
    return found


def _bound_to(family: int, kind: int, protocol: int, address: Any) -> socket.socket:
    one = socket.socket(family, kind, protocol)
    try:
        if sys.platform != "win32":  # there it would let two servers in
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        one.bind(address)
    except OSError:
        one.close()
        raise
    return one


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    """The quickest loop there is for this platform."""
    if sys.platform == "win32":
        return asyncio.new_event_loop
    import uvloop

    return uvloop.new_event_loop
