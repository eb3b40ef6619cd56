"""``tutelage plot``: pictures of a saved result."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tutelage.cli import interrupts, options
from tutelage.cli.printing import checked_output
from tutelage.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

_SUFFIXES = (".pdf", ".png")  # of pictures in a folder


def plot(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", show_default=False, help="Result that tutelage simulate --out saved.")
    ],
    kind: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND",
            show_default="all kinds; curves for one file",
            help="Kind of picture: curves, scatter, pulls or clients; repeat the option for several.",
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            show_default="the folder of FILE",
            help="Folder for a PDF and a PNG of each kind, or one file that ends in .pdf, .png or .svg.",
        ),
    ] = None,
    log: Annotated[
        str,
        typer.Option(
            metavar="AXIS", help="Logarithmic axis of the curves: none, time, quantity (regret and cost) or both."
        ),
    ] = "none",
    as_json: options.Json = False,
) -> None:
    """Draw a saved result.

    The pictures show regret and cost against time, against each other and by client, and how each client
    spread its pulls over the arms.
    """
    from tutelage import plots, results
    from tutelage.atomic_files import remove_unfinished, write_atomically

    kinds = tuple(dict.fromkeys(kind or ()))
    for each in kinds:
        if each not in plots.KINDS:
            raise InputError(f"Invalid --kind {each!r}: use {', '.join(plots.KINDS)}.")
    if log not in plots.LOGS:
        raise InputError(f"Invalid --log {log!r}: use {', '.join(plots.LOGS)}.")
    if log != "none" and kinds and "curves" not in kinds:
        raise InputError(f"--log {log} applies to curves only: add --kind curves, or leave out --log.")
    one_file = _is_file(out)
    if one_file:
        _check_one_file(str(out), kinds)
    dataset = results.load(file)
    kinds = kinds or (("curves",) if one_file else plots.drawable_kinds(dataset))
    plots.check_drawable(dataset, kinds, repr(str(file)))
    targets = list(_list_targets(file, out, kinds, one_file=one_file))
    figures = {each: plots.draw_picture(dataset, each, log=log) for each in kinds}
    drawn = {path: (each, plots.render_figure(figures[each], path.suffix.lower())) for each, path in targets}
    for path, (_, content) in drawn.items():  # after everything is drawn
        interrupts.remove_unfinished_in(path.parent)
        remove_unfinished(path.parent)
        write_atomically(path, content)
    with checked_output():
        if as_json:
            pictures = [{"kind": each, "file": str(path)} for path, (each, _) in drawn.items()]
            sys.stdout.write(json.dumps({"result": str(file), "pictures": pictures}) + "\n")
        else:
            sys.stdout.writelines(f"{path} shows {each}\n" for path, (each, _) in drawn.items())


def _is_file(out: str | None) -> bool:
    """Return whether ``--out`` names one file rather than a folder."""
    from tutelage.paths import expand_path

    if out is None or out.endswith("/"):
        return False
    place = expand_path(out)
    return bool(place.suffix) and not place.is_dir()


def _check_one_file(out: str, kinds: tuple[str, ...]) -> None:
    """Raise ``InputError`` if one file cannot hold the pictures."""
    from tutelage.plots import FORMATS

    if Path(out).suffix.lower() not in FORMATS:
        raise InputError(
            f"Invalid --out {out!r}: use a file that ends in {', '.join(FORMATS)}, or a folder with / at its end."
        )
    if len(kinds) > 1:
        raise InputError(
            f"Invalid --out {out!r}: one file cannot hold {' and '.join(kinds)}; use a folder, or one --kind."
        )


def _list_targets(
    file: Path, out: str | None, kinds: tuple[str, ...], *, one_file: bool
) -> "Iterator[tuple[str, Path]]":
    """List each kind of picture with its file.  Raises ``InputError`` for a file that cannot be written."""
    from tutelage.paths import expand_path
    from tutelage.results import check_writable

    place = expand_path(file).parent if out is None else expand_path(out)
    if one_file:
        yield kinds[0], check_writable(place)
        return
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"Cannot create the folder {str(place)!r} ({error.strerror}): use another --out.") from None
    for kind in kinds:
        for suffix in _SUFFIXES:
            yield kind, check_writable(place / f"{file.stem}-{kind}{suffix}")
