"""Pictures and page on disk."""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tutelage.atomic_files import alone_in, sweep, write_whole
from tutelage.errors import InputError
from tutelage.experiments import Played
from tutelage.experiments.playing import check_follower
from tutelage.experiments.preparing import CELLS, Prepared
from tutelage.report import record

PAGE = "report.html"
_ENDINGS = (".pdf", ".png")
Drawing = Callable[[str], None]  # is told what is being made


@dataclass(frozen=True)
class Report:
    """What was made: the page, the pictures of each panel by its name, and whether any of it is new."""

    page: Path
    pictures: dict[str, list[Path]]
    is_new: bool


def write_report(played: Played, folder: str | Path | None = None, drawing: Drawing | None = None) -> Report:
    """A PDF and a PNG of every panel and one ``report.html``, in the experiments' folder or another.

    The page holds the hash of every picture and cell, and of itself: where all are as it says, nothing is
    done.  The same experiments give the same bytes.  Raises ``InputError`` where another process is at work
    in the folder and for a ``drawing`` that is no function, ``OSError`` for what cannot be written.
    """
    check_follower("drawing", drawing)
    folder = played.folder if folder is None else Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with alone_in(folder):
        return written(played, folder, drawing)


def finished(prepared: Prepared) -> tuple[Report, list[dict[str, Any]]] | None:
    """The report of an experiment that was played and drawn before, with the figures of its panels.

    None where anything is missing, damaged or of other settings.
    """
    pictures = _pictures(prepared.folder, (panel.name for panel in prepared.panels))
    cells = (prepared.folder / CELLS / cell.file_name for cell in prepared.cells)
    page = prepared.folder / PAGE
    found = record.read(page)
    if found is None or not _is_of(found, record.fingerprint(prepared.fingerprint), cells, pictures):
        return None
    return Report(page, pictures, is_new=False), found["panels"]


def written(played: Played, folder: Path, drawing: Drawing | None = None) -> Report:
    """What :func:`write_report` does, for who is alone in the folder already.

    Everything is drawn before anything is replaced.  A page whose pictures are about to change goes first: at
    no moment does a page stand beside pictures of something else.
    """
    pictures = _pictures(folder, (data.panel.name for data in played.panels))
    page, fingerprint = folder / PAGE, record.fingerprint(played.fingerprint)
    cells = [cell.path for cell in played.cells]
    found = record.read(page)
    if found is not None and _is_of(found, fingerprint, cells, pictures):
        return Report(page, pictures, is_new=False)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"The folder {str(folder)!r} cannot be written to: name another with --out.")
    sweep(folder)
    drawn = _drawn(played, pictures, drawing)
    if drawing is not None:
        drawing(PAGE)
    from tutelage.report.page import page as page_of

    changed = {path: content for path, content in drawn.items() if not _holds(path, content)}
    told = {"fingerprint": fingerprint, "cells": record.sums(cells)}
    told["pictures"] = {path.name: record.sum_of(content) for path, content in drawn.items()}
    content = record.sealed(page_of(played, told))
    if any(path.exists() for path in changed):
        page.unlink(missing_ok=True)
    for path, picture in changed.items():
        write_whole(path, picture)
    write_whole(page, content)
    return Report(page, pictures, is_new=True)


def _pictures(folder: Path, names: Iterable[str]) -> dict[str, list[Path]]:
    return {name: [folder / f"{name}{ending}" for ending in _ENDINGS] for name in names}


def _is_of(
    found: dict[str, Any], fingerprint: str, cells: Iterable[Path], pictures: dict[str, list[Path]]
) -> bool:
    """Whether a page was made from this, and everything is as it was then."""
    return (
        found.get("fingerprint") == fingerprint
        and found.get("pictures") == record.sums(path for paths in pictures.values() for path in paths)
        and found.get("cells") == record.sums(cells)
    )


def _drawn(played: Played, pictures: dict[str, list[Path]], drawing: Drawing | None) -> dict[Path, bytes]:
    """Every picture's bytes."""
    from tutelage import plots

    drawn: dict[Path, bytes] = {}
    for data in played.panels:
        if drawing is not None:
            drawing(data.panel.name)
        figure = plots.panel(data.dataset, data.panel.quantity, data.panel.title or data.panel.name)
        for path in pictures[data.panel.name]:
            drawn[path] = plots.rendered(figure, path.suffix)
    return drawn


def _holds(path: Path, content: bytes) -> bool:
    try:
        return path.read_bytes() == content
    except OSError:
        return False
