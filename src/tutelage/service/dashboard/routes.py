"""The addresses of the pages.  Who may see them is decided before a request comes here."""

import mimetypes
from collections.abc import Awaitable, Callable
from functools import partial
from importlib import resources

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from tutelage.service.api.access import COOKIE
from tutelage.service.api.route import Call, Route
from tutelage.service.campaigns.messages import Refusal
from tutelage.service.dashboard.pages import (
    render_campaign_page,
    render_client_page,
    render_index_page,
    render_message_page,
    render_unservable_page,
)
from tutelage.service.dashboard.panels import render_panels
from tutelage.service.dashboard.policy import HEADERS
from tutelage.service.dashboard.renderer import PageRenderer
from tutelage.service.dashboard.templating import render_icon
from tutelage.service.monitoring.monitor import Monitor
from tutelage.service.monitoring.unservable import CannotBeServed
from tutelage.stores.base import CampaignNotFound

_KEPT = {"Cache-Control": "max-age=300"}
_STATIC = ("style.css", "page.js")
_Page = Callable[[Request], Awaitable[Response]]
_Handler = Callable[[Call], Awaitable[Response]]


def dashboard_routes(monitor: Monitor, renderer: PageRenderer) -> list[Route]:
    """The routes of the pages and of their files: ``/``, ``/c/NAME/...`` and ``/static/...``."""

    async def index(request: Request) -> Response:
        found = await monitor.all_views()
        page = partial(render_index_page, thresholds=monitor.thresholds, signed_in=_is_signed_in(request))
        return _html(await renderer.run(page, found))

    async def campaign(request: Request) -> Response:
        name, at = request.path_params["name"], request.query_params.get("at")
        if at is None:
            view = await monitor.view(name)
            rendered = await renderer.panels(view)
        elif not at.isdecimal() or not 1 <= int(at[:20]) <= 2**53:
            return _message(
                request, "Invalid round", f"Invalid round {at!r}: use a whole number from 1.", 404, "../../"
            )
        else:
            view = await monitor.past_view(name, int(at))
            rendered = await renderer.run(render_panels, view, monitor.thresholds)
        page = partial(render_campaign_page, signed_in=_is_signed_in(request))
        return _html(await renderer.run(page, view, rendered, monitor.thresholds))

    async def panels(request: Request) -> Response:
        rendered = await renderer.panels(await monitor.view(request.path_params["name"]))
        have = set(request.query_params.get("have", "").split("."))
        since = request.query_params.get("since", "0")
        is_newer = not since.isdecimal() or rendered.position >= int(since[:20])
        changed = [
            [name, panel, rendered.marks[name]]
            for name, panel in rendered.panels.items()
            if is_newer and rendered.marks[name] not in have
        ]
        tab = {
            "title": rendered.tab.title,
            "icon": rendered.tab.icon,
            "announcement": rendered.tab.announcement,
        }
        position = rendered.position if is_newer else int(since[:20])
        return JSONResponse({"position": position, "panels": changed} | tab, headers=HEADERS)

    async def client(request: Request) -> Response:
        view = await monitor.view(request.path_params["name"])
        wanted = request.path_params["client"] or request.query_params.get("name", "")
        if wanted not in view.metrics.clients:
            sentence = f"The campaign {view.metrics.name} has no client {wanted!r}."
            return _message(request, "Client not found", sentence, 404, "../../../")
        number = view.metrics.clients.index(wanted)
        page = partial(render_client_page, signed_in=_is_signed_in(request))
        return _html(await renderer.run(page, view, number, monitor.thresholds))

    async def slash(request: Request) -> Response:
        return RedirectResponse(f"{request.path_params['name']}/", headers=HEADERS)

    return [
        Route("GET", "/", _handle_errors(index, ""), "viewer"),
        Route("GET", "/c/{name}", _handle_request(slash), "viewer"),
        Route("GET", "/c/{name}/", _handle_errors(campaign, "../../"), "viewer"),
        Route("GET", "/c/{name}/panels", _handle_errors(panels, "../../"), "viewer"),
        Route("GET", "/c/{name}/client/{client:path}", _handle_errors(client, "../../../"), "viewer"),
        Route("GET", "/static/{file}", _handle_request(_static), "anyone"),
    ]


def _is_signed_in(request: Request) -> bool:
    return COOKIE in request.cookies


def _handle_request(page: _Page) -> _Handler:
    """Return the handler of a route that calls ``page`` with the request."""

    async def handle(call: Call) -> Response:
        return await page(call.request)

    return handle


def _handle_errors(page: _Page, root: str) -> _Handler:
    """Return the handler of a route that shows the page, or a page that says why it cannot be shown."""

    async def handle(call: Call) -> Response:
        request = call.request
        try:
            return await page(request)
        except CampaignNotFound as error:
            return _message(request, "Campaign not found", str(error), 404, root)
        except CannotBeServed as error:
            return _html(render_unservable_page(error.campaign, root, signed_in=_is_signed_in(request)), 503)
        except Refusal as error:
            status = {"unknown-campaign": 404, "invalid": 422, "busy": 429}.get(error.reason, 503)
            title = "Campaign not found" if status == 404 else "This page cannot be shown"
            return _message(request, title, error.sentence, status, root)

    return handle


async def _static(request: Request) -> Response:
    name = request.path_params["file"]
    if (dot := render_icon(name)) is not None:
        return Response(dot, media_type="image/svg+xml", headers=HEADERS | _KEPT)
    if name not in _STATIC:
        return _message(request, "Page not found", "The server has no such file.", 404, "../")
    content = resources.files("tutelage.service.dashboard").joinpath("static", name).read_bytes()
    kind = mimetypes.guess_type(name)[0]
    return Response(content, media_type=kind, headers=HEADERS | _KEPT)


def _html(page: str, status: int = 200) -> Response:
    return HTMLResponse(page, status, headers=HEADERS)


def _message(request: Request, title: str, sentence: str, status: int, root: str) -> Response:
    return _html(render_message_page(title, sentence, root, signed_in=_is_signed_in(request)), status)
