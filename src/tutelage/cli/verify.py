"""``tutelage verify``: whether a saved result can be reproduced here."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tutelage import simulator
from tutelage.cli import options
from tutelage.cli.printing import checked_output
from tutelage.text import format_count

if TYPE_CHECKING:
    import xarray as xr

_VERSIONS = ("tutelage", "commit", "python", "numpy", "numba")


def verify(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", show_default=False, help="Result that tutelage simulate --out saved.")
    ],
    workers: options.Workers = None,
    executor: options.Executor = simulator.DEFAULT_EXECUTOR,
    as_json: options.Json = False,
) -> None:
    """Simulate a saved result again, and compare every value.

    The exit status is 0 if all are equal, and 1 if some differ.
    """
    from tutelage import results
    from tutelage.progress_bar import ProgressBar

    saved = results.load(file)
    request = simulator.restore_request(saved)
    with ProgressBar(request.runs * len(request.teachers)) as bar:
        again = simulator.simulate_request(request, workers=workers, executor=executor, progress=bar).to_dataset()
    differences = simulator.find_differences(saved, again)
    with checked_output():
        if as_json:
            document = {
                "file": str(file),
                "reproduced": not differences,
                "differences": differences,
                "saved": _list_versions(saved),
                "here": _list_versions(again),
            }
            sys.stdout.write(results.encode_json(document) + "\n")
        else:
            sys.stdout.writelines(f"{line}\n" for line in _describe(file, saved, again, differences))
    if differences:
        raise typer.Exit(1)


def _list_versions(dataset: "xr.Dataset") -> dict[str, Any]:
    return {name: str(dataset.attrs.get(name, "unknown")) for name in _VERSIONS}


def _describe(
    file: Path, saved: "xr.Dataset", again: "xr.Dataset", differences: dict[str, dict[str, int]]
) -> list[str]:
    runs = f"{format_count(saved.sizes['run'], 'run')} with {format_count(saved.sizes['teacher'], 'teacher')}"
    if not differences:
        lines = [f"{file} is reproduced: every value of {runs} is the same."]
    else:
        lines = [f"{file} is not reproduced: values of {runs} differ."]
        for name, found in differences.items():
            parts = ", ".join(f"{teacher} in {format_count(count, 'run')}" for teacher, count in found.items())
            lines.append(f"{name} differs: {parts}.")
    there, here = _list_versions(saved), _list_versions(again)
    changed = [
        f"{name} {there[name]} in the file, {here[name]} here" for name in _VERSIONS if there[name] != here[name]
    ]
    return [*lines, *([f"Other versions: {'; '.join(changed)}."] if changed else [])]
