"""The routes of the dashboard's pages.  Errors become pages in :mod:`.login_routes`."""

import mimetypes
import re
from collections.abc import Callable
from functools import partial
from importlib import resources
from typing import Any

import msgspec
from starlette.responses import HTMLResponse, RedirectResponse, Response

from tutelage.service.api.action_routes import describe_visitor
from tutelage.service.api.problems import HttpProblem
from tutelage.service.api.route import Call, Route
from tutelage.service.api.security_headers import HEADERS
from tutelage.service.dashboard import pages
from tutelage.service.dashboard.charts import RANGES
from tutelage.service.dashboard.panels import render_panels
from tutelage.service.dashboard.renderer import PageRenderer
from tutelage.service.dashboard.templating import render_icon
from tutelage.service.monitoring.campaign_view import CampaignView
from tutelage.service.monitoring.load_checks import UnservableRefusal
from tutelage.service.monitoring.monitor import Monitor

_CACHED = {"Cache-Control": "max-age=300"}
_FILES = ("style.css", "page.js")


def page_routes(monitor: Monitor, renderer: PageRenderer) -> list[Route]:
    """The routes of the pages and of their files: ``/``, ``/c/NAME/...`` and ``/static/...``."""
    handlers = PageHandlers(monitor, renderer)
    return [
        Route("GET", "/", handlers.show_index, "viewer", takes_campaign_keys=True),
        Route("GET", "/c/{name}", handlers.add_slash, "viewer"),
        Route("GET", "/c/{name}/", handlers.show_campaign, "viewer"),
        Route("GET", "/c/{name}/panels", handlers.send_panels, "viewer"),
        Route("GET", "/c/{name}/client/{client:path}", handlers.show_client, "viewer"),
        Route("GET", "/static/{file}", handlers.send_file, "anyone"),
    ]


class ChangedPanels(msgspec.Struct):
    """The panels that a page does not have yet, as (name, HTML, mark), and what its tab shows."""

    position: int
    panels: list[tuple[str, str, str]]
    title: str
    icon: str
    announcement: str
    status: str


class PageHandlers:
    """The handlers of the routes."""

    def __init__(self, monitor: Monitor, renderer: PageRenderer) -> None:
        self.monitor, self.renderer, self.thresholds = monitor, renderer, monitor.thresholds

    async def show_index(self, call: Call) -> Response:
        if call.caller.campaign is not None:
            return RedirectResponse(f"c/{call.caller.campaign}/", headers=HEADERS)
        page = _read_page(call)
        return await self._send(call, pages.render_index_page, await self.monitor.all_views(), page)

    async def show_campaign(self, call: Call) -> Response:
        at, range_name = call.request.query_params.get("at"), _read_range(call)
        if at is None:
            try:
                view = await self.monitor.view(call.name)
            except UnservableRefusal as error:
                return _send_unservable(error, call, "../../")
            panels = await self.renderer.panels(view, range_name)
        else:
            view = await self._past_view(call.name, at)
            panels = await self.renderer.run(render_panels, view, self.thresholds, range_name)
        return await self._send(call, pages.render_campaign_page, view, panels, range_name)

    async def _send(self, call: Call, render: Callable[..., str], *arguments: Any) -> Response:
        """Render a page in the renderer's thread."""
        made = partial(render, *arguments, self.thresholds, visitor=describe_visitor(call))
        return HTMLResponse(await self.renderer.run(made), headers=HEADERS)

    async def _past_view(self, name: str, at: str) -> CampaignView:
        if not at.isdecimal() or not 1 <= int(at[:20]) <= 2**53:
            raise HttpProblem("not-found", f"Invalid round {at!r}: use a whole number from 1.")
        return await self.monitor.past_view(name, int(at))

    async def send_panels(self, call: Call) -> Response:
        view = await self.monitor.view(call.name)
        rendered = await self.renderer.panels(view, _read_range(call))
        query = call.request.query_params
        have, since = set(query.get("have", "").split(".")), query.get("since", "0")
        is_newer = not since.isdecimal() or rendered.position >= int(since[:20])
        changed = [
            (name, panel, rendered.marks[name])
            for name, panel in rendered.panels.items()
            if is_newer and rendered.marks[name] not in have
        ]
        position, tab = rendered.position if is_newer else int(since[:20]), rendered.tab
        content = ChangedPanels(position, changed, tab.title, tab.icon, tab.announcement, view.metrics.status)
        return Response(msgspec.json.encode(content), 200, HEADERS, "application/json")

    async def show_client(self, call: Call) -> Response:
        try:
            view = await self.monitor.view(call.name)
        except UnservableRefusal as error:
            return _send_unservable(error, call, "../../../")
        client = call.parameters["client"] or call.request.query_params.get("name", "")
        if client not in view.metrics.clients:
            raise HttpProblem("not-found", f"The campaign {call.name} has no client {client!r}.")
        return await self._send(call, pages.render_client_page, view, view.metrics.clients.index(client))

    async def add_slash(self, call: Call) -> Response:
        return RedirectResponse(f"{call.name}/", headers=HEADERS)

    async def send_file(self, call: Call) -> Response:
        name = call.parameters["file"]
        if (dot := render_icon(name)) is not None:
            return Response(dot, media_type="image/svg+xml", headers=HEADERS | _CACHED)
        if name not in _FILES:
            raise HttpProblem("not-found", f"The server has no file {name!r}.")
        content = resources.files("tutelage.service.dashboard").joinpath("static", name).read_bytes()
        return Response(content, media_type=mimetypes.guess_type(name)[0], headers=HEADERS | _CACHED)


def _read_range(call: Call) -> str:
    """Return the name of the charts' time range; empty if the server chooses it."""
    name: str = call.request.query_params.get("range", "")
    if name and name not in RANGES:
        raise HttpProblem("not-found", f"Invalid range {name!r}: use {', '.join(RANGES)}.")
    return name


def _read_page(call: Call) -> int:
    """Return the number of the page of a list, from 1."""
    text: str = call.request.query_params.get("page", "1")
    if not re.fullmatch("[1-9][0-9]{0,8}", text):
        raise HttpProblem("not-found", f"Invalid page {text!r}: use a whole number from 1.")
    return int(text)


def _send_unservable(error: UnservableRefusal, call: Call, root: str) -> Response:
    page = pages.render_unservable_page(error.campaign, root, visitor=describe_visitor(call))
    return HTMLResponse(page, 503, HEADERS)
