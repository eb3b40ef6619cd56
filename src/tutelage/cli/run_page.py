"""What people read of an experiment: a table for everything played, and each claim with its verdict."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table as Grid

from tutelage.cli.page import Page, broken, grid, with_band
from tutelage.text import counted

if TYPE_CHECKING:
    from tutelage.experiments import ExperimentResult, MissingPanel, PanelResult

_VERDICTS = {True: "SUPPORTED", False: "NOT SUPPORTED", None: "INCONCLUSIVE"}
_COLUMNS = (
    "Regret and cost are totals of all clients at the horizon, the mean and below it the range of 80 % of "
    "the runs (of a set: of the instances); decided counts the runs with a target arm (- for a teacher that "
    "settles on none by its nature), wrong those of them whose target is not the best arm."
)


def show(played: "ExperimentResult", report: Path) -> None:
    """Print everything to standard output."""
    page = Page()
    for note in played.notes:
        page.put(note)
    for panels in _groups(played):
        first = panels[0]
        page.put_definitions(_head(panels))
        page.put("", _rows(first), "")
        for data in panels:
            for verdict in data.verdicts:
                page.put(
                    f"{data.panel.name}, {verdict.section}: {verdict.text} "
                    f"{_VERDICTS[verdict.holds]}: {verdict.figures}.",
                    "",
                )
    if played.panels:
        page.put(_COLUMNS, "")
    for sentence, names in left_out(played.missing).items():
        page.put(f"Left out: {', '.join(names)}. {sentence}", "")
    new = sum(cell.is_new for cell in played.cells)
    kept = len(played.cells) - new
    page.put(
        f"{counted(new, 'cell')} simulated and {counted(kept, 'cell')} reused, in {played.folder}."
        if new
        else f"All {counted(kept, 'cell')} reused, nothing was simulated, in {played.folder}.",
        f"The report is {report}.",
    )


def _groups(played: "ExperimentResult") -> list[list["PanelResult"]]:
    """Panels that show the same cells."""
    groups: dict[int, list[PanelResult]] = {}
    for data in played.panels:
        groups.setdefault(id(data.dataset), []).append(data)
    return list(groups.values())


def _head(panels: list["PanelResult"]) -> list[tuple[str, str]]:
    panel, dataset = panels[0].panel, panels[0].dataset
    count = int(dataset.sizes["run"])
    runs = counted(count, "run")
    if "instance" in dataset.sizes:
        runs += f" of each of {dataset.sizes['instance']} instances"
    return [
        ("panels", ", ".join(data.panel.name for data in panels)),
        ("instance", panel.instance),
        ("clients", panel.clients),
        ("played", f"{runs} of {panel.horizon:,} rounds with each teacher"),
    ]


def _rows(data: "PanelResult") -> Grid:
    from tutelage.experiments.verdicts import brief_spec
    from tutelage.report.summary import make_rows

    table = grid("regret", "cost", "decided", "wrong", first="teacher", width=24)
    for row in make_rows(data.dataset):
        table.add_row(
            broken(brief_spec(row.teacher)),
            with_band(row.regret),
            with_band(row.cost),
            *row.write_counts(),
        )
    return table


def left_out(missing: "Sequence[MissingPanel]") -> dict[str, list[str]]:
    """What to do about panels that could not be made, with the names of those that it is about."""
    found: dict[str, list[str]] = {}
    for each in missing:
        found.setdefault(each.sentence, []).append(each.panel.name)
    return found
