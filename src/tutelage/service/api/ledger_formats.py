"""Files of ledger rows, written as the rows are read: NDJSON, CSV and Parquet."""

import csv
import importlib
import io
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from tutelage.errors import InputError
from tutelage.service.api.schemas import LedgerRow

COLUMNS = LedgerRow.__struct_fields__
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "'")


class LedgerWriter(ABC):
    """Turns rows into bytes.  All bytes that it returns, in order, are the file."""

    media_type: str

    def begin(self) -> bytes:
        """Return what comes before the rows."""
        return b""

    @abstractmethod
    def write_rows(self, rows: Sequence[LedgerRow]) -> bytes:
        """Return what these rows add."""

    def end(self) -> bytes:
        """Return what comes after the rows."""
        return b""


class NdjsonWriter(LedgerWriter):
    """One JSON object per line."""

    media_type = "application/x-ndjson"

    def write_rows(self, rows: Sequence[LedgerRow]) -> bytes:
        return msgspec.json.Encoder().encode_lines(rows)


class CsvWriter(LedgerWriter):
    """CSV with a header line.  ``content`` is JSON, and fields that a row does not have are empty.

    A name or id that a spreadsheet could read as a formula, or that begins with an apostrophe, gets an
    apostrophe before it.
    """

    media_type = "text/csv"

    def begin(self) -> bytes:
        return (",".join(COLUMNS) + "\n").encode()

    def write_rows(self, rows: Sequence[LedgerRow]) -> bytes:
        """Return a line per row; the numbers read back equal."""
        text = io.StringIO()
        writer = csv.DictWriter(text, COLUMNS, restval="", lineterminator="\n")
        for row in rows:
            cells = _flatten(row)
            if "bypassed" in cells:
                cells["bypassed"] = "true" if cells["bypassed"] else "false"
            for name in ("client", "arm", "id", "key"):
                if str(cells.get(name, "")).startswith(_FORMULA_STARTS):
                    cells[name] = f"'{cells[name]}"
            writer.writerow(cells)
        return text.getvalue().encode()


class ParquetWriter(LedgerWriter):
    """The columns of the CSV, null where a row has no value.  Each page is a row group.  Needs pyarrow."""

    media_type = "application/vnd.apache.parquet"

    def __init__(self) -> None:
        try:
            pyarrow: Any = importlib.import_module("pyarrow")
            parquet: Any = importlib.import_module("pyarrow.parquet")
        except ImportError:
            raise InputError(
                "Parquet needs pyarrow: install it where Tutelage is, for example with "
                "`/opt/tutelage/bin/pip install pyarrow`, or use ndjson or csv."
            ) from None
        whole, text, number = pyarrow.int64(), pyarrow.string(), pyarrow.float64()
        types = {"observed": number, "revealed": number, "bypassed": pyarrow.bool_()}
        types |= dict.fromkeys(("position", "step", "index", "number", "directive"), whole)
        types |= {"time": pyarrow.timestamp("us", "UTC")}
        self._table = pyarrow.Table
        self._schema = pyarrow.schema([(name, types.get(name, text)) for name in COLUMNS])
        self._buffer = _Buffer()
        self._writer = parquet.ParquetWriter(self._buffer, self._schema)

    def begin(self) -> bytes:
        """Return the first bytes, which identify the format."""
        return self._buffer.drain()

    def write_rows(self, rows: Sequence[LedgerRow]) -> bytes:
        cells = [_flatten(row) | {"time": datetime.fromisoformat(row.time)} for row in rows]
        self._writer.write_table(self._table.from_pylist(cells, self._schema))
        return self._buffer.drain()

    def end(self) -> bytes:
        """Return the table of contents, without which the file cannot be read."""
        self._writer.close()
        return self._buffer.drain()


class _Buffer(io.RawIOBase):
    """A file that holds what was written until it is drained."""

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

    def drain(self) -> bytes:
        """Return and forget what was written since the last call."""
        parts, self._parts = self._parts, []
        return b"".join(parts)


FORMATS: Mapping[str, type[LedgerWriter]] = {"ndjson": NdjsonWriter, "csv": CsvWriter, "parquet": ParquetWriter}


def make_writer(format: str) -> LedgerWriter:
    """Return the writer of a format: ndjson, csv or parquet.  Raises ``InputError``."""
    if format not in FORMATS:
        raise InputError(f"Invalid format {format!r}: use ndjson, csv or parquet.")
    return FORMATS[format]()


def _flatten(row: LedgerRow) -> dict[str, Any]:
    """Return the fields that the row has, with ``content`` as JSON."""
    cells = {name: value for name, value in msgspec.structs.asdict(row).items() if value is not msgspec.UNSET}
    return cells | {"content": msgspec.json.encode(row.content).decode()} if "content" in cells else cells
