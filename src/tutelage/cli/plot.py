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
    log: Annotated[
        str,
        typer.Option(
            metavar="AXIS",
            help="Which axis of curves is logarithmic: none, time, quantity (regret and cost) or both.",
        ),
    ] = "none",
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document instead of the names of the pictures.")
    ] = False,
) -> None:
    """Draw a saved result.

    Regret and cost against time, against each other, by client, and how each client's pulls were spread.
    """
    from tutelage import plots, results
    from tutelage.atomic_files import sweep, write_whole

    kinds = tuple(dict.fromkeys(kind or ()))
    for each in kinds:
        if each not in plots.KINDS:
            raise InputError(f"There is no kind of picture {each!r}: use {', '.join(plots.KINDS)}.")
    if log not in plots.LOGS:
        raise InputError(f"There is no logarithmic axis {log!r}: use {', '.join(plots.LOGS)}.")
    if log != "none" and kinds and "curves" not in kinds:
        raise InputError(f"--log {log} is for curves, which --kind {' and '.join(kinds)} leaves out.")
    one_file = _is_file(out)
    if one_file:
        _check_one(str(out), kinds)
    dataset = results.load(file)
    kinds = kinds or (("curves",) if one_file else plots.drawable_kinds(dataset))
    plots.check_drawable(dataset, kinds, repr(str(file)))
    places = list(_places(file, out, kinds, one_file=one_file))
    figures = {each: plots.draw_picture(dataset, each, log=log) for each in kinds}
    drawn = {path: (each, plots.render_figure(figures[each], path.suffix.lower())) for each, path in places}
    for path, (_, content) in drawn.items():  # nothing is written until all is drawn
        ending.clears(path.parent)
        sweep(path.parent)
        write_whole(path, content)
    with printing():
        if as_json:
            pictures = [{"kind": each, "file": str(path)} for path, (each, _) in drawn.items()]
            sys.stdout.write(json.dumps({"result": str(file), "pictures": pictures}) + "\n")
        else:
            sys.stdout.writelines(f"{each} drawn in {path}\n" for path, (each, _) in drawn.items())


def _is_file(out: str | None) -> bool:
    """Whether ``--out`` names one file and no folder."""
    from tutelage.instances.files import expanded

    if out is None or out.endswith("/"):
        return False
    place = expanded(out)
    return bool(place.suffix) and not place.is_dir()


def _check_one(out: str, kinds: tuple[str, ...]) -> None:
    """Raise ``InputError`` where one file cannot hold what is asked for."""
    from tutelage.plots import FORMATS

    if Path(out).suffix.lower() not in FORMATS:
        raise InputError(
            f"{out!r} is no picture that can be made: end it in {', '.join(FORMATS)}, or name a folder "
            "(with a / at its end)."
        )
    if len(kinds) > 1:
        raise InputError(
            f"{out!r} is one file and cannot hold {' and '.join(kinds)}: name a folder, or one --kind."
        )


def _places(
    file: Path, out: str | None, kinds: tuple[str, ...], *, one_file: bool
) -> "Iterator[tuple[str, Path]]":
    """Each kind of picture with its file.  Raises ``InputError`` for a place that cannot be."""
    from tutelage.instances.files import expanded
    from tutelage.results import check_writable

    place = expanded(file).parent if out is None else expanded(out)
    if one_file:
        yield kinds[0], check_writable(place)
        return
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"The folder {str(place)!r} cannot be made ({error.strerror}): name another with --out."
        ) from None
    for kind in kinds:
        for suffix in _SUFFIXES:
            yield kind, check_writable(place / f"{file.stem}-{kind}{suffix}")
