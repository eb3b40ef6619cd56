"""Requests that another server must answer: the one that leads the campaign.

A request goes on once.  The header ``X-Tutelage-Forwarded`` marks it, and a server that is sent such a
request and does not lead either refuses it.  Keys go along unchanged: the leader checks them again.
"""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Container, Iterable, Mapping
from typing import Any
from urllib.parse import quote

import httpx
from starlette.background import BackgroundTask
from starlette.responses import Response, StreamingResponse

from tutelage.service.api.problems import CutOff, Problem
from tutelage.stores.base import CampaignListing

MARK = b"x-tutelage-forwarded"
_CONNECT_SECONDS, _REACHABLE_SECONDS = 2.0, 2.0
_ANSWER_SECONDS = 10.0  # the lease: a leader that was halted for longer can be replaced by then
# What belongs to one connection alone; and Origin, since this server has compared it with its own name.
_KEPT_BACK = frozenset(
    {
        b"host",
        b"origin",
        b"connection",
        b"keep-alive",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
        b"expect",
        b"content-length",
        b"proxy-authorization",
        b"proxy-connection",
        b"x-request-id",
    }
)
_OWN_ANSWER = frozenset({"connection", "keep-alive", "transfer-encoding", "date", "server"})


class Forwarding:
    """The way to the leaders.  ``address`` is where they find this server.

    ``insecure``: whoever comes in may be from anywhere, so that a leader which lets this machine in without
    a key must be told.
    """

    def __init__(self, address: str, *, insecure: bool = False) -> None:
        self.address, self.insecure = address.rstrip("/"), insecure
        self._http: httpx.AsyncClient | None = None
        self._reached: dict[str, float] = {}  # when each leader answered last

    async def answer(
        self,
        scope: Mapping[str, Any],
        path: str,
        request_id: bytes,
        body: bytes,
        leader: str | None,
    ) -> Response:
        """The leader's answer, streamed.  ``path`` is without this server's prefix.

        Raises :class:`Problem`, ``no-leader``, if there is none, or it does not answer, or the request has
        been passed on before.
        """
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        if any(name == MARK for name, _ in headers):
            raise Problem("no-leader", "The server that this was passed on to does not lead the campaign.")
        place = (leader or "").rstrip("/")
        if not place or place == self.address:
            raise Problem("no-leader", "Nobody who can be reached leads this campaign now: try again.")
        sent = [pair for pair in headers if pair[0] not in _KEPT_BACK]
        sent += [(MARK, b"1"), (b"x-request-id", request_id)]
        if self.insecure and scope.get("client"):
            sent.append((b"x-forwarded-for", str(scope["client"][0]).encode()))
        address = place + quote(path, safe="/:@!$&'()*+,;=~")
        if query := scope.get("query_string", b""):
            address += "?" + query.decode("latin-1")
        try:
            http = self._client()
            request = http.build_request(scope["method"], address, headers=sent, content=body or None)
            response = await http.send(request, stream=True)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            self._reached.pop(place, None)
            raise Problem(
                "no-leader",
                f"The leader of this campaign does not answer ({type(error).__name__}): try again.",
            ) from None
        kept = {name: text for name, text in response.headers.items() if name not in _OWN_ANSWER}
        return StreamingResponse(
            _streamed(response), response.status_code, kept, background=BackgroundTask(response.aclose)
        )

    async def unreachable(self, campaigns: Iterable[CampaignListing], led: Container[str]) -> str | None:
        """A campaign whose leader does not answer; None if there is none but those ``led`` here."""
        leaders: dict[str, str] = {}
        for one in campaigns:
            place = one.leader and one.leader.rstrip("/")
            if one.leader is not None and not (place == self.address and one.name in led):
                leaders[place or ""] = one.name
        found = await asyncio.gather(*map(self._is_reachable, leaders))
        return next((name for name, is_up in zip(leaders.values(), found, strict=True) if not is_up), None)

    async def _is_reachable(self, leader: str) -> bool:
        if time.monotonic() - self._reached.get(leader, -_REACHABLE_SECONDS) < _REACHABLE_SECONDS:
            return True
        try:
            response = await self._client().get(f"{leader}/healthz", timeout=_CONNECT_SECONDS)
        except (httpx.HTTPError, httpx.InvalidURL):
            return False
        if response.is_success:
            self._reached[leader] = time.monotonic()
        return response.is_success

    def _client(self) -> httpx.AsyncClient:
        if self._http is None:
            self._http = httpx.AsyncClient(
                verify=ssl.create_default_context(),
                trust_env=False,
                timeout=httpx.Timeout(_ANSWER_SECONDS, connect=_CONNECT_SECONDS),
                limits=httpx.Limits(max_connections=256, max_keepalive_connections=64),
            )
        return self._http

    async def close(self) -> None:
        """End the connections."""
        if self._http is not None:
            await self._http.aclose()


async def _streamed(response: httpx.Response) -> AsyncIterator[bytes]:
    """What the leader sends, as it comes."""
    try:
        async for part in response.aiter_raw():
            yield part
    except httpx.HTTPError as error:
        raise CutOff(f"The leader's answer broke off ({type(error).__name__}).") from error
