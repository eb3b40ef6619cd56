"""The server as one ASGI application: FastAPI behind :class:`~tutelage.service.front.Front`."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from starlette.exceptions import HTTPException

from tutelage.service.access import Access
from tutelage.service.bridge import Bridge, Readers
from tutelage.service.configuration import Configuration
from tutelage.service.front import Front
from tutelage.service.json_reading import MOST_PULLS
from tutelage.service.messages import NotLeading, Refused, SentPull
from tutelage.service.problems import MEDIA_TYPE, Kind, Problem, Told, problem_of
from tutelage.service.pulls_route import ToldPulls
from tutelage.service.routes import NamedClient, NewCampaign, make_routes
from tutelage.stores.base import Missing, Store, StoreError

LOG = logging.getLogger("tutelage.server")
KEYS_SECONDS = 1.0
_SCHEMAS = "#/components/schemas/{name}"


def build(
    store: Store, configuration: Configuration, *, stopping: Callable[[], None] = lambda: None
) -> Front:
    """The application on an open store.  ``stopping`` is called if the store has failed for good."""
    bridge = Bridge(
        store, address=configuration.advertise or "", most_waiting=configuration.max_waiting_pulls
    )
    readers, access = Readers(store), Access(insecure=configuration.insecure)

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        access.update(await readers.read(lambda reader: reader.keys()))
        bridge.start()
        watching = asyncio.create_task(_watch(access, readers, bridge, stopping))
        yield
        watching.cancel()
        await bridge.stop()
        readers.close()

    app = FastAPI(title="Tutelage", version="1", lifespan=lifespan, redoc_url=None)
    for error in (Problem, Refused, NotLeading, Missing, StoreError, HTTPException, RequestValidationError):
        app.add_exception_handler(error, _handle)
    app.include_router(make_routes(bridge, readers))
    app.openapi = lambda: _document(app)  # type: ignore[method-assign]
    return Front(
        app,
        bridge,
        access,
        root_path=configuration.root_path,
        max_body=configuration.max_body,
        body_timeout=configuration.body_timeout,
    )


async def _watch(access: Access, readers: Readers, bridge: Bridge, stopping: Callable[[], None]) -> None:
    """Keep the keys fresh, and end the server if its store cannot be trusted any more."""
    while True:
        await asyncio.sleep(KEYS_SECONDS)
        if bridge.engine.broken:
            LOG.critical("stopping", extra={"reason": bridge.engine.failure})
            stopping()
            return
        try:
            access.update(await readers.read(lambda reader: reader.keys()))
        except StoreError as error:
            LOG.warning("keys", extra={"reason": str(error)})


async def _handle(request: Request, error: Exception) -> Response:
    problem = _problem(error)
    return Response(problem.body(), problem.status, problem.headers, MEDIA_TYPE.decode())


def _problem(error: Exception) -> Problem:
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        return Problem("invalid", f"{first['loc'][-1]}: {first['msg']}.")
    if isinstance(error, HTTPException):
        kind: Kind = "method-not-allowed" if error.status_code == 405 else "not-found"
        return Problem(kind, f"{error.detail}.", headers=error.headers)
    if isinstance(error, Missing):
        return Problem("unknown-campaign", f"{error}.")
    if isinstance(error, StoreError):
        return Problem("unavailable", f"{error}.")
    return problem_of(error)


def _document(app: FastAPI) -> dict[str, Any]:
    """OpenAPI, with the quick route, which FastAPI does not see."""
    if app.openapi_schema:
        return app.openapi_schema
    found = get_openapi(title=app.title, version=app.version, routes=app.routes)
    types = [SentPull, ToldPulls, NewCampaign, NamedClient, Told]
    (sent, answer, *_, problem), schemas = msgspec.json.schema_components(types, ref_template=_SCHEMAS)
    found.setdefault("components", {}).setdefault("schemas", {}).update(schemas)
    many = {"type": "array", "items": sent, "minItems": 1, "maxItems": MOST_PULLS}
    batch = {"type": "object", "properties": {"pulls": many}, "required": ["pulls"]}
    name = {"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}
    found["paths"]["/v1/campaigns/{name}/pulls"] = {
        "post": {
            "summary": "Answer one pull, or up to 10,000 as one step",
            "parameters": [name],
            "requestBody": {
                "required": True,
                "content": {"application/json": {"schema": {"oneOf": [sent, batch]}}},
            },
            "responses": {
                "200": {
                    "description": "For one pull its answer alone.",
                    "content": {"application/json": {"schema": {"anyOf": [answer, schemas["ToldPull"]]}}},
                }
            },
        }
    }
    refusal = {"description": "Refused", "content": {MEDIA_TYPE.decode(): {"schema": problem}}}
    for path in found["paths"].values():
        for operation in path.values():
            operation["responses"].pop("422", None)
            operation["responses"]["default"] = refusal
    app.openapi_schema = found
    return found
