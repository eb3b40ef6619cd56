"""``tutelage ledger``: verify, export and import ledgers in a store, whether a server is running or not."""

import contextlib
import itertools
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from tutelage.cli.audit import audit_row
from tutelage.cli.completion import complete_stored_campaign
from tutelage.cli.options import Json, argument, option
from tutelage.cli.printing import checked_output, print_answer, print_lines
from tutelage.cli.server_options import ConfigFile, StoredCampaign, StoreUrl, store_url
from tutelage.dependence_test import describe_finding
from tutelage.errors import InputError
from tutelage.stores.base import Reader

app = typer.Typer(help="Verify, export and import the ledgers in a store.", no_args_is_help=True)


@app.command()
def verify(
    name: Annotated[
        str | None,
        argument("NAME", "Name of the campaign.", show_default="all", autocompletion=complete_stored_campaign),
    ] = None,
    store: StoreUrl = None,
    config: ConfigFile = None,
    as_json: Json = False,
) -> None:
    """Recompute campaigns from their ledgers.

    The results are compared with what the store holds.  The exit status is 1 if anything differs.
    """
    from tutelage.service.campaigns.verifying import verify_ledger

    faults: list[str] = []
    documents: list[dict[str, Any]] = []
    with _reader(store, config) as reader, checked_output():
        for one in [name] if name else [listed.name for listed in reader.campaigns()]:
            position, found = verify_ledger(reader, one)
            faults += found
            documents.append({"name": one, "position": position, "faults": found})
            if not found and not as_json:
                agree = "row agrees" if position == 1 else "rows agree"
                sys.stdout.write(f"{one}: {position:,} {agree}.\n")
    nothing = [] if documents else ["The store contains no campaigns."]
    print_answer(lambda: {"campaigns": documents}, lambda: nothing, as_json=as_json)
    sys.stderr.writelines(f"{fault}\n" for fault in faults if not as_json)
    if faults:
        raise typer.Exit(1)


@app.command()
def dependence(name: StoredCampaign, store: StoreUrl = None, config: ConfigFile = None, as_json: Json = False) -> None:
    """Test whether rewards of different clients are independent.

    The guarantees of teachers assume it of rewards in the same round.  The exit status is 1 if dependence is found; a
    false alarm has a probability of at most 0.1 %.
    """
    from tutelage.service.monitoring.dependence_reader import find_dependence_in_ledger

    with _reader(store, config) as reader:
        num_clients, finding = find_dependence_in_ledger(reader, name)
    document = {"name": name, "clients": num_clients, **asdict(finding)}
    print_answer(lambda: document, lambda: [f"{name}: {describe_finding(finding, num_clients)}"], as_json=as_json)
    if finding.noticed_after is not None:
        raise typer.Exit(1)


@app.command()
def export(
    name: StoredCampaign,
    format: Annotated[str, option("FORMAT", "Format of the rows: ndjson, csv or parquet.")] = "ndjson",
    store: StoreUrl = None,
    config: ConfigFile = None,
) -> None:
    """Print all rows of a campaign's ledger.

    Redirect Parquet into a file or another program.
    """
    from tutelage.service.api import ledger_pages
    from tutelage.service.api.ledger_formats import make_writer
    from tutelage.service.campaigns.rebuilding import read_rows_between

    writer = make_writer(format)
    if format == "parquet" and sys.stdout.isatty():
        raise InputError("Cannot print Parquet on a terminal: redirect it into a file, as in > ledger.parquet.")
    with _reader(store, config) as reader, checked_output():
        names = ledger_pages.load_names(reader, name)
        out = sys.stdout.buffer
        out.write(writer.begin())
        rows = read_rows_between(reader, name, 0, names.head.position)
        while page := list(itertools.islice(rows, 2_000)):
            out.write(writer.write_rows([names.describe_row(row) for row in page]))
        out.write(writer.end())


@app.command(name="import")
def import_(
    file: Annotated[Path, argument("FILE", "Ledger that was exported as NDJSON.", exists=True, dir_okay=False)],
    store: StoreUrl = None,
    config: ConfigFile = None,
) -> None:
    """Create a campaign again from its exported ledger.

    The campaign must not exist in the store.  Stop the server of a SQLite store first.
    """
    from tutelage.service.api.ledger_import import import_ledger
    from tutelage.stores import open_store

    with store_url(store, config) as url, contextlib.closing(open_store(url)) as opened, file.open("rb") as lines:
        name, position = import_ledger(opened, lines, audit_row("import campaign"))
    print_lines([f"{name}: {position:,} rows imported."])


@contextlib.contextmanager
def _reader(store: str | None, config: Path | None) -> Iterator[Reader]:
    from tutelage.stores import open_reader

    with store_url(store, config) as url, contextlib.closing(open_reader(url)) as reader:
        yield reader
