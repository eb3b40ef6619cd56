"""The server as one ASGI application: all routes behind the gateway, and the tasks that run next to them."""

import asyncio
import contextlib
import logging
import platform
import time
from collections.abc import AsyncIterator, Callable, Mapping
from urllib.parse import urlsplit

from tutelage.client.client_arguments import find_key
from tutelage.service.api.access import AccessControl
from tutelage.service.api.action_routes import action_routes
from tutelage.service.api.api_routes import api_routes
from tutelage.service.api.documentation_routes import documentation_routes
from tutelage.service.api.forwarding import Forwarder
from tutelage.service.api.gateway import Gateway, Page
from tutelage.service.api.login_routes import login_routes, render_refusal
from tutelage.service.api.page_routes import page_routes
from tutelage.service.api.problems import HttpProblem
from tutelage.service.api.route import Scope
from tutelage.service.api.security_headers import HEADERS
from tutelage.service.api.uplink import Uplink
from tutelage.service.campaigns.failover import Failover
from tutelage.service.campaigns.handoff import Handoff, Readers
from tutelage.service.campaigns.messages import Refusal
from tutelage.service.campaigns.writer import KeyUseJob
from tutelage.service.configuration import Configuration, find_command_server, split_list
from tutelage.service.dashboard.renderer import PageRenderer
from tutelage.service.monitoring.monitor import Monitor
from tutelage.service.tracing import open_tracing
from tutelage.stores.base import KeyRow, Reader, SessionRow, Store, StoreError

LOG = logging.getLogger("tutelage.server")
KEYS_SECONDS = 1.0
KEY_USES_SECONDS = 60.0
HTML = "text/html; charset=utf-8"


def build(store: Store, configuration: Configuration, *, stopping: Callable[[], None] = lambda: None) -> Gateway:
    """Return the application on an open store.  ``stopping`` is called if the store has failed permanently."""
    address, insecure = configuration.advertise or "", configuration.insecure
    handoff = Handoff(
        store, address=address, most_waiting=configuration.max_waiting_pulls, most_cached=configuration.max_cached_pulls
    )
    handoff.tracing = open_tracing()
    origins = split_list(configuration.cors_origins)
    readers, access = Readers(store, handoff.writer.fail), AccessControl(insecure=insecure, origins=origins)
    # Threads of their own, so that requests that read much do not keep keys from being read.
    vital = Readers(store, handoff.writer.fail, threads=1)
    forwarder = Forwarder(address, handoff.writer.instruments, insecure=insecure)
    failover = Failover(handoff, readers)
    uplink = None
    if configuration.upstream and configuration.edge:
        leader = {"leader": configuration.upstream, "edge": configuration.edge, "key": find_key(None)}
        uplink = Uplink(handoff, readers, configuration.store, **leader)
    monitor = Monitor(
        handoff,
        readers,
        failover,
        name=_name_server(configuration),
        command_server=find_command_server(configuration),
        thresholds=configuration,
        most_client_metrics=configuration.client_metrics,
    )
    renderer = PageRenderer(configuration)

    @contextlib.asynccontextmanager
    async def lifespan(_: object) -> AsyncIterator[None]:
        access.update(*await vital.read(_read_keys))
        handoff.start()
        if uplink:
            await uplink.open()
        tasks = [
            asyncio.create_task(_refresh_keys(access, vital, handoff, stopping)),
            asyncio.create_task(failover.run()),
            asyncio.create_task(monitor.run()),
            *([asyncio.create_task(uplink.run())] if uplink else []),
        ]
        yield
        for task in tasks:
            task.cancel()
        if uplink:
            await uplink.close()
        await _note_key_uses(access, handoff)
        await handoff.stop()
        await forwarder.close()
        renderer.close()
        readers.close()
        vital.close()
        if handoff.tracing:
            await asyncio.to_thread(handoff.tracing.close)

    def draw_refusal(problem: HttpProblem, scope: Scope, path: str, headers: Mapping[bytes, bytes]) -> Page | None:
        page = render_refusal(problem, scope, path, headers, has_keys=access.has_keys)
        return None if page is None else (page.encode(), HEADERS | {"Content-Type": HTML})

    routes = [
        *api_routes(handoff, readers, monitor, split_list(configuration.own_teachers), uplink),
        *login_routes(access, handoff, configuration.session_hours),
        *page_routes(monitor, renderer),
        *action_routes(handoff, monitor),
    ]
    return Gateway(
        [*routes, *documentation_routes(routes, configuration.root_path)],
        handoff,
        access,
        forwarder,
        uplink=uplink,
        lifespan=lifespan,
        draw_refusal=draw_refusal,
        root_path=configuration.root_path,
        max_body=configuration.max_body,
        body_timeout=configuration.body_timeout,
        origins=origins,
        command_server=find_command_server(configuration),
    )


def _name_server(configuration: Configuration) -> str:
    """Return the name of this server on its pages."""
    return (configuration.advertise and urlsplit(configuration.advertise).netloc.rpartition("@")[2]) or platform.node()


def _read_keys(reader: Reader) -> tuple[list[KeyRow], list[SessionRow]]:
    return reader.keys(), reader.sessions()


async def _refresh_keys(
    access: AccessControl, readers: Readers, handoff: Handoff, stopping: Callable[[], None]
) -> None:
    """Read the keys every second, store when they were used, and end the server if its store has failed for good."""
    noted = time.monotonic()
    while True:
        await asyncio.sleep(KEYS_SECONDS)
        if time.monotonic() - noted >= KEY_USES_SECONDS:
            noted = time.monotonic()
            await _note_key_uses(access, handoff)
        if handoff.writer.broken:
            LOG.critical("the store has failed for good: the server stops", extra={"reason": handoff.writer.failure})
            stopping()
            return
        try:
            access.update(*await readers.read(_read_keys))
            handoff.writer.faults.end("keys")
        except StoreError as error:
            access.has_failed = True
            handoff.writer.faults.report("keys", str(error))


async def _note_key_uses(access: AccessControl, handoff: Handoff) -> None:
    """Store when keys were last used; while the store fails, their next use is stored."""
    if uses := access.take_uses():
        with contextlib.suppress(Refusal):
            await handoff.ask(KeyUseJob("", uses=uses))
