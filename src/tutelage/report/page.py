"""The report page: every panel with its claims and table, how many runs decided, and how it was all made.

The page needs no other file: its own content security policy forbids the browser to load anything.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING

import jinja2
import msgspec
from markupsafe import Markup

from tutelage.experiments import ExperimentResult, PanelResult, Verdict
from tutelage.experiments.paper_figures import has_paper_claims
from tutelage.experiments.verdicts import count_decided
from tutelage.plots import TeacherStyle, samples, teacher_styles, warn_of_few_samples
from tutelage.report.page_assets import HEIGHTS, load_bokeh_script
from tutelage.report.page_sentences import PAPER, describe_deciding, describe_instances, hide_folders, list_marks
from tutelage.report.record import PageRecord
from tutelage.report.summary import TeacherRow, count_runs, make_rows
from tutelage.teachers import TEACHERS
from tutelage.text import format_count, format_number, join_words
from tutelage.versions import package_version

if TYPE_CHECKING:
    import xarray as xr

_VERDICTS = {  # by Verdict.holds: CSS class, mark, words
    True: ("supported", "✓", "Supported."),
    False: ("unsupported", "✗", "Not supported."),
    None: ("inconclusive", "?", "Inconclusive."),
}
_SWATCH = Markup(
    '<svg width="30" height="8" aria-hidden="true"><line x1="0" y1="4" x2="30" y2="4" stroke="{}" '
    'stroke-width="2.5" stroke-dasharray="{}"/></svg>'
)


@dataclass(frozen=True)
class PageClaim:
    """A claim as the page shows it; ``state`` is the class of its colour."""

    state: str
    mark: str
    word: str
    text: str
    section: str
    figures: str


@dataclass(frozen=True)
class PageTable:
    """A panel's table of one quantity; a row has the cells of one teacher."""

    title: str
    band: str
    rows: list[tuple[str, ...]]


@dataclass(frozen=True)
class PagePanel:
    """A panel as the page shows it; ``below`` and ``side_tables`` are the tables under and next to its plot."""

    name: str
    title: str
    caption: str
    height: int
    heading: str
    claims: list[PageClaim]
    below: list[PageTable]
    side_tables: list[PageTable]
    json: Markup


def render_page(result: ExperimentResult, record: PageRecord, panels: Sequence[PagePanel]) -> str:
    """Return the whole page as HTML; ``record`` is embedded for later runs, ``panels`` are those of the result."""
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=False)
    template = resources.files("tutelage.report").joinpath("page.html").read_text(encoding="utf-8")
    titles = [each.title or each.name for each in result.experiments]
    from_paper = bool(result.panels) and all(has_paper_claims(data.experiment, data.panel) for data in result.panels)
    several = "The paper's figures and claims" if from_paper else "Experiments"
    return environment.from_string(template).render(
        title=titles[0] if len(titles) == 1 else several,
        opening=_write_opening(result),
        source=PAPER if from_paper else "",
        key=list_marks(result),
        missing=_group_missing(result),
        notes=[hide_folders(note) for note in result.warnings],
        instances=describe_instances(result),
        deciding=describe_deciding(result),
        decisions=_tabulate_decisions(result),
        panels=panels,
        facts=_list_facts(result),
        script=Markup(load_bokeh_script()),  # noqa: S704 - Bokeh's own file
        record=_mark_json(msgspec.json.encode(record).decode()),
    )


def _write_opening(result: ExperimentResult) -> str:
    found = [verdict.holds for data in result.panels for verdict in data.verdicts]
    panels = f"{format_count(len(result.panels), 'panel')}, each with a table of its numbers."
    if not found:
        return panels
    words = {"supported by our results": True, "not supported": False, "inconclusive": None}
    parts = [f"{found.count(holds)} {word}" for word, holds in words.items() if holds in found]
    return f"{panels} Of {format_count(len(found), 'claim')}: {', '.join(parts)}."


def _group_missing(result: ExperimentResult) -> dict[str, str]:
    """Return each sentence about missing panels with the names of those panels."""
    names: dict[str, list[str]] = {}
    for each in result.missing:
        names.setdefault(hide_folders(each.sentence), []).append(each.panel.name)
    return {sentence: ", ".join(panels) for sentence, panels in names.items()}


def _tabulate_decisions(result: ExperimentResult) -> list[list[str]]:
    """Return a table of how many runs decided: a heading, and a row for each instance and kind of clients."""
    rows = (row for data in result.panels for row in make_rows(data.dataset))
    teachers = list(dict.fromkeys(row.teacher for row in rows if row.decides))
    datasets: dict[tuple[str, str, int], xr.Dataset] = {}
    for data in result.panels:
        place = (data.panel.instance, data.panel.clients, samples.horizon(data.dataset))
        datasets.setdefault(place, data.dataset)
    table = [["instance, clients", "rounds", "runs", *teachers]]
    for (instance, clients, horizon), dataset in datasets.items():
        present = samples.teacher_labels(dataset)
        cells = [_write_decisions(dataset, teacher) if teacher in present else "" for teacher in teachers]
        table.append([f"{instance}, {clients}", f"{horizon:,}", f"{count_runs(dataset):,}", *cells])
    return table


def _write_decisions(dataset: "xr.Dataset", teacher: str) -> str:
    decided, wrong, _ = count_decided(dataset, teacher)
    return f"{decided} ({wrong} wrong)" if wrong else str(decided)


def make_page_panel(data: PanelResult) -> PagePanel:
    """Return what the page shows of a panel."""
    from tutelage.report import interactive  # imports Bokeh, which the rest of the page does not need

    panel, dataset = data.panel, data.dataset
    from_paper = has_paper_claims(data.experiment, panel)
    tables = list(_make_tables(data))
    split = int(bool(data.verdicts) and len(tables) > 1)  # so that both columns are about as long
    return PagePanel(
        name=panel.name,
        title=panel.title,
        caption=" ".join([_describe_plot(data), *warn_of_few_samples(dataset), *_describe_outliers(data)]),
        height=HEIGHTS[panel.quantity],
        heading="Claims of the paper, in our words, and our results" if from_paper else "Claims and results",
        claims=[_make_claim(verdict, from_paper=from_paper) for verdict in data.verdicts],
        below=tables[:split],
        side_tables=tables[split:],
        json=_mark_json(interactive.write_panel_json(dataset, panel.quantity, f"plot-{panel.name}")),
    )


def _mark_json(text: str) -> Markup:
    return Markup(text.replace("<", "\\u003c"))  # noqa: S704 - JSON without any tag


def _describe_outliers(data: PanelResult) -> Iterator[str]:
    """Yield a sentence where a mean lies outside the band of 80 %."""
    if not samples.has_band(data.dataset):
        return
    styles = teacher_styles(data.dataset)
    for quantity in data.panel.quantity.split("-"):
        over = samples.compute_band(samples.totals(data.dataset, quantity))
        slack = 1e-9 * over.mean
        outside = (over.mean > over.high + slack) | (over.mean < over.low - slack)
        labels = [style.label for style, each in zip(styles, outside, strict=True) if each.any()]
        if labels:
            part = "" if outside[outside.any(axis=1)][:, -1].all() else " for part of the time"
            yield (
                f"The mean {quantity} of {join_words(labels, 'and')} lies outside the band of "
                f"{samples.band_name(data.dataset)}{part}, because a few of them are outliers."
            )


def _describe_plot(data: PanelResult) -> str:
    dataset, horizon = data.dataset, f"{samples.horizon(data.dataset):,}"
    count = samples.sample_count(dataset)
    if samples.is_set(dataset):
        runs = int(dataset.sizes["run"])
        shown = "one run" if runs == 1 else f"the mean of {runs} runs"
        return f"One dot for each of {count} instances: {shown} of {horizon} rounds."
    if data.panel.quantity == "regret-cost":
        return f"One dot for each of {count} runs of {horizon} rounds."
    if count == 1:
        return f"One run of {horizon} rounds."
    return f"The mean of {count} runs of {horizon} rounds, and the band of {samples.band_name(dataset)}."


def _make_claim(verdict: Verdict, *, from_paper: bool) -> PageClaim:
    prefix = "Section\N{NO-BREAK SPACE}" if from_paper and verdict.section else ""
    return PageClaim(
        *_VERDICTS[verdict.holds], text=verdict.text, section=prefix + verdict.section, figures=verdict.figures
    )


def _make_tables(data: PanelResult) -> Iterator[PageTable]:
    """Yield one table for each quantity of the panel."""
    dataset = data.dataset
    styles = teacher_styles(dataset)
    for quantity in data.panel.quantity.split("-"):
        yield PageTable(
            f"{quantity.capitalize()} at round {samples.horizon(dataset):,}",
            samples.band_name(dataset),
            [_make_row(row, quantity, style) for row, style in zip(make_rows(dataset), styles, strict=True)],
        )


def _make_row(row: TeacherRow, quantity: str, style: TeacherStyle) -> tuple[str, ...]:
    over = row.regret if quantity == "regret" else row.cost
    mean = format_number(over.mean)
    mean += "" if over.half_width is None else f" ± {format_number(over.half_width)}"
    spread = "-" if over.sd is None else f"{format_number(over.q10)} to {format_number(over.q90)}"
    dash = " ".join(f"{2 * length:g}" for length in style.dash) or "none"
    swatch = _SWATCH.format(style.colour, dash)
    return swatch + style.label, mean, spread, *row.write_counts()


def _list_facts(result: ExperimentResult) -> list[tuple[str, str]]:
    """Return how everything was made, as pairs of a word and its meaning."""
    facts = []
    for each, engine in zip(result.experiments, result.engines, strict=True):
        horizons = ", ".join(f"{horizon:,}" for horizon in each.horizons)
        counts = [
            format_count(entry.runs or each.runs, "run") + (" of each instance" if entry.is_set else "")
            for entry in each.instances
        ]
        runs = " and ".join(dict.fromkeys(counts))
        facts.append((each.name, f"seed {each.seed}, {runs}, {horizons} rounds, engine {engine}"))
        facts.append(("teachers", ", ".join(TEACHERS.spec(TEACHERS.parse(label)) for label in each.teachers)))
        facts.append(("clients", "; ".join(f"{entry.label}: {entry.spec}" for entry in each.clients)))
        instances = "; ".join(
            f"{entry.label}: {hide_folders(entry.spec)}" + (f", seeds {entry.seeds}" if entry.seeds else "")
            for entry in each.instances
        )
        facts.append(("instances", instances))
    return [*facts, ("versions", _list_versions(result))]


def _list_versions(result: ExperimentResult) -> str:
    """Return the versions of the packages that simulated and drew."""
    attributes = result.panels[0].dataset.attrs if result.panels else {}
    versions = {"tutelage": package_version()} | {
        name: str(attributes[name]) for name in ("tutelage", "python", "numpy", "numba") if name in attributes
    }
    versions |= {name: package_version(name) for name in ("matplotlib", "bokeh")}
    return ", ".join(f"{name} {number}" for name, number in versions.items())
