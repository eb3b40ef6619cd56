"""The client for ordinary code: an asyncio client in a thread of its own."""

import asyncio
import os
import threading
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

from tutelage.client.async_client import AsyncClient
from tutelage.client.counters import Counters
from tutelage.client.pull_messages import ObservedReward, RevealedReward
from tutelage.client.spool import MOST_REPORTS, Spool

Result = TypeVar("Result")


class Client:
    """A client for ordinary code, which threads may share.

    The arguments are those of :class:`AsyncClient`.  A process that forks must make its clients afterwards.
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
        self._client = AsyncClient(
            server, campaign, key=key, deadline=deadline, spool=spool, most_reports=most_reports, **options
        )
        self._process, self._is_closed = os.getpid(), False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="tutelage-client", daemon=True)
        self._thread.start()
        self._run(self._client.__aenter__())

    @property
    def spool(self) -> Spool:
        """The reports that are still to be delivered."""
        return self._client.spool

    @property
    def counters(self) -> Counters:
        """What the client has done so far."""
        return self._client.counters

    def check(self, seconds: float = 5.0) -> str:
        """Return the campaign's status: registering, running or stopped.

        Raises :class:`CheckFailure` if the server does not answer within ``seconds``, does not have the campaign,
        or refuses the key: call this once at the start, since :meth:`reveal` raises none of it.
        """
        return self._run(self._client.check(seconds))

    def reveal(self, client: str, arm: str, reward: float, *, id: str | None = None) -> RevealedReward:
        """Return the reward to reveal for this pull.

        Raises :class:`PullRefusal` if the server refuses the pull permanently, and ``ValueError`` for values
        that no server accepts.  A server that fails raises nothing.
        """
        return self._run(self._client.reveal(client, arm, reward, id=id))

    def reveal_all(self, pulls: Sequence[ObservedReward], *, ids: Sequence[str] | None = None) -> list[RevealedReward]:
        """Return the rewards to reveal for several pulls, in order; together they are one step."""
        return self._run(self._client.reveal_all(pulls, ids=ids))

    def close(self, seconds: float = 5.0) -> None:
        """Close the client after at most ``seconds`` for reports; the others stay in the spool's file."""
        if self._is_closed:
            return
        self._run(self._client.close(seconds))
        self._is_closed = True
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, Result]) -> Result:
        if self._is_closed or self._process != os.getpid():
            work.close()
            raise RuntimeError(
                "The client has been closed."
                if self._is_closed
                else "The client was made before this process was forked: make one here."
            )
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()  # for example Ctrl-C: nobody waits for the result
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
