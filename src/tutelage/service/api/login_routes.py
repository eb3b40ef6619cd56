"""Signing in with a key from a browser, and the pages that a browser is shown when it is refused.

The cookie is the secret of a session in the store: every server of the store accepts it until the session
ends, by time or by signing out, or its key does.
"""

import contextlib
import time
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from tutelage.service.api.access import (
    COOKIE,
    AccessControl,
    digest_of,
    find_address,
    find_session_secret,
    make_session,
)
from tutelage.service.api.login_attempts import LoginAttempts
from tutelage.service.api.problems import HttpProblem
from tutelage.service.api.route import Call, Route
from tutelage.service.api.security_headers import HEADERS
from tutelage.service.campaigns.handoff import Handoff
from tutelage.service.campaigns.messages import Origin
from tutelage.service.campaigns.writer import SessionJob
from tutelage.service.dashboard.pages import render_login_page, render_message_page
from tutelage.service.dashboard.templating import Visitor

NO_KEY = (
    "No key exists yet: create one in the server's store with `tutelage key create`. "
    "On the server's machine none is needed."
)
_FOR_PROGRAMS = ("/v1/", "/openapi.json", "/metrics", "/healthz", "/readyz")


def login_routes(access: AccessControl, handoff: Handoff, session_hours: float) -> list[Route]:
    """The routes ``/login`` and ``/logout``, which need no key; a session lasts ``session_hours``."""
    attempts = LoginAttempts()

    async def form(call: Call) -> Response:
        request = call.request
        onward = request.query_params.get("next", "/")
        with contextlib.suppress(HttpProblem):
            access.find_by_session(request.cookies.get(COOKIE, ""))
            return _onward(request, onward)
        return _form(onward, "" if access.has_keys else NO_KEY, 200, has_form=access.has_keys)

    async def login(call: Call) -> Response:
        request, fields = call.request, call.form
        onward, secret = (fields.get(name, [""])[0] for name in ("next", "key"))
        address = find_address(call.scope, dict(call.scope["headers"]))
        if wait := attempts.register(address):
            message = f"Too many attempts: try again in {wait} seconds."
            return _form(onward, message, 429, {"Retry-After": str(wait)})
        caller = access.find_caller(secret.strip())
        if caller is None:
            return _form(onward, "This key is unknown, has expired or has been revoked: use another one.", 401)
        if caller.role == "reporter":
            message = "A reporter's key cannot show pages: use the key of a viewer or an administrator."
            return _form(onward, message, 403)
        attempts.forget_last(address)
        secret, session = make_session(secret.strip(), session_hours, time.time_ns() // 1000)
        await handoff.ask(SessionJob("", opened=session, origin=Origin(caller.name, address)))
        access.add_session(session)
        answer = _onward(request, onward)
        answer.set_cookie(COOKIE, secret, max_age=round(3600 * session_hours), **_cookie(request))
        return answer

    async def logout(call: Call) -> Response:
        headers = dict(call.scope["headers"])
        if (secret := find_session_secret(headers)) is not None:
            await access.wait_for_keys(headers)
            with contextlib.suppress(HttpProblem):
                key = access.find_by_session(secret).name
                digest = digest_of(secret)
                await handoff.ask(SessionJob("", ended=digest, origin=Origin(key, find_address(call.scope, headers))))
                access.end_session(digest)
        answer = RedirectResponse("login", 303, HEADERS)
        answer.delete_cookie(COOKIE, **_cookie(call.request))
        return answer

    return [
        Route("GET", "/login", form, "anyone"),
        Route("POST", "/login", login, "anyone", is_form=True),
        Route("POST", "/logout", logout, "anyone", is_form=True),
    ]


def _form(onward: str, message: str, status: int, more: Mapping[str, str] | None = None, **how: bool) -> Response:
    return HTMLResponse(render_login_page("", onward, message, **how), status, headers=HEADERS | dict(more or {}))


def _onward(request: Request, path: str) -> Response:
    """Redirect to a page of this server, never to another site.

    With a root path the page is under it, where the cookie is sent, even if the form was not.
    """
    root = request.scope.get("root_path") or "."
    return RedirectResponse(f"{root}/" + path.lstrip("/\\"), 303, HEADERS)


def _cookie(request: Request) -> dict[str, Any]:
    """The cookie's attributes; it is secure if the browser or a proxy says that it uses TLS."""
    headers = request.headers
    is_secure = (
        request.url.scheme == "https"
        or headers.get("origin", "").startswith("https://")
        or headers.get("x-forwarded-proto", "") == "https"
    )
    path = request.scope.get("root_path") or "/"
    return {"httponly": True, "samesite": "strict", "secure": is_secure, "path": path}


def render_refusal(
    problem: HttpProblem, scope: Mapping[str, Any], path: str, headers: Mapping[bytes, bytes], *, has_keys: bool
) -> str | None:
    """Render a problem as a page, with the form if a key would help; None if the client is not a browser.

    ``path`` is without the root path.
    """
    asks = scope["method"] in {"GET", "HEAD"} and b"text/html" in headers.get(b"accept", b"")
    if not asks or path.startswith(_FOR_PROGRAMS):
        return None
    root = "../" * (path.count("/") - 1)
    if problem.kind != "unauthorized":
        title = "Page not found" if problem.status == 404 else "This page cannot be shown"
        is_signed_in = f"{COOKIE}=".encode() in headers.get(b"cookie", b"")
        return render_message_page(title, problem.detail, root, visitor=Visitor(has_session=is_signed_in))
    query = scope.get("query_string", b"").decode("latin-1")
    is_stale = b"cookie" in headers and any(word in problem.detail for word in ("unknown", "expired"))
    return render_login_page(
        root,
        path + (f"?{query}" if query else ""),
        problem.detail if is_stale or not has_keys else "",
        has_form=has_keys,
        reload=headers.get(b"sec-fetch-site") == b"cross-site",
    )
