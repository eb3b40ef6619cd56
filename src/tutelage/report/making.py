"""From an experiment to its report: play, draw, and nothing of it where all is there already."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tutelage import lab
from tutelage.atomic_files import alone_in
from tutelage.engine.executors import check_workers
from tutelage.experiments import Experiment, Played
from tutelage.experiments.playing import Progress, check_follower, play_prepared
from tutelage.experiments.preparing import CELLS, Prepared, made_folder, prepare
from tutelage.report.writing import Drawing, Report, finished, written


@dataclass(frozen=True, eq=False)
class Made:
    """The report; ``played`` is None where everything was there, ``panels`` are their numbers."""

    prepared: Prepared
    report: Report
    played: Played | None
    panels: list[dict[str, Any]]

    def document(self) -> dict[str, Any]:
        """All of it as plain finite numbers, what ``--json`` prints."""
        from tutelage.report.summary import document

        cells = [
            {"name": cell.name, "file": str(self.prepared.folder / CELLS / cell.file_name), "new": False}
            for cell in self.prepared.cells
        ]
        notes = self.prepared.doubts
        if self.played is not None:
            cells = [
                {"name": cell.name, "file": str(cell.path), "new": cell.is_new} for cell in self.played.cells
            ]
            notes = self.played.notes
        pictures = {name: [str(path) for path in paths] for name, paths in self.report.pictures.items()}
        told = document(self.prepared, self.panels, cells, notes)
        return told | {"pictures": pictures, "report": str(self.report.page)}


def make(
    experiment: Experiment | Sequence[Experiment],
    folder: str | Path,
    *,
    workers: int | None = None,
    executor: str = lab.DEFAULT_EXECUTOR,
    progress: Progress | None = None,
    data: str | None = None,
    drawing: Drawing | None = None,
) -> Made:
    """Play what ``folder`` does not hold yet and write the report; nobody else works there meanwhile.

    The arguments are those of :func:`tutelage.experiments.play`; ``drawing`` is told what is being drawn.
    Where all is there nothing is loaded, locked or written, so the folder may be read-only.  Raises
    ``InputError`` for what cannot be played or written, and where another process is at work in the folder.
    """
    check_workers(workers, executor)
    check_follower("progress", progress)
    check_follower("drawing", drawing)
    prepared = prepare(experiment, folder, data=data)
    found = finished(prepared)
    if found is not None:
        return Made(prepared, found[0], None, found[1])
    import tutelage.plots  # noqa: F401 - what keeps it from drawing is told before anything is played

    made_folder(folder)
    with alone_in(prepared.folder):
        played = play_prepared(prepared, workers=workers, executor=executor, progress=progress)
        report = written(played, prepared.folder, drawing)
    from tutelage.report.summary import panels

    return Made(prepared, report, played, panels(played))
