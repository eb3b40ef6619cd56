"""Preparing experiments before anything is simulated: their cells, and the panels whose data is missing."""

import hashlib
import itertools
import json
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from tutelage.errors import InputError
from tutelage.experiments.cells import CellKey, DataNotFound, ExperimentCell, load_entry, make_cells
from tutelage.experiments.definition import Experiment, Panel, check_sections
from tutelage.experiments.parsing import read_experiment
from tutelage.paths import expand_path, find_path
from tutelage.request import Engine
from tutelage.text import format_count, format_value
from tutelage.versions import package_version

CELLS = "cells"


@dataclass(frozen=True)
class MissingPanel:
    """A panel that cannot be made, and one sentence on what to do about it."""

    panel: Panel
    sentence: str


@dataclass(frozen=True, eq=False)
class CellMatrix:
    """The cells of an experiment; ``unavailable`` maps labels of instances to how to get their data."""

    experiment: Experiment
    cells: dict[CellKey, ExperimentCell]
    unavailable: dict[str, str]

    @property
    def engine(self) -> Engine:
        """The engine that a report names: that of all cells, or what the experiment asks for where they differ."""
        engines = {request.engine for cell in self.cells.values() for request in cell.requests}
        return engines.pop() if len(engines) == 1 else self.experiment.engine


@dataclass(frozen=True, eq=False)
class Preparation:
    """Everything that is known before the first simulation.

    ``warnings`` are about data that is not as published and about what no panel shows.
    """

    experiments: tuple[Experiment, ...]
    folder: Path
    matrices: list[CellMatrix] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def cells(self) -> list[ExperimentCell]:
        """Every cell once."""
        cells = (cell for matrix in self.matrices for cell in matrix.cells.values())
        return list({cell.file_name: cell for cell in cells}.values())

    @property
    def engines(self) -> list[Engine]:
        """The engine of each experiment, as a report names it."""
        return [matrix.engine for matrix in self.matrices]

    @property
    def panels(self) -> list[Panel]:
        """The panels that can be made."""
        return [
            panel
            for matrix in self.matrices
            for panel in matrix.experiment.all_panels()
            if panel.instance not in matrix.unavailable
        ]

    @property
    def missing(self) -> list[MissingPanel]:
        """The panels that cannot be made."""
        return [
            MissingPanel(panel, matrix.unavailable[panel.instance])
            for matrix in self.matrices
            for panel in matrix.experiment.all_panels()
            if panel.instance in matrix.unavailable
        ]

    @property
    def fingerprint(self) -> str:
        """The fingerprint that the :class:`ExperimentResult` will have."""
        return compute_fingerprint(self.experiments, [cell.digest for cell in self.cells], self.missing, self.warnings)


def compute_fingerprint(
    experiments: Sequence[Experiment], digests: Sequence[str], missing: Sequence[MissingPanel], warnings: Sequence[str]
) -> str:
    """Hash everything that a report depends on: version, experiments, cells, missing panels, warnings."""
    content = [
        package_version(),
        [msgspec.to_builtins(experiment) for experiment in experiments],
        list(digests),
        [each.sentence for each in missing],
        list(warnings),
    ]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def prepare(
    experiment: str | Path | Experiment | Sequence[Experiment], folder: str | Path, *, data: str | None = None
) -> Preparation:
    """Read or draw the instances and name the cells; nothing is simulated or written."""
    experiments = _check_experiments(experiment)
    if isinstance(folder, str) and not folder.strip():
        raise InputError(f"Invalid folder {folder!r}: give a name, or '.' for the current folder.")
    if data is not None:
        find_path(data)
    for each in experiments:
        check_sections(each, each.name)
    preparation = Preparation(experiments, expand_path(folder).resolve())
    code: dict[str, str] = {}
    for each in experiments:
        matrix, warnings = _make_matrix(each, data, code)
        preparation.matrices.append(matrix)
        preparation.warnings.extend(warnings)
    return preparation


def _check_experiments(value: object) -> tuple[Experiment, ...]:
    if isinstance(value, str | Path):
        value = read_experiment(value)
    listed = [value] if isinstance(value, Experiment) else value
    if not isinstance(listed, Sequence) or not listed or not all(isinstance(x, Experiment) for x in listed):
        raise InputError(
            f"Not an experiment: {format_value(value)}. Give an experiment or a list of experiments, as "
            "read_experiment and load_paper_experiments return them."
        )
    return tuple(listed)


def _make_matrix(experiment: Experiment, data: str | None, code: dict[str, str]) -> tuple[CellMatrix, list[str]]:
    """Return the cells of an experiment, and warnings about its data."""
    matrix, warnings = CellMatrix(experiment, {}, {}), list[str]()
    shown = {(panel.instance, panel.clients, panel.horizon) for panel in experiment.all_panels()}
    for entry in experiment.instances:
        if entry.label not in {instance for instance, _, _ in shown}:
            continue
        try:
            loaded = load_entry(entry, experiment.name, data, code)
        except DataNotFound as error:
            matrix.unavailable[entry.label] = str(error)
            continue
        except InputError as error:
            if entry.data is None:
                raise
            matrix.unavailable[entry.label] = str(error)  # a damaged copy must not stop everything else
            continue
        warnings.extend(loaded.warnings)
        for clients, horizon in itertools.product(experiment.clients, experiment.horizons):
            if (entry.label, clients.label, horizon) in shown:
                cells = make_cells(experiment, loaded, clients, horizon)
                matrix.cells.update({cell.key: cell for cell in cells})
    return matrix, [*warnings, *_describe_unshown(experiment, shown)]


def _describe_unshown(experiment: Experiment, shown: AbstractSet[tuple[str, str, int | None]]) -> list[str]:
    """Return a sentence on what no panel shows, if there is anything."""
    labels = ([entry.label for entry in entries] for entries in (experiment.instances, experiment.clients))
    unshown = [place for place in itertools.product(*labels, experiment.horizons) if place not in shown]
    if not unshown:
        return []
    listed = ", ".join(f"{instance} with {clients} at {horizon:,}" for instance, clients, horizon in unshown[:3])
    count = format_count(len(unshown), "combination")
    are = "is in no panel and is" if len(unshown) == 1 else "are in no panel and are"
    return [f"{experiment.name}: {count} {are} not simulated ({listed}{', ...' if len(unshown) > 3 else ''})."]


def make_cells_folder(folder: str | Path) -> Path:
    """Make the folder of the cells within ``folder`` and return it; raise ``InputError`` if that fails."""
    cells = expand_path(folder).resolve() / CELLS
    try:
        cells.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"The folder {str(folder)!r} cannot be created ({error.strerror}): choose another with --out."
        ) from None
    return cells
