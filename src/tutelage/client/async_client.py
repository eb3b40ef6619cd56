"""The client for asyncio: repeated requests, the deadline, reports of bypassed pulls, and the circuit breaker."""

import asyncio
import contextlib
import logging
import math
import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

import httpx

from tutelage.client import pull_messages
from tutelage.client.client_arguments import check_arguments, find_key, find_server
from tutelage.client.connections import connection_options, name_proxy
from tutelage.client.counters import Counters
from tutelage.client.pull_messages import CheckFailure, Failure, ObservedReward, Pull, PullRefusal, RevealedReward
from tutelage.client.spool import MOST_REPORTS, Spool

LOG = logging.getLogger("tutelage.client")
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 2.0  # seconds between two requests; doubled each time, with jitter
_FIRST_REST, _LONGEST_REST = 0.5, 10.0  # seconds between two deliveries of reports
_REPORTS_PER_REQUEST = 1_000
_FAILURES_TO_OPEN = 3  # calls in succession without an answer, after which calls are not sent
_PROBE_REST = 1.0  # seconds between two deliveries of reports while calls are not sent
_REPORT_SECONDS, _LOG_SECONDS = 5.0, 10.0
_ROUTES = frozenset({"transport", "mounts", "proxy", "trust_env"})  # options that replace the environment's proxy
_MOST_BYTES, _MOST_BYTES_OF_A_PULL = 65_536, 2_048  # of a response that are read


class AsyncClient:
    """A client for asyncio: ``await client.reveal(...)``.  All its calls belong to one event loop.

    ``server`` is the server's address, by default that of TUTELAGE_SERVER; ``campaign`` a name; ``key`` a
    reporter's key, by default that of TUTELAGE_KEY, "" for none.  ``deadline`` is the maximum time of a call,
    in seconds.  ``spool`` is a file for reports that no other client uses;
    ``most_reports`` is the maximum number of reports that wait.  Other options are passed to httpx.

    A server on this machine is asked directly, another one by the proxy that the environment names; a proxy
    or certificates of the environment that cannot be used raise ``ValueError``.
    """

    def __init__(
        self,
        server: str | None = None,
        campaign: str = "",
        *,
        key: str | None = None,
        deadline: float = 1.0,
        spool: str | Path | None = None,
        most_reports: int = MOST_REPORTS,
        **options: Any,
    ) -> None:
        check_arguments(campaign, deadline)
        server, key = find_server(server), find_key(key)
        self.address, self.deadline = f"/v1/campaigns/{quote(campaign, safe='')}", deadline
        self.spool, self._route = Spool(spool, most_reports), ""
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        if not _ROUTES & options.keys():
            options = connection_options(server) | options
            self._route = name_proxy(server)
        self._http = httpx.AsyncClient(**({"base_url": server, "headers": headers} | options))
        self._running: set[asyncio.Task[httpx.Response]] = set()
        self._reporter: asyncio.Task[None] | None = None
        self._answered = asyncio.Event()  # wakes the reporter when the server answers again
        self._is_troubled = self._is_closed = False
        self._logged: dict[str, float] = {}
        self._failures, self._counts = 0, Counter[str]()  # calls without an answer since the last answer

    @property
    def counters(self) -> Counters:
        """What the client has done so far."""
        return Counters(**self._counts, lost=self.spool.lost, waiting=len(self.spool))

    async def check(self, seconds: float = 5.0) -> str:
        """Return the campaign's status: registering, running or stopped.

        Raises :class:`CheckFailure` if the server does not answer within ``seconds``, does not have the campaign,
        or refuses the key: call this once at the start, since :meth:`reveal` raises none of it.
        """
        if self._is_closed:
            raise RuntimeError("The client has been closed.")
        try:
            request = self._http.build_request("GET", f"{self.address}/access")
            answer = await asyncio.wait_for(self._send(request, seconds, _MOST_BYTES), seconds)
        except (TimeoutError, httpx.TimeoutException):
            raise CheckFailure(f"{self._http.base_url}{self._route} did not answer within {seconds:g} s.") from None
        except httpx.HTTPError as error:
            reason = str(error) or type(error).__name__
            raise CheckFailure(f"{self._http.base_url}{self._route} cannot be reached: {reason}.") from None
        return pull_messages.interpret_access(answer, f"{self._http.base_url}{self._route}")

    async def reveal(self, client: str, arm: str, reward: float, *, id: str | None = None) -> RevealedReward:
        """Return the reward to reveal for this pull.

        Raises :class:`PullRefusal` if the server refuses the pull permanently, and ``ValueError`` for values
        that no server accepts.  A server that fails raises nothing.
        """
        ids = None if id is None else [id]
        return (await self.reveal_all([ObservedReward(client, arm, reward)], ids=ids))[0]

    async def reveal_all(
        self, pulls: Sequence[ObservedReward], *, ids: Sequence[str] | None = None
    ) -> list[RevealedReward]:
        """Return the rewards to reveal for several pulls, in order; together they are one step."""
        if self._is_closed:
            raise RuntimeError("The client has been closed.")
        sent = [
            pull | {"bypassed": True} if pull["id"] in self.spool else pull
            for pull in pull_messages.make_pulls(pulls, ids)
        ]
        if not sent:
            return []
        if self._is_open:
            self._counts["at_once"] += len(sent)
            self._bypass(sent, "the server does not answer")
            return pull_messages.reveal_observed(sent)
        try:
            found = await self._request(sent)
        except asyncio.CancelledError:  # the caller has revealed the observed reward
            self._bypass(sent, "the call was cancelled")
            raise
        except PullRefusal:
            self._counts["refused"] += 1
            self._failures = 0
            raise
        if isinstance(found, Failure):
            self._failures = self._failures + 1 if found.is_temporary else 0
            self._bypass(sent, found.reason)
            return pull_messages.reveal_observed(sent)
        self._counts["answered"] += len(sent)
        self.spool.remove([pull for pull in sent if "bypassed" in pull])
        self._resume()
        return found

    @property
    def _is_open(self) -> bool:
        """Whether calls are not sent: the server has answered none of the last ones.

        Until it answers, the reports that are being delivered ask it now and then.
        """
        is_reporting = self._reporter is not None and not self._reporter.done()
        return is_reporting and self._failures >= _FAILURES_TO_OPEN

    async def _request(self, pulls: list[Pull]) -> list[RevealedReward] | Failure:
        """Repeat the request until it is answered, or return why it was not within the deadline."""
        end = time.monotonic() + self.deadline
        for pause in _pauses(_LONGEST_PAUSE):
            found = await self._try(pulls, end - time.monotonic())
            if not isinstance(found, Failure) or not found.is_temporary:
                return found
            wait = max(pause, found.retry_after)
            if time.monotonic() + wait >= end:
                return found
            await asyncio.sleep(wait)
            self._counts["retried"] += 1
        raise AssertionError  # the pauses never end

    async def _try(self, pulls: list[Pull], seconds: float) -> list[RevealedReward] | Failure:
        """Send one request.  When the time is over it continues in the background and ends by itself.

        It is never cancelled: httpx may then lose a connection that is being opened, and once it has lost as
        many as its limit allows, it opens no more.
        """
        seconds = max(seconds, 0.001)
        request = self._http.build_request("POST", f"{self.address}/pulls", json={"pulls": pulls})
        most = _MOST_BYTES + _MOST_BYTES_OF_A_PULL * len(pulls)
        task = asyncio.create_task(self._send(request, seconds, most))
        self._running.add(task)
        task.add_done_callback(self._forget)
        await asyncio.wait({task}, timeout=seconds)
        if not task.done():
            return Failure("the server did not answer in time" + self._route)
        try:
            return pull_messages.interpret_answer(task.result(), pulls)
        except PullRefusal:
            raise
        except (TimeoutError, httpx.TimeoutException):
            return Failure("the server did not answer in time" + self._route)
        except Exception as error:  # noqa: BLE001 - whatever fails on the way, the caller must neither wait nor fail
            return Failure(f"{type(error).__name__}: {error}".rstrip(": ") + self._route)

    def _forget(self, task: asyncio.Task[httpx.Response]) -> None:
        self._running.discard(task)
        if not task.cancelled():
            task.exception()  # marks it as seen; a call that still waits gets it too

    async def _send(self, request: httpx.Request, seconds: float, most: int) -> httpx.Response:
        """Return the response, cut off at ``most`` bytes, the length that no response to this request exceeds.

        The answer must not be compressed, since its length would then be unknown.
        """
        content, end = bytearray(), time.monotonic() + seconds
        request.headers["Accept-Encoding"] = "identity"
        request.extensions["timeout"] = httpx.Timeout(seconds).as_dict()  # of each wait; the whole is checked below
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
                raise httpx.DecodingError(f"the response is compressed ({encoding}), which was not requested")
        finally:
            await response.aclose()
        return httpx.Response(response.status_code, headers=response.headers, content=bytes(content))

    def _bypass(self, pulls: list[Pull], reason: str) -> None:
        self._is_troubled = True
        self._counts["bypassed"] += len(pulls)
        self._log("Observed rewards are revealed unchanged, and reported later: %s", reason)
        self.spool.add(pull_messages.mark_bypassed([pull for pull in pulls if pull["id"] not in self.spool]))
        self._report_soon()

    def _resume(self) -> None:
        """Note that the server has answered."""
        self._failures = 0
        if self._is_troubled:
            self._is_troubled = False
            self._log("The server answers again.")
        self._answered.set()
        self._report_soon()

    def _log(self, line: str, *values: str) -> None:
        """Log a warning, each kind at most once in ten seconds."""
        now = time.monotonic()
        if now - self._logged.get(line, -math.inf) >= _LOG_SECONDS:
            self._logged[line] = now
            LOG.warning(line, *values)

    def _report_soon(self) -> None:
        if len(self.spool) and not self._is_closed and (self._reporter is None or self._reporter.done()):
            self._reporter = asyncio.create_task(self._report())

    async def _report(self) -> None:
        """Deliver all reports, however long it takes."""
        pauses, most = _pauses(_LONGEST_REST), _REPORTS_PER_REQUEST
        while reports := self.spool.first(most):
            self._answered.clear()
            try:
                found = await self._try(reports, _REPORT_SECONDS)
            except PullRefusal as refused:
                if len(reports) == 1:
                    LOG.error("The server refuses the report %r, which is dropped: %s", reports[0], refused)  # noqa: TRY400
                    self._counts["dropped"] += 1
                    await asyncio.to_thread(self.spool.remove, reports)
                self._failures = 0
                most = max(1, len(reports) // 2)  # one of them is bad: send fewer, until it is found
                continue
            if isinstance(found, Failure):
                most = max(1, len(reports) // 2)  # one may be bad, or they are too many: others must not wait
                self._failures = self._failures if found.is_temporary else 0
                if not found.is_temporary and len(reports) > 1:
                    continue
                if found.may_be_pulls and len(reports) == 1:
                    self.spool.postpone(reports)
                await self._rest(self._limit_rest(max(next(pauses), found.retry_after), found.retry_after))
                continue
            pauses, most = _pauses(_LONGEST_REST), min(_REPORTS_PER_REQUEST, 2 * most)
            self._failures = 0
            self._counts["reported"] += len(reports)
            await asyncio.to_thread(self.spool.remove, reports)

    def _limit_rest(self, seconds: float, asked: float) -> float:
        """Shorten a rest while no call is sent that could find out that the server is back."""
        return min(seconds, max(_PROBE_REST, min(asked, _LONGEST_REST))) if self._is_open else seconds

    async def _rest(self, seconds: float) -> None:
        """Wait; not long if the server answers another request meanwhile."""
        short = min(seconds, _FIRST_REST)
        await asyncio.sleep(short)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._answered.wait(), seconds - short)

    async def close(self, seconds: float = 5.0) -> None:
        """Close the client after at most ``seconds`` for reports; the others stay in the spool's file."""
        if self._is_closed:
            return
        self._answered.set()
        self._report_soon()
        self._is_closed = True
        if self._reporter is not None:
            await asyncio.wait([self._reporter], timeout=seconds)
            self._reporter.cancel()
            await asyncio.wait([self._reporter])
        for task in self._running:
            task.cancel()  # no request follows that could miss the connection
        await asyncio.gather(*self._running, return_exceptions=True)
        if len(self.spool) and self.spool.path is None:
            LOG.error("%d reports are lost, since the client has no spool: pass one as spool.", len(self.spool))
        self.spool.close()
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        self._report_soon()
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()


def _pauses(longest: float) -> Iterator[float]:
    pause = _FIRST_PAUSE
    while True:
        yield random.uniform(0.5, 1.0) * pause
        pause = min(longest, 2 * pause)
