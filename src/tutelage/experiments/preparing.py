"""What is known of experiments before anything is played: their cells, and what cannot be made."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tutelage import results
from tutelage.errors import InputError
from tutelage.experiments.cells import Cell, Key, Loaded, NotAtHand, cells_of, load_entry
from tutelage.experiments.definition import Experiment, Panel, check
from tutelage.instances.files import existing, expanded
from tutelage.text import counted

CELLS = "cells"


@dataclass(frozen=True)
class Missing:
    """A panel that could not be made, and one sentence on what to do about it."""

    panel: Panel
    sentence: str


@dataclass(frozen=True, eq=False)
class Plan:
    """The cells of an experiment, and how to get what instances lack, by their labels."""

    experiment: Experiment
    cells: dict[Key, Cell]
    not_at_hand: dict[str, str]


@dataclass(frozen=True, eq=False)
class Prepared:
    """What is known before anything is played: the cells, what is missing, what there is to say.

    ``doubts`` are about data that is not as published and about cells that no panel shows.
    """

    experiments: tuple[Experiment, ...]
    folder: Path
    plans: list[Plan] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)

    @property
    def cells(self) -> list[Cell]:
        """Every cell once."""
        every = (cell for plan in self.plans for cell in plan.cells.values())
        return list({cell.file_name: cell for cell in every}.values())

    @property
    def panels(self) -> list[Panel]:
        """Those that can be made."""
        return [
            panel
            for plan in self.plans
            for panel in plan.experiment.shown()
            if panel.instance not in plan.not_at_hand
        ]

    @property
    def missing(self) -> list[Missing]:
        """Those that cannot."""
        return [
            Missing(panel, plan.not_at_hand[panel.instance])
            for plan in self.plans
            for panel in plan.experiment.shown()
            if panel.instance in plan.not_at_hand
        ]

    @property
    def fingerprint(self) -> str:
        """That of :class:`Played` once it is played."""
        return fingerprint_of(
            self.experiments, [cell.digest for cell in self.cells], self.missing, self.doubts
        )


def fingerprint_of(
    experiments: Sequence[Experiment],
    digests: Sequence[str],
    missing: Sequence[Missing],
    doubts: Sequence[str],
) -> str:
    """The hash of all that a report depends on: experiments, cells, version, what is missing."""
    told = [
        results.version(),
        [asdict(experiment) for experiment in experiments],
        list(digests),
        [each.sentence for each in missing],
        list(doubts),
    ]
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def prepare(
    experiment: Experiment | Sequence[Experiment], folder: str | Path, *, data: str | None = None
) -> Prepared:
    """Read and draw the instances, and name the cells; nothing is played or written."""
    experiments = _experiments(experiment)
    if isinstance(folder, str) and not folder.strip():
        raise InputError("The folder has no name: give one, or '.' for the one you are in.")
    if data is not None:
        existing(data)
    for each in experiments:
        check(each, each.name)
    prepared = Prepared(experiments, expanded(folder).resolve())
    prepared.plans.extend(_plan(each, prepared, data) for each in experiments)
    prepared.doubts.extend(told for plan in prepared.plans if (told := _unseen(plan)) is not None)
    return prepared


def _experiments(given: object) -> tuple[Experiment, ...]:
    listed = [given] if isinstance(given, Experiment) else given
    if not isinstance(listed, Sequence) or not listed or not all(isinstance(x, Experiment) for x in listed):
        raise InputError(
            f"{_shown(given)} is no experiment: give one, or a list, as experiments.read and "
            "experiments.paper return them."
        )
    return tuple(listed)


def _shown(given: object) -> str:
    text = repr(given)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _unseen(plan: Plan) -> str | None:
    """A sentence on the cells that no panel shows, if there are such."""
    seen = {(panel.instance, panel.clients, panel.horizon) for panel in plan.experiment.shown()}
    places = [(instance, clients, horizon) for instance, clients, _, horizon in plan.cells]
    unseen = [place for place in places if place not in seen]
    if not unseen:
        return None
    places = list(dict.fromkeys(unseen))
    listed = ", ".join(
        f"{instance} with {clients} at {horizon:,}" for instance, clients, horizon in places[:3]
    )
    listed += ", ..." if len(places) > 3 else ""
    return (
        f"{plan.experiment.name}: {counted(len(unseen), 'cell')} in no panel ({listed}), kept only as "
        f"{'a file' if len(unseen) == 1 else 'files'} in {CELLS}."
    )


def made_folder(folder: str | Path) -> Path:
    """The folder of the cells within ``folder``, made if it is not there.  Raises ``InputError``."""
    cells = expanded(folder).resolve() / CELLS
    try:
        cells.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"The folder {str(folder)!r} cannot be made ({error.strerror}): name another with --out."
        ) from None
    return cells


def _plan(experiment: Experiment, prepared: Prepared, data: str | None) -> Plan:
    cells: dict[Key, Cell] = {}
    not_at_hand: dict[str, str] = {}
    for entry in experiment.instances:
        try:
            loaded: Loaded = load_entry(entry, experiment.name, data)
        except NotAtHand as error:
            not_at_hand[entry.label] = str(error)
            continue
        except InputError as error:
            if entry.data is None:
                raise
            not_at_hand[entry.label] = str(error)  # a damaged copy is no reason for the rest to fail
            continue
        prepared.doubts.extend(loaded.doubts)
        for clients in experiment.clients:
            for horizon in experiment.horizons:
                cells |= {cell.key: cell for cell in cells_of(experiment, loaded, clients, horizon)}
    return Plan(experiment, cells, not_at_hand)
