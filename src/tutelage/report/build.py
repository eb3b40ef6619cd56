"""From an experiment to its report: simulate, draw, and do nothing of it where everything is up to date."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tutelage import simulator
from tutelage.atomic_files import lock_folder
from tutelage.engine.executors import check_workers
from tutelage.experiments import Experiment, ExperimentResult
from tutelage.experiments.execution import Announcement, CellProgress, check_callback, run_prepared
from tutelage.experiments.preparation import CELLS, Preparation, make_cells_folder, prepare
from tutelage.report.report_files import DrawingProgress, ReportFiles, find_finished_report, write_locked
from tutelage.report.summary import (
    CellSummary,
    ExperimentSettings,
    MissingSummary,
    PanelSummary,
    ReportDocument,
    summarize_panels,
)
from tutelage.versions import package_version


@dataclass(frozen=True, eq=False)
class ReportBuild:
    """A report and the numbers of its panels; ``result`` is None where everything was up to date."""

    preparation: Preparation
    files: ReportFiles
    result: ExperimentResult | None
    panels: list[PanelSummary]

    def document(self) -> ReportDocument:
        """Return the document that ``--json`` prints."""
        if self.result is None:
            folder, notes = self.preparation.folder / CELLS, self.preparation.warnings
            cells = [CellSummary(cell.name, str(folder / cell.file_name), new=False) for cell in self.preparation.cells]
        else:
            notes = self.result.notes
            cells = [CellSummary(cell.name, str(cell.path), cell.is_new) for cell in self.result.cells]
        source = self.preparation if self.result is None else self.result
        return ReportDocument(
            tutelage=package_version(),
            folder=str(source.folder),
            experiments=[
                ExperimentSettings(each.name, each.runs, each.seed, each.horizons, engine)
                for each, engine in zip(source.experiments, source.engines, strict=True)
            ],
            panels=self.panels,
            missing=[MissingSummary(each.panel.name, each.sentence) for each in source.missing],
            cells=cells,
            notes=notes,
            pictures={name: [str(path) for path in paths] for name, paths in self.files.pictures.items()},
            report=str(self.files.page),
        )


def build_report(
    experiment: Experiment | Sequence[Experiment],
    folder: str | Path,
    *,
    workers: int | None = None,
    executor: str = simulator.DEFAULT_EXECUTOR,
    progress: CellProgress | None = None,
    announce: Announcement | None = None,
    data: str | None = None,
    drawing: DrawingProgress | None = None,
) -> ReportBuild:
    """Simulate what ``folder`` lacks and write the report; the folder is locked meanwhile.

    The arguments are those of :func:`tutelage.experiments.run_experiment`; ``drawing`` is called with the
    name of each picture before its files are ready.  Where everything is up to date nothing is loaded, locked or
    written, so the folder may be read-only.  Raises ``InputError`` for what cannot be simulated or written,
    and where another process is writing to the folder.
    """
    check_workers(workers, executor)
    check_callback("progress", progress)
    check_callback("announce", announce)
    check_callback("drawing", drawing)
    preparation = prepare(experiment, folder, data=data)
    finished = find_finished_report(preparation)
    if finished is not None:
        return ReportBuild(preparation, finished[0], None, finished[1])
    import tutelage.plots  # noqa: F401 - whether anything can be drawn shows before the first simulation

    make_cells_folder(folder)
    with lock_folder(preparation.folder):
        result = run_prepared(preparation, workers=workers, executor=executor, progress=progress, announce=announce)
        files = write_locked(result, preparation.folder, drawing, workers)
    return ReportBuild(preparation, files, result, summarize_panels(result))
