"""``tutelage ledger``: the ledger where it is kept, with a server beside it or without."""

import contextlib
import itertools
import sys
from collections.abc import Iterator
from typing import Annotated

import typer

from tutelage.cli.output import printing
from tutelage.errors import InputError
from tutelage.stores.base import Reader, StoreError

app = typer.Typer(help="The ledger of a store.", no_args_is_help=True)
Store = Annotated[
    str | None,
    typer.Option("--store", metavar="URL", show_default="sqlite:///tutelage.db", help="Where it is kept."),
]


@app.command()
def verify(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", show_default="all", help="The campaign.")
    ] = None,
    store: Store = None,
) -> None:
    """Rebuild campaigns from their first row on and compare all that is stored; status 1 if any differs."""
    from tutelage.service.verifying import verified

    faults = []
    with _reader(store) as reader, printing():
        for one in [name] if name else [stored.name for stored in reader.campaigns()]:
            position, found = verified(reader, one)
            faults += found
            if not found:
                sys.stdout.write(f"{one}: {position} positions agree.\n")
    for fault in faults:
        sys.stderr.write(f"{fault}\n")
    if faults:
        raise typer.Exit(1)


@app.command()
def export(
    name: Annotated[str, typer.Argument(metavar="NAME", show_default=False, help="The campaign.")],
    format: Annotated[str, typer.Option(metavar="FORMAT", help="ndjson, csv or parquet.")] = "ndjson",
    store: Store = None,
) -> None:
    """Print all rows of a campaign, Parquet into a file or another program."""
    from tutelage.service import ledger_pages
    from tutelage.service.ledger_formats import writer_of
    from tutelage.service.verifying import between

    writer = writer_of(format)
    if format == "parquet" and sys.stdout.isatty():
        raise InputError("Parquet is not for a terminal: send it into a file, as in > ledger.parquet.")
    with _reader(store) as reader, printing():
        names = ledger_pages.Names(reader, name)
        out = sys.stdout.buffer
        out.write(writer.begin())
        rows = between(reader, name, 0, names.head.position)
        while page := list(itertools.islice(rows, 2_000)):
            out.write(writer.rows([names.row(row) for row in page]))
        out.write(writer.end())


@contextlib.contextmanager
def _reader(store: str | None) -> Iterator[Reader]:
    from tutelage.service.configuration import resolve
    from tutelage.stores import open_reader

    try:
        with contextlib.closing(open_reader(resolve({"store": store}).store)) as reader:
            yield reader
    except StoreError as error:
        raise InputError(str(error)) from error
