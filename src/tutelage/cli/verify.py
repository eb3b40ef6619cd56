"""``tutelage verify``: whether a saved result can be reproduced here."""

from pathlib import Path
from typing import Annotated

import typer

from tutelage import simulator
from tutelage.cli import options
from tutelage.cli.options import argument
from tutelage.cli.printing import print_answer
from tutelage.text import format_count


def verify(
    file: Annotated[Path, argument("FILE", "Result that tutelage simulate --out saved.")],
    workers: options.Workers = None,
    executor: options.Executor = simulator.DEFAULT_EXECUTOR,
    as_json: options.Json = False,
) -> None:
    """Simulate a saved result again, and compare every value.

    The exit status is 0 if all are equal, and 1 if some differ.
    """
    from tutelage import results

    saved = results.load(file)
    verification = simulator.verify(saved, workers=workers, executor=executor, progress=True)
    command = saved.attrs.get("command", "")
    runs = f"{format_count(saved.sizes['run'], 'run')} with {format_count(saved.sizes['teacher'], 'teacher')}"
    print_answer(
        lambda: {"file": str(file), "reproduced": verification.reproduced, **vars(verification), "command": command},
        lambda: _describe(file, runs, command, verification),
        as_json=as_json,
        encode=results.encode_json,
    )
    if not verification.reproduced:
        raise typer.Exit(1)


def _describe(file: Path, runs: str, command: str, verification: simulator.Verification) -> list[str]:
    if verification.reproduced:
        lines = [f"{file} is reproduced: every value of {runs} is the same."]
    else:
        lines = [f"{file} is not reproduced: values of {runs} differ."]
        for name, found in verification.differences.items():
            parts = ", ".join(f"{teacher} in {format_count(count, 'run')}" for teacher, count in found.items())
            lines.append(f"{name} differs: {parts}.")
    changed = [
        f"{name} {there} in the file, {here} here"
        for (name, there), here in zip(verification.saved.items(), verification.here.values(), strict=True)
        if there != here
    ]
    made = ", ".join(f"{name} {version}" for name, version in verification.saved.items())
    lines.append(f"It was made with {made}" + (f" by: {command}" if command else "."))
    return [*lines, *([f"Other versions: {'; '.join(changed)}."] if changed else [])]
