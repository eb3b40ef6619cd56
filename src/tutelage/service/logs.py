"""Logs on standard error, as JSON or text, written by a thread: a reader that stops does not stop the server."""

import contextlib
import json
import logging
import os
import queue
import threading
from datetime import UTC, datetime
from typing import Any

from tutelage.text import format_controls

_STANDARD_ERROR = 2
_FIELDS = (
    *("request", "method", "path", "status", "milliseconds", "key", "address", "campaign", "reason"),
    *("campaigns", "seconds"),
)


class JsonFormatter(logging.Formatter):
    """Formats a record as one object: time, level, logger, message, and the fields of a request."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        content = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        content |= _read_fields(record)
        if record.exc_info:
            content["traceback"] = self.formatException(record.exc_info)
        return json.dumps(content)


class TextFormatter(logging.Formatter):
    """Formats a record as a line for a terminal: local time, level, message, and the fields of a request."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        time = datetime.fromtimestamp(record.created, UTC).astimezone().strftime("%H:%M:%S")
        fields = " ".join(f"{name}={value}" for name, value in _read_fields(record).items())
        line = f"{time} {record.levelname.lower():<8} {record.getMessage()} {fields}".rstrip()
        trace = f"\n{self.formatException(record.exc_info)}" if record.exc_info else ""
        return format_controls(line + trace)


def _read_fields(record: logging.LogRecord) -> dict[str, Any]:
    return {name: getattr(record, name) for name in _FIELDS if hasattr(record, name)}


class QueuedHandler(logging.Handler):
    """Writes lines to a file descriptor in a thread of its own.

    A line that finds ``most_lines`` before it is dropped; the next line that is written is followed by the
    number of those that were dropped.
    """

    def __init__(self, descriptor: int, most_lines: int = 2_000, formatter: logging.Formatter | None = None) -> None:
        super().__init__()
        self.setFormatter(formatter or JsonFormatter())
        self._descriptor, self._dropped = descriptor, 0
        self._lines: queue.Queue[str | None] = queue.Queue(most_lines)
        self._thread = threading.Thread(target=self._write_all, name="tutelage-log", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        """Queue a line, or count it as dropped."""
        try:
            self._lines.put_nowait(self.format(record))
        except queue.Full:
            self._dropped += 1  # one thread at a time is here: logging holds the handler's lock

    def print(self, text: str) -> None:
        """Queue text that is no log line, if there is room."""
        with contextlib.suppress(queue.Full):
            self._lines.put_nowait(text)

    def finish(self, seconds: float = 1.0) -> None:
        """Wait until all lines are written, but no longer than this."""
        with contextlib.suppress(queue.Full):
            self._lines.put(None, timeout=seconds)
        self._thread.join(seconds)

    def _write_all(self) -> None:
        while (line := self._lines.get()) is not None:
            self._write(line)
            with self.lock or contextlib.nullcontext():
                dropped, self._dropped = self._dropped, 0
            if dropped:
                sentence = f"{dropped} log lines were dropped, since nobody read standard error."
                record = logging.LogRecord("tutelage.server", logging.WARNING, "", 0, sentence, None, None)
                self._write(self.format(record))

    def _write(self, line: str) -> None:
        content = f"{line}\n".encode()
        with contextlib.suppress(OSError):  # closed, or a full disk: the server goes on
            while content:
                content = content[os.write(self._descriptor, content) :]


def configure_logging(level: str, *, as_text: bool = False) -> QueuedHandler:
    """Send the server's logs of at least this level to standard error, and warnings of all libraries."""
    handler = QueuedHandler(_STANDARD_ERROR, formatter=TextFormatter() if as_text else JsonFormatter())
    logging.getLogger().handlers = [handler]
    logging.captureWarnings(capture=True)
    logging.getLogger("tutelage").setLevel(level.upper())
    # What uvicorn says of its start and end is for programs.
    logging.getLogger("uvicorn").setLevel("WARNING" if as_text and level == "info" else level.upper())
    return handler
