"""``/openapi.json``, and ``/docs``: Swagger UI on it, from files of an installed package."""

import functools
from collections.abc import Sequence
from importlib import resources

import msgspec
from starlette.responses import HTMLResponse, Response

from tutelage.service.api.openapi import build_document
from tutelage.service.api.problems import HttpProblem
from tutelage.service.api.route import Call, Route
from tutelage.service.api.security_headers import HEADERS, POLICY

# Swagger UI draws its icons from data: addresses in its own style sheet; all else is as on other pages.
_POLICY = POLICY.replace("img-src 'self'", "img-src 'self' data:")
_HEADERS = HEADERS | {"Content-Security-Policy": _POLICY}
_CACHED = {"Cache-Control": "max-age=3600"}
_OWN_FILES = {"viewer.js": "text/javascript", "viewer.css": "text/css"}
_PACKAGE_FILES = {"swagger-ui-bundle.js": "text/javascript", "swagger-ui.css": "text/css"}


def documentation_routes(routes: Sequence[Route], root_path: str = "") -> list[Route]:
    """The routes of the documentation of ``routes``."""

    @functools.cache
    def encode_document() -> bytes:
        return msgspec.json.encode(build_document(routes, root_path))

    async def send_document(call: Call) -> bytes:
        return encode_document()

    async def send_page(call: Call) -> HTMLResponse:
        return HTMLResponse(_read_own("viewer.html"), headers=_HEADERS)

    async def send_file(call: Call) -> Response:
        name = call.parameters["file"]
        if name in _OWN_FILES:
            return Response(_read_own(name), 200, _CACHED, _OWN_FILES[name])
        if name in _PACKAGE_FILES:
            return Response(_read_from_package(name), 200, _CACHED, _PACKAGE_FILES[name])
        raise HttpProblem("not-found", f"The server has no file {name!r}.")

    page = functools.partial(Route, "GET", role="viewer", takes_campaign_keys=True)
    return [page("/openapi.json", send_document), page("/docs", send_page), page("/docs/{file}", send_file)]


def _read_own(name: str) -> bytes:
    return resources.files(__package__).joinpath("static", name).read_bytes()


@functools.cache
def _read_from_package(name: str) -> bytes:
    from swagger_ui_bundle import swagger_ui_path

    content: bytes = (swagger_ui_path / name).read_bytes()
    return content
