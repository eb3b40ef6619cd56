"""Sentences of the report page: where the claims are from, what the marks mean, instances and teachers."""

import re
from typing import TYPE_CHECKING

import numpy as np

from tutelage.experiments import ExperimentResult
from tutelage.experiments.verdicts import LEVEL
from tutelage.plots import samples
from tutelage.report.summary import make_rows
from tutelage.text import format_count, format_number, join_words

if TYPE_CHECKING:
    import xarray as xr

_LEVEL = f"a test at the level of {100 * LEVEL:g} %"
_KEY = (  # to the marks of verdicts
    ("supported", "✓", f"supported: our runs show what is required, and {_LEVEL} rules out chance."),
    ("unsupported", "✗", f"not supported: our runs show the opposite, and {_LEVEL} rules out chance."),
    ("inconclusive", "?", "inconclusive: our runs differ too much, or are too few, to decide."),
)
PAPER = (
    "The figures and claims are those of Section VIII of Shi, Xiong, Shen and Yang, “Reward Teaching for Federated "
    "Multi-armed Bandits” (IEEE Transactions on Signal Processing, 2023). The claims are in our words: the paper makes "
    "most of them about pictures, and the condition in brackets is what we take each to require."
)
_MOST_ARMS = 30  # that are listed
_PATHS = (  # in quotes, and without
    re.compile(r"(['\"])(?:/|~|[A-Za-z]:[\\/])(?:(?!\1).)*[\\/]((?:(?!\1)[^\\/])+)\1"),
    re.compile(r"()(?<![\w/.~-])(?:/(?!/)|~/|[A-Za-z]:[\\/])(?:[^\s'\",;()]*[\\/])?([^\s'\",;()\\/]+)"),
)


def list_marks(result: ExperimentResult) -> tuple[tuple[str, str, str], ...]:
    """Return the key to the marks, where there is any: class, mark and meaning."""
    return _KEY if any(data.verdicts for data in result.panels) else ()


def describe_instances(result: ExperimentResult) -> list[tuple[str, str]]:
    """Return clients, arms, means and gaps of each instance by its label."""
    datasets = {data.panel.instance: data.dataset for data in result.panels}
    return [(label, _describe_instance(dataset)) for label, dataset in datasets.items()]


def _describe_instance(dataset: "xr.Dataset") -> str:
    size = f"{format_count(dataset.sizes['client'], 'client')} and {format_count(dataset.sizes['arm'], 'arm')}"
    gaps = np.sort(dataset["gap"].values, axis=-1)[..., 1:2]  # the best arm's own is 0
    if samples.is_set(dataset):
        low, middle, high = (format_number(each) for each in np.quantile(gaps, (0.0, 0.5, 1.0))) if gaps.size else "---"
        gap = f"gap between the best and the second-best arm {low} to {high}, median {middle}"
        return f"{samples.sample_count(dataset)} instances of {size}; {gap}."
    means = dataset["global_means"].values
    names = dataset["arm_name"].values if "arm_name" in dataset else [f"arm {arm}" for arm in range(means.size)]
    best = np.argsort(-means, kind="stable")
    arms = ", ".join(f"{names[arm]}: {format_number(means[arm])}" for arm in best[:_MOST_ARMS])
    more = ", ..." if best.size > _MOST_ARMS else ""
    gap = f"; the gap between the best and the second-best is {format_number(gaps[0])}" if gaps.size else ""
    return f"{size}, whose means over all clients are {arms}{more}{gap}."


def describe_deciding(result: ExperimentResult) -> str:
    """Say which teachers have a target from the start, and which never choose one."""
    rounds: dict[str, set[int]] = {}
    never: dict[str, None] = {}
    for dataset in (data.dataset for data in result.panels):
        never |= dict.fromkeys(row.teacher for row in make_rows(dataset) if not row.decides)
        for label in dataset["teacher"].values.tolist():
            rounds.setdefault(label, set()).update(np.unique(dataset["decided_in"].sel(teacher=label)).tolist())
    known = [label for label, found in rounds.items() if found == {0}]
    groups = {"Teachers with a target from the start": known, "Teachers that never choose one": never}
    return " ".join(f"{which}: {join_words(labels, 'and')}." for which, labels in groups.items() if labels)


def hide_folders(text: str) -> str:
    """Return the text with only the names of files and folders in place of absolute paths."""
    for pattern in _PATHS:
        text = pattern.sub(r"\1\2\1", text)
    return text
