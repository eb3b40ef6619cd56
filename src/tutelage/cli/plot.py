"""``tutelage plot``: pictures of saved results."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tutelage.cli import interrupts, options
from tutelage.cli.options import argument, option
from tutelage.cli.printing import print_answer
from tutelage.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import xarray as xr

_SUFFIXES = (".pdf", ".png")  # of pictures in a folder
_MOST_LETTERS = 200  # of the files' names in the name of a picture; file systems allow 255


def plot(
    files: Annotated[
        list[Path],
        argument("FILE...", "Results that tutelage simulate --out saved; several are drawn in panels of one figure."),
    ],
    kind: Annotated[
        list[str] | None,
        option(
            "KIND",
            "Kind of picture: curves, scatter, pulls or clients; repeat the option for several.",
            show_default="all kinds; curves for one file",
        ),
    ] = None,
    out: Annotated[
        str | None,
        option(
            "PATH",
            "Folder for a PDF and a PNG of each kind, or one file that ends in .pdf, .png or .svg.",
            show_default="the folder of the first FILE",
        ),
    ] = None,
    log: Annotated[
        str,
        option(
            "AXIS",
            "Logarithmic axis of curves and clients: none, time, quantity (regret and cost), both, or auto: "
            "quantity where a linear axis would hide differences.",
        ),
    ] = "auto",
    band: Annotated[
        str,
        option(
            "BAND",
            "Band around curves: runs (80 % of them), or mean (95 % confidence band of the means, for all "
            "curves and rounds together).",
        ),
    ] = "runs",
    teacher: Annotated[
        list[str] | None,
        option("SPEC", "Teacher to draw; repeat the option for several.", show_default="all in the results"),
    ] = None,
    width: Annotated[
        str | None,
        option(
            "WIDTH",
            "Width of the figure: column (3.5 in) or page (7.16 in) of a journal.",
            show_default="column for scatter of one result, else page",
        ),
    ] = None,
    title: Annotated[str, option("TEXT", "Title above all panels of the figure.")] = "",
    label: Annotated[
        list[str] | None,
        option(
            "NAME=TEXT",
            "Text to print in the figure for a teacher, named by its label or SPEC, or, if several results are "
            "drawn, for the file NAME.nc; repeat the option for others.",
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Draw saved results.

    The pictures show regret and cost against time, against each other and by client, and how each client
    spread its pulls over the arms.
    """
    from tutelage import plots, results
    from tutelage.atomic_files import remove_unfinished, write_atomically

    kinds = tuple(dict.fromkeys(kind or ()))
    _check_choices(kinds, log, width, band)
    one_file = _is_file(out)
    if one_file:
        _check_one_file(str(out), kinds)
    names = [file.stem for file in files]
    if len(set(names)) < len(names):
        names = [str(file) for file in files]
    if repeated := [name for name in names if names.count(name) > 1]:
        raise InputError(f"{repeated[0]!r} is named twice: name each result once.")
    loaded = {name: results.load(file) for name, file in zip(names, files, strict=True)}
    kinds = kinds or (("curves",) if one_file else _drawable_kinds(loaded.values()))
    for file, dataset in zip(files, loaded.values(), strict=True):
        plots.check_drawable(dataset, kinds, repr(str(file)))
    figures = {
        each: plots.draw_picture(
            loaded if len(files) > 1 else next(iter(loaded.values())),
            each,
            log=log,
            teachers=teacher or (),
            width=width,
            title=title,
            labels=dict(_read_label(text, loaded) for text in label or ()),
            band=band,
        )
        for each in kinds
    }
    targets = list(_list_targets(files, out, kinds, one_file=one_file))
    drawn = {path: (each, plots.render_figure(figures[each], path.suffix.lower())) for each, path in targets}
    for path, (_, content) in drawn.items():  # after everything is drawn
        interrupts.remove_unfinished_in(path.parent)
        remove_unfinished(path.parent)
        write_atomically(path, content)
    pictures = [{"kind": each, "file": str(path)} for path, (each, _) in drawn.items()]
    shown = [f"{each['file']} shows {each['kind']}" for each in pictures]
    few = [sentence for dataset in loaded.values() for sentence in plots.warn_of_few_samples(dataset)]
    warnings = dict.fromkeys(few) if {"curves", "clients"} & set(kinds) else ()
    print_answer(
        lambda: {"results": [str(file) for file in files], "pictures": pictures},
        lambda: [*shown, *warnings],
        as_json=as_json,
    )


def _check_choices(kinds: tuple[str, ...], log: str, width: str | None, band: str) -> None:
    from tutelage import plots

    for each in kinds:
        if each not in plots.KINDS:
            raise InputError(f"Invalid --kind {each!r}: use {', '.join(plots.KINDS)}.")
    if log not in ("auto", *plots.LOGS):
        raise InputError(f"Invalid --log {log!r}: use auto, {', '.join(plots.LOGS)}.")
    applies = {"time": ("curves",), "both": ("curves",), "quantity": ("curves", "clients")}.get(log, kinds)
    if kinds and not set(kinds) & set(applies):
        raise InputError(
            f"--log {log} applies to {' and '.join(applies)} only: add --kind {applies[0]}, or leave out --log."
        )
    if band not in plots.BANDS:
        raise InputError(f"Invalid --band {band!r}: use {' or '.join(plots.BANDS)}.")
    if kinds and band == "mean" and "curves" not in kinds:
        raise InputError("--band mean applies to curves only: add --kind curves, or leave out --band.")
    if width is not None and width not in plots.WIDTHS:
        raise InputError(f"Invalid --width {width!r}: use {' or '.join(plots.WIDTHS)}.")


def _drawable_kinds(loaded: "Iterable[xr.Dataset]") -> tuple[str, ...]:
    """Return the kinds that every result allows."""
    from tutelage import plots

    allowed = [plots.drawable_kinds(dataset) for dataset in loaded]
    return tuple(kind for kind in plots.KINDS if all(kind in each for each in allowed))


def _read_label(text: str, loaded: "Mapping[str, xr.Dataset]") -> tuple[str, str]:
    """Read ``NAME=TEXT``, whose NAME may contain equals signs, as in ``tal(gamma1=0)=TAL``."""
    from tutelage.plots.parts import find_label

    labels = {str(label) for dataset in loaded.values() for label in dataset["teacher"].values}
    names = [text[:place] for place, letter in enumerate(text) if letter == "="]
    if not names:
        raise InputError(f"Invalid --label {text!r}: use NAME=TEXT, as in --label 'twl=Teaching while learning'.")
    known = [name for name in names if name in loaded or name in labels]
    found = known or [name for name in names if find_label(name, loaded.values()) in labels]
    whole = [name for name in names if name.count("(") == name.count(")")]
    name = found[-1] if found else [*whole, names[-1]][0]
    return name, text[len(name) + 1 :]


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
    files: list[Path], out: str | None, kinds: tuple[str, ...], *, one_file: bool
) -> "Iterator[tuple[str, Path]]":
    """List each kind of picture with its file.  Raises ``InputError`` for a file that cannot be written."""
    from tutelage.paths import expand_path
    from tutelage.results import check_writable

    place = expand_path(files[0]).parent if out is None else expand_path(out)
    if one_file:
        yield kinds[0], check_writable(place)
        return
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"Cannot create the folder {str(place)!r} ({error.strerror}): use another --out.") from None
    stem = "-".join(file.stem for file in files)[:_MOST_LETTERS]
    for kind in kinds:
        for suffix in _SUFFIXES:
            yield kind, check_writable(place / f"{stem}-{kind}{suffix}")
