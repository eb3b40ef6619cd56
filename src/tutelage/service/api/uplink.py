"""The link of an edge to the leader: it claims clients, reports their sums and follows the leader's directives.

One request at a time is under way for each campaign, so that responses cannot overtake each other.  Pulls of clients
that the edge holds never wait for the leader.
"""

import asyncio
import contextlib
import dataclasses
import logging
import math
import time
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import quote

import httpx
import msgspec

from tutelage.client.connections import connection_options
from tutelage.errors import InputError
from tutelage.service.api.problems import PROBLEMS, TYPE_PREFIX, HttpProblem, ProblemDetails
from tutelage.service.campaigns import edges
from tutelage.service.campaigns.edge_messages import ClaimResponse, EdgeClaim, EdgeKeys, EdgeResponse
from tutelage.service.campaigns.edges import SentReport
from tutelage.service.campaigns.handoff import Handoff, Readers
from tutelage.service.campaigns.messages import NotLeader, Refusal
from tutelage.service.campaigns.session import Session
from tutelage.service.campaigns.settings import Edge, Settings, decode_settings
from tutelage.service.campaigns.writer import CreateJob, EdgeJob, ReadJob
from tutelage.service.fault_log import FaultLog
from tutelage.stores import open_keys
from tutelage.stores.base import KeyRow, StoreError

Content = TypeVar("Content")
LOG = logging.getLogger("tutelage.uplink")
REPORT_SECONDS, KEYS_SECONDS = 1.0, 5.0  # between two reports, and two readings of the leader's keys
FULL_SECONDS, LARGE_FULL_SECONDS, LARGE_CELLS = 0.5, 30.0, 5_000  # between reports of all that changed
MOST_CELLS = 20_000  # pairs of client and arm in a report
ASK_AGAIN_SECONDS = 1.0  # before a client that the leader did not give is claimed again
_SECONDS, _LAST_SECONDS = 10.0, 2.0  # for a request, and for the last report
_KEPT = frozenset({"unknown-campaign", "not-started", "invalid", "unavailable", "no-leader"})
_FAILURES = (HttpProblem, Refusal, NotLeader, InputError, StoreError)


@dataclass(eq=False)
class _Copy:
    """What the edge remembers of a campaign, all of which it can find out again."""

    is_loaded: bool = False
    is_stored: bool = False  # whether there is a copy in the store
    held: set[str] = field(default_factory=set)  # names of clients
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    asked: dict[str, float] = field(default_factory=dict)  # when clients were last claimed
    sent: dict[int, SentReport] = field(default_factory=dict)
    followed: EdgeResponse | None = None  # the last response, without its position
    was_full: float = -math.inf  # when all that changed was last reported
    cells: int = 0


class Uplink:
    """An edge's link to the leader at an address.  ``key`` is one with the role admin there, "" for none."""

    def __init__(
        self, handoff: Handoff, readers: Readers, store: str, *, leader: str, edge: str, key: str = ""
    ) -> None:
        self.leader, self.edge = leader, edge
        self._handoff, self._readers, self._store = handoff, readers, store
        self._keys: dict[str, EdgeKeys] = {}  # as last copied, by campaign
        self._keys_read = -math.inf
        self._headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
        self._copies: dict[str, _Copy] = {}
        self._faults = FaultLog(LOG, "the leader fails", "the leader still fails", "the leader works again")
        self._http = self._connect()

    def _connect(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(
            base_url=self.leader, headers=self._headers, timeout=_SECONDS, **connection_options(self.leader)
        )

    def has(self, name: str) -> bool:
        """Whether this edge has a copy of the campaign."""
        copy = self._copies.get(name)
        return copy is not None and copy.is_stored

    def holds(self, name: str, clients: AbstractSet[str]) -> bool:
        """Whether this edge answers the pulls of all these clients."""
        copy = self._copies.get(name)
        return copy is not None and copy.held.issuperset(clients)

    async def open(self) -> None:
        """Find the copies in the store."""
        for one in await self._readers.read(lambda reader: reader.campaigns()):
            self._copies[one.name] = _Copy(is_stored=True)

    async def run(self) -> None:
        """Report, and follow the leader, until cancelled."""
        while True:
            has_time = time.monotonic() - self._keys_read >= KEYS_SECONDS
            for name in list(filter(self.has, self._copies)):
                await self._report_safely(name, self._copies[name], with_keys=has_time)
            if has_time:
                self._keys_read = time.monotonic()
            await asyncio.sleep(REPORT_SECONDS)

    async def close(self) -> None:
        """Report all that changed once more, if the leader answers soon; otherwise the next start does."""
        await self._http.aclose()
        self._http = self._connect()  # a request of the old one may have been cancelled
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LAST_SECONDS):
                for name in filter(self.has, self._copies):
                    copy = self._copies[name]
                    copy.was_full = -math.inf
                    await self._report_safely(name, copy)
        await self._http.aclose()

    async def ensure(self, name: str, clients: AbstractSet[str]) -> None:
        """Claim those of these clients that the edge does not hold.

        Whom the leader does not give, the writer refuses.  Raises :class:`HttpProblem` if the leader fails.
        """
        if self.holds(name, clients):
            return
        copy = self._copies.setdefault(name, _Copy())
        async with copy.lock:
            await self._load(name, copy)
            now = time.monotonic()
            missing = [one for one in clients - copy.held if now - copy.asked.get(one, -math.inf) >= ASK_AGAIN_SECONDS]
            if missing:
                await self._claim(name, copy, missing)
                copy.asked |= dict.fromkeys(missing, now)

    async def _load(self, name: str, copy: _Copy) -> None:
        """Find out which clients the stored copy holds: a client that is held must not be claimed again."""
        if copy.is_loaded:
            return
        try:
            held = await self._handoff.ask(ReadJob(name, look=find_held))
        except Refusal as error:
            if error.reason != "unknown-campaign":
                raise
        else:
            if held is None:
                raise HttpProblem("invalid", f"The store of this edge has a campaign {name} that is not a copy.")
            copy.held, copy.is_stored = held, True
        copy.is_loaded = True

    async def _claim(self, name: str, copy: _Copy, clients: Iterable[str]) -> None:
        response = await self._ask("POST", name, "claim", EdgeClaim(self.edge, sorted(clients)), ClaimResponse)
        if not copy.is_stored:
            await self._handoff.ask(CreateJob(name, settings=self._copy_settings(response)))
            copy.is_stored = True

        def hold(session: Session, now: int, _key: str) -> set[str] | None:
            edges.hold(session, response, now)
            return find_held(session)

        await self._copy_keys(name)
        copy.held = await self._handoff.ask(EdgeJob(name, act=hold)) or set()

    def _copy_settings(self, response: ClaimResponse) -> Settings:
        return dataclasses.replace(
            decode_settings(response.settings),
            clients=tuple(response.clients),
            open_registration=False,
            edge=Edge(self.edge, response.created),
        )

    async def _report_safely(self, name: str, copy: _Copy, *, with_keys: bool = False) -> None:
        try:
            async with copy.lock:
                await self._load(name, copy)
                await self._report(name, copy)
                if with_keys:
                    await self._copy_keys(name)
            self._faults.end(name)
        except _FAILURES as error:
            self._faults.report(name, str(error))
        except Exception:
            LOG.exception("report", extra={"campaign": name})

    async def _report(self, name: str, copy: _Copy) -> None:
        """Report once what is new of each client, in several reports if it is too much for one."""
        now = time.monotonic()
        is_full = now - copy.was_full >= (LARGE_FULL_SECONDS if copy.cells > LARGE_CELLS else FULL_SECONDS)

        def look(session: Session) -> Any:
            copy.cells = len(session.clients) * len(session.settings.arms)
            return edges.collect(session, copy.sent, MOST_CELLS, is_full=is_full, done=done)

        done, is_complete = set[int](), False
        while not is_complete:
            report, new = await self._handoff.ask(ReadJob(name, look=look))
            response = await self._ask("POST", name, "report", report, EdgeResponse)
            refused = {one.client for one in response.lost}.union(response.behind)
            copy.sent = {client: sent for client, sent in (copy.sent | new).items() if client not in refused}
            await self._follow(name, copy, response)
            done.update(new)
            is_complete = sum([len(one.record.pulls) for one in report.clients]) < MOST_CELLS
        if is_full:
            copy.was_full = now

    async def _follow(self, name: str, copy: _Copy, response: EdgeResponse) -> None:
        same = msgspec.structs.replace(response, position=0)
        if same == copy.followed:
            return

        def follow(session: Session, now: int, _key: str) -> set[str] | None:
            edges.follow(session, response, now)
            return find_held(session)

        copy.held = await self._handoff.ask(EdgeJob(name, act=follow)) or set()
        copy.followed = same

    async def _copy_keys(self, name: str) -> None:
        """Copy the leader's keys, so that a client needs no other one here."""
        found = await self._ask("GET", name, "edge-keys", None, EdgeKeys)
        if found != self._keys.get(name):
            await asyncio.to_thread(copy_keys, self._store, found.keys)
            self._keys[name] = found

    async def _ask(self, method: str, name: str, act: str, content: Any, kind: type[Content]) -> Content:
        """Return the leader's response.  Raises :class:`HttpProblem`."""
        body = None if content is None else msgspec.json.encode(content)
        try:
            response = await self._http.request(method, f"/v1/campaigns/{quote(name)}/{act}", content=body)
        except httpx.HTTPError as error:
            raise HttpProblem(
                "no-leader", f"The leader {self.leader} does not answer ({type(error).__name__}): try again."
            ) from None
        try:
            if response.is_success:
                return msgspec.json.decode(response.content, type=kind)
            problem = msgspec.json.decode(response.content, type=ProblemDetails)
        except msgspec.MsgspecError:
            raise HttpProblem(
                "no-leader",
                f"The leader {self.leader} gave a response of another kind (status {response.status_code}).",
            ) from None
        found = problem.type.removeprefix(TYPE_PREFIX)
        if found in _KEPT:
            raise HttpProblem(next(one for one in PROBLEMS if one == found), problem.detail)
        raise HttpProblem("no-leader", f"The leader {self.leader} refused this edge: {problem.detail}")


def copy_keys(store: str, rows: Iterable[KeyRow]) -> None:
    """Make the keys of these names in an edge's store those of the leader, also those that were revoked."""
    with contextlib.closing(open_keys(store)) as keys:
        stored = keys.keys()
        known = {row.name: dataclasses.replace(row, used=None) for row in stored}
        for row in rows:
            own = known.get(row.name)
            if own == row or (own is None and row.revoked is not None):
                continue
            if own is not None and own.revoked is None:
                keys.revoke_key(row.name, time.time_ns() // 1000)
            if row.revoked is None:
                keys.create_key(row)


def find_held(session: Session) -> set[str] | None:
    """Return the names of the clients that an edge holds; None for a campaign that is not an edge's copy."""
    return None if session.settings.edge is None else set(session.clients) - session.elsewhere
