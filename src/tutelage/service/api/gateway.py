"""The server's ASGI application: what every request passes on its way to a route's handler and back.

It finds the route, checks the key, reads the body within its limits, decodes it, forwards requests that
another server must answer, turns errors into problems, and logs.
"""

import asyncio
import itertools
import logging
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Collection, Generator, Iterable, Mapping
from typing import Any

import msgspec
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.routing import Router

from tutelage.service.api.access import AccessControl, find_address
from tutelage.service.api.forwarding import Forwarder
from tutelage.service.api.problems import MEDIA_TYPE, BrokenStream, HttpProblem, convert_error
from tutelage.service.api.pull_routes import MAX_PULLS
from tutelage.service.api.route import Call, Route, RouteTable, Scope
from tutelage.service.api.uplink import Uplink
from tutelage.service.campaigns.handoff import Handoff
from tutelage.service.campaigns.messages import NotLeader
from tutelage.service.campaigns.settings import CAMPAIGN_NAME
from tutelage.text import name_place, quote

Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
Page = tuple[bytes, dict[str, str]]  # the body of a page, and its headers
#: Draws the page that a browser is shown for a refusal; None where a program asks.
DrawRefusal = Callable[[HttpProblem, Scope, str, Mapping[bytes, bytes]], Page | None]

_CROSS_ORIGIN_METHODS = ("DELETE", "GET", "HEAD", "POST")
_CROSS_ORIGIN_HEADERS = ("Authorization", "Content-Type", "Traceparent", "X-Request-ID")
_EXPOSED_HEADERS = ("Content-Disposition", "Location", "Retry-After", "X-Request-ID")
LOG = logging.getLogger("tutelage.requests")
_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_PROCESS, _NUMBERS = secrets.token_hex(4).encode(), itertools.count(1)  # for requests without an id
#: The headers of every answer, next to the request's id.
COMMON_HEADERS = ((b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store"))
_JSON, _FORM = b"application/json", b"application/x-www-form-urlencoded"


class Gateway:
    """Answers requests by the routes.  ``lifespan`` is the context in which the server runs.

    With an ``uplink`` the server is an edge: it forwards to the leader what changes a campaign, except pulls, and
    what concerns campaigns of which it has no copy.  Commands in refusals name ``command_server``.
    """

    def __init__(
        self,
        routes: Iterable[Route],
        handoff: Handoff,
        access: AccessControl,
        forwarder: Forwarder,
        *,
        uplink: Uplink | None = None,
        lifespan: Any = None,
        draw_refusal: DrawRefusal = lambda *_: None,
        root_path: str = "",
        max_body: int = 16 * 2**20,
        body_timeout: float = 10.0,
        origins: Collection[str] = (),
        command_server: str = "",
    ) -> None:
        self.table, self.handoff, self.access, self.forwarder = RouteTable(routes), handoff, access, forwarder
        self.uplink = uplink
        self.instruments = handoff.writer.instruments
        self.lifespan, self.draw_refusal = Router(lifespan=lifespan), draw_refusal
        self.root_path, self.max_body, self.body_timeout = root_path.rstrip("/"), max_body, body_timeout
        self.command_server = command_server
        self._respond: Any = self._serve
        if origins:  # without credentials: a page of another site sends a key, never the cookie of a login
            serve: Any = self._serve
            self._respond = CORSMiddleware(
                *(serve, origins, _CROSS_ORIGIN_METHODS, _CROSS_ORIGIN_HEADERS), expose_headers=_EXPOSED_HEADERS
            )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or the messages of the server's start and end."""
        if scope["type"] != "http":
            await self.lifespan(scope, receive, send)
        else:
            await self._respond(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        reply = _Reply(send, choose_request_id(headers))
        started = time.perf_counter()
        self.instruments.in_flight += 1
        tracing = self.handoff.tracing
        span = tracing.begin(headers, scope["method"]) if tracing else None
        try:
            await self._answer(scope, headers, receive, reply)
        except asyncio.CancelledError:  # uvicorn cancels requests that are still running when it ends
            LOG.info("response cut off", extra=reply.describe(scope, headers) | {"reason": "the server ends"})
            return
        except Exception as error:
            problem = convert_error(error)
            problem.detail = name_place(problem.detail, "campaign", "--server", self.command_server)
            if problem.kind == "internal" and not isinstance(error, BrokenStream):
                LOG.exception("request failed", extra=reply.describe(scope, headers))
            if reply.status:  # too late to refuse: the missing end tells the reader that it is incomplete
                LOG.warning("response cut off", extra=reply.describe(scope, headers) | {"reason": str(error)})
                return
            if reply.route is not None and reply.route.refused is not None:
                reply.route.refused(problem.kind, reply.body)
            reply.reason = f"{problem.kind}: {problem.detail}"
            page = self.draw_refusal(problem, scope, self.inner_path(scope["path"]), headers)
            await reply.send_problem(problem, page)
        finally:
            self.instruments.in_flight -= 1
            if span:
                span.finish(*reply.describe_span(scope["method"]))
        self._observe(scope, headers, reply, time.perf_counter() - started)

    def _observe(self, scope: Scope, headers: Mapping[bytes, bytes], reply: "_Reply", seconds: float) -> None:
        """Count and log a request that has been answered."""
        method, path = (scope["method"], reply.route.path) if reply.route else ("other", "other")
        self.instruments.observe_request(method, path, reply.status, seconds)
        if reply.status >= 400 or not (reply.route and reply.route.is_frequent):
            extra = reply.describe(scope, headers) | {"status": reply.status, "milliseconds": round(1000 * seconds, 3)}
            LOG.info("request", extra=extra | ({"reason": reply.reason} if reply.reason else {}))

    async def _answer(self, scope: Scope, headers: Mapping[bytes, bytes], receive: Receive, reply: "_Reply") -> None:
        path, method = self.inner_path(scope["path"]), scope["method"]
        if self.root_path and path == self.root_path:  # relative addresses need its slash
            await reply.send_redirect(path.rpartition("/")[2] + "/")
            return
        sent = scope["headers"]
        if len(sent) > len(headers) and [name for name, _ in sent].count(b"host") > 1:
            raise HttpProblem("malformed", "The request has more than one Host header.")
        methods, parameters = self.table.find(path)
        name = parameters.get("name")
        if name is not None and not CAMPAIGN_NAME.fullmatch(name):
            raise HttpProblem(
                "unknown-campaign",
                f"Invalid campaign name {quote(name)}: use letters, digits, dots, dashes and underscores.",
            )
        reply.campaign = name or ""
        route = reply.route = methods.get(method)
        max_age = route.max_key_age if route else None
        if route is None or route.role != "anyone":
            await self.access.wait_for_keys(headers, max_age)
        caller = self.access.authorize(scope, headers, route.role if route else "viewer", max_age)
        reply.key = caller.name
        if route is None:
            raise _describe_missing(methods)
        route.check_campaign(caller, parameters)
        content = await self._read_body(headers, receive)
        if content:
            _check_encoding(headers)
        if content or route.body is not None:
            _check_content_type(headers, _FORM if route.is_form else _JSON)
        inner = scope | {"root_path": self.root_path, "path": self.root_path + path} if self.root_path else scope
        call = Call(inner, caller, reply.request_id, parameters, content)
        call.body = reply.body = route.read_body(content)
        call.query = route.read_query(scope.get("query_string", b""))
        answer: Any
        try:
            if leader := self._find_leader(route, parameters):
                answer = await self.forwarder.forward(scope, path, reply.request_id, content, leader, is_final=False)
            else:
                answer = await route.handler(call)
        except NotLeader as error:
            tracing = self.handoff.tracing
            sent = tracing.pass_on(scope) if tracing else scope
            answer = await self.forwarder.forward(sent, path, reply.request_id, content, error.address)
            if route.role == "admin" and "name" in parameters:
                self.handoff.acts[parameters["name"]] += 1
        if isinstance(answer, Response):
            await answer(inner, receive, reply)
        else:
            await reply.send_json(answer if isinstance(answer, bytes) else msgspec.json.encode(answer))

    def _find_leader(self, route: Route, parameters: Mapping[str, str]) -> str | None:
        """Return the address to which an edge forwards the request; None if it answers itself."""
        if self.uplink is None or not route.path.startswith("/v1/campaigns") or route.tag == "pulls":
            return None
        name = parameters.get("name")
        is_own = route.method == "GET" and (name is None or self.uplink.has(name))
        return None if is_own else self.uplink.leader

    def inner_path(self, path: str) -> str:
        """Return the path without the prefix, which a proxy may have removed already.

        No path of the server itself begins with the prefix; the configuration makes sure of that.
        """
        is_whole = self.root_path and path.startswith(self.root_path + "/")
        return path[len(self.root_path) :] if is_whole else path

    async def _read_body(self, headers: Mapping[bytes, bytes], receive: Receive) -> bytes:
        """Return the whole body.  Raises :class:`HttpProblem` if it is too long or takes too long."""
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length) > self.max_body:
            raise self._describe_too_large()
        first = _Begun(receive())
        if first.message is not None and not first.message.get("more_body", False):  # as nearly always
            return self._check_part(first.message, 0)
        parts, size = [], 0
        try:
            async with asyncio.timeout(self.body_timeout):
                message = await first
                while True:
                    parts.append(self._check_part(message, size))
                    size += len(parts[-1])
                    if not message.get("more_body", False):
                        return b"".join(parts)
                    message = await receive()
        except TimeoutError:
            raise HttpProblem(
                "timeout",
                f"The body did not arrive within {self.body_timeout:g} seconds.",
                headers={"Connection": "close"},
            ) from None

    def _check_part(self, message: Any, size: int) -> bytes:
        """Return the part of a body in a message; ``size`` is that of the parts before."""
        if message["type"] == "http.disconnect":
            raise HttpProblem("malformed", "The body was cut off.")
        part: bytes = message.get("body", b"")
        if size + len(part) > self.max_body:
            raise self._describe_too_large()
        return part

    def _describe_too_large(self) -> HttpProblem:
        limit = f"The body is longer than {self.max_body} bytes: send at most {MAX_PULLS} pulls at a time."
        return HttpProblem("too-large", limit, headers={"Connection": "close"})


class _Begun:
    """A coroutine of which everything has run that needs no wait.

    ``message`` is its result, or None if it waits; awaiting the object then goes on where it stopped.  A time limit
    costs a third of what the gateway does for a pull, and is not needed where the result is there at once.
    """

    def __init__(self, coroutine: Awaitable[Any]) -> None:
        self._rest, self._waits_for, self.message = coroutine.__await__(), None, None
        try:
            self._waits_for = next(self._rest)
        except StopIteration as end:
            self.message = end.value

    def __await__(self) -> Generator[Any, Any, Any]:
        if self.message is not None:
            return self.message
        yield self._waits_for
        return (yield from self._rest)


class _Reply:
    """Sends an answer with the headers that all answers have, and notes what the log says of the request."""

    def __init__(self, send: Send, request_id: bytes) -> None:
        self._send, self.status, self.request_id = send, 0, request_id
        self.route: Route | None = None
        self.body: Any = None
        self.key = self.campaign = self.reason = ""
        self._headers = [(b"x-request-id", request_id), *COMMON_HEADERS]

    async def __call__(self, message: Any) -> None:
        """Send a message of a Starlette response."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            own = list(message.get("headers", ()))
            names = {name.lower() for name, _ in own}
            message = message | {"headers": own + [each for each in self._headers if each[0] not in names]}
        await self._send(message)

    def describe(self, scope: Scope, headers: Mapping[bytes, bytes]) -> dict[str, Any]:
        """Return the fields of the request's log line."""
        found = {"request": self.request_id.decode(), "method": scope["method"], "path": scope["path"]}
        found |= {"address": find_address(scope, headers)}
        return found | {name: text for name in ("key", "campaign") if (text := getattr(self, name))}

    def describe_span(self, method: str) -> tuple[str, int, dict[str, str]]:
        """Return the name, the status and the attributes of the request's span."""
        route = self.route.path if self.route else ""
        found = {"http.request.method": method, "http.route": route, "tutelage.request": self.request_id.decode()}
        return f"{method} {route}".strip(), self.status, found | {"tutelage.campaign": self.campaign}

    async def send_json(self, body: bytes) -> None:
        self.status = 200
        length = (b"content-length", b"%d" % len(body))
        headers = [(b"content-type", _JSON), length, *self._headers]
        await self._send({"type": "http.response.start", "status": 200, "headers": headers})
        await self._send({"type": "http.response.body", "body": body})

    async def send_problem(self, problem: HttpProblem, page: Page | None) -> None:
        """Send the problem as JSON, or as the page that a browser is shown."""
        body, headers = page or (problem.encode(), {"Content-Type": MEDIA_TYPE})
        encoded = [(name.lower().encode(), text.encode()) for name, text in (headers | problem.headers).items()]
        await self._send_whole(problem.status, encoded, body)

    async def send_redirect(self, place: str) -> None:
        await self._send_whole(307, [(b"location", place.encode())], b"")

    async def _send_whole(self, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
        length = (b"content-length", str(len(body)).encode())
        await self({"type": "http.response.start", "status": status, "headers": [*headers, length]})
        await self({"type": "http.response.body", "body": body})


def choose_request_id(headers: Mapping[bytes, bytes]) -> bytes:
    """Return the id that a request's sender chose, if it is a valid one, or else a new one."""
    given = headers.get(b"x-request-id", b"")
    return given if _ID.fullmatch(given) else b"%s-%x" % (_PROCESS, next(_NUMBERS))


def _describe_missing(methods: Mapping[str, Route]) -> HttpProblem:
    if not methods:
        return HttpProblem("not-found", "Nothing is at this address.")
    allowed = ", ".join(sorted(methods))
    return HttpProblem("method-not-allowed", f"This address allows only {allowed}.", headers={"Allow": allowed})


def _check_encoding(headers: Mapping[bytes, bytes]) -> None:
    if headers.get(b"content-encoding", b"").strip().lower() not in {b"", b"identity"}:
        raise HttpProblem(
            "unsupported-media-type",
            "The body is compressed or encoded: send it without Content-Encoding.",
            headers={"Accept-Encoding": "identity"},
        )


def _check_content_type(headers: Mapping[bytes, bytes], expected: bytes) -> None:
    if headers.get(b"content-type", b"").partition(b";")[0].strip().lower() != expected:
        raise HttpProblem("unsupported-media-type", f"Send the body with Content-Type: {expected.decode()}.")
