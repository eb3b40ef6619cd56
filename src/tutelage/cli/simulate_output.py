"""What ``tutelage simulate`` prints for people: request, results, and what each teacher decided."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.table import Table
from rich.text import Text

from tutelage.cli.floor_table import choose_largest, explain_floors, name_unknown
from tutelage.cli.printing import Printer
from tutelage.cli.result_tables import (
    SPEC_WIDTH,
    create_table,
    explain_outlying_mean,
    fold_spec,
    format_mean,
    format_most,
    format_percents,
)
from tutelage.cli.teacher_comparison import choose_reference, describe_comparison
from tutelage.inference import RISK, Difference, select_differences, warn_of_few
from tutelage.instances import Instance
from tutelage.metrics import compute_pull_share, summarize_runs
from tutelage.noticing import LEVEL
from tutelage.request import SimulationRequest
from tutelage.results import NONE, FloorDocument, SimulationResult, describe_floors, summarize_noticing
from tutelage.text import format_count, format_p, format_runs, format_table_number, join_words

_LAST_TENTH_FROM = 0.9  # of the horizon
_LAST_TENTH = "best arm,\nlast 10 %"
_CONFIDENCE = f"{100 * (1 - RISK):g} %"


def print_result(result: SimulationResult, saved_to: Path | None = None) -> None:
    """Print the whole result to standard output."""
    printer = Printer()
    printer.print_definitions(_describe_request(result.request))
    printer.print("", _create_rows(result), "")
    outlying = [*_explain_outlying_means(result)]
    if outlying:
        printer.print(*outlying, "")
    printer.print_definitions(_explain_columns(result.request))
    printer.print(*(["", *few] if (few := warn_of_few(result.request.runs)) else []))
    _print_differences(printer, result)
    _print_noticing(printer, result)
    printer.print("", *describe_decisions(result))
    _print_floors(printer, result)
    conclusions = [*describe_comparison(result, result.request.teacher_labels)]
    if conclusions:
        printer.print("", Text("In short", style="bold"), "", *conclusions)
    if saved_to is not None:
        printer.print("", f"Every run is saved in {saved_to}.")


def _print_floors(printer: Printer, result: SimulationResult) -> None:
    """Print what the clients of each teacher must pay, the largest floors, and their conditions."""
    found: dict[str, FloorDocument] = {}
    rows, needed, unpaid = [], [], []
    for teacher, label in enumerate(result.request.teacher_labels):
        means = [float(values.mean()) for values in result.totals(teacher)]
        floors = describe_floors(result.floors(teacher), *means)
        found |= {floor.name: floor for floor in floors}
        largest = choose_largest(floors)
        needed += [floor.name for floor in largest if floor.name not in needed]
        rows += [(label, floor, means) for floor in largest]
        if not floors:
            unpaid.append(label)
    if not rows:
        return
    table = create_table("", "at least", "measured", "ratio", first="what must be paid", width=SPEC_WIDTH)
    table.add_column("")
    for label, floor, means in rows:
        paid = format_table_number(means[floor.quantity == "cost"])
        ratio = "-" if floor.ratio is None else format_table_number(floor.ratio)
        table.add_row(fold_spec(label), floor.quantity, format_table_number(floor.value), paid, ratio, floor.name)
    printer.print("", table, "")
    printer.print_definitions([*explain_floors(list(found.values()), needed)])
    notes = [f"No floor is known for {join_words(unpaid, 'and')}."] if unpaid else []
    unknown = name_unknown(result.request.policies)
    printer.print(*([""] if notes or unknown else []), *notes, *([unknown] if unknown else []))


def _print_differences(printer: Printer, result: SimulationResult) -> None:
    """Print by how much the other teachers differ from the one that is compared with, run by run."""
    labels, differences = result.request.teacher_labels, result.differences()
    if len(labels) == 1:
        return
    printer.print("", "All teachers were simulated with the same random numbers.")
    if not differences:
        return
    than = labels[choose_reference(result)]
    table = create_table("regret", "p", "cost", "p", first=f"more than {than}", width=SPEC_WIDTH)
    found = {(each.teacher, each.quantity): each for each in select_differences(differences, than)}
    for label in labels:
        if label != than:
            regret, cost = (_format_difference(found[label, quantity]) for quantity in ("regret", "cost"))
            table.add_row(fold_spec(label), *regret, *cost)
    printer.print("", table, "")
    meaning = (
        "mean of the differences between runs with the same random numbers and, below it, intervals that hold together "
        f"for all {len(differences)} differences between two teachers, with {_CONFIDENCE} confidence (Bonferroni)"
    )
    tested = f"p-value of the paired t-test, corrected for these {len(differences)} differences (Holm)"
    printer.print_definitions([(f"more than {than}", meaning), ("p", tested)])


def _print_noticing(printer: Printer, result: SimulationResult) -> None:
    """Print how many clients could notice each teacher, and how many consultations and messages it needs."""
    table = create_table("notice", "in round", "consultations", "messages", first="teacher", width=SPEC_WIDTH)
    for teacher, label in enumerate(result.request.teacher_labels):
        found = summarize_noticing(result.noticed_in[teacher])
        share = format_percents(found.share, found.interval)
        middle = "-" if found.median_round is None else f"{found.median_round:,.0f}"
        counts = [format_table_number(float(each[teacher].mean())) for each in (result.consultations, result.messages)]
        table.add_row(fold_spec(label), share, middle, *counts)
    printer.print("", table, "")
    notice = (
        "share of clients that could notice that they are taught, with half of its confidence interval: they compare "
        "the first with the second half of the revealed rewards of each arm, in a test with a false-alarm rate of at "
        f"most {100 * LEVEL:g} %"
    )
    messages = "between the teacher and clients that apply its rules themselves, mean of the runs"
    printer.print_definitions(
        [
            ("notice", notice),
            ("in round", "median round in which these clients first notice"),
            ("consultations", "of the teacher, mean of the runs"),
            ("messages", messages),
        ]
    )


def _format_difference(difference: Difference) -> tuple[Text, str]:
    low, high = format_table_number(difference.low), format_table_number(difference.high)
    mean = Text.assemble(format_table_number(difference.mean), "\n", (f"{low} to {high}", "dim"))
    return mean, format_p(difference.p).removeprefix("p ").removeprefix("= ")


def _describe_request(request: SimulationRequest) -> list[tuple[str, str]]:
    instance = request.instance
    best = ", ".join(_name_arm(instance, arm) for arm in instance.best_arms)
    at_first = " at first" if len(instance.phases) > 1 else ""
    weighted = "" if np.all(instance.weights == instance.weights[0]) else "weighted "
    mean = f"{instance.global_means[instance.best_arm]:.4g}"
    clients = Counter(request.client_labels)
    size = f"{format_count(instance.num_clients, 'client')}, {format_count(instance.num_arms, 'arm')}"
    runs = f"{format_count(request.runs, 'run')} of {format_count(request.horizon, 'round')}"
    return [
        ("instance", instance.name),
        ("size", f"{size}, numbered from 0"),
        ("best arm", f"{best}{at_first}, whose {weighted}mean over all clients is {mean}"),
        *((name, _describe_note(name, fact)) for name, fact in instance.notes),
        ("clients", ", ".join(f"{count} x {spec}" for spec, count in clients.items())),
        ("simulated", f"{runs} with each teacher, seed {request.seed}, engine {request.engine}"),
    ]


def _name_arm(instance: Instance, arm: int) -> str:
    """Return the arm's name, if it has one, with its number, which reports and ``--json`` use."""
    return f"{instance.arm_label(arm)} (arm {arm})" if instance.arm_names else instance.arm_label(arm)


def _describe_note(name: str, fact: str) -> str:
    is_gap = name == "gap" and fact.replace(".", "").isdigit() and float(fact) > 0
    return f"{fact} between the means of the best and the second-best arm" if is_gap else fact


def _explain_columns(request: SimulationRequest) -> list[tuple[str, str]]:
    regret = (
        "reward that all clients lost by not pulling the best arm: the difference of the arms' means over "
        "all clients, summed over all pulls"
    )
    best = "the best arm" + (" or an arm tied with it" if len(request.final_phase.best_arms) > 1 else "")
    best += " at the end" if len(request.instance.phases) > 1 else ""
    cost = "total change to rewards by the teacher: |revealed - observed|, summed over all pulls"
    wrong = (
        f"runs in which the target arm is not {best}, and the upper {_CONFIDENCE} confidence limit of their "
        "probability (Clopper-Pearson)"
    )
    if request.runs > 1:
        regret += (
            f"; the mean of the runs with half of its {_CONFIDENCE} confidence interval (Student's t) and, "
            "below it, the range of 80 % of the runs (10th to 90th percentile)"
        )
        cost += "; mean, interval and range likewise"
    return [
        ("regret", regret),
        ("cost", cost),
        ("decided", "runs in which the teacher decided on a target arm, and their median round"),
        ("wrong", wrong),
        ("best arm, last 10 %", f"share of the pulls after round {_last_tenth_start(request):,} that went to {best}"),
    ]


def _create_rows(result: SimulationResult) -> Table:
    table = create_table("regret", "cost", "decided", "wrong", _LAST_TENTH, first="teacher", width=SPEC_WIDTH)
    for teacher, label in enumerate(result.request.teacher_labels):
        regret, cost = result.totals(teacher)
        table.add_row(
            fold_spec(label),
            format_mean(summarize_runs(regret)),
            format_mean(summarize_runs(cost)),
            _format_decided(result, teacher),
            _format_wrong(result, teacher),
            f"{100 * _last_tenth_share(result, teacher):.1f} %",
        )
    return table


def _explain_outlying_means(result: SimulationResult) -> Iterator[str]:
    for teacher, label in enumerate(result.request.teacher_labels):
        regret, cost = result.totals(teacher)
        yield from explain_outlying_mean(label, "regret", regret)
        yield from explain_outlying_mean(label, "cost", cost)


def _format_decided(result: SimulationResult, teacher: int) -> Text:
    rounds = _decision_rounds(result, teacher)
    if not rounds.size:
        return Text("-" if result.never_decides(teacher) else f"0 of {result.request.runs}")
    median = float(np.median(rounds))
    when = f"at {median:,.0f}" if median else "at the start"
    return Text.assemble(f"{rounds.size} of {result.request.runs}", "\n", (when, "dim"))


def _format_wrong(result: SimulationResult, teacher: int) -> Text:
    if not _decision_rounds(result, teacher).size:
        return Text("-")
    wrong = int(result.is_wrong(teacher).sum())
    return Text.assemble(str(wrong), "\n", (format_most(wrong, result.request.runs), "dim"))


def _decision_rounds(result: SimulationResult, teacher: int) -> NDArray[np.int64]:
    """Return the rounds of the decisions, of those runs that have one."""
    rounds = result.decided_in[teacher]
    decisions: NDArray[np.int64] = rounds[rounds != NONE]
    return decisions


def _last_tenth_share(result: SimulationResult, teacher: int) -> float:
    """Return the share of the pulls after :func:`_last_tenth_start` that were of a best arm."""
    pulls, position = result.pulls[teacher], _last_tenth_position(result.request)
    before: NDArray[Any] = pulls[:, :, position] if position >= 0 else np.zeros_like(pulls[:, :, 0])
    return compute_pull_share(result.request.final_phase.best_arms, before, pulls[:, :, -1])


def _last_tenth_position(request: SimulationRequest) -> int:
    """Return the last checkpoint within the first 90 % of the horizon, or -1 without one."""
    return int(np.searchsorted(request.checkpoints, _LAST_TENTH_FROM * request.horizon, side="right")) - 1


def _last_tenth_start(request: SimulationRequest) -> int:
    position = _last_tenth_position(request)
    return int(request.checkpoints[position]) if position >= 0 else 0


def describe_decisions(result: SimulationResult) -> Iterator[str]:
    """Say in a sentence what each teacher decided; those that never decide share one."""
    undecided = []
    for teacher, label in enumerate(result.request.teacher_labels):
        if result.never_decides(teacher):
            undecided.append(label)
        else:
            yield f"{label} {_describe_decision(result, teacher)}."
    if undecided:
        yield f"{' and '.join(undecided)} {'decide' if len(undecided) > 1 else 'decides'} on no arm."
    if any(result.undecided[n] and not result.never_decides(n) for n in range(len(result.undecided))):
        yield (
            "A teacher decides once every client has pulled every active arm often enough. If that does not "
            "happen before the horizon, try a longer --horizon, another gamma1, or blt."
        )


def _describe_decision(result: SimulationResult, teacher: int) -> str:
    runs, rounds = result.request.runs, _decision_rounds(result, teacher)
    wrong = int(result.is_wrong(teacher).sum())
    right = int(rounds.size) - wrong
    best = "a best arm" if len(result.request.final_phase.best_arms) > 1 else "the best arm"
    counts = [(right, best), (wrong, "a wrong arm")]
    decided = " and ".join(f"{arm} in {format_runs(some, runs)}" for some, arm in counts if some)
    if not rounds.size and runs > 1:
        return f"decided in {format_runs(0, runs)}{_list_reasons(result, teacher)}"
    parts = []
    if rounds.size:
        parts.append(f"decided on {decided}" if rounds.any() else f"taught {decided}, from the start")
    if rounds.size < runs:
        undecided = format_runs(runs - rounds.size, runs)
        parts.append(f"was undecided at the horizon in {undecided}{_list_reasons(result, teacher)}")
    return ", and ".join(parts)


def _list_reasons(result: SimulationResult, teacher: int) -> str:
    """Return the teacher's own descriptions of the runs without a decision, the most frequent first."""
    reasons = result.undecided[teacher]
    if len(reasons) == 1:
        return f" ({reasons[0][0]})"
    listed = "; ".join(f"{count} x {sentence}" for sentence, count in reasons[:3])
    return f" ({listed}{'; ...' if len(reasons) > 3 else ''})"
