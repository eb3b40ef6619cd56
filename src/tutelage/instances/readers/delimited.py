"""Large files of lines and fields, streamed: chosen columns as text, a part at a time."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tutelage.errors import InputError
from tutelage.instances.readers.files import DataFile

if TYPE_CHECKING:
    import polars as pl

_PART = 1 << 25  # bytes parsed at a time
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Layout:
    """How a file's lines are cut: ``skip`` lines before the data, ``width`` fields, ``separator`` between."""

    separator: str
    width: int
    skip: int


def first_lines(data: DataFile, count: int) -> list[str]:
    """The first lines that are not blank, without line ends; an empty or binary file is an ``InputError``."""
    lines: list[str] = []
    with data.open() as stream:
        while len(lines) < count and (line := stream.readline(1 << 20)):
            if b"\0" in line:
                raise InputError(f"{data.label!r} is not a text file; give a text file or a .zip or .gz of one.")
            try:
                text = line.removeprefix(_BOM).decode("utf-8").strip("\r\n")
            except UnicodeDecodeError:
                raise _not_utf8(data) from None
            if "\r" in text:
                raise InputError(
                    f"{data.label!r} has a carriage return within a line (the line ends of old Macs?); "
                    "save it with line feeds."
                )
            if text.strip():
                lines.append(text)
    if not lines:
        raise InputError(f"{data.label!r} is empty; give a file with data.")
    return lines


def fields(line: str, separator: str, data: DataFile) -> list[str]:
    """The fields, unquoted and stripped, of one of the first lines of a file."""
    if len(separator) > 1:
        return [part.strip() for part in line.split(separator)]
    try:
        return [part.strip() for part in next(csv.reader([line], delimiter=separator), [])]
    except csv.Error as error:
        raise InputError(
            f"The line {line[:40] + '...'!r} of {data.label!r} cannot be cut into fields ({error}); "
            "check its quotes and line ends."
        ) from None


def stream_columns(
    data: DataFile, layout: Layout, columns: dict[int, str], may_lack: Sequence[str] = ()
) -> Iterator["pl.DataFrame"]:
    """The columns ``{position: name}`` as text, stripped, with their ``line``; blank lines are left out.

    A missing or empty field is null in a column that ``may_lack`` it, else an ``InputError`` with its line.
    """
    needed = [name for name in columns.values() if name not in may_lack]
    for line, part in _parts(data, layout.skip):
        frame = _parse(part, line, data, layout, columns)
        empty = frame.filter(_any_null(needed))
        if empty.height:
            row = empty.row(0, named=True)
            missing = next(name for name in needed if row[name] is None)
            raise InputError(f"Line {row['line']} of {data.label!r} has no {missing}; complete or delete the line.")
        yield frame


def _any_null(names: Sequence[str]) -> "pl.Expr":
    import polars as pl

    return pl.any_horizontal(pl.col(name).is_null() for name in names)


def _parts(data: DataFile, skip: int) -> Iterator[tuple[int, bytes]]:
    """Whole lines, about 32 MB at a time, each with the number of its first line (counted from 1)."""
    line, rest, first = 1, b"", True
    with data.open() as stream:
        while True:
            block = stream.read(_PART)
            if first:
                block, first = block.removeprefix(_BOM), False
            if b"\0" in block:
                raise InputError(f"{data.label!r} is not a text file; give a text file or a .zip or .gz of one.")
            text = rest + block
            cut = text.rfind(b"\n") + 1 if block else len(text)
            part, rest = text[:cut], text[cut:]
            while skip and part:  # blank lines before the header count as lines, not as skipped ones
                head, _, part = part.partition(b"\n")
                skip -= bool(head.strip())
                line += 1
            if part.strip():
                yield line, part
            line += part.count(b"\n")
            if not block:
                return


def _parse(part: bytes, line: int, data: DataFile, layout: Layout, columns: dict[int, str]) -> "pl.DataFrame":
    import polars as pl

    separator = layout.separator
    if len(separator) > 1:
        part, separator = part.replace(separator.encode(), b"\t"), "\t"
    try:
        frame = pl.read_csv(
            part,
            has_header=False,
            separator=separator,
            schema={f"{at}": pl.String for at in range(layout.width)},
            columns=list(columns),
            row_index_name="line",
            row_index_offset=line,
            missing_columns="insert",
            quote_char=None if len(layout.separator) > 1 else '"',
        )
    except pl.exceptions.PolarsError as error:
        raise _unreadable(str(error), part, line, data, layout) from None
    named = frame.rename({f"{at}": name for at, name in columns.items()})
    stripped = named.with_columns(pl.exclude("line").str.strip_chars())
    filled = stripped.with_columns(
        pl.when(pl.col(name) != "").then(pl.col(name)).alias(name) for name in columns.values()
    )
    return filled.filter(~pl.all_horizontal(pl.exclude("line").is_null()))


def _unreadable(reason: str, part: bytes, line: int, data: DataFile, layout: Layout) -> InputError:
    if "utf-8" in reason.lower():
        return _not_utf8(data)
    mark = b"\t" if len(layout.separator) > 1 else layout.separator.encode()
    for number, text in enumerate(part.split(b"\n"), start=line):
        if text.count(mark) >= layout.width and b'"' not in text:
            found = text.count(mark) + 1
            return InputError(
                f"Line {number} of {data.label!r} has {found} fields, the first line {layout.width} "
                "(a decimal comma? write a point); make the lines alike."
            )
    return InputError(
        f"{data.label!r} cannot be read from line {line} on ({reason.splitlines()[0]}); check its quotes."
    )


def _not_utf8(data: DataFile) -> InputError:
    return InputError(f"{data.label!r} is not UTF-8 text; save it as UTF-8.")
