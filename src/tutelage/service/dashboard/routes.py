"""The addresses of the pages.  Who may see them is decided before a request comes here."""

import mimetypes
from collections.abc import Awaitable, Callable
from functools import partial
from importlib import resources
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from tutelage.service.api.access import COOKIE
from tutelage.service.campaigns.messages import Refusal
from tutelage.service.dashboard.pages import (
    campaign_page,
    client_page,
    icon_file,
    index_page,
    message_page,
    render,
    unserved_page,
)
from tutelage.service.dashboard.policy import HEADERS
from tutelage.service.dashboard.reference import reference_page
from tutelage.service.dashboard.unserved import CannotBeServed, Unserved
from tutelage.service.monitoring.figures import Figures
from tutelage.service.monitoring.metrics import CONTENT_TYPE, metrics_text
from tutelage.service.monitoring.monitor import Monitor
from tutelage.service.monitoring.status import states_of
from tutelage.stores.base import CampaignNotFound

_KEPT = {"Cache-Control": "max-age=300"}
_STATIC = ("style.css", "page.js")
_Page = Callable[[Request], Awaitable[Response]]


def dashboard_routes(monitor: Monitor, document: Callable[[], dict[str, Any]]) -> list[BaseRoute]:
    """``/``, ``/c/NAME/`` with what belongs to it, ``/docs`` and ``/metrics``, under any prefix.

    ``document`` is called for what OpenAPI says of the server.
    """

    async def index(request: Request) -> Response:
        found = await monitor.all_figures()
        page = partial(index_page, thresholds=monitor.thresholds, signed_in=_is_signed_in(request))
        return _html(await monitor.in_thread(page, found))

    async def campaign(request: Request) -> Response:
        name, at = request.path_params["name"], request.query_params.get("at")
        if at is None:
            figures, rendered = await monitor.rendered(name)
        elif not at.isdecimal() or not 1 <= int(at[:20]) <= 2**53:
            return _message(request, "No such round", "A round is a whole number from 1 on.", 404, "../../")
        else:
            figures = await monitor.past(name, int(at))
            rendered = await monitor.in_thread(render, figures, monitor.thresholds)
        page = partial(campaign_page, signed_in=_is_signed_in(request))
        return _html(await monitor.in_thread(page, figures, rendered, monitor.thresholds))

    async def panels(request: Request) -> Response:
        _, rendered = await monitor.rendered(request.path_params["name"])
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
        figures = await monitor.figures(request.path_params["name"])
        wanted = request.path_params["client"] or request.query_params.get("name", "")
        if wanted not in figures.taken.clients:
            sentence = f"The campaign {figures.taken.name} has no client {wanted!r}."
            return _message(request, "No such client", sentence, 404, "../../../")
        number = figures.taken.clients.index(wanted)
        page = partial(client_page, signed_in=_is_signed_in(request))
        return _html(await monitor.in_thread(page, figures, number, monitor.thresholds))

    async def metrics(request: Request) -> Response:
        found = await monitor.led_figures()
        led = [one for one in found if isinstance(one, Figures)]
        unserved = [one.name for one in found if isinstance(one, Unserved)]
        content = await monitor.in_thread(metrics_text, led, monitor.server(), monitor.thresholds, unserved)
        return Response(content, media_type=CONTENT_TYPE, headers=HEADERS)

    async def docs(request: Request) -> Response:
        page = partial(reference_page, signed_in=_is_signed_in(request))
        return _html(await monitor.in_thread(page, document()))

    async def slash(request: Request) -> Response:
        return RedirectResponse(f"{request.path_params['name']}/", headers=HEADERS)

    return [
        Route("/", _found(index, "")),
        Route("/c/{name}", slash),
        Route("/c/{name}/", _found(campaign, "../../")),
        Route("/c/{name}/panels", _found(panels, "../../")),
        Route("/c/{name}/client/{client:path}", _found(client, "../../../")),
        Route("/static/{file}", _static),
        Route("/docs", docs),
        Route("/metrics", metrics),
    ]


def states_router(monitor: Monitor) -> APIRouter:
    """The states of a campaign for programs."""
    router = APIRouter()

    @router.get("/v1/campaigns/{name}/status")
    async def states(name: str) -> Response:
        """All that is so of a campaign, worst first: word, colour, sentence, and what helps."""
        figures = await monitor.figures(name)
        told = [
            {
                "state": state.kind,
                "colour": state.colour,
                "headline": state.headline,
                "sentence": state.sentence,
                "remedy": state.remedy,
                "command": state.command,
                "client": None if state.client is None else figures.taken.clients[state.client],
            }
            for state in states_of(figures, monitor.thresholds)
        ]
        return JSONResponse({"name": name, "position": figures.taken.position, "states": told})

    return router


def _is_signed_in(request: Request) -> bool:
    return COOKIE in request.cookies


def _found(page: _Page, root: str) -> _Page:
    """The page, or one that says why there is none."""

    async def told(request: Request) -> Response:
        try:
            return await page(request)
        except CampaignNotFound as error:
            return _message(request, "No such campaign", str(error), 404, root)
        except CannotBeServed as error:
            return _html(unserved_page(error.unserved, root, signed_in=_is_signed_in(request)), 503)
        except Refusal as error:
            status = {"unknown-campaign": 404, "invalid": 422}.get(error.reason, 503)
            title = "No such campaign" if status == 404 else "This page cannot be shown"
            return _message(request, title, error.sentence, status, root)

    return told


async def _static(request: Request) -> Response:
    name = request.path_params["file"]
    if (dot := icon_file(name)) is not None:
        return Response(dot, media_type="image/svg+xml", headers=HEADERS | _KEPT)
    if name not in _STATIC:
        return _message(request, "Nothing here", "There is no such file.", 404, "../")
    content = resources.files("tutelage.service.dashboard").joinpath("static", name).read_bytes()
    kind = mimetypes.guess_type(name)[0]
    return Response(content, media_type=kind, headers=HEADERS | _KEPT)


def _html(page: str, status: int = 200) -> Response:
    return HTMLResponse(page, status, headers=HEADERS)


def _message(request: Request, title: str, sentence: str, status: int, root: str) -> Response:
    return _html(message_page(title, sentence, root, signed_in=_is_signed_in(request)), status)
