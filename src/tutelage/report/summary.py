"""The numbers of a played experiment: what the page shows as tables and ``--json`` prints."""

import dataclasses
from typing import TYPE_CHECKING, Any

from tutelage import results
from tutelage.experiments import PanelData, Played
from tutelage.experiments.claims import decided
from tutelage.metrics import over_runs
from tutelage.plots import samples

if TYPE_CHECKING:
    import xarray as xr

UNTARGETED = ("na", "none")  # they settle on no arm by their nature


def summary(played: Played) -> dict[str, Any]:
    """All panels as plain finite numbers: means, bands, finished and wrong counts, and the claims."""
    return {
        "tutelage": results.version(),
        "folder": str(played.folder),
        "experiments": [
            {"name": each.name, "runs": each.runs, "seed": each.seed, "horizons": list(each.horizons)}
            for each in played.experiments
        ],
        "panels": [_panel(data) for data in played.panels],
        "missing": [{"panel": each.panel.name, "sentence": each.sentence} for each in played.missing],
        "cells": [{"name": cell.name, "file": str(cell.path), "new": cell.is_new} for cell in played.cells],
        "notes": list(played.notes),
    }


def _panel(data: PanelData) -> dict[str, Any]:
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


def run_count(dataset: "xr.Dataset") -> int:
    """How many runs each teacher played, over all instances of a set."""
    return int(dataset.sizes["run"] * dataset.sizes.get("instance", 1))


def rows(dataset: "xr.Dataset") -> list[dict[str, Any]]:
    """A row a teacher: regret and cost at the horizon over the samples, how many runs ended, how many wrong.

    A sample is a run, or an instance of a set; ``finished`` and ``wrong`` count runs.
    """
    regret, cost = (samples.totals(dataset, quantity)[:, :, -1] for quantity in ("regret", "cost"))
    told = []
    for n, spec in enumerate(samples.teacher_specs(dataset)):
        finished, wrong, runs = decided(dataset, spec)
        told.append(
            {
                "teacher": spec,
                "regret": dataclasses.asdict(over_runs(regret[n])),
                "cost": dataclasses.asdict(over_runs(cost[n])),
                "finished": finished,
                "wrong": wrong,
                "runs": runs,
            }
        )
    return told
