"""The files of a report: one page, and a PDF and a PNG of every panel."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tutelage.atomic_files import lock_folder, remove_unfinished, write_atomically
from tutelage.engine.parallel_map import parallel_map
from tutelage.experiments import ExperimentResult, PanelResult
from tutelage.experiments.execution import check_callback, check_writable_folder
from tutelage.experiments.preparation import CELLS, Preparation
from tutelage.report.record import PageRecord, compute_page_fingerprint, hash_bytes, hash_files, read_record, seal_page
from tutelage.report.summary import PanelSummary, summarize_panels

if TYPE_CHECKING:
    from tutelage.report.page import PagePanel

PAGE = "report.html"
ENDINGS = (".pdf", ".png")  # of the pictures of a panel
DrawingProgress = Callable[[str], None]  # called with the name of what is drawn next


@dataclass(frozen=True)
class ReportFiles:
    """The page, the pictures of each panel by its name, and whether any of them is new."""

    page: Path
    pictures: dict[str, list[Path]]
    is_new: bool


def write_report(
    result: ExperimentResult, folder: str | Path | None = None, drawing: DrawingProgress | None = None
) -> ReportFiles:
    """Write a PDF and a PNG of every panel and one ``report.html``, by default into the experiments' folder.

    The page records the hash of every picture and cell: where all are unchanged, nothing is written.
    The same experiments give the same bytes.  Raises ``InputError`` where another process is writing to the
    folder and for a ``drawing`` that is not a function, ``OSError`` for files that cannot be written.
    """
    check_callback("drawing", drawing)
    folder = result.folder if folder is None else Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with lock_folder(folder):
        return write_locked(result, folder, drawing)


def find_finished_report(preparation: Preparation) -> tuple[ReportFiles, list[PanelSummary]] | None:
    """Return the finished report of an experiment, with the numbers of its panels.

    None where anything is missing, damaged or of other settings.
    """
    pictures = _picture_paths(preparation.folder, (panel.name for panel in preparation.panels))
    cells = (preparation.folder / CELLS / cell.file_name for cell in preparation.cells)
    page = preparation.folder / PAGE
    record = read_record(page)
    fingerprint = compute_page_fingerprint(preparation.fingerprint)
    if record is None or not _is_current(record, fingerprint, cells, pictures):
        return None
    return ReportFiles(page, pictures, is_new=False), record.panels


def write_locked(
    result: ExperimentResult, folder: Path, drawing: DrawingProgress | None = None, workers: int | None = None
) -> ReportFiles:
    """Do the work of :func:`write_report` in a folder that the caller has locked.

    Everything is drawn before anything is replaced.  A page whose pictures are about to change is removed
    first, so that a page never refers to pictures of something else.
    """
    pictures = _picture_paths(folder, (data.panel.name for data in result.panels))
    page, fingerprint = folder / PAGE, compute_page_fingerprint(result.fingerprint)
    cells = [cell.path for cell in result.cells]
    record = read_record(page)
    if record is not None and _is_current(record, fingerprint, cells, pictures):
        return ReportFiles(page, pictures, is_new=False)
    check_writable_folder(folder)
    remove_unfinished(folder)
    from tutelage.report.page import render_page

    drawn: dict[Path, bytes] = {}
    page_panels = []
    for data, (contents, page_panel) in zip(result.panels, _draw_panels(result.panels, drawing, workers), strict=True):
        drawn |= zip(pictures[data.panel.name], contents, strict=True)
        page_panels.append(page_panel)
    if drawing is not None:
        drawing(PAGE)
    changed = {path: content for path, content in drawn.items() if not _has_content(path, content)}
    record = PageRecord(
        fingerprint,
        hash_files(cells),
        {path.name: hash_bytes(content) for path, content in drawn.items()},
        summarize_panels(result),
    )
    content = seal_page(render_page(result, record, page_panels))
    if any(path.exists() for path in changed):
        page.unlink(missing_ok=True)
    for path, picture in changed.items():
        write_atomically(path, picture)
    write_atomically(page, content)
    return ReportFiles(page, pictures, is_new=True)


def _picture_paths(folder: Path, names: Iterable[str]) -> dict[str, list[Path]]:
    return {name: [folder / f"{name}{ending}" for ending in ENDINGS] for name in names}


def _is_current(record: PageRecord, fingerprint: str, cells: Iterable[Path], pictures: dict[str, list[Path]]) -> bool:
    """Whether a page was made from these cells and pictures, and none has changed since."""
    return (
        record.fingerprint == fingerprint
        and record.pictures == hash_files(path for paths in pictures.values() for path in paths)
        and record.cells == hash_files(cells)
    )


def _draw_panels(
    panels: Sequence[PanelResult], drawing: DrawingProgress | None, workers: int | None
) -> "Iterator[tuple[list[bytes], PagePanel]]":
    """Yield the pictures of each panel, one for each of the endings, and what the page shows of it."""
    drawn = parallel_map(_draw_panel, panels, workers)
    for data in panels:
        if drawing is not None:
            drawing(data.panel.name)
        yield next(drawn)


def _draw_panel(data: PanelResult) -> "tuple[list[bytes], PagePanel]":
    from tutelage.report.page import make_page_panel

    return draw_pictures(data), make_page_panel(data)


def draw_pictures(data: PanelResult) -> list[bytes]:
    """Return the pictures of a panel, one for each of the endings."""
    from tutelage import plots

    figure = plots.draw_panel(data.dataset, data.panel.quantity, data.panel.title or data.panel.name)
    return [plots.render_figure(figure, ending) for ending in ENDINGS]


def _has_content(path: Path, content: bytes) -> bool:
    try:
        return path.read_bytes() == content
    except OSError:
        return False
