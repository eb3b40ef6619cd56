"""The short path of pulls through an edge: from the bytes of a connection to the writer, and back.

An edge decides nothing, so it may answer pulls of many requests as one step, and HTTP is most of what they cost.
A request that arrives in one piece is read here, and waits for the writer together with others.  Whatever is
unusual, or would be refused, goes the ordinary path through uvicorn and the gateway as if it had just arrived:
nothing has changed before, so that every refusal has one place.
"""

import asyncio
import contextlib
import functools
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from tutelage.service.api.access import Caller
from tutelage.service.api.gateway import COMMON_HEADERS, Gateway, choose_request_id
from tutelage.service.api.problems import HttpProblem
from tutelage.service.api.pull_routes import encode_responses, read_pulls
from tutelage.service.api.route import Route
from tutelage.service.api.uplink import Uplink
from tutelage.service.campaigns.messages import PullRequest, PullResponse
from tutelage.service.campaigns.settings import CAMPAIGN_NAME
from tutelage.service.campaigns.writer import MOST_IN_GROUP, PullJob

_VALUE = rb"[!-~](?:[ -~]*[!-~])?"
_HEAD = re.compile(rb"POST (/[!-\"$&->@-~]*) HTTP/1\.1\r\n((?:[A-Za-z0-9-]+: " + _VALUE + rb"\r\n)+)\r\n")
_LENGTH = re.compile(rb"\r\ncontent-length: [0-9]+(?=\r\n)", re.IGNORECASE)
_UNUSUAL = frozenset({b"content-encoding", b"cookie", b"expect", b"origin", b"transfer-encoding", b"upgrade"})
GATHER_SECONDS = 0.005  # that requests wait at most until as many are there as in the group before
MOST_BYTES = 16_384  # of a body: a large batch gains nothing, and together with others it leaves the processor's cache
_MOST_HEADS, _LONGEST_HEAD = 1024, 2048  # that are remembered: clients send the same headers again and again


@dataclass(frozen=True, eq=False)
class _Head:
    """What the head of a usual request of pulls says.

    ``sender`` is all of it but ``size``, which is that of the body in bytes.
    """

    route: Route
    parameters: Mapping[str, str]
    headers: Mapping[bytes, bytes]
    sender: bytes
    size: int


@dataclass(slots=True, eq=False)
class _Waiting:
    """A request whose pulls wait for the writer, with all of its bytes."""

    connection: "PullProtocol"
    data: bytes
    head: _Head
    pulls: list[PullRequest]
    is_single: bool
    started: float


class PullGroups:
    """Reads usual requests of pulls, and answers those of a campaign together while the writer is at work."""

    def __init__(self, gateway: Gateway, uplink: Uplink) -> None:
        self._uplink = uplink
        self.gateway, self.handoff, self.instruments = gateway, gateway.handoff, gateway.instruments
        self._waiting: dict[str, list[_Waiting]] = {}
        self._expected: dict[str, int] = {}  # requests in the last group of a campaign
        self._arrivals = asyncio.Event()  # set when a campaign has as many as expected
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._read_head = functools.lru_cache(_MOST_HEADS)(self._parse_head)

    def _parse_head(self, content: bytes) -> _Head | None:
        """Return what a head says; None if the ordinary path must read it."""
        found = _HEAD.fullmatch(content)
        if found is None:
            return None
        lines = [line.split(b": ", 1) for line in found[2].split(b"\r\n")[:-1]]
        headers = {name.lower(): value for name, value in lines}
        methods, parameters = self.gateway.table.find(self.gateway.inner_path(found[1].decode()))
        route, size = methods.get("POST"), headers.get(b"content-length", b"")
        is_usual = (
            route is not None
            and route.tag == "pulls"
            and CAMPAIGN_NAME.fullmatch(parameters["name"])
            and len(headers) == len(lines)
            and _UNUSUAL.isdisjoint(headers)
            and headers.get(b"connection", b"keep-alive").lower() == b"keep-alive"
            and headers.get(b"content-type") == b"application/json"
            and size.isdigit()
            and int(size) <= min(MOST_BYTES, self.gateway.max_body)
            and b"host" in headers
        )
        if route is None or not is_usual:
            return None
        return _Head(route, parameters, headers, _LENGTH.sub(b"", content), int(size))

    def begin(self, connection: "PullProtocol", data: bytes) -> bool:
        """Let a request wait for the writer, if it is a usual one and complete; return whether it is."""
        end = data.find(b"\r\n\r\n") + 4
        head = self._read_head(data[:end]) if data.startswith(b"POST ") and end <= _LONGEST_HEAD else None
        if head is None or len(data) - end != head.size or self.handoff.tracing:
            return False
        started, name = time.perf_counter(), head.parameters["name"]
        try:
            caller = self._authorize(connection, head)
            pulls, is_single = read_pulls(data[end:])
            clients = {pull.client for pull in pulls}
            caller.check_clients(clients)
        except HttpProblem:
            return False
        if not self._uplink.holds(name, clients) or any([pull.bypassed for pull in pulls]):  # noqa: C419 - quicker
            return False
        waiting = self._waiting.setdefault(name, [])
        waiting.append(_Waiting(connection, data, head, pulls, is_single, started))
        if len(waiting) == self._expected.get(name):
            self._arrivals.set()
        self.instruments.in_flight += 1
        if name not in self._tasks:
            self._tasks[name] = asyncio.create_task(self._answer_all(name))
        return True

    def _authorize(self, connection: "PullProtocol", head: _Head) -> Caller:
        """Return who sent a request; the same head on the same connection is believed until the keys are read again.

        Raises :class:`HttpProblem`.
        """
        access, route = self.gateway.access, head.route
        if connection.authorized is not None:
            version, known, caller = connection.authorized
            is_known = known.sender == head.sender and version == access.version
            if is_known and not (access.is_outdated(route.max_key_age) or caller.has_expired(time.time_ns() // 1000)):
                return caller
        caller = access.authorize(connection.request_scope, head.headers, route.role, route.max_key_age)
        route.check_campaign(caller, head.parameters)
        connection.authorized = access.version, head, caller
        return caller

    async def _answer_all(self, name: str) -> None:
        """Answer the waiting requests of a campaign, group by group.

        A commit takes most of a small group's time, so that senders that were answered together are waited for.  One
        that sends alone is answered at once.
        """
        try:
            while name in self._waiting:
                await self._gather(name)
                group = self._take_group(name)
                pulls = [pull for one in group for pull in one.pulls]
                try:
                    responses = await self.handoff.ask(PullJob(name, pulls=pulls, are_new=True))
                except Exception:  # noqa: BLE001 - the ordinary path answers it; what was stored is replayed
                    responses = None
                self.instruments.in_flight -= len(group)
                if responses is None:
                    for one in group:
                        one.connection.take_ordinary_path(one.data)
                else:
                    self._send(group, responses)
        finally:
            del self._tasks[name]

    async def _gather(self, name: str) -> None:
        end = time.monotonic() + GATHER_SECONDS
        while len(self._waiting[name]) < self._expected.get(name, 1) and (left := end - time.monotonic()) > 0:
            self._arrivals.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._arrivals.wait(), left)

    def _take_group(self, name: str) -> list[_Waiting]:
        """Take requests of at most about ``MOST_IN_GROUP`` pulls from those that wait."""
        waiting, number, size = self._waiting.pop(name), 0, 0
        while number < len(waiting) and size < MOST_IN_GROUP:
            size += len(waiting[number].pulls)
            number += 1
        self._expected[name] = number
        if number < len(waiting):
            self._waiting[name] = waiting[number:]
        return waiting[:number]

    def _send(self, group: list[_Waiting], responses: list[PullResponse]) -> None:
        self.instruments.count_answers(accepted=len(responses), replayed=0, bypassed=0)
        start, now, beginning = 0, time.perf_counter(), self._write_beginning(group[0].connection)
        for one in group:
            end = start + len(one.pulls)
            body = encode_responses(responses[start:end], is_single=one.is_single)
            id = choose_request_id(one.head.headers)
            one.connection.answer(b"%b%b\r\ncontent-length: %d\r\n\r\n%b" % (beginning, id, len(body), body))
            self.instruments.observe_request("POST", one.head.route.path, 200, now - one.started)
            start = end

    @staticmethod
    def _write_beginning(connection: "PullProtocol") -> bytes:
        """Write the part that answers sent at one time have in common, up to the request's id."""
        names = [*connection.server_state.default_headers, (b"content-type", b"application/json"), *COMMON_HEADERS]
        lines = b"".join(b"%b: %b\r\n" % header for header in names)
        return b"HTTP/1.1 200 OK\r\n" + lines + b"x-request-id: "


class PullProtocol(HttpToolsProtocol):
    """uvicorn's HTTP on one connection, except for usual requests of pulls."""

    def __init__(self, groups: PullGroups, **options: Any) -> None:
        super().__init__(**options)
        self.groups = groups
        self.authorized: tuple[int, _Head, Caller] | None = None  # by which reading of the keys, which head, who
        self.request_scope: dict[str, Any] = {}  # what access control asks of a request
        self._is_between = True  # no part of a request has been read that is not complete
        self._is_waiting = self._is_ending = False
        self._later = b""  # what arrived while a request waited for its answer
        self._answered = 0.0  # when the last answer was sent, by the loop's clock

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Note who the sender is."""
        super().connection_made(transport)
        self.request_scope = {"method": "POST", "client": self.client, "http_version": "1.1"}

    def on_message_begin(self) -> None:
        """Note that a request is being read."""
        self._is_between = False
        super().on_message_begin()

    def on_message_complete(self) -> None:
        """Note that a request has been read."""
        super().on_message_complete()
        self._is_between = True

    def data_received(self, data: bytes) -> None:
        """Let a usual request of pulls wait for the writer; give uvicorn all others."""
        if self._is_waiting:
            self._later += data
            self.flow.pause_reading()
            return
        cycle: RequestResponseCycle | None = self.cycle
        is_idle = self._is_between and (cycle is None or cycle.response_complete)
        if is_idle and not self.transport.is_closing() and self.groups.begin(self, data):
            self._is_waiting = True
        else:
            super().data_received(data)

    def answer(self, content: bytes) -> None:
        """Send the answer to the request that waits."""
        self._is_waiting = False
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.transport.write(content)
        self._answered = self.loop.time()
        if self.timeout_keep_alive_task is None:
            self._await_end(self.timeout_keep_alive)
        self._continue()

    def take_ordinary_path(self, data: bytes) -> None:
        """Read the request that waits as uvicorn reads any other."""
        self._is_waiting = False
        if self.transport.is_closing():
            return
        super().data_received(data)
        self._continue()

    def _continue(self) -> None:
        """Read what arrived meanwhile; end the connection if the server ends."""
        data, self._later = self._later, b""
        if self._is_ending:
            self.shutdown()
        elif data:
            self.flow.resume_reading()
            self.data_received(data)

    def shutdown(self) -> None:
        """End the connection once the request that is being answered has been."""
        if self._is_waiting:
            self._is_ending = True
        else:
            super().shutdown()

    def timeout_keep_alive_handler(self) -> None:
        """Close the connection if nothing was sent for uvicorn's time; looked at once in that time only."""
        rest = self._answered + self.timeout_keep_alive - self.loop.time()
        if self._is_waiting or rest > 0:
            self._await_end(max(rest, 1.0))
        else:
            super().timeout_keep_alive_handler()

    def _await_end(self, seconds: float) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(seconds, self.timeout_keep_alive_handler)


def choose_protocol(gateway: Gateway) -> Any:
    """Return the setting ``http`` of uvicorn: the short path at an edge, uvicorn's own everywhere else."""
    if gateway.uplink is None:
        return "httptools"
    return functools.partial(PullProtocol, PullGroups(gateway, gateway.uplink))
