"""What stands before every route: request ids, the key, the body with its limits, problems, and the log.

One ASGI application for the quick route and the others, so that nothing can hold for one of them alone.
"""

import asyncio
import itertools
import logging
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from tutelage.service.api.access import Access, Need
from tutelage.service.api.forwarding import Forwarding
from tutelage.service.api.handoff import Handoff
from tutelage.service.api.json_reading import MOST_PULLS
from tutelage.service.api.problems import MEDIA_TYPE, CutOff, Problem, problem_of
from tutelage.service.api.pulls_route import answer_pulls
from tutelage.service.campaigns.messages import NotLeader
from tutelage.service.campaigns.settings import is_campaign_name

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
Told = Callable[[Problem, Scope, str, Mapping[bytes, bytes]], tuple[bytes, dict[str, str]] | None]

LOG = logging.getLogger("tutelage.requests")
_PULLS = re.compile(r"/v1/campaigns/([^/]+)/pulls")
_NAMED = re.compile(r"/(?:v1/campaigns|c)/([^/]+)")
_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_PROCESS, _NUMBERS = secrets.token_hex(4).encode(), itertools.count(1)  # of requests that bring no id
_OPEN = frozenset({"/healthz", "/readyz", "/login", "/logout"})
_FORMS = frozenset({"/login", "/logout"})
_JSON, _FORM = b"application/json", b"application/x-www-form-urlencoded"
_READING = frozenset({"GET", "HEAD", "OPTIONS"})


class Gateway:
    """The quick route, and ``rest`` behind it."""

    def __init__(
        self,
        rest: Application,
        handoff: Handoff,
        access: Access,
        forwarding: Forwarding,
        *,
        told: Told = lambda *_: None,
        root_path: str = "",
        max_body: int = 16 * 2**20,
        body_timeout: float = 10.0,
    ) -> None:
        self.rest, self.handoff, self.access, self.told = rest, handoff, access, told
        self.forwarding = forwarding
        self.root_path, self.max_body, self.body_timeout = root_path.rstrip("/"), max_body, body_timeout

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or the server's own messages."""
        if scope["type"] != "http":
            await self.rest(scope, receive, send)
            return
        headers: dict[bytes, bytes] = dict(scope["headers"])
        given = headers.get(b"x-request-id", b"")
        request_id = given if _ID.fullmatch(given) else b"%s-%x" % (_PROCESS, next(_NUMBERS))
        answer = _Answer(send, request_id)
        begun = time.perf_counter()
        try:
            await self._answer(scope, headers, receive, answer)
        except asyncio.CancelledError:  # uvicorn's, at the end of the server: whoever reads is cut off
            LOG.info("cut off", extra={"request": request_id.decode(), "path": scope["path"]})
            return
        except Exception as error:
            problem = problem_of(error)
            if problem.kind == "internal" and not isinstance(error, CutOff):
                LOG.exception("failed", extra={"request": request_id.decode()})
            if answer.status:  # too late to say so: without its end, whoever reads sees that it is not whole
                LOG.warning("cut off", extra={"request": request_id.decode(), "reason": str(error)})
                return
            page = self.told(problem, scope, self.inner_path(scope["path"]), headers)
            await answer.problem(problem, page)
        # What goes well a thousand times a second is not told.
        if answer.status >= 400 or not answer.is_quick:
            LOG.info(
                "request",
                extra={
                    "request": request_id.decode(),
                    "method": scope["method"],
                    "path": scope["path"],
                    "status": answer.status,
                    "milliseconds": round(1000 * (time.perf_counter() - begun), 3),
                },
            )

    async def _answer(
        self, scope: Scope, headers: Mapping[bytes, bytes], receive: Receive, answer: "_Answer"
    ) -> None:
        path = self.inner_path(scope["path"])
        if self.root_path and path == self.root_path:  # relative addresses need its slash
            await answer.moved(path.rpartition("/")[2] + "/")
            return
        found = _PULLS.fullmatch(path)
        answer.is_quick = found is not None
        if [name for name, _ in scope["headers"]].count(b"host") > 1:
            raise Problem("malformed", "The request has more than one Host.")
        named = _NAMED.match(path)
        if named and not is_campaign_name(named[1]):
            raise Problem("unknown-campaign", "No campaign has such a name.")
        grant = self.access.decide(scope, headers, _need(scope["method"], path))
        if found and scope["method"] != "POST":
            raise Problem("method-not-allowed", "Pulls are sent with POST.", headers={"Allow": "POST"})
        body = await self._body(headers, receive)
        if found:
            _check_kind(headers, _JSON)
            try:
                await answer.json(await answer_pulls(self.handoff, grant, found[1], body))
            except NotLeader as error:
                passed = await self.forwarding.answer(scope, path, answer.request_id, body, error.address)
                await passed(scope, receive, answer)
            return
        if body:
            _check_kind(headers, _FORM if path in _FORMS else _JSON)
        inner = scope | {"root_path": self.root_path, "path": self.root_path + path}
        inner["state"] = dict(scope.get("state") or {}) | {
            "grant": grant,
            "body": body,
            "request_id": answer.request_id,
        }
        await self.rest(inner, _replayed(body, receive), answer)

    def inner_path(self, path: str) -> str:
        """The path without the prefix, whether a proxy has cut that off or not.

        No address of the server's own begins with the prefix: the configuration sees to that.
        """
        is_whole = self.root_path and path.startswith(self.root_path + "/")
        return path[len(self.root_path) :] if is_whole else path

    async def _body(self, headers: Mapping[bytes, bytes], receive: Receive) -> bytes:
        """All of the body, in time and not too long."""
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length) > self.max_body:
            raise self._too_large()
        parts, size = [], 0
        try:
            async with asyncio.timeout(self.body_timeout):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Problem("malformed", "The body was cut off.")
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > self.max_body:
                        raise self._too_large()
                    if not message.get("more_body", False):
                        return b"".join(parts)
        except TimeoutError:
            raise Problem(
                "timeout",
                f"The body did not arrive within {self.body_timeout:g} seconds.",
                headers={"Connection": "close"},
            ) from None

    def _too_large(self) -> Problem:
        told = f"The body is longer than {self.max_body} bytes: send at most {MOST_PULLS} pulls at a time."
        return Problem("too-large", told, headers={"Connection": "close"})


class _Answer:
    """Sends an answer with the headers that all have."""

    def __init__(self, send: Send, request_id: bytes) -> None:
        self._send, self.status, self.is_quick, self.request_id = send, 0, False, request_id
        self._headers = [
            (b"x-request-id", request_id),
            (b"x-content-type-options", b"nosniff"),
            (b"cache-control", b"no-store"),
        ]

    async def __call__(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            own = list(message.get("headers", ()))
            names = {name.lower() for name, _ in own}
            message = message | {"headers": own + [each for each in self._headers if each[0] not in names]}
        await self._send(message)

    async def json(self, body: bytes) -> None:
        self.status = 200
        length = (b"content-length", b"%d" % len(body))
        headers = [(b"content-type", b"application/json"), length, *self._headers]
        await self._send({"type": "http.response.start", "status": 200, "headers": headers})
        await self._send({"type": "http.response.body", "body": body})

    async def problem(self, problem: Problem, page: tuple[bytes, dict[str, str]] | None) -> None:
        """The problem as JSON, or as the page that a browser is shown."""
        body, headers = page or (problem.body(), {"Content-Type": MEDIA_TYPE.decode()})
        more = [(name.lower().encode(), text.encode()) for name, text in (headers | problem.headers).items()]
        await self._whole(problem.status, more, body)

    async def moved(self, place: str) -> None:
        """Look there instead."""
        await self._whole(307, [(b"location", place.encode())], b"")

    async def _whole(self, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
        length = (b"content-length", str(len(body)).encode())
        await self({"type": "http.response.start", "status": status, "headers": [*headers, length]})
        await self({"type": "http.response.body", "body": body})


def _need(method: str, path: str) -> Need:
    """What a key must allow for this."""
    if path in _OPEN or path.startswith("/static/"):  # what a form is drawn with
        return "open"
    parts = path.split("/")
    if len(parts) == 5 and parts[1:3] == ["v1", "campaigns"] and parts[4] in {"pulls", "clients"}:
        return "pulls"
    return "viewer" if method in _READING else "admin"


def _check_kind(headers: Mapping[bytes, bytes], kind: bytes) -> None:
    if headers.get(b"content-type", b"").partition(b";")[0].strip().lower() != kind:
        raise Problem("unsupported-media-type", f"Send it with Content-Type: {kind.decode()}.")


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Gives a body that has been read once more, then what else comes."""
    is_given = False

    async def again() -> Any:
        nonlocal is_given
        if is_given:
            return await receive()
        is_given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
