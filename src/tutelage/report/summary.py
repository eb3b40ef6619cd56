"""The numbers of an experiment: what the report page shows as tables and ``--json`` prints."""

from typing import TYPE_CHECKING

import msgspec

from tutelage.experiments import ExperimentResult, PanelResult, Verdict
from tutelage.experiments.verdicts import count_decided
from tutelage.inference import interval_of_share
from tutelage.metrics import RunStatistics, summarize_runs
from tutelage.request import Engine
from tutelage.text import format_number

if TYPE_CHECKING:
    import xarray as xr


class TeacherRow(msgspec.Struct, frozen=True):
    """A teacher in a panel: regret and cost at the horizon over the samples, and its decisions.

    ``teacher`` is its label.  A sample is a run, or an instance of a set; ``decided`` counts the runs with a
    target, ``wrong`` those of them whose target is not a best arm; ``decides`` is whether it can ever have one.
    """

    teacher: str
    spec: str
    decides: bool
    regret: RunStatistics
    cost: RunStatistics
    decided: int
    wrong: int
    runs: int

    def write_counts(self) -> tuple[str, str]:
        """Return ``decided`` and ``wrong`` for people; ``-`` where there is nothing to count.

        ``wrong`` is followed by how probable a wrong target may be (:func:`~tutelage.inference.interval_of_share`).
        """
        decided = f"{self.decided:,} of {self.runs:,}" if self.decides else "-"
        most = 100 * interval_of_share(self.wrong, self.runs)[1]
        return decided, f"{self.wrong:,} (≤ {format_number(most)} %)" if self.decided else "-"


class PanelSummary(msgspec.Struct, frozen=True):
    """The numbers of a panel; ``of`` is what its ``samples`` are, runs or instances."""

    panel: str
    title: str
    quantity: str
    instance: str
    clients: str
    horizon: int
    samples: int
    of: str
    runs: int
    teachers: list[TeacherRow]
    claims: list[Verdict]


class ExperimentSettings(msgspec.Struct, frozen=True):
    """The settings of an experiment that are not in its panels."""

    name: str
    runs: int
    seed: int
    horizons: tuple[int, ...]
    engine: Engine


class MissingSummary(msgspec.Struct, frozen=True):
    """A panel that could not be made, and what to do about it."""

    panel: str
    sentence: str


class CellSummary(msgspec.Struct, frozen=True):
    """The file of a cell, and whether it was simulated just now."""

    name: str
    file: str
    new: bool


class ReportDocument(msgspec.Struct, frozen=True):
    """The document that ``--json`` prints: plain finite numbers."""

    tutelage: str
    folder: str
    experiments: list[ExperimentSettings]
    panels: list[PanelSummary]
    missing: list[MissingSummary]
    cells: list[CellSummary]
    notes: list[str]
    pictures: dict[str, list[str]]
    report: str


def summarize_panels(result: ExperimentResult) -> list[PanelSummary]:
    """Return the numbers of every panel."""
    return [_summarize(data) for data in result.panels]


def _summarize(data: PanelResult) -> PanelSummary:
    from tutelage.plots import samples

    panel, dataset = data.panel, data.dataset
    return PanelSummary(
        panel=panel.name,
        title=panel.title,
        quantity=panel.quantity,
        instance=panel.instance,
        clients=panel.clients,
        horizon=samples.horizon(dataset),
        samples=samples.sample_count(dataset),
        of=samples.sample_word(dataset),
        runs=count_runs(dataset),
        teachers=make_rows(dataset),
        claims=data.verdicts,
    )


def count_runs(dataset: "xr.Dataset") -> int:
    """Return the number of runs of each teacher, over all instances of a set."""
    return int(dataset.sizes["run"] * dataset.sizes.get("instance", 1))


def make_rows(dataset: "xr.Dataset") -> list[TeacherRow]:
    """Return one row for each teacher."""
    from tutelage.plots import samples

    regret, cost = (samples.totals(dataset, quantity)[:, :, -1] for quantity in ("regret", "cost"))
    teachers = zip(samples.teacher_labels(dataset), dataset["spec"].values, dataset["decides"].values, strict=True)
    return [
        TeacherRow(
            label,
            str(spec),
            bool(decides),
            summarize_runs(regret[n]),
            summarize_runs(cost[n]),
            *count_decided(dataset, label),
        )
        for n, (label, spec, decides) in enumerate(teachers)
    ]
