"""``tutelage data``: the real data sets, where they are published, and whether a copy is whole."""

import json
import sys
from dataclasses import asdict
from typing import Annotated

import typer

from tutelage.cli.output import printing

_NOT_AS_PUBLISHED = 1


def data(
    check: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            show_default=False,
            help="A file, archive or folder to check; status 1 where it is not as published.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")] = False,
) -> None:
    """Tell where the real data sets are published and check a copy of one.

    Uses no network.
    """
    from tutelage.experiments import data_sets

    if check is None:
        with printing():
            _list(as_json=as_json)
        return
    findings = data_sets.check_files(check)
    whole = all(finding.state == data_sets.AS_PUBLISHED for finding in findings)
    with printing():
        if as_json:
            document = {"whole": whole, "files": [asdict(finding) for finding in findings]}
            sys.stdout.write(json.dumps(document) + "\n")
        else:
            for finding in findings:
                sys.stdout.write(f"{finding.sentence}\n")
    if not whole:
        raise typer.Exit(_NOT_AS_PUBLISHED)


def _list(*, as_json: bool) -> None:
    from tutelage.experiments.data_sets import DATA_SETS, FOLDER_VARIABLE

    if as_json:
        sys.stdout.write(json.dumps({"data": [asdict(each) for each in DATA_SETS]}) + "\n")
        return
    for each in DATA_SETS:
        rows = [("data set", each.name), ("what", each.title), ("page", each.page)]
        rows += [("address", each.address), ("licence", each.licence)]
        for part in (*([each.archive] if each.archive else []), *each.parts):
            rows.append((part.name, f"{part.size:,} bytes, sha256 {part.sha256}"))
        # Never folded: addresses and sums are there to be copied.
        sys.stdout.writelines(f"{word:<20} {meaning}\n" for word, meaning in rows)
        sys.stdout.write("\n")
    sys.stdout.write(
        f"Put them side by side into one folder and name it in {FOLDER_VARIABLE} or with --data, for example "
        "FOLDER/ml-latest-small/ratings.csv; tutelage data --check FOLDER compares what is there.\n"
    )
