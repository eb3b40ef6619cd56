"""Logs as lines of JSON on standard error."""

import json
import logging
import sys
from datetime import UTC, datetime

_FIELDS = ("request", "method", "path", "status", "milliseconds", "reason")


class JsonLines(logging.Formatter):
    """A record as one object: time, level, logger, message, and what the request's were."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        told = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        told |= {name: getattr(record, name) for name in _FIELDS if hasattr(record, name)}
        if record.exc_info:
            told["traceback"] = self.formatException(record.exc_info)
        return json.dumps(told)


def begin(level: str) -> None:
    """Log from here on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name in ("tutelage", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level.upper())
