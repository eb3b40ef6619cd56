"""What stands before every route: request ids, the key, the body with its limits, problems, and the log.

One ASGI application for the quick route and the others, so that nothing can hold for one of them alone.
"""

import asyncio
import logging
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from tutelage.service.access import Access, Need
from tutelage.service.bridge import Bridge
from tutelage.service.json_reading import MOST_PULLS
from tutelage.service.problems import MEDIA_TYPE, Problem, problem_of
from tutelage.service.pulls_route import answer_pulls

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

LOG = logging.getLogger("tutelage.requests")
_PULLS = re.compile(r"/v1/campaigns/([^/]+)/pulls")
_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_OPEN = frozenset({"/healthz", "/readyz"})
_READING = frozenset({"GET", "HEAD", "OPTIONS"})


class Front:
    """The quick route, and ``rest`` behind it."""

    def __init__(
        self,
        rest: Application,
        bridge: Bridge,
        access: Access,
        *,
        root_path: str = "",
        max_body: int = 16 * 2**20,
        body_timeout: float = 10.0,
    ) -> None:
        self.rest, self.bridge, self.access = rest, bridge, access
        self.root_path, self.max_body, self.body_timeout = root_path.rstrip("/"), max_body, body_timeout

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or the server's own messages."""
        if scope["type"] != "http":
            await self.rest(scope, receive, send)
            return
        headers: dict[bytes, bytes] = dict(scope["headers"])
        given = headers.get(b"x-request-id", b"")
        request_id = given if _ID.fullmatch(given) else secrets.token_hex(8).encode()
        answer = _Answer(send, request_id)
        begun = time.perf_counter()
        try:
            await self._answer(scope, headers, receive, answer)
        except Exception as error:
            problem = problem_of(error)
            if problem.kind == "internal":
                LOG.exception("failed", extra={"request": request_id.decode()})
            if answer.status:  # too late to say so
                raise
            await answer.problem(problem)
        if (
            answer.status >= 400 or not answer.is_quick
        ):  # what goes well a thousand times a second is not told
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
        path: str = scope["path"]
        if self.root_path and path.startswith(self.root_path + "/"):
            path = path[len(self.root_path) :]
        found = _PULLS.fullmatch(path)
        answer.is_quick = found is not None
        grant = self.access.decide(scope, headers, _need(scope["method"], path))
        if found and scope["method"] != "POST":
            raise Problem("method-not-allowed", "Pulls are sent with POST.", headers={"Allow": "POST"})
        body = await self._body(headers, receive)
        if found:
            _check_json(headers)
            await answer.json(await answer_pulls(self.bridge, grant, found[1], body))
            return
        if body:
            _check_json(headers)
        inner = scope | {"root_path": self.root_path, "path": self.root_path + path}
        inner["state"] = dict(scope.get("state") or {}) | {"grant": grant}
        await self.rest(inner, _replayed(body, receive), answer)

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
        self._send, self.status, self.is_quick = send, 0, False
        self._headers = [
            (b"x-request-id", request_id),
            (b"x-content-type-options", b"nosniff"),
            (b"cache-control", b"no-store"),
        ]

    async def __call__(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message = message | {"headers": [*message.get("headers", ()), *self._headers]}
        await self._send(message)

    async def json(self, body: bytes) -> None:
        await self._whole(200, [(b"content-type", b"application/json")], body)

    async def problem(self, problem: Problem) -> None:
        more = [(name.lower().encode(), text.encode()) for name, text in problem.headers.items()]
        await self._whole(problem.status, [(b"content-type", MEDIA_TYPE), *more], problem.body())

    async def _whole(self, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
        length = (b"content-length", str(len(body)).encode())
        await self({"type": "http.response.start", "status": status, "headers": [*headers, length]})
        await self({"type": "http.response.body", "body": body})


def _need(method: str, path: str) -> Need:
    """What a key must allow for this."""
    if path in _OPEN:
        return "open"
    parts = path.split("/")
    if len(parts) == 5 and parts[1:3] == ["v1", "campaigns"] and parts[4] in {"pulls", "clients"}:
        return "pulls"
    return "viewer" if method in _READING else "admin"


def _check_json(headers: Mapping[bytes, bytes]) -> None:
    if headers.get(b"content-type", b"").partition(b";")[0].strip().lower() != b"application/json":
        raise Problem("unsupported-media-type", "Send JSON, with Content-Type: application/json.")


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
