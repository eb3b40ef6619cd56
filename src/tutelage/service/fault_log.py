"""Log lines of faults that last: one when a fault begins, few while it lasts, one when it ends."""

import logging
import threading
import time
from collections.abc import Callable

REMINDER_SECONDS = 60.0


class FaultLog:
    """A fault that several callers may notice, as in "the store cannot be written" and "keys cannot be read".

    It begins with the first caller that reports it and ends when none of them sees it any more.  The first
    report is an error, later ones are warnings, at most one in ``REMINDER_SECONDS``, and the end is one line.
    Methods may be called from any thread.
    """

    def __init__(
        self, logger: logging.Logger, begins: str, lasts: str, ends: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._logger, self._begins, self._lasts, self._ends, self._clock = logger, begins, lasts, ends, clock
        self._lock = threading.Lock()
        self._seen_by: set[str] = set()
        self._begun = self._reminded = 0.0

    def report(self, who: str, reason: str) -> None:
        """Note that ``who`` sees the fault now."""
        with self._lock:
            now, is_new = self._clock(), not self._seen_by
            self._seen_by.add(who)
            if is_new:
                self._begun = self._reminded = now
                self._logger.error(self._begins, extra={"reason": reason})
            elif now - self._reminded >= REMINDER_SECONDS:
                self._reminded = now
                extra = {"reason": reason, "seconds": round(now - self._begun, 1)}
                self._logger.warning(self._lasts, extra=extra)

    def end(self, who: str) -> None:
        """Note that ``who`` does not see the fault, or sees it no more."""
        if who not in self._seen_by:
            return
        with self._lock:
            self._seen_by.discard(who)
            if not self._seen_by:
                self._logger.info(self._ends, extra={"seconds": round(self._clock() - self._begun, 1)})
