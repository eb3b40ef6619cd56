"""Forwarding of requests to the server that leads the campaign.

A request is forwarded once.  The header ``X-Tutelage-Forwarded`` marks it; a server that receives a marked
request and does not lead the campaign refuses it.  Keys are sent along unchanged, and the leader checks them.
"""

import ssl
from collections.abc import AsyncIterator, Mapping
from typing import Any
from urllib.parse import quote

import httpx
from starlette.background import BackgroundTask
from starlette.responses import Response, StreamingResponse

from tutelage.service.api.problems import BrokenStream, HttpProblem
from tutelage.service.instruments import Instruments

MARK = b"x-tutelage-forwarded"
_CONNECT_SECONDS = 2.0
_ANSWER_SECONDS = 10.0  # the lease: a leader that hangs for longer can be replaced by then
# anyio raises AttributeError for a connection that the leader closed at this moment.
_UNREACHABLE = (httpx.HTTPError, httpx.InvalidURL, AttributeError)
# Headers of one connection only, and Origin, which this server has compared with its own name.
_NOT_FORWARDED = frozenset(
    b"host origin connection keep-alive te trailer transfer-encoding upgrade expect content-length "
    b"proxy-authorization proxy-connection x-request-id".split()
)
_NOT_RETURNED = frozenset({"connection", "keep-alive", "transfer-encoding", "date", "server"})


class Forwarder:
    """Connections to the leaders.  ``address`` is this server's own.

    With ``insecure`` a request may come from any machine.  The forwarded request then carries the sender's
    address, so that a leader that admits only its own machine without a key can refuse it.
    """

    def __init__(self, address: str, instruments: Instruments, *, insecure: bool = False) -> None:
        self.address, self.instruments, self.insecure = address.rstrip("/"), instruments, insecure
        self._http: httpx.AsyncClient | None = None

    async def forward(
        self,
        scope: Mapping[str, Any],
        path: str,
        request_id: bytes,
        body: bytes,
        leader: str | None,
        *,
        is_final: bool = True,
    ) -> Response:
        """Return the leader's answer, streamed.  ``path`` is without this server's prefix.

        Unless it ``is_final``, the server at that address may forward the request once more.  Raises a
        ``no-leader`` :class:`HttpProblem` if there is no leader, it does not answer, or the request was forwarded
        before.
        """
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        if any(name == MARK for name, _ in headers):
            raise HttpProblem(
                "no-leader", "The request was forwarded to this server, which does not lead the campaign: try again."
            )
        place = (leader or "").rstrip("/")
        if not place or place == self.address:
            raise HttpProblem("no-leader", "No server that can be reached leads this campaign now: try again.")
        sent = [pair for pair in headers if pair[0] not in _NOT_FORWARDED]
        sent += [(MARK, b"1")] * is_final + [(b"x-request-id", request_id)]
        if self.insecure and scope.get("client"):
            sent.append((b"x-forwarded-for", str(scope["client"][0]).encode()))
        address = place + quote(path, safe="/:@!$&'()*+,;=~")
        if query := scope.get("query_string", b""):
            address += "?" + query.decode("latin-1")
        try:
            http = self._client()
            request = http.build_request(scope["method"], address, headers=sent, content=body or None)
            response = await http.send(request, stream=True)
        except _UNREACHABLE as error:
            self.instruments.count_forwarded(is_answered=False)
            raise HttpProblem(
                "no-leader", f"The server that leads this campaign does not answer ({type(error).__name__}): try again."
            ) from None
        self.instruments.count_forwarded(is_answered=True)
        returned = {name: text for name, text in response.headers.items() if name not in _NOT_RETURNED}
        return StreamingResponse(
            _stream(response), response.status_code, returned, background=BackgroundTask(response.aclose)
        )

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
        """Close the connections."""
        if self._http is not None:
            await self._http.aclose()


async def _stream(response: httpx.Response) -> AsyncIterator[bytes]:
    """Yield what the leader sends, as it arrives."""
    try:
        async for part in response.aiter_raw():
            yield part
    except httpx.HTTPError as error:
        raise BrokenStream(f"The leader's answer broke off ({type(error).__name__}).") from error
