"""The server as one ASGI application: FastAPI behind :class:`~tutelage.service.api.gateway.Gateway`."""

import asyncio
import contextlib
import logging
import platform
from collections.abc import AsyncIterator, Callable, Mapping
from urllib.parse import urlsplit

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from tutelage.service.api.access import Access
from tutelage.service.api.document import document
from tutelage.service.api.forwarding import Forwarding
from tutelage.service.api.gateway import Gateway, Scope
from tutelage.service.api.handoff import Handoff, Readers
from tutelage.service.api.problems import MEDIA_TYPE, Kind, Problem, problem_of
from tutelage.service.api.routes import make_routes
from tutelage.service.api.validation import must_be
from tutelage.service.campaigns.messages import NotLeader, Refusal
from tutelage.service.configuration import Configuration, parse_teacher_names
from tutelage.service.dashboard import dashboard_routes, login_routes, refusal_page, status_router
from tutelage.service.dashboard.policy import HEADERS
from tutelage.service.dashboard.renderer import PageRenderer
from tutelage.service.monitoring.monitor import Monitor
from tutelage.stores.base import CampaignNotFound, Store, StoreError

LOG = logging.getLogger("tutelage.server")
KEYS_SECONDS = 1.0
HTML = "text/html; charset=utf-8"


def build(
    store: Store, configuration: Configuration, *, stopping: Callable[[], None] = lambda: None
) -> Gateway:
    """The application on an open store.  ``stopping`` is called if the store has failed for good."""
    handoff = Handoff(
        store, address=configuration.advertise or "", most_waiting=configuration.max_waiting_pulls
    )
    readers, access = Readers(store, handoff.engine.fail), Access(insecure=configuration.insecure)
    # Of its own: whoever asks for much, as for pages of the past, does not keep keys from being read.
    vital = Readers(store, handoff.engine.fail, threads=1)
    forwarding = Forwarding(configuration.advertise or "", insecure=configuration.insecure)
    monitor = Monitor(handoff, readers, name=_name(configuration), thresholds=configuration)
    renderer = PageRenderer(configuration)

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        access.update(await vital.read(lambda reader: reader.keys()))
        handoff.start()
        watching = [
            asyncio.create_task(_watch(access, vital, handoff, stopping)),
            asyncio.create_task(monitor.run()),
        ]
        yield
        for task in watching:
            task.cancel()
        await handoff.stop()
        await forwarding.close()
        renderer.close()
        readers.close()
        vital.close()

    def told(
        problem: Problem, scope: Scope, path: str, headers: Mapping[bytes, bytes]
    ) -> tuple[bytes, dict[str, str]] | None:
        page = refusal_page(problem, scope, path, headers, has_keys=access.has_keys)
        return None if page is None else (page.encode(), HEADERS | {"Content-Type": HTML})

    async def handle(request: Request, error: Exception) -> Response:
        if isinstance(error, NotLeader):
            path, state = gateway.inner_path(request.scope["path"]), request.state
            try:
                return await forwarding.answer(
                    request.scope, path, state.request_id, state.body, error.address
                )
            except Problem as refused:
                error = refused
        problem, path = _problem(error), gateway.inner_path(request.scope["path"])
        if page := told(problem, dict(request.scope), path, dict(request.scope["headers"])):
            return Response(page[0], problem.status, page[1] | problem.headers)
        return Response(problem.body(), problem.status, problem.headers, MEDIA_TYPE.decode())

    app = FastAPI(
        title="Tutelage",
        version="1",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    for error in (
        *(
            Problem,
            Refusal,
            NotLeader,
            CampaignNotFound,
            StoreError,
            HTTPException,
            RequestValidationError,
            Exception,
        ),
    ):
        app.add_exception_handler(error, handle)
    app.include_router(
        make_routes(handoff, readers, vital, forwarding, parse_teacher_names(configuration.own_teachers))
    )
    app.include_router(status_router(monitor))
    app.router.routes += [*login_routes(access), *dashboard_routes(monitor, renderer, lambda: document(app))]
    app.openapi = lambda: document(app)  # type: ignore[method-assign]
    gateway = Gateway(
        app,
        handoff,
        access,
        forwarding,
        told=told,
        root_path=configuration.root_path,
        max_body=configuration.max_body,
        body_timeout=configuration.body_timeout,
    )
    return gateway


def _name(configuration: Configuration) -> str:
    """What this server is called on its pages."""
    return (configuration.advertise and urlsplit(configuration.advertise).netloc) or platform.node()


async def _watch(access: Access, vital: Readers, handoff: Handoff, stopping: Callable[[], None]) -> None:
    """Keep the keys fresh, and end the server if its store cannot be trusted any more."""
    while True:
        await asyncio.sleep(KEYS_SECONDS)
        if handoff.engine.broken:
            LOG.critical("stopping", extra={"reason": handoff.engine.failure})
            stopping()
            return
        try:
            access.update(await vital.read(lambda reader: reader.keys()))
        except StoreError as error:
            LOG.warning("keys", extra={"reason": str(error)})


def _problem(error: Exception) -> Problem:
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        name, value = first["loc"][-1], first.get("input")
        return Problem("invalid", f"{name}: {value!r} cannot be used: {must_be(first)}.")
    if isinstance(error, HTTPException):
        kind: Kind = "method-not-allowed" if error.status_code == 405 else "not-found"
        return Problem(kind, f"{error.detail}.", headers=error.headers)
    if isinstance(error, CampaignNotFound):
        return Problem("unknown-campaign", str(error))
    if isinstance(error, StoreError):
        return Problem("unavailable", str(error))
    return problem_of(error)
