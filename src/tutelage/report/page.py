"""The page: every panel with its claims and table, how many runs ended, and how it was all made.

It stands alone: its own policy forbids the browser to load anything.
"""

import json
import re
from collections.abc import Iterable, Iterator
from importlib import resources
from typing import TYPE_CHECKING, Any

import jinja2
from markupsafe import Markup

from tutelage import results
from tutelage.experiments import PanelData, Played, Verdict
from tutelage.experiments.claims import briefly, decided
from tutelage.experiments.published import is_papers
from tutelage.plots import TeacherStyle, samples, teacher_label, teacher_styles
from tutelage.report.interactive import HEIGHTS, core_script, panel_json
from tutelage.report.summary import decided_and_wrong, never_decides, panels, rows, run_count
from tutelage.text import counted, short

if TYPE_CHECKING:
    import xarray as xr

_STATES = {
    True: ("holds", "✓", "Borne out."),
    False: ("fails", "✗", "Not borne out."),
    None: ("open", "?", "Our figures cannot tell."),
}
_WORDS = ("known", "none")  # SPECs that may be words of a sentence, too
_LINE = Markup(
    '<svg width="30" height="8" aria-hidden="true"><line x1="0" y1="4" x2="30" y2="4" stroke="{}" '
    'stroke-width="2.5" stroke-dasharray="{}"/></svg>'
)


def template_text() -> str:
    """The page's template."""
    return resources.files("tutelage.report").joinpath("page.html").read_text(encoding="utf-8")


def page(played: Played, record: dict[str, Any]) -> str:
    """The whole page as HTML; ``record`` is what it is to hold about itself, to which the numbers come."""
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=False)
    titles = [each.title or each.name for each in played.experiments]
    papers = all(is_papers(data.experiment, data.panel) for data in played.panels)
    several = "Figures of the paper, and its claims" if papers else "Experiments"
    return environment.from_string(template_text()).render(
        title=titles[0] if len(titles) == 1 else several,
        opening=_opening(played),
        missing=list(_missing(played)),
        notes=played.doubts,
        ended=_ended(played),
        panels=[_panel(data) for data in played.panels],
        facts=_facts(played),
        script=Markup(core_script()),  # noqa: S704 - Bokeh's own file
        record=_json(json.dumps({**record, "panels": panels(played)}, allow_nan=False)),
    )


def _opening(played: Played) -> str:
    found = [verdict.holds for data in played.panels for verdict in data.verdicts]
    count = len(played.panels)
    told = f"{counted(count, 'panel')}, each with a table of its figures."
    if not found:
        return told
    counts = {"borne out by our figures": True, "not borne out": False, "cannot be told": None}
    parts = [f"{found.count(holds)} {words}" for words, holds in counts.items() if holds in found]
    return f"{told} Of {counted(len(found), 'claim')} about them: {', '.join(parts)}."


def _missing(played: Played) -> Iterator[dict[str, str]]:
    """One entry for all panels that lack the same thing."""
    for sentence in dict.fromkeys(each.sentence for each in played.missing):
        names = [each.panel.name for each in played.missing if each.sentence == sentence]
        yield {"names": ", ".join(names), "sentence": sentence}


def _ended(played: Played) -> dict[str, Any]:
    """For each instance and clients, in how many runs each teacher had settled on an arm."""
    every = (spec for data in played.panels for spec in samples.teacher_specs(data.dataset))
    specs = [spec for spec in dict.fromkeys(every) if not never_decides(spec)]
    places: dict[tuple[str, str, int], xr.Dataset] = {}
    for data in played.panels:
        place = (data.panel.instance, data.panel.clients, samples.horizon(data.dataset))
        places.setdefault(place, data.dataset)
    told = []
    for (instance, clients, horizon), dataset in places.items():
        has = samples.teacher_specs(dataset)
        cells = [_settled(dataset, spec) if spec in has else "" for spec in specs]
        told.append(
            {
                "name": f"{instance}, {clients}",
                "horizon": f"{horizon:,}",
                "runs": f"{run_count(dataset):,}",
                "cells": cells,
            }
        )
    return {"labels": [teacher_label(spec) for spec in specs], "rows": told}


def _settled(dataset: "xr.Dataset", spec: str) -> str:
    finished, wrong, _ = decided(dataset, spec)
    return f"{finished} ({wrong} wrong)" if wrong else str(finished)


def _panel(data: PanelData) -> dict[str, Any]:
    panel, dataset, papers = data.panel, data.dataset, is_papers(data.experiment, data.panel)
    tables = list(_tables(data))
    split = int(bool(data.verdicts) and len(tables) > 1)  # neither side is then much longer than the other
    shown = panel_json(dataset, panel.quantity, f"plot-{panel.name}")
    return {
        "name": panel.name,
        "title": panel.title,
        "caption": _caption(data),
        "height": HEIGHTS[panel.quantity],
        "heading": "What the paper says of it, and our figures" if papers else "Claims, and our figures",
        "claims": [_claim(verdict, dataset, papers=papers) for verdict in data.verdicts],
        "below": tables[:split],
        "beside": tables[split:],
        "json": _json(shown),
    }


def _json(text: str) -> Markup:
    return Markup(text.replace("<", "\\u003c"))  # noqa: S704 - JSON without any tag


def _caption(data: PanelData) -> str:
    return " ".join([_shown(data), *_skewed(data)])


def _skewed(data: PanelData) -> Iterator[str]:
    """A sentence where a mean lies outside the band of 80 %."""
    if not samples.has_band(data.dataset):
        return
    styles = teacher_styles(samples.teacher_specs(data.dataset))
    for quantity in data.panel.quantity.split("-"):
        over = samples.band(samples.totals(data.dataset, quantity))
        slack = 1e-9 * over.mean
        outside = (over.mean > over.q90 + slack) | (over.mean < over.q10 - slack)
        labels = [style.label for style, each in zip(styles, outside, strict=True) if each.any()]
        if labels:
            part = "" if outside[outside.any(axis=1)][:, -1].all() else " for a part of the time"
            yield (
                f"The mean {quantity} of {' and '.join(labels)} lies outside the band of "
                f"{samples.band_name(data.dataset)}{part}: a few are far from the rest."
            )


def _shown(data: PanelData) -> str:
    dataset, horizon = data.dataset, f"{samples.horizon(data.dataset):,}"
    count = samples.sample_count(dataset)
    if samples.is_set(dataset):
        each = int(dataset.sizes["run"])
        runs = "one run each" if each == 1 else f"the mean of {each} runs each"
        return f"A dot for each of {count} instances, {runs}, {horizon} rounds."
    if data.panel.quantity == "regret-cost":
        return f"A dot for each of {count} runs of {horizon} rounds."
    if count == 1:
        return f"One run of {horizon} rounds."
    return f"The mean of {count} runs of {horizon} rounds, and the band of {samples.band_name(dataset)}."


def _claim(verdict: Verdict, dataset: "xr.Dataset", *, papers: bool) -> dict[str, str]:
    state, mark, word = _STATES[verdict.holds]
    numbered = "Section\N{NO-BREAK SPACE}" if papers and verdict.section else ""
    figures = _with_labels(verdict.figures, samples.teacher_specs(dataset))
    return {
        "state": state,
        "mark": mark,
        "word": word,
        "text": verdict.text,
        "section": numbered + verdict.section,
        "figures": figures,
    }


def _with_labels(text: str, specs: Iterable[str]) -> str:
    """The text with labels for SPECs, be they written in full or, as in claims, briefly."""
    labels = {form: teacher_label(spec) for spec in specs for form in (spec, briefly(spec))}
    forms = [form for form in labels if form not in _WORDS]
    longest_first = "|".join(map(re.escape, sorted(forms, key=len, reverse=True)))
    pattern = rf"(?<![\w(=])(?:{longest_first})(?![\w(=])"
    return re.sub(pattern, lambda found: labels[found[0]], text) if forms else text


def _tables(data: PanelData) -> Iterator[dict[str, Any]]:
    """One table a quantity of the panel."""
    dataset = data.dataset
    styles = teacher_styles(samples.teacher_specs(dataset))
    for quantity in data.panel.quantity.split("-"):
        yield {
            "title": f"{quantity.capitalize()} at round {samples.horizon(dataset):,}",
            "band": samples.band_name(dataset),
            "rows": [_row(row, quantity, style) for row, style in zip(rows(dataset), styles, strict=True)],
        }


def _row(row: dict[str, Any], quantity: str, style: TeacherStyle) -> dict[str, Any]:
    over, (decided, wrong) = row[quantity], decided_and_wrong(row)
    has_band = over["sd"] is not None
    return {
        "swatch": _swatch(style),
        "label": style.label,
        "mean": short(over["mean"]),
        "spread": f"{short(over['q10'])} to {short(over['q90'])}" if has_band else "-",
        "decided": decided,
        "wrong": wrong,
    }


def _swatch(style: TeacherStyle) -> Markup:
    """The teacher's line as it is in the plot."""
    dash = " ".join(f"{2 * length:g}" for length in style.dash) or "none"
    return _LINE.format(style.colour, dash)


def _facts(played: Played) -> list[tuple[str, str]]:
    facts = []
    for each in played.experiments:
        horizons = ", ".join(f"{horizon:,}" for horizon in each.horizons)
        counts = [_runs(entry.runs or each.runs, entry.is_set) for entry in each.instances]
        runs = " and ".join(dict.fromkeys(counts))
        facts.append((each.name, f"seed {each.seed}, {runs}, {horizons} rounds"))
        facts.append(("teachers", ", ".join(each.teachers)))
        facts.append(("clients", "; ".join(f"{entry.label}: {entry.spec}" for entry in each.clients)))
        instances = "; ".join(
            f"{entry.label}: {entry.spec}" + (f", seeds {entry.seeds}" if entry.seeds else "")
            for entry in each.instances
        )
        facts.append(("instances", instances))
    return [*facts, ("versions", _versions(played))]


def _runs(count: int, is_set: bool) -> str:
    return f"{count} run{'s' if count != 1 else ''}{' of each instance' if is_set else ''}"


def _versions(played: Played) -> str:
    """Of what simulated and of what drew."""
    attributes = played.panels[0].dataset.attrs if played.panels else {}
    known = {"tutelage": results.version()} | {
        name: str(attributes[name]) for name in ("tutelage", "python", "numpy", "numba") if name in attributes
    }
    drawn = {name: results.version(name) for name in ("matplotlib", "bokeh")}
    return ", ".join(f"{name} {number}" for name, number in (known | drawn).items())
