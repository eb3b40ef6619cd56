"""The ledger as a file, written as it is read: lines of JSON, CSV, or Parquet."""

import csv
import importlib
import io
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

import msgspec

from tutelage.errors import InputError

COLUMNS = (
    "position",
    "kind",
    "step",
    "index",
    "client",
    "arm",
    "number",
    "observed",
    "revealed",
    "directive",
    "bypassed",
    "time",
    "id",
    "content",
)


class Writer(Protocol):
    """Turns rows into bytes; all that it gives, in order, is the file."""

    media_type: str

    def begin(self) -> bytes:
        """What comes first."""

    def rows(self, rows: Sequence[dict[str, Any]]) -> bytes:
        """What these rows add."""

    def end(self) -> bytes:
        """What comes last."""


class Lines:
    """A JSON object a line."""

    media_type = "application/x-ndjson"

    def begin(self) -> bytes:
        """Nothing."""
        return b""

    def rows(self, rows: Sequence[dict[str, Any]]) -> bytes:
        """A line each."""
        return msgspec.json.Encoder().encode_lines(rows)

    def end(self) -> bytes:
        """Nothing."""
        return b""


class Commas:
    """CSV with a heading; what is no pull has its content as JSON."""

    media_type = "text/csv"

    def begin(self) -> bytes:
        """The heading."""
        return (",".join(COLUMNS) + "\n").encode()

    def rows(self, rows: Sequence[dict[str, Any]]) -> bytes:
        """A line each, the numbers such that they read back equal."""
        text = io.StringIO()
        writer = csv.DictWriter(text, COLUMNS, restval="", lineterminator="\n")
        for row in rows:
            flat = _flat(row)
            if "bypassed" in flat:
                flat["bypassed"] = "true" if flat["bypassed"] else "false"
            writer.writerow(flat)
        return text.getvalue().encode()

    def end(self) -> bytes:
        """Nothing."""
        return b""


class Parquet:
    """The same columns as CSV, absent ones null; a page of rows is a row group.  Needs pyarrow."""

    media_type = "application/vnd.apache.parquet"

    def __init__(self) -> None:
        try:
            pyarrow: Any = importlib.import_module("pyarrow")
            parquet: Any = importlib.import_module("pyarrow.parquet")
        except ImportError:
            raise InputError(
                "Parquet needs pyarrow: install it where Tutelage is, as with "
                "`/opt/tutelage/bin/pip install pyarrow`, or take ndjson or csv."
            ) from None
        whole, text, number = pyarrow.int64(), pyarrow.string(), pyarrow.float64()
        types = {"observed": number, "revealed": number, "bypassed": pyarrow.bool_()}
        types |= dict.fromkeys(("position", "step", "index", "number", "directive"), whole)
        types |= {"time": pyarrow.timestamp("us", "UTC")}
        self._table = pyarrow.Table
        self._schema = pyarrow.schema([(name, types.get(name, text)) for name in COLUMNS])
        self._sink = _Sink()
        self._writer = parquet.ParquetWriter(self._sink, self._schema)

    def begin(self) -> bytes:
        """The first bytes, by which the format is known."""
        return self._sink.taken()

    def rows(self, rows: Sequence[dict[str, Any]]) -> bytes:
        """A row group."""
        flat = [_flat(row) | {"time": datetime.fromisoformat(row["time"])} for row in rows]
        self._writer.write_table(self._table.from_pylist(flat, self._schema))
        return self._sink.taken()

    def end(self) -> bytes:
        """The table of contents: without it the file cannot be read."""
        self._writer.close()
        return self._sink.taken()


class _Sink(io.RawIOBase):
    """Collects what is written until it is taken."""

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[bytes] = []
        self._size = 0

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        part = bytes(content)
        self._parts.append(part)
        self._size += len(part)
        return len(part)

    def tell(self) -> int:
        return self._size

    def taken(self) -> bytes:
        """What was written since this was last called."""
        parts, self._parts = self._parts, []
        return b"".join(parts)


FORMATS: Mapping[str, type[Lines] | type[Commas] | type[Parquet]] = {
    "ndjson": Lines,
    "csv": Commas,
    "parquet": Parquet,
}


def writer_of(format: str) -> Writer:
    """The writer of a format: ndjson, csv or parquet.  Raises ``InputError``."""
    if format not in FORMATS:
        raise InputError(f"{format!r} is no format: take ndjson, csv or parquet.")
    return FORMATS[format]()


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """A row without an object in it."""
    return row | {"content": msgspec.json.encode(row["content"]).decode()} if "content" in row else row
