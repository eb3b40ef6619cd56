"""What people read of an experiment: a table for everything played, and each claim with its verdict."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table as Grid

from tutelage.cli.page import Page, broken, grid, with_band
from tutelage.metrics import RunStatistics
from tutelage.text import counted

if TYPE_CHECKING:
    from tutelage.experiments import Missing, PanelData, Played

_VERDICTS = {True: "YES", False: "NO", None: "CANNOT TELL"}


_COLUMNS = (
    "Regret and cost are totals of all clients at the horizon, the mean and below it the range of 80 % of "
    "the runs (of a set: of the instances); decided counts the runs with a target arm (- for a teacher that "
    "settles on none by its nature), wrong those of them whose target is not the best arm."
)


def show(played: "Played", report: Path) -> None:
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
        f"{counted(new, 'cell')} played and {counted(kept, 'cell')} kept from before, in {played.folder}."
        if new
        else f"No cell was played, since all were there already ({kept}), in {played.folder}.",
        f"The report is {report}.",
    )


def _groups(played: "Played") -> list[list["PanelData"]]:
    """Panels that show the same cells."""
    groups: dict[int, list[PanelData]] = {}
    for data in played.panels:
        groups.setdefault(id(data.dataset), []).append(data)
    return list(groups.values())


def _head(panels: list["PanelData"]) -> list[tuple[str, str]]:
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


def _rows(data: "PanelData") -> Grid:
    from tutelage.experiments.claims import briefly
    from tutelage.report.summary import decided_and_wrong, rows

    table = grid("regret", "cost", "decided", "wrong", first="teacher", width=24)
    for told in rows(data.dataset):
        table.add_row(
            broken(briefly(told["teacher"])),
            with_band(RunStatistics(**told["regret"])),
            with_band(RunStatistics(**told["cost"])),
            *decided_and_wrong(told),
        )
    return table


def left_out(missing: "Sequence[Missing]") -> dict[str, list[str]]:
    """What to do about panels that could not be made, with the names of those that it is about."""
    found: dict[str, list[str]] = {}
    for each in missing:
        found.setdefault(each.sentence, []).append(each.panel.name)
    return found
