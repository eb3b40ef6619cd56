"""The client for ordinary code: the one for asyncio, in a thread of its own."""

import asyncio
import os
import threading
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

from tutelage.client.asking import AsyncClient
from tutelage.client.messages import Observed, Revealed
from tutelage.client.spool import MOST_REPORTS, Spool

Found = TypeVar("Found")


class Client:
    """Asks the server from ordinary code; safe to share among threads.

    ``server`` is its address, ``campaign`` a name, ``key`` a reporter's.  ``deadline`` is how many seconds a
    call may take in all.  ``spool`` is a file for reports, of this process alone; ``most_reports`` bounds
    how many may wait.  Further options are httpx's.  A process that forks makes its clients afterwards.
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
        self._asking = AsyncClient(
            server,
            campaign,
            key=key,
            deadline=deadline,
            spool=spool,
            most_reports=most_reports,
            **options,
        )
        self._process, self._is_closed = os.getpid(), False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="tutelage-client", daemon=True)
        self._thread.start()
        self._run(self._asking.__aenter__())

    @property
    def spool(self) -> Spool:
        """What is still to be reported."""
        return self._asking.spool

    def reveal(self, client: str, arm: str, reward: float, *, id: str | None = None) -> Revealed:
        """What to show for this pull.

        Raises :class:`PullRefused` if the server will never take it, and ``ValueError`` for what no server
        would; for a server that fails, nothing.
        """
        return self._run(self._asking.reveal(client, arm, reward, id=id))

    def reveal_all(self, pulls: Sequence[Observed], *, ids: Sequence[str] | None = None) -> list[Revealed]:
        """The same for several pulls at once, in their order; together they are one step."""
        return self._run(self._asking.reveal_all(pulls, ids=ids))

    def close(self, seconds: float = 5.0) -> None:
        """End, after at most ``seconds`` for reports; what is left then stays in the spool's file."""
        if self._is_closed:
            return
        self._run(self._asking.close(seconds))
        self._is_closed = True
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, Found]) -> Found:
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
            future.cancel()  # Ctrl-C: nobody waits for it any more
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
