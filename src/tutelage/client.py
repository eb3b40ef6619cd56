"""For a platform that delivers rewards: asks a live server what to show, and never waits too long.

:class:`Client` and :class:`AsyncClient` answer each observed reward with the reward to show.  Within their
deadline they try again after every failure that may pass.  Then they give the observed reward back, so that
nobody waits, and report later that this pull was bypassed: the server's account stays right.  With a spool,
a file of reports not yet delivered, that holds across restarts of the platform.

This module needs httpx alone; it imports no other part of the project.
"""

import asyncio
import contextlib
import itertools
import json
import os
import random
import secrets
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import httpx

_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 2.0  # seconds between two tries: twice as long each time, with jitter
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
_STOPPED = "stopped"  # how the type of a stopped campaign's problem ends
_MOST_REPORTS = 1_000


class PullRefused(Exception):
    """The server will never take this: the text says why, ``status`` is of HTTP, ``problem`` its body."""

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        super().__init__(problem.get("detail") or f"The server answered with status {status}.")
        self.status, self.problem = status, problem


@dataclass(frozen=True)
class Observed:
    """A pull: who pulled which arm, and the reward observed, in the campaign's units."""

    client: str
    arm: str
    reward: float


@dataclass(frozen=True)
class Revealed:
    """The reward to show.  ``bypassed``: the server could not be asked in time, it is the observed one."""

    reward: float
    adjustment: float
    id: str
    bypassed: bool


def new_id() -> str:
    """An id that no other pull has and that sorts by time: milliseconds, a counter, chance; 32 digits."""
    return f"{time.time_ns() // 1_000_000:012x}{next(_COUNTER) % 0x10000:04x}{_PROCESS}{secrets.token_hex(4)}"


_COUNTER, _PROCESS = itertools.count(), secrets.token_hex(4)


class Spool:
    """Pulls to be reported as bypassed, kept in a file of JSON lines; without a path in memory alone.

    A line that a crash cut off is left out.  One process at a time may use a file.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = None if path is None else Path(path)
        self._lock = threading.Lock()
        self._waiting: dict[str, dict[str, Any]] = {}
        if self.path is not None and self.path.exists():
            for line in self.path.read_text(encoding="utf-8").splitlines():
                with contextlib.suppress(ValueError):
                    kept = json.loads(line)
                    self._waiting[kept["id"]] = kept
            self._rewrite()

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, pulls: Sequence[dict[str, Any]]) -> None:
        """Keep these until they are delivered."""
        with self._lock:
            self._waiting |= {pull["id"]: pull for pull in pulls}
            if self.path is not None:
                with self.path.open("a", encoding="utf-8") as file:
                    file.writelines(json.dumps(pull) + "\n" for pull in pulls)
                    file.flush()
                    os.fsync(file.fileno())

    def first(self, most: int) -> list[dict[str, Any]]:
        """The oldest ones."""
        with self._lock:
            return list(itertools.islice(self._waiting.values(), most))

    def remove(self, pulls: Sequence[dict[str, Any]]) -> None:
        """These have been delivered."""
        with self._lock:
            for pull in pulls:
                self._waiting.pop(pull["id"], None)
            self._rewrite()

    def _rewrite(self) -> None:
        if self.path is not None:
            unfinished = self.path.with_name(f"{self.path.name}.part")
            lines = (json.dumps(pull) + "\n" for pull in self._waiting.values())
            unfinished.write_text("".join(lines), encoding="utf-8")
            unfinished.replace(self.path)


@dataclass(frozen=True)
class _Request:
    """What both kinds of client send, and what they make of an answer."""

    pulls: list[dict[str, Any]]

    @property
    def body(self) -> dict[str, Any]:
        return {"pulls": self.pulls}

    def read(self, response: httpx.Response) -> list[Revealed] | None:
        """The answer; None if it may come at another try.  Raises :class:`PullRefused`."""
        if response.status_code == httpx.codes.OK:
            return [
                Revealed(told["reward"], told["adjustment"], told["id"], bypassed=False)
                for told in response.json()["pulls"]
            ]
        problem = _problem(response)
        if response.status_code in _PASSING or str(problem.get("type", "")).endswith(_STOPPED):
            return None
        raise PullRefused(response.status_code, problem)

    def bypassed(self) -> list[Revealed]:
        return [Revealed(pull["reward"], 0.0, pull["id"], bypassed=True) for pull in self.pulls]


def _problem(response: httpx.Response) -> dict[str, Any]:
    try:
        told = response.json()
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


def _request(pulls: Sequence[Observed], ids: Sequence[str] | None) -> _Request:
    named = [new_id() for _ in pulls] if ids is None else ids
    return _Request([{"id": id, **asdict(pull)} for id, pull in zip(named, pulls, strict=True)])


def _pauses() -> Iterator[float]:
    pause = _FIRST_PAUSE
    while True:
        yield random.uniform(0.5, 1.0) * pause
        pause = min(_LONGEST_PAUSE, 2 * pause)


def _options(server: str, key: str | None, options: dict[str, Any]) -> dict[str, Any]:
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    return {"base_url": server, "headers": headers, **options}


def _address(campaign: str) -> str:
    return f"/v1/campaigns/{campaign}/pulls"


class Client:
    """Asks the server from ordinary code; safe to share among threads.

    ``deadline`` is how many seconds a call may take in all.  Further options are httpx's.  A thread of its
    own delivers what is to be reported.
    """

    def __init__(
        self,
        server: str,
        campaign: str,
        *,
        key: str | None = None,
        deadline: float = 1.0,
        spool: str | Path | None = None,
        **options: Any,
    ) -> None:
        self.address, self.deadline, self.spool = _address(campaign), deadline, Spool(spool)
        self._http = httpx.Client(**_options(server, key, options))
        self._wake, self._ended = threading.Event(), False
        self._reporter = threading.Thread(target=self._report, name="tutelage-reports", daemon=True)
        self._reporter.start()
        self._wake.set()

    def reveal(self, client: str, arm: str, reward: float, *, id: str | None = None) -> Revealed:
        """What to show for this pull.  Raises :class:`PullRefused` if the server will never take it."""
        ids = None if id is None else [id]
        return self.reveal_all([Observed(client, arm, reward)], ids=ids)[0]

    def reveal_all(self, pulls: Sequence[Observed], *, ids: Sequence[str] | None = None) -> list[Revealed]:
        """The same for several pulls at once, in their order; together they are one step."""
        request, end = _request(pulls, ids), time.monotonic() + self.deadline
        for pause in _pauses():
            answer = self._try(request, end - time.monotonic())
            if answer is not None:
                return answer
            if time.monotonic() + pause >= end:
                break
            time.sleep(pause)
        self.spool.add([pull | {"bypassed": True} for pull in request.pulls])
        self._wake.set()
        return request.bypassed()

    def _try(self, request: _Request, seconds: float) -> list[Revealed] | None:
        try:
            response = self._http.post(self.address, json=request.body, timeout=max(seconds, 0.001))
        except httpx.TransportError:
            return None
        return request.read(response)

    def _report(self) -> None:
        pauses, most = _pauses(), _MOST_REPORTS
        while True:
            self._wake.wait()
            if self._ended:
                return
            reports = self.spool.first(most)
            if not reports:
                self._wake.clear()
                pauses, most = _pauses(), _MOST_REPORTS
                continue
            try:
                answer = self._try(_Request(reports), max(self.deadline, 5.0))
            except PullRefused:
                if most > 1:  # one of them: they are sent one by one
                    most = 1
                    continue
                answer = []  # nothing will ever make it right
            except RuntimeError:  # httpx's, once the client has been closed
                return
            if answer is not None:
                self.spool.remove(reports)
            else:
                time.sleep(next(pauses))

    def close(self) -> None:
        """End; what has not been reported stays in the spool."""
        self._ended = True
        self._wake.set()
        self._http.close()
        self._reporter.join(timeout=5.0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class AsyncClient:
    """The same for asyncio: ``await client.reveal(...)``."""

    def __init__(
        self,
        server: str,
        campaign: str,
        *,
        key: str | None = None,
        deadline: float = 1.0,
        spool: str | Path | None = None,
        **options: Any,
    ) -> None:
        self.address, self.deadline, self.spool = _address(campaign), deadline, Spool(spool)
        self._http = httpx.AsyncClient(**_options(server, key, options))
        self._reporter: asyncio.Task[None] | None = None

    async def reveal(self, client: str, arm: str, reward: float, *, id: str | None = None) -> Revealed:
        """What to show for this pull.  Raises :class:`PullRefused` if the server will never take it."""
        ids = None if id is None else [id]
        return (await self.reveal_all([Observed(client, arm, reward)], ids=ids))[0]

    async def reveal_all(
        self, pulls: Sequence[Observed], *, ids: Sequence[str] | None = None
    ) -> list[Revealed]:
        """The same for several pulls at once, in their order; together they are one step."""
        request, end = _request(pulls, ids), time.monotonic() + self.deadline
        for pause in _pauses():
            answer = await self._try(request, end - time.monotonic())
            if answer is not None:
                self._report_soon()
                return answer
            if time.monotonic() + pause >= end:
                break
            await asyncio.sleep(pause)
        await asyncio.to_thread(self.spool.add, [pull | {"bypassed": True} for pull in request.pulls])
        self._report_soon()
        return request.bypassed()

    async def _try(self, request: _Request, seconds: float) -> list[Revealed] | None:
        try:
            response = await self._http.post(self.address, json=request.body, timeout=max(seconds, 0.001))
        except httpx.TransportError:
            return None
        return request.read(response)

    def _report_soon(self) -> None:
        if len(self.spool) and (self._reporter is None or self._reporter.done()):
            self._reporter = asyncio.create_task(self._report())

    async def _report(self) -> None:
        pauses, most = _pauses(), _MOST_REPORTS
        while reports := self.spool.first(most):
            try:
                answer = await self._try(_Request(reports), max(self.deadline, 5.0))
            except PullRefused:
                if most > 1:  # one of them: they are sent one by one
                    most = 1
                    continue
                answer = []  # nothing will ever make it right
            if answer is not None:
                await asyncio.to_thread(self.spool.remove, reports)
            else:
                await asyncio.sleep(next(pauses))

    async def close(self) -> None:
        """End; what has not been reported stays in the spool."""
        if self._reporter is not None:
            self._reporter.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._reporter
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        self._report_soon()
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()
