"""What ``tutelage run`` and ``tutelage reproduce`` print for people: results, and claims with verdicts."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from tutelage.cli.printing import Printer
from tutelage.cli.result_tables import SPEC_WIDTH, create_table, fold_spec, format_mean
from tutelage.experiments.verdicts import LEVEL
from tutelage.text import format_count

if TYPE_CHECKING:
    from tutelage.experiments import ExperimentResult, MissingPanel, PanelResult

_VERDICTS = {True: "SUPPORTED", False: "NOT SUPPORTED", None: "INCONCLUSIVE"}

_COLUMNS = (
    "Regret and cost are totals over all clients at the horizon: the mean with half of its 95 % confidence interval "
    "(Student's t) and, below it, the range of 80 % of the runs (for a set of instances: of the instances). "
    '"decided" counts the runs in which the teacher decided on a target arm (- for a teacher that never decides), '
    '"wrong" those in which the target is not the best arm, with the upper 95 % confidence limit of their probability '
    "(Clopper-Pearson)."
)
_CLAIMS = (
    "A claim is SUPPORTED or NOT SUPPORTED where a two-sided test at the level of {level} rules out chance, and "
    "otherwise INCONCLUSIVE."
)


def print_experiments(played: "ExperimentResult", report: Path) -> None:
    """Print all results to standard output."""
    from tutelage.plots import warn_of_few_samples

    printer = Printer()
    for note in played.notes:
        printer.print(note)
    for panels in _group_panels(played):
        first = panels[0]
        printer.print_definitions(_describe_panels(panels))
        printer.print("", _create_rows(first), "")
        for sentence in warn_of_few_samples(first.dataset):
            printer.print(sentence, "")
        for data in panels:
            for verdict in data.verdicts:
                printer.print(
                    f"{data.panel.name}, {verdict.section}: {verdict.text} "
                    f"{_VERDICTS[verdict.holds]}: {verdict.figures}.",
                    "",
                )
    if played.panels:
        printer.print(_COLUMNS, "")
    if any(data.verdicts for data in played.panels):
        printer.print(_CLAIMS.format(level=f"{100 * LEVEL:g} %"), "")
    for sentence, names in group_by_remedy(played.missing).items():
        printer.print(f"Left out: {', '.join(names)}. {sentence}", "")
    new = sum(cell.is_new for cell in played.cells)
    reused = len(played.cells) - new
    printer.print(
        f"{format_count(new, 'cell')} simulated and {format_count(reused, 'cell')} reused, in {played.folder}."
        if new
        else f"All {format_count(reused, 'cell')} in {played.folder} were up to date; nothing was simulated.",
        f"The report is {report}.",
    )


def _group_panels(played: "ExperimentResult") -> list[list["PanelResult"]]:
    """Group panels that show the same cells."""
    groups: dict[int, list[PanelResult]] = {}
    for data in played.panels:
        groups.setdefault(id(data.dataset), []).append(data)
    return list(groups.values())


def _describe_panels(panels: list["PanelResult"]) -> list[tuple[str, str]]:
    panel, dataset = panels[0].panel, panels[0].dataset
    count = int(dataset.sizes["run"])
    runs = format_count(count, "run")
    if "instance" in dataset.sizes:
        runs += f" of each of {dataset.sizes['instance']} instances"
    return [
        ("panels", ", ".join(data.panel.name for data in panels)),
        ("instance", panel.instance),
        ("clients", panel.clients),
        ("simulated", f"{runs} of {panel.horizon:,} rounds with each teacher"),
    ]


def _create_rows(data: "PanelResult") -> Table:
    from tutelage.report.summary import make_rows

    table = create_table("regret", "cost", "decided", "wrong", first="teacher", width=SPEC_WIDTH)
    for row in make_rows(data.dataset):
        table.add_row(
            fold_spec(row.teacher),
            format_mean(row.regret),
            format_mean(row.cost),
            *[each.replace("≤", "<=") for each in row.write_counts()],
        )
    return table


def group_by_remedy(missing: "Sequence[MissingPanel]") -> dict[str, list[str]]:
    """Group the names of panels that could not be made by the sentence that says what to do."""
    found: dict[str, list[str]] = {}
    for each in missing:
        found.setdefault(each.sentence, []).append(each.panel.name)
    return found
