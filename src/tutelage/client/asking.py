"""The client for asyncio: tries, deadline, and reports of what was bypassed."""

import asyncio
import contextlib
import logging
import math
import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote, urlsplit

import httpx

from tutelage.client.messages import (
    Answer,
    Failed,
    Observed,
    Pull,
    PullRefused,
    Revealed,
    as_bypassed,
    as_sent,
    observed_ones,
    understood,
)
from tutelage.client.spool import MOST_REPORTS, Spool

LOG = logging.getLogger("tutelage.client")
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 2.0  # seconds between two tries: twice as long each time, with jitter
_FIRST_REST, _LONGEST_REST = 0.5, 10.0  # between two tries to deliver reports
_AT_ONCE = 1_000  # reports in a request
_REPORT_SECONDS, _LOG_SECONDS = 5.0, 10.0
_MOST_BYTES, _MOST_BYTES_OF_A_PULL = 65_536, 2_048  # of an answer: more is read of no server


class AsyncClient:
    """Asks the server from asyncio: ``await client.reveal(...)``; all its calls belong to one event loop.

    ``server`` is its address, ``campaign`` a name, ``key`` a reporter's.  ``deadline`` is how many seconds a
    call may take in all.  ``spool`` is a file for reports, of this process alone; ``most_reports`` bounds
    how many may wait.  Further options are httpx's.
    """

    def __init__(
        self,
        server: str,
        campaign: str,
        *,
        key: str | None = None,
        deadline: float = 1.0,
        spool: str | Path | None = None,
        most_reports: int = MOST_REPORTS,
        **options: Any,
    ) -> None:
        _check(server, campaign, key, deadline)
        self.address, self.deadline = f"/v1/campaigns/{quote(campaign, safe='')}/pulls", deadline
        self.spool = Spool(spool, most_reports)
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        self._http = httpx.AsyncClient(**({"base_url": server, "headers": headers} | options))
        self._under_way: set[asyncio.Task[Answer]] = set()
        self._reporter: asyncio.Task[None] | None = None
        self._answered = asyncio.Event()  # tells the reporter that the server is back
        self._is_troubled = self._is_closed = False
        self._logged: dict[str, float] = {}

    async def reveal(self, client: str, arm: str, reward: float, *, id: str | None = None) -> Revealed:
        """What to show for this pull.

        Raises :class:`PullRefused` if the server will never take it, and ``ValueError`` for what no server
        would; for a server that fails, nothing.
        """
        ids = None if id is None else [id]
        return (await self.reveal_all([Observed(client, arm, reward)], ids=ids))[0]

    async def reveal_all(
        self, pulls: Sequence[Observed], *, ids: Sequence[str] | None = None
    ) -> list[Revealed]:
        """The same for several pulls at once, in their order; together they are one step."""
        if self._is_closed:
            raise RuntimeError("The client has been closed.")
        sent = [
            pull | {"bypassed": True} if pull["id"] in self.spool else pull for pull in as_sent(pulls, ids)
        ]
        if not sent:
            return []
        try:
            told = await self._asked(sent)
        except asyncio.CancelledError:  # whoever waited has shown what was observed
            self._bypass(sent, "the caller waits no longer")
            raise
        if isinstance(told, Failed):
            self._bypass(sent, told.why)
            return observed_ones(sent)
        self.spool.remove([pull for pull in sent if "bypassed" in pull])
        self._resume()
        return told

    async def _asked(self, pulls: list[Pull]) -> list[Revealed] | Failed:
        """The answer, or why there is none within the deadline."""
        end = time.monotonic() + self.deadline
        for pause in _pauses(_LONGEST_PAUSE):
            told = await self._try(pulls, end - time.monotonic())
            if not isinstance(told, Failed) or not told.passing:
                return told
            wait = max(pause, told.after)
            if time.monotonic() + wait >= end:
                return told
            await asyncio.sleep(wait)
        raise AssertionError  # there is always another pause

    async def _try(self, pulls: list[Pull], seconds: float) -> list[Revealed] | Failed:
        """One request.  Whoever waits no longer leaves it alone, and it ends by itself.

        It is never cancelled: of a connection that is being opened httpx may lose count over that, and once
        it has lost all that there may be, it opens no more.
        """
        seconds = max(seconds, 0.001)
        asking = asyncio.create_task(self._answer(pulls, seconds))
        self._under_way.add(asking)
        asking.add_done_callback(self._ended)
        await asyncio.wait({asking}, timeout=seconds)
        if not asking.done():
            return Failed("the server did not answer in time")
        try:
            return understood(asking.result(), pulls)
        except PullRefused:
            raise
        except (TimeoutError, httpx.TimeoutException):
            return Failed("the server did not answer in time")
        except Exception as error:  # noqa: BLE001 - whatever fails on the way, the caller must not wait or fall
            return Failed(f"{type(error).__name__}: {error}".rstrip(": "))

    def _ended(self, asking: asyncio.Task[Answer]) -> None:
        self._under_way.discard(asking)
        if not asking.cancelled():
            asking.exception()  # whoever still waits has it

    async def _answer(self, pulls: list[Pull], seconds: float) -> Answer:
        """The server's answer, cut off where none to so many pulls can be longer, and soon after its time.

        It must come as it is: what is compressed may be a thousand times as long as it looks.
        """
        most, content = _MOST_BYTES + _MOST_BYTES_OF_A_PULL * len(pulls), bytearray()
        end = time.monotonic() + seconds
        request = self._http.build_request(
            "POST",
            self.address,
            json={"pulls": pulls},
            headers={"Accept-Encoding": "identity"},
            timeout=seconds,  # of each wait alone: who drips is looked at below
        )
        response = await self._http.send(request, stream=True)
        try:
            encoding = response.headers.get("Content-Encoding", "")
            if encoding.strip().lower() in {"", "identity"}:
                async for part in response.aiter_bytes():
                    content += part[: most - len(content)]
                    if len(content) == most:
                        break
                    if time.monotonic() > end:
                        raise TimeoutError
            else:
                raise httpx.DecodingError(f"the answer is encoded ({encoding}), which was not asked for")
        finally:
            await response.aclose()
        return Answer(response.status_code, bytes(content), response.headers.get("Retry-After"))

    def _bypass(self, pulls: list[Pull], why: str) -> None:
        self._is_troubled = True
        self._log("Rewards are shown as observed, and reported later: %s", why)
        self.spool.add(as_bypassed([pull for pull in pulls if pull["id"] not in self.spool]))
        self._report_soon()

    def _resume(self) -> None:
        """The server has answered."""
        if self._is_troubled:
            self._is_troubled = False
            self._log("The server answers again.")
        self._answered.set()
        self._report_soon()

    def _log(self, line: str, *values: str) -> None:
        """Warn, of one kind of thing once in a while."""
        now = time.monotonic()
        if now - self._logged.get(line, -math.inf) >= _LOG_SECONDS:
            self._logged[line] = now
            LOG.warning(line, *values)

    def _report_soon(self) -> None:
        if len(self.spool) and not self._is_closed and (self._reporter is None or self._reporter.done()):
            self._reporter = asyncio.create_task(self._report())

    async def _report(self) -> None:
        """Deliver all reports, however long it takes."""
        pauses, most = _pauses(_LONGEST_REST), _AT_ONCE
        while reports := self.spool.first(most):
            self._answered.clear()
            try:
                told = await self._try(reports, _REPORT_SECONDS)
            except PullRefused as refused:
                if len(reports) == 1:
                    LOG.error("The report %r is given up: %s", reports[0], refused)  # noqa: TRY400
                    await asyncio.to_thread(self.spool.remove, reports)
                most = max(1, len(reports) // 2)  # one of them: fewer at a time, until it stands alone
                continue
            if isinstance(told, Failed):
                most = max(1, len(reports) // 2)  # perhaps one of them, or too many: the others must not wait
                if not told.passing and len(reports) > 1:
                    continue
                if told.suspect and len(reports) == 1:
                    self.spool.postpone(reports)
                await self._rest(max(next(pauses), told.after))
                continue
            pauses, most = _pauses(_LONGEST_REST), min(_AT_ONCE, 2 * most)
            await asyncio.to_thread(self.spool.remove, reports)

    async def _rest(self, seconds: float) -> None:
        """Wait, but not long once the server has answered somebody."""
        short = min(seconds, _FIRST_REST)
        await asyncio.sleep(short)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._answered.wait(), seconds - short)

    async def close(self, seconds: float = 5.0) -> None:
        """End, after at most ``seconds`` for reports; what is left then stays in the spool's file."""
        if self._is_closed:
            return
        self._answered.set()
        self._report_soon()
        self._is_closed = True
        if self._reporter is not None:
            await asyncio.wait([self._reporter], timeout=seconds)
            self._reporter.cancel()
            await asyncio.wait([self._reporter])
        for asking in self._under_way:
            asking.cancel()  # now that no other is to follow
        await asyncio.gather(*self._under_way, return_exceptions=True)
        if len(self.spool) and self.spool.path is None:
            LOG.error("Reports that are lost, since there is no spool: %d.", len(self.spool))
        self.spool.close()
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        self._report_soon()
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()


def _check(server: str, campaign: str, key: str | None, deadline: object) -> None:
    if not _is_address(server):
        _, at, place = server.rpartition("@")  # what is before it may hold one
        shown = f"***@{place}" if at else server
        raise ValueError(f"{shown!r} is no server's address: write http://HOST:PORT.")
    if not campaign:
        raise ValueError("The campaign has no name.")
    if key is not None and (not (key.isascii() and key.isprintable()) or " " in key):
        raise ValueError("The key is none: it holds a character that no key has.")
    if not isinstance(deadline, int | float) or not 0 < deadline < math.inf:
        raise ValueError(f"The deadline of {deadline!r} seconds is no positive number.")


def _is_address(server: str) -> bool:
    try:
        parts = urlsplit(server)
        httpx.URL(server)
        is_place = bool(parts.hostname) and parts.port != 0
    except (ValueError, httpx.InvalidURL):
        return False
    return parts.scheme in {"http", "https"} and is_place and not any(map(str.isspace, server))


def _pauses(longest: float) -> Iterator[float]:
    pause = _FIRST_PAUSE
    while True:
        yield random.uniform(0.5, 1.0) * pause
        pause = min(longest, 2 * pause)
