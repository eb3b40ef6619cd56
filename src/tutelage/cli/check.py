"""``tutelage check``: whether a policy or teacher keeps to the rules of its contract."""

from typing import Annotated, Any

import typer

from tutelage.cli import options
from tutelage.cli.options import argument
from tutelage.cli.printing import Printer, print_answer
from tutelage.errors import InputError


def check(
    spec: Annotated[
        str,
        argument(
            "SPEC", "Policy or teacher, as in mypackage.policies:Greedy or 'mypackage.teachers:Explore(pulls=9)'."
        ),
    ],
    as_json: options.Json = False,
) -> None:
    """Check a policy or teacher of your own.

    The table lists the rules of the contract, with a sentence for each that is broken; the exit status is 1
    if any is.
    """
    from tutelage.progress_bar import ProgressBar

    kind, rules, entry = _find_rules(spec)
    with ProgressBar(len(rules.rules)) as bar:
        outcomes = list(rules.check(spec, entry, lambda done: bar(done, what="checking")))
    failed = sum(each.outcome == "failed" for each in outcomes)
    document = {"spec": spec, "kind": kind, "failed": failed, "rules": [vars(each) for each in outcomes]}
    print_answer(lambda: document, lambda: _print_outcomes(f"{kind} {spec}", outcomes, failed), as_json=as_json)
    if failed:
        raise typer.Exit(1)


def _find_rules(spec: str) -> tuple[str, Any, Any]:
    """Return the kind of the entry that a SPEC names, the rules of its contract, and the entry."""
    from tutelage.policies import POLICIES
    from tutelage.registry import split_call
    from tutelage.teachers import TEACHERS
    from tutelage.testing.policies import POLICY_RULES
    from tutelage.testing.teachers import TEACHER_RULES

    name, _ = split_call(spec, "SPEC")
    kinds = ((POLICIES, POLICY_RULES), (TEACHERS, TEACHER_RULES))
    faults = []
    for table, rules in kinds:
        try:
            table.cls(name)
        except InputError as error:
            faults.append(str(error))
            continue
        return table.kind, rules, table.parse(spec)
    if ":" not in name:
        raise InputError(f"Unknown policy or teacher {name!r}: name one, as in package.module:Name or ucb1.")
    raise InputError(faults[0] if "cannot be imported" in faults[0] else " ".join(dict.fromkeys(faults)))


def _print_outcomes(what: str, outcomes: list[Any], failed: int) -> None:
    printer = Printer()
    printer.print(f"Rules of the contract for the {what}", "")
    for each in outcomes:
        printer.print_definitions([(each.outcome, each.demand), *[("", each.reason)] * bool(each.reason)])
    held = sum(each.outcome == "passed" for each in outcomes)
    skipped = len(outcomes) - held - failed
    summary = f"{held} of {len(outcomes) - skipped} rules hold"
    if skipped:
        summary += f"; {skipped} {'does' if skipped == 1 else 'do'} not apply"
    printer.print("", f"{summary}.")
