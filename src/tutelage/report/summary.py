"""The numbers of a played experiment: what the page shows as tables and ``--json`` prints."""

import dataclasses
from typing import TYPE_CHECKING, Any

from tutelage import results
from tutelage.errors import InputError
from tutelage.experiments import PanelData, Played
from tutelage.experiments.claims import decided
from tutelage.experiments.preparing import Prepared
from tutelage.metrics import summarize_runs
from tutelage.teachers import TEACHERS

if TYPE_CHECKING:
    import xarray as xr


def summary(played: Played) -> dict[str, Any]:
    """All panels as plain finite numbers: means, bands, finished and wrong counts, and the claims."""
    cells = [{"name": cell.name, "file": str(cell.path), "new": cell.is_new} for cell in played.cells]
    return document(played, panels(played), cells, played.notes)


def document(
    of: Played | Prepared, panels: list[dict[str, Any]], cells: list[dict[str, Any]], notes: list[str]
) -> dict[str, Any]:
    """The same from its parts, for what was played before and is not loaded."""
    return {
        "tutelage": results.version(),
        "folder": str(of.folder),
        "experiments": [
            {"name": each.name, "runs": each.runs, "seed": each.seed, "horizons": list(each.horizons)}
            for each in of.experiments
        ],
        "panels": panels,
        "missing": [{"panel": each.panel.name, "sentence": each.sentence} for each in of.missing],
        "cells": cells,
        "notes": list(notes),
    }


def panels(played: Played) -> list[dict[str, Any]]:
    """The panels' part of it."""
    return [_panel(data) for data in played.panels]


def _panel(data: PanelData) -> dict[str, Any]:
    from tutelage.plots import samples

    panel, dataset = data.panel, data.dataset
    return {
        "panel": panel.name,
        "title": panel.title,
        "quantity": panel.quantity,
        "instance": panel.instance,
        "clients": panel.clients,
        "horizon": samples.horizon(dataset),
        "samples": samples.sample_count(dataset),
        "of": samples.sample_word(dataset),
        "runs": run_count(dataset),
        "teachers": rows(dataset),
        "claims": [dataclasses.asdict(verdict) for verdict in data.verdicts],
    }


def decided_and_wrong(row: dict[str, Any]) -> tuple[str, str]:
    """The counts of a row of :func:`rows` as people read them; ``-`` where there is nothing to count."""
    decided = "-" if never_decides(row["teacher"]) else f"{row['finished']:,} of {row['runs']:,}"
    return decided, f"{row['wrong']:,}" if row["finished"] else "-"


def never_decides(spec: str) -> bool:
    """Whether a teacher names no target by its nature; a SPEC that cannot be read here may name one."""
    try:
        return not TEACHERS.parse(spec).decides
    except InputError:
        return False


def run_count(dataset: "xr.Dataset") -> int:
    """How many runs each teacher played, over all instances of a set."""
    return int(dataset.sizes["run"] * dataset.sizes.get("instance", 1))


def rows(dataset: "xr.Dataset") -> list[dict[str, Any]]:
    """A row a teacher: regret and cost at the horizon over the samples, how many runs ended, how many wrong.

    A sample is a run, or an instance of a set; ``finished`` and ``wrong`` count runs.
    """
    from tutelage.plots import samples

    regret, cost = (samples.totals(dataset, quantity)[:, :, -1] for quantity in ("regret", "cost"))
    told = []
    for n, spec in enumerate(samples.teacher_specs(dataset)):
        finished, wrong, runs = decided(dataset, spec)
        told.append(
            {
                "teacher": spec,
                "regret": dataclasses.asdict(summarize_runs(regret[n])),
                "cost": dataclasses.asdict(summarize_runs(cost[n])),
                "finished": finished,
                "wrong": wrong,
                "runs": runs,
            }
        )
    return told
