"""The addresses of the pages.  Who may see them is decided before a request comes here."""

import mimetypes
from collections.abc import Awaitable, Callable
from importlib import resources

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from tutelage.service.dashboard.pages import (
    campaign_page,
    client_page,
    index_page,
    message_page,
    render,
)
from tutelage.service.dashboard.watcher import Watcher
from tutelage.service.messages import Refused
from tutelage.service.metrics import CONTENT_TYPE, metrics_text
from tutelage.service.states import ORDER, states_of
from tutelage.stores.base import Missing

POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'"
HEADERS = {
    "Content-Security-Policy": POLICY + "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_STATIC = ("style.css", "page.js")
_Page = Callable[[Request], Awaitable[Response]]


def dashboard_routes(watcher: Watcher) -> list[BaseRoute]:
    """``/``, ``/c/NAME/`` with what belongs to it, and ``/metrics``, for an application under any prefix."""

    async def index(request: Request) -> Response:
        rows = [(figures, states_of(figures, watcher.thresholds)) for figures in await watcher.all_figures()]
        rows.sort(key=lambda row: (ORDER.index((row[1][0].kind, row[1][0].colour)), row[0].taken.name))
        return _html(await watcher.in_thread(index_page, rows))

    async def campaign(request: Request) -> Response:
        name, at = request.path_params["name"], request.query_params.get("at")
        if at is None:
            figures, rendered = await watcher.rendered(name)
        elif not at.isdecimal() or not 1 <= int(at[:20]) <= 2**53:
            return _message("No such round", "A round is a whole number from 1 on.", 404, "../../")
        else:
            figures = await watcher.past(name, int(at))
            rendered = await watcher.in_thread(render, figures, watcher.thresholds)
        return _html(await watcher.in_thread(campaign_page, figures, rendered))

    async def panels(request: Request) -> Response:
        _, rendered = await watcher.rendered(request.path_params["name"])
        have = set(request.query_params.get("have", "").split("."))
        since = request.query_params.get("since", "0")
        is_newer = not since.isdecimal() or rendered.position >= int(since[:20])
        changed = [
            [name, panel, rendered.marks[name]]
            for name, panel in rendered.panels.items()
            if is_newer and rendered.marks[name] not in have
        ]
        tab = {"title": rendered.tab.title, "icon": rendered.tab.icon, "said": rendered.tab.said}
        position = rendered.position if is_newer else int(since[:20])
        return JSONResponse({"position": position, "panels": changed} | tab, headers=HEADERS)

    async def client(request: Request) -> Response:
        figures = await watcher.figures(request.path_params["name"])
        wanted = request.path_params["client"] or request.query_params.get("name", "")
        if wanted not in figures.taken.clients:
            sentence = f"The campaign {figures.taken.name} has no client {wanted!r}."
            return _message("No such client", sentence, 404, "../../../")
        number = figures.taken.clients.index(wanted)
        return _html(await watcher.in_thread(client_page, figures, number, watcher.thresholds))

    async def metrics(request: Request) -> Response:
        figures = await watcher.led_figures()
        content = await watcher.in_thread(metrics_text, figures, watcher.thresholds)
        return Response(content, media_type=CONTENT_TYPE, headers=HEADERS)

    async def slash(request: Request) -> Response:
        return RedirectResponse(f"{request.path_params['name']}/", headers=HEADERS)

    return [
        Route("/", _found(index, "")),
        Route("/c/{name}", slash),
        Route("/c/{name}/", _found(campaign, "../../")),
        Route("/c/{name}/panels", _found(panels, "../../")),
        Route("/c/{name}/client/{client:path}", _found(client, "../../../")),
        Route("/static/{file}", _static),
        Route("/metrics", metrics),
    ]


def _found(page: _Page, root: str) -> _Page:
    """The page, or one that says why there is none."""

    async def told(request: Request) -> Response:
        try:
            return await page(request)
        except Missing as error:
            return _message("No such campaign", str(error), 404, root)
        except Refused as error:
            status = {"unknown-campaign": 404, "invalid": 422}.get(error.reason, 503)
            title = "No such campaign" if status == 404 else "This page cannot be shown"
            return _message(title, error.sentence, status, root)

    return told


async def _static(request: Request) -> Response:
    name = request.path_params["file"]
    if name not in _STATIC:
        return _message("Nothing here", "There is no such file.", 404, "../")
    content = resources.files("tutelage.service.dashboard").joinpath("static", name).read_bytes()
    kind = mimetypes.guess_type(name)[0]
    return Response(content, media_type=kind, headers=HEADERS | {"Cache-Control": "max-age=300"})


def _html(page: str) -> Response:
    return HTMLResponse(page, headers=HEADERS)


def _message(title: str, sentence: str, status: int, root: str) -> Response:
    return HTMLResponse(message_page(title, sentence, root), status, headers=HEADERS)
