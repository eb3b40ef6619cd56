"""Experiments played: what is kept is not played again, and what is missing is said, not hidden.

A cell at a time, its runs on all cores.  A cell's file is written beside its place and moved there when it is
complete, so an interruption at any moment costs at most the cell under way.
"""

import contextlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tutelage import lab, results
from tutelage.atomic_files import alone_in, sweep
from tutelage.engine.executors import check_workers, default_workers
from tutelage.errors import InputError
from tutelage.experiments.cells import Cell, join, kept
from tutelage.experiments.claims import Verdict, verdicts
from tutelage.experiments.definition import Experiment, Panel
from tutelage.experiments.preparing import (
    CELLS,
    Missing,
    Plan,
    Prepared,
    fingerprint_of,
    made_folder,
    prepare,
)
from tutelage.results import SimulationResult

if TYPE_CHECKING:
    import xarray as xr

_DASK_SLOTS = 8  # instances of a set that are sent to a scheduler at a time
Progress = Callable[[float, int, str], None]  # runs played, runs to play, the cell under way


@dataclass(frozen=True, eq=False)
class PanelData:
    """A panel with what it shows.

    ``dataset`` has the dimensions of ``SimulationResult.to_dataset()``; that of a set of instances has ``instance`` in
    front of all that depends on it, and only the checkpoint T.
    """

    panel: Panel
    dataset: "xr.Dataset"
    verdicts: list[Verdict]
    experiment: Experiment


@dataclass(frozen=True)
class KeptCell:
    """A cell on disk: its name, its file, the hash of its settings, and whether it was played just now."""

    name: str
    path: Path
    digest: str
    is_new: bool


@dataclass(frozen=True, eq=False)
class Played:
    """All panels of some experiments, those that are missing, the cells, and what there is to say of them.

    ``doubts`` are about the data and about cells in no panel, ``replaced`` about cells that were there and
    had to be played again.
    """

    experiments: tuple[Experiment, ...]
    folder: Path
    panels: list[PanelData] = field(default_factory=list)
    missing: list[Missing] = field(default_factory=list)
    cells: list[KeptCell] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)

    @property
    def notes(self) -> list[str]:
        """Everything that there is to say."""
        return [*self.doubts, *self.replaced]

    @property
    def fingerprint(self) -> str:
        """The hash of all that a report of this depends on."""
        return fingerprint_of(
            self.experiments, [cell.digest for cell in self.cells], self.missing, self.doubts
        )


def play(
    experiment: Experiment | Sequence[Experiment],
    folder: str | Path,
    *,
    workers: int | None = None,
    executor: str = lab.DEFAULT_EXECUTOR,
    progress: Progress | None = None,
    data: str | None = None,
) -> Played:
    """Play what ``folder`` does not hold yet, keep it there, and return everything.

    ``workers`` (all cores by default) and ``executor`` change how long it takes, never the result; an
    instance set is played in threads also under ``processes``, which would start anew for each instance.
    ``data`` is the folder of real data sets, that of TUTELAGE_DATA by default.  A cell's file that is damaged
    or of other settings is played again and replaced, with a sentence in ``notes``.

    Raises ``InputError`` for what cannot be played, and where another process is at work in the folder.
    """
    check_workers(workers, executor)
    check_follower("progress", progress)
    prepared = prepare(experiment, folder, data=data)
    made_folder(folder)
    with alone_in(prepared.folder):
        return play_prepared(prepared, workers=workers, executor=executor, progress=progress)


def check_follower(name: str, given: object) -> None:
    """Raise ``InputError`` unless this is a function that is told how far the work has come, or None."""
    if given is not None and not callable(given):
        raise InputError(f"The {name} {given!r} is not a function: give one, or leave it out.")


def play_prepared(
    prepared: Prepared,
    *,
    workers: int | None = None,
    executor: str = lab.DEFAULT_EXECUTOR,
    progress: Progress | None = None,
) -> Played:
    """Play it; the folder of the cells is there, and its user is alone in the folder (``alone_in``)."""
    cells_folder = prepared.folder / CELLS
    for place in (prepared.folder, cells_folder):
        sweep(place)
    played = Played(prepared.experiments, prepared.folder, missing=prepared.missing, doubts=prepared.doubts)
    datasets = _datasets(prepared.cells, cells_folder, played, _Crew(workers, executor, progress))
    for plan in prepared.plans:
        _show(plan, datasets, played)
    return played


@dataclass(frozen=True)
class _Crew:
    workers: int | None
    executor: str
    progress: Progress | None


def _show(plan: Plan, datasets: "dict[str, xr.Dataset]", played: Played) -> None:
    """Put the panels of an experiment together; those of the same cells share one dataset."""
    joined: dict[tuple[str, str, int | None], xr.Dataset] = {}
    for panel in plan.experiment.shown():
        if panel.instance in plan.not_at_hand:
            continue
        place = (panel.instance, panel.clients, panel.horizon)
        if place not in joined:
            cells = [cell for key, cell in plan.cells.items() if (key[0], key[1], key[3]) == place]
            joined[place] = _joined(cells, datasets)
        dataset = joined[place]
        played.panels.append(PanelData(panel, dataset, verdicts(panel, dataset), plan.experiment))


def _joined(cells: list[Cell], datasets: "dict[str, xr.Dataset]") -> "xr.Dataset":
    """The cells of all teachers as one dataset, whose request names them all."""
    parts = [datasets[cell.file_name] for cell in cells]
    whole = join(parts)
    request = json.loads(parts[0].attrs["request"])
    request["teachers"] = [str(spec) for spec in whole["teacher"].values]
    whole.attrs = {key: value for key, value in whole.attrs.items() if key not in ("cell", "content")}
    whole.attrs["request"] = json.dumps(request, ensure_ascii=False)
    return whole


def _datasets(cells: list[Cell], folder: Path, played: Played, crew: _Crew) -> "dict[str, xr.Dataset]":
    """The dataset of every cell, by its file: those that are kept, then the others as they are played."""
    datasets: dict[str, xr.Dataset] = {}
    waiting: list[Cell] = []
    for cell in cells:
        dataset, reason = kept(cell, folder)
        if reason is not None:
            played.replaced.append(reason)
        if dataset is None:
            waiting.append(cell)
        else:
            datasets[cell.file_name] = dataset
    if waiting and not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"The folder {str(folder)!r} cannot be written to: name another with --out.")
    total, done = sum(cell.runs for cell in waiting), 0
    for cell in waiting:
        datasets[cell.file_name] = cell.dataset(_play_cell(cell, crew, done, total))
        results.save(datasets[cell.file_name], folder / cell.file_name)
        done += cell.runs
    new = {cell.file_name for cell in waiting}
    played.cells.extend(
        KeptCell(cell.name, folder / cell.file_name, cell.digest, cell.file_name in new) for cell in cells
    )
    return datasets


def _play_cell(cell: Cell, crew: _Crew, done: int, total: int) -> list[SimulationResult]:
    def tell(played: float) -> None:
        if crew.progress is not None:
            crew.progress(done + played, total, cell.name)

    tell(0)
    if len(cell.requests) == 1:
        return [lab.run(cell.requests[0], workers=crew.workers, executor=crew.executor, progress=tell)]
    return _play_set(cell, crew, tell)


class _Stopped(Exception):
    """Another instance of the set could not be played."""


def _play_set(cell: Cell, crew: _Crew, tell: Callable[[float], None]) -> list[SimulationResult]:
    """Many instances of few runs each: as many instances at a time as there are workers, each on one."""
    executor = "threads" if crew.executor in ("auto", "processes") else crew.executor
    slots = crew.workers or (default_workers() if executor == "threads" else _DASK_SLOTS)
    stopped = False

    def go_on(_: float) -> None:
        if stopped:
            raise _Stopped

    def play_one(number: int) -> SimulationResult:
        go_on(0)
        return lab.run(cell.requests[number], workers=1, executor=executor, progress=go_on)

    outcomes = []
    with contextlib.closing(_Pool(slots)) as pool:
        try:
            for outcome in pool.map(play_one, len(cell.requests)):
                outcomes.append(outcome)
                tell(sum(each.request.runs for each in outcomes))
        except BaseException:
            stopped = True  # the instances under way end at their next report of progress
            raise
    return outcomes


class _Pool:
    """Threads that are not waited for when the work is given up."""

    def __init__(self, slots: int) -> None:
        self.pool = ThreadPoolExecutor(slots, thread_name_prefix="tutelage-set")

    def map(self, function: Callable[[int], SimulationResult], count: int) -> Iterator[SimulationResult]:
        return self.pool.map(function, range(count))

    def close(self) -> None:
        self.pool.shutdown(wait=False, cancel_futures=True)
