"""``tutelage plot``: pictures of a result on disk."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tutelage.cli import ending
from tutelage.cli.output import printing
from tutelage.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

_SUFFIXES = (".pdf", ".png")  # of pictures in a folder


def plot(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", show_default=False, help="A result that tutelage simulate --out saved."
        ),
    ],
    kind: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND",
            show_default="all that the result can show; curves for one file",
            help="What to draw: curves, scatter, pulls or clients; give the option once for each.",
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER or FILE",
            show_default="the folder of FILE",
            help="A folder for a PDF and a PNG of each kind, or one file ending in .pdf, .png or .svg.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document instead of the names of the pictures.")
    ] = False,
) -> None:
    """Draw a saved result.

    Regret and cost against time, against each other, by client, and how each client's pulls were spread.
    """
    from tutelage import plots, results

    kinds = tuple(dict.fromkeys(kind or ()))
    for each in kinds:
        if each not in plots.KINDS:
            raise InputError(f"There is no kind of picture {each!r}: use {', '.join(plots.KINDS)}.")
    dataset = results.load(file)
    made = []
    for each, path in _places(file, out, kinds, plots.kinds_of(dataset)):
        ending.clears(path.parent)
        plots.save_figure(plots.picture(dataset, each), path)
        made.append((each, path))
    with printing():
        if as_json:
            pictures = [{"kind": each, "file": str(path)} for each, path in made]
            sys.stdout.write(json.dumps({"result": str(file), "pictures": pictures}) + "\n")
        else:
            sys.stdout.writelines(f"{each} drawn in {path}\n" for each, path in made)


def _places(
    file: Path, out: str | None, kinds: tuple[str, ...], possible: tuple[str, ...]
) -> "Iterator[tuple[str, Path]]":
    """Each kind of picture with its file.  Raises ``InputError`` for a place that cannot be."""
    from tutelage.instances.files import expanded
    from tutelage.plots import FORMATS
    from tutelage.results import check_writable

    place = expanded(file).parent if out is None else expanded(out)
    is_folder = out is None or place.is_dir() or not place.suffix or out.endswith("/")
    if not is_folder:
        if place.suffix.lower() not in FORMATS:
            raise InputError(
                f"{out!r} is no picture that can be made: end it in {', '.join(FORMATS)}, or name a folder "
                "(with a / at its end)."
            )
        if len(kinds) > 1:
            raise InputError(
                f"{out!r} is one file and cannot hold {' and '.join(kinds)}: name a folder, or one --kind."
            )
        yield (kinds or ("curves",))[0], check_writable(place)
        return
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"The folder {str(place)!r} cannot be made ({error.strerror}): name another with --out."
        ) from None
    for kind in kinds or possible:
        for suffix in _SUFFIXES:
            yield kind, check_writable(place / f"{file.stem}-{kind}{suffix}")
