"""A server in its process: the store, the application, uvicorn, and how all of it ends."""

import asyncio
import gc
import signal
import sys
from collections.abc import Callable

import uvicorn

from tutelage.errors import InputError
from tutelage.service import logs
from tutelage.service.app import build
from tutelage.service.configuration import Configuration
from tutelage.stores import StoreError, open_store


def run(configuration: Configuration, *, tell: Callable[[str], object]) -> str | None:
    """Serve until a signal comes; why it ended by itself, if it did.  Raises ``InputError``."""
    try:
        store = open_store(configuration.store, migrate=configuration.migrate)
    except StoreError as error:
        raise InputError(str(error)) from error
    try:
        for note in store.notes:
            tell(note)
        if configuration.insecure:
            tell("While no key exists, everybody who reaches this server may do everything (--insecure).")
        logs.begin(configuration.log_level)
        # Rows come by the thousand and hold no circles: to look for some at Python's pace costs a quarter.
        gc.set_threshold(50_000, 20, 50)
        server: uvicorn.Server

        def stop() -> None:
            server.should_exit = True

        front = build(store, configuration, stopping=stop)
        server = uvicorn.Server(
            uvicorn.Config(
                front,
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
                runner.run(server.serve())
        except KeyboardInterrupt:
            return None
        except SystemExit:  # uvicorn's, if it cannot begin
            return f"The server could not begin on {configuration.host}:{configuration.port}: see above."
        return front.bridge.engine.failure if front.bridge.engine.broken else None
    finally:
        store.close()


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    """The quickest loop there is for this platform."""
    if sys.platform == "win32":
        return asyncio.new_event_loop
    import uvloop

    return uvloop.new_event_loop
