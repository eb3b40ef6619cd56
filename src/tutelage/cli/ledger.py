"""``tutelage ledger``: the ledger where it is kept, with a server beside it or without."""

import contextlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from tutelage.cli.output import printing
from tutelage.errors import InputError
from tutelage.stores.base import EntryRow, PullRow, Reader, StoreError, pages

if TYPE_CHECKING:
    from tutelage.service.live import Live

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
    from tutelage.service.rebuilding import Disagreement, rebuilt

    faults = []
    with _reader(store) as reader, printing():
        for one in [name] if name else [stored.name for stored in reader.campaigns()]:
            stored, snapshot = reader.load(one)
            last = stored.head.position
            try:
                live = rebuilt(stored, 0, None, _between(reader, one, 0, last))
                if snapshot is not None:
                    behind = rebuilt(stored, 0, snapshot, _between(reader, one, snapshot.position, last))
                    _compare(live, behind)
            except Disagreement as error:
                faults.append(str(error))
            else:
                sys.stdout.write(f"{one}: {live.position} positions agree.\n")
    for fault in faults:
        sys.stderr.write(f"{fault}\n")
    if faults:
        raise typer.Exit(1)


@app.command()
def export(
    name: Annotated[str, typer.Argument(metavar="NAME", show_default=False, help="The campaign.")],
    format: Annotated[str, typer.Option(metavar="FORMAT", help="ndjson or csv.")] = "ndjson",
    store: Store = None,
) -> None:
    """Print all rows of a campaign."""
    from tutelage.service import ledger_pages

    if format not in {"ndjson", "csv"}:
        raise InputError(f"{format!r} is no format: take ndjson or csv.")
    with _reader(store) as reader, printing():
        names = ledger_pages.Names(reader, name)
        sys.stdout.write(ledger_pages.heading(format).decode())
        for row in _between(reader, name, 0, names.head.position):
            sys.stdout.write(ledger_pages.encoded([names.row(row)], format).decode())


def _compare(live: "Live", behind: "Live") -> None:
    """Raises Disagreement unless the snapshot gives what all the rows give."""
    from tutelage.service.rebuilding import Disagreement

    if live.begun.dump() != behind.begun.dump():
        raise Disagreement(f"The snapshot of {live.name} holds other counts or sums than its ledger gives.")


def _between(reader: Reader, name: str, after: int, last: int) -> Iterator[PullRow | EntryRow]:
    for row in pages(reader, name, after):
        if row.position > last:
            return
        yield row


@contextlib.contextmanager
def _reader(store: str | None) -> Iterator[Reader]:
    from tutelage.service.configuration import resolve
    from tutelage.stores import open_reader

    try:
        with contextlib.closing(open_reader(resolve({"store": store}).store)) as reader:
            yield reader
    except StoreError as error:
        raise InputError(str(error)) from error
