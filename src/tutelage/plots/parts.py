"""The results of one figure: their chosen teachers, named and styled alike."""

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from tutelage.errors import InputError
from tutelage.plots import samples
from tutelage.plots.checks import check_drawable
from tutelage.plots.styles import teacher_styles
from tutelage.results.dataset import write_style
from tutelage.teachers import TEACHERS
from tutelage.teachers.base import Style, number_arms

if TYPE_CHECKING:
    import xarray as xr

_STYLED = ("teacher", "spec", "style")


def select_parts(
    results: "Mapping[str, xr.Dataset]", kind: str, teachers: Sequence[str], labels: Mapping[str, str]
) -> "dict[str, xr.Dataset]":
    """Return what is drawn of each result, by the name that the figure shows.

    A teacher looks the same in all of them.  Raises ``InputError`` for a teacher that no result has, for a result
    that has none of the teachers, for a label of neither a teacher nor a result, and for a result that lacks what the
    kind needs.  A teacher is given by its label or a SPEC, also in ``labels``.
    """
    import xarray as xr

    checked = {
        name: check_drawable(dataset, (kind,), repr(name) if name else "The result")
        for name, dataset in results.items()
    }
    wanted = [find_label(teacher, checked.values()) for teacher in teachers]
    known = list(dict.fromkeys(label for part in checked.values() for label in samples.teacher_labels(part)))
    for label in wanted:
        if label not in known:
            raise InputError(f"Unknown teacher {label!r}: the result has {', '.join(known)}.")
    parts = {name: _select_teachers(name, dataset, wanted) for name, dataset in checked.items()}
    labels = _resolve_labels(labels, checked, known)
    shown = {
        row[0]: row
        for part in parts.values()
        for row in zip(*(part[each].values.tolist() for each in _STYLED), strict=True)
    }
    columns = zip(*shown.values(), strict=True)
    every = xr.Dataset(coords={each: ("teacher", list(column)) for each, column in zip(_STYLED, columns, strict=True)})
    styles = {each.label: write_style(Style(each.colour, each.marker, each.dash)) for each in teacher_styles(every)}
    return {labels.get(name, name): _rename(part, styles, labels) for name, part in parts.items()}


def _resolve_labels(
    labels: Mapping[str, str], results: "Mapping[str, xr.Dataset]", known: Sequence[str]
) -> dict[str, str]:
    """Return what the figure calls teachers and results, by the labels of teachers and the names of results."""
    resolved: dict[str, str] = {}
    for name, text in labels.items():
        label = name if name in results else find_label(name, results.values())
        if label not in known and label not in results:
            files = [each for each in results if each]
            others = f", or a result ({', '.join(files)})" if files else ""
            raise InputError(f"Cannot label {name!r}: use the label or SPEC of a teacher ({', '.join(known)}){others}.")
        resolved[label] = text
    return resolved


def _name(result: str) -> str:
    return repr(result) if result else "The result"


def find_label(teacher: str, datasets: "Iterable[xr.Dataset]") -> str:
    """Return the label of a teacher that is given by its label or by a longer SPEC, with numbers or names of arms."""
    try:
        parsed = TEACHERS.parse(teacher)
    except InputError:  # of a package that is not installed
        return teacher
    for dataset in datasets:
        arms = dataset["arm_name"].values.tolist() if "arm_name" in dataset.coords else []
        with contextlib.suppress(InputError):  # no arm of this result is called so
            return TEACHERS.label(number_arms(parsed, arms, len(arms)))
    return TEACHERS.label(parsed)


def _select_teachers(name: str, dataset: "xr.Dataset", wanted: Sequence[str]) -> "xr.Dataset":
    """Return the dataset of the wanted teachers, in this order; all if none is named."""
    labels = samples.teacher_labels(dataset)
    found = [labels.index(label) for label in wanted if label in labels]
    if wanted and not found:
        raise InputError(
            f"{_name(name)} has none of the teachers {', '.join(wanted)}: use some of {', '.join(labels)}."
        )
    return dataset.isel(teacher=found) if wanted else dataset


def _rename(dataset: "xr.Dataset", styles: Mapping[str, str], labels: Mapping[str, str]) -> "xr.Dataset":
    """Return the dataset with these styles, its teachers called as the figure calls them."""
    old = samples.teacher_labels(dataset)
    new = [labels.get(label, label) for label in old]
    for label in new:
        if new.count(label) > 1:
            raise InputError(f"Two teachers would be called {label!r}: use different labels.")
    return dataset.assign_coords(teacher=new, style=("teacher", [styles[label] for label in old]))
