"""``tutelage data``: where the real data sets are published, and whether a copy is as published."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated

import typer

from tutelage.cli import options
from tutelage.cli.options import option
from tutelage.cli.printing import print_answer

_NOT_AS_PUBLISHED = 1


def data(
    check: Annotated[
        str | None,
        option(
            "PATH", "File, archive or folder to compare with the published data; the exit status is 1 if it differs."
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """List the real data sets, or check a copy of one.

    The command does not use the network.
    """
    from tutelage.experiments import data_sets

    if check is None:
        print_answer(lambda: {"data": [asdict(each) for each in data_sets.DATA_SETS]}, _list_data_sets, as_json=as_json)
        return
    findings = data_sets.check_files(check)
    whole = all(finding.state == data_sets.AS_PUBLISHED for finding in findings)
    document = {"whole": whole, "files": [asdict(finding) for finding in findings]}
    print_answer(lambda: document, lambda: (finding.sentence for finding in findings), as_json=as_json)
    if not whole:
        raise typer.Exit(_NOT_AS_PUBLISHED)


def _list_data_sets() -> Iterator[str]:
    from tutelage.experiments.data_sets import DATA_SETS, FOLDER_VARIABLE

    for each in DATA_SETS:
        rows = [("data set", each.name), ("what", each.title), ("page", each.page)]
        rows += [("address", each.address), ("licence", each.licence)]
        for part in (*([each.archive] if each.archive else []), *each.parts):
            rows.append((part.name, f"{part.size:,} bytes, sha256 {part.sha256}"))
        # Lines are not folded, so that addresses and checksums can be copied.
        yield from (f"{word:<20} {meaning}" for word, meaning in rows)
        yield ""
    yield (
        "Put the data sets next to each other into one folder, as in FOLDER/ml-latest-small/ratings.csv, and "
        f"name the folder in {FOLDER_VARIABLE} or with --data; tutelage data --check FOLDER checks the "
        "copies."
    )
