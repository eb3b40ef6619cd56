"""Running experiments: cells on disk are reused, the others are simulated, and panels are put together.

Cells are simulated one after the other, their runs on all cores; where clients are few, a cell is stored while runs of
the next ones are played.  A cell's file appears only when it is complete; until then its finished runs are in a
journal, so an interruption or an error costs at most the runs that are being played and those that have ended since
the last one was written.
"""

import contextlib
import json
import math
import os
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from tutelage import results, simulator
from tutelage.atomic_files import lock_folder, remove_unfinished
from tutelage.distributions import DISTRIBUTIONS
from tutelage.engine.executors import check_workers, default_workers
from tutelage.engine.runs import warm_up
from tutelage.engine.time_estimates import estimate_seconds
from tutelage.errors import InputError
from tutelage.experiments.cells import ExperimentCell, join_teachers, read_cell
from tutelage.experiments.definition import Experiment, Panel
from tutelage.experiments.preparation import (
    CELLS,
    CellMatrix,
    MissingPanel,
    Preparation,
    compute_fingerprint,
    make_cells_folder,
    prepare,
)
from tutelage.experiments.run_journal import RunJournal
from tutelage.experiments.verdicts import Verdict, judge_claims
from tutelage.progress_bar import ProgressBar
from tutelage.request import Engine
from tutelage.results import SimulationResult
from tutelage.text import format_count, format_rough_duration
from tutelage.versions import package_version

if TYPE_CHECKING:
    import xarray as xr

CellProgress = Callable[[float, int, str], None]  # runs done, runs to do, name of the current cell
Announcement = Callable[[str], None]  # called once with a sentence, before the first simulation


@dataclass(frozen=True, eq=False)
class PanelResult:
    """A panel with its data and verdicts.

    ``dataset`` has the dimensions of ``SimulationResult.to_dataset()``; for a set of instances all that
    depends on the instance has ``instance`` as its first dimension, and T is the only checkpoint.
    """

    panel: Panel
    dataset: "xr.Dataset"
    verdicts: list[Verdict]
    experiment: Experiment


@dataclass(frozen=True)
class CellFile:
    """A cell on disk: its name, its file, the hash of its settings, and whether it was simulated just now."""

    name: str
    path: Path
    digest: str
    is_new: bool


@dataclass(frozen=True, eq=False)
class ExperimentResult:
    """The panels of one or more experiments, those that are missing, and the cells on disk.

    ``engines`` are those of the experiments as a report names them, ``warnings`` are about the data and about what no
    panel shows, ``replaced`` about files that could not be used and were simulated again.
    """

    experiments: tuple[Experiment, ...]
    folder: Path
    engines: list[Engine]
    panels: list[PanelResult] = field(default_factory=list)
    missing: list[MissingPanel] = field(default_factory=list)
    cells: list[CellFile] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)

    @property
    def notes(self) -> list[str]:
        """All sentences for the user."""
        return [*self.warnings, *self.replaced]

    def summary(self) -> dict[str, Any]:
        """Return what was simulated and what the claims' verdicts are, as plain values."""
        return {
            "tutelage": package_version(),
            "folder": str(self.folder),
            "experiments": [each.name for each in self.experiments],
            "panels": [
                {"panel": each.panel.name, "title": each.panel.title, "claims": msgspec.to_builtins(each.verdicts)}
                for each in self.panels
            ],
            "missing": [{"panel": each.panel.name, "sentence": each.sentence} for each in self.missing],
            "cells": [{"name": each.name, "file": str(each.path), "new": each.is_new} for each in self.cells],
            "notes": self.notes,
        }

    @property
    def fingerprint(self) -> str:
        """The hash of everything that a report of this depends on."""
        return compute_fingerprint(self.experiments, [cell.digest for cell in self.cells], self.missing, self.warnings)


@dataclass(frozen=True)
class _Resources:
    workers: int | None
    executor: str | Executor
    progress: CellProgress | None
    announce: Announcement | None


def run_experiment(
    experiment: str | Path | Experiment | Sequence[Experiment],
    folder: str | Path,
    *,
    workers: int | None = None,
    executor: str | Executor = simulator.DEFAULT_EXECUTOR,
    progress: bool | CellProgress | None = None,
    announce: Announcement | None = None,
    data: str | None = None,
) -> ExperimentResult:
    """Simulate the cells that ``folder`` lacks, store them there, and return all panels.

    ``experiment`` is the path of a TOML file, an experiment or several of them.  ``progress`` is True for a bar
    on standard error, or a function of the runs done, the runs to do and the name of the cell.
    ``workers`` (all cores by default) and ``executor``, a name or an object of ``concurrent.futures.Executor``, change
    how long it takes, never the result.
    ``data`` is the folder of real data sets, by default that of TUTELAGE_DATA.  Before the first simulation,
    ``announce`` is called with a sentence on the number of cells and runs and the time that they take.  A file
    that is damaged or of other settings is simulated again and replaced, with a sentence in ``notes``.

    Raises ``InputError`` for what cannot be simulated, and where another process is writing to the folder.
    """
    check_workers(workers, executor)
    if progress is True:
        with ProgressBar(0) as bar:
            return run_experiment(
                experiment,
                folder,
                workers=workers,
                executor=executor,
                progress=lambda done, total, cell: bar(done, total=total, what=cell),
                announce=announce or bar.print,
                data=data,
            )
    progress = progress or None
    check_callback("progress", progress)
    check_callback("announce", announce)
    preparation = prepare(experiment, folder, data=data)
    make_cells_folder(folder)
    with lock_folder(preparation.folder):
        return run_prepared(preparation, workers=workers, executor=executor, progress=progress, announce=announce)


def check_callback(name: str, value: object) -> None:
    """Raise ``InputError`` unless the value is a function or None."""
    if value is not None and not callable(value):
        raise InputError(f"Invalid {name} {value!r}: give a function, or leave it out.")


def run_prepared(
    preparation: Preparation,
    *,
    workers: int | None = None,
    executor: str | Executor = simulator.DEFAULT_EXECUTOR,
    progress: CellProgress | None = None,
    announce: Announcement | None = None,
) -> ExperimentResult:
    """Do the work of :func:`run_experiment`, in a folder that exists and that the caller has locked."""
    cells_folder = preparation.folder / CELLS
    for place in (preparation.folder, cells_folder):
        remove_unfinished(place)
    result = ExperimentResult(
        preparation.experiments,
        preparation.folder,
        preparation.engines,
        missing=preparation.missing,
        warnings=preparation.warnings,
    )
    resources = _Resources(workers, executor, progress, announce)
    datasets = _load_or_simulate(preparation.cells, cells_folder, result, resources)
    for matrix in preparation.matrices:
        _add_panels(matrix, datasets, result)
    return result


def _add_panels(matrix: CellMatrix, datasets: "dict[str, xr.Dataset]", result: ExperimentResult) -> None:
    """Add an experiment's panels to the result; panels of the same cells share one dataset."""
    joined: dict[tuple[str, str, int | None], xr.Dataset] = {}
    for panel in matrix.experiment.all_panels():
        if panel.instance in matrix.unavailable:
            continue
        place = (panel.instance, panel.clients, panel.horizon)
        if place not in joined:
            cells = [cell for key, cell in matrix.cells.items() if (key[0], key[1], key[3]) == place]
            joined[place] = _join_cells(cells, datasets)
        dataset = joined[place]
        verdicts = judge_claims(panel, dataset)
        result.panels.append(PanelResult(panel, dataset, verdicts, matrix.experiment))


def _join_cells(cells: list[ExperimentCell], datasets: "dict[str, xr.Dataset]") -> "xr.Dataset":
    """Join the cells of all teachers into one dataset whose request names all of them."""
    parts = [datasets[cell.file_name] for cell in cells]
    whole = join_teachers(parts)
    request = json.loads(parts[0].attrs["request"])
    request["teachers"] = [str(spec) for spec in whole["spec"].values]
    whole.attrs = {key: value for key, value in whole.attrs.items() if key not in ("cell", "content")}
    whole.attrs["request"] = json.dumps(request, ensure_ascii=False)
    return whole


def _load_or_simulate(
    cells: list[ExperimentCell], folder: Path, result: ExperimentResult, resources: _Resources
) -> "dict[str, xr.Dataset]":
    """Return the dataset of every cell by file name, simulating those that the folder lacks."""
    datasets: dict[str, xr.Dataset] = {}
    waiting: list[ExperimentCell] = []
    for cell in cells:
        dataset, reason = read_cell(cell, folder)
        if reason is not None:
            result.replaced.append(reason)
        if dataset is None:
            waiting.append(cell)
        else:
            datasets[cell.file_name] = dataset
            left = cell.find_journal(folder)  # by a process that was killed after it stored the cell
            if left.exists():
                with contextlib.suppress(OSError):  # a folder that is read-only now
                    left.unlink()
    if waiting:
        datasets |= _simulate_and_store(waiting, folder, resources)
    new = {cell.file_name for cell in waiting}
    result.cells.extend(
        CellFile(cell.name, folder / cell.file_name, cell.digest, cell.file_name in new) for cell in cells
    )
    return datasets


def _simulate_and_store(cells: list[ExperimentCell], folder: Path, resources: _Resources) -> "dict[str, xr.Dataset]":
    """Simulate cells and store each once it is complete; return their datasets by file name."""
    check_writable_folder(folder)
    warm_up(*(cell.requests[0] for cell in cells))
    journals = [cell.open_journal(folder) for cell in cells]
    if resources.announce is not None:
        resources.announce(_describe_work(cells, journals, resources.workers))
    datasets: dict[str, xr.Dataset] = {}
    with contextlib.closing(_simulate_cells(cells, journals, resources)) as simulated:
        for number, parts in simulated:
            cell = cells[number]
            datasets[cell.file_name] = cell.make_dataset(parts)
            results.save(datasets[cell.file_name], folder / cell.file_name)
            journals[number].remove()
    return datasets


def _describe_work(cells: list[ExperimentCell], journals: list[RunJournal], workers: int | None) -> str:
    """``12 cells to simulate, 1,200 runs (40 of them finished before): about 2 min.``."""
    finished, runs, seconds = sum(journal.num_runs for journal in journals), 0, 0.0
    measured: dict[tuple[Any, ...], float] = {}  # cells that differ in their means only take about as long
    for cell, journal in zip(cells, journals, strict=True):
        runs += cell.num_runs
        first = cell.requests[0]
        size = (first.instance.num_clients, first.instance.num_arms, first.horizon)
        rewards = DISTRIBUTIONS.spec(first.instance.rewards)
        alike = (*size, rewards, first.client_specs, first.teacher_specs, first.engine)
        if alike not in measured:
            measured[alike] = estimate_seconds(replace(first, runs=1), 1)
        at_a_time = min(workers or default_workers(), cell.num_runs)
        seconds += measured[alike] * (cell.num_runs - journal.num_runs) / at_a_time
    before = f" ({finished:,} of them finished before)" if finished else ""
    time = f": about {format_rough_duration(max(1.0, seconds))}" if seconds < math.inf else ""
    return f"{format_count(len(cells), 'cell')} to simulate, {format_count(runs, 'run')}{before}{time}."


def check_writable_folder(folder: Path) -> None:
    """Raise ``InputError`` where files cannot be created in the folder."""
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"The folder {str(folder)!r} is not writable: choose another with --out.")


def _simulate_cells(
    cells: list[ExperimentCell], journals: list[RunJournal], resources: _Resources
) -> Generator[tuple[int, list[SimulationResult]], None, None]:
    """Yield the number and the results of each cell that is complete; workers play runs of the next ones meanwhile."""
    unfinished, played = list(cells), 0.0

    def report(runs: float) -> None:
        nonlocal played
        played, current = runs, unfinished[0] if unfinished else cells[-1]
        if resources.progress is not None:
            resources.progress(played, sum(cell.num_runs for cell in cells), current.name)

    report(0)
    with contextlib.ExitStack() as opened:
        for journal in journals:
            opened.enter_context(journal)
        simulated = simulator.simulate_groups(
            [cell.requests for cell in cells],
            workers=resources.workers,
            executor=resources.executor,
            progress=report,
            finished=[journal.outcomes for journal in journals],
            on_outcome=lambda number, request, outcome: journals[number].append(request, outcome),
        )
        for number, parts in opened.enter_context(contextlib.closing(simulated)):
            yield number, parts
            unfinished.remove(cells[number])
            report(played)
