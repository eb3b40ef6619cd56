"""What ``tutelage plan`` prints for people: when teachers decide, what they cost, and which to run."""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from rich.table import Table
from rich.text import Text

from tutelage.cli.printing import Printer
from tutelage.cli.result_tables import (
    SPEC_WIDTH,
    create_table,
    explain_outlying_mean,
    fold_spec,
    format_mean,
    format_range,
)
from tutelage.metrics import summarize_runs
from tutelage.planning import Plan
from tutelage.planning.choice import Assessment, Choice
from tutelage.planning.decision_times import DecisionTime, has_formula, kind_of
from tutelage.planning.remedy import Remedy, Trial
from tutelage.teachers import TEACHERS
from tutelage.teachers.base import describe_assumptions
from tutelage.text import format_count, format_table_number

_RANGE = "below it, the range of the middle 80 % of the runs"
_EPOCHS = (
    'TAL and TWL decide at the end of an epoch, when every client has pulled each active arm "pulls" times. '
    '"round" is the round in which clients that explore evenly have pulled every arm that often. An epoch '
    "separates one arm at its likely gap from the best with probability about 1/2, and all arms at its sure gap with "
    "probability 1 - 1/T, T being the horizon."
)


def print_plan(plan: Plan) -> None:
    """Print the whole plan to standard output."""
    printer = Printer()
    printer.print(*plan.answers.sentences, "")
    printer.print_definitions(_describe_request(plan))
    printer.print("", Text("When the teachers decide", style="bold"), "")
    if any(has_formula(teacher) for teacher in plan.request.teachers):
        printer.print(_create_epoch_rows(plan), "", _EPOCHS)
    printer.print(*_describe_decision_times(plan))
    printer.print("", Text("Regret and cost", style="bold"), "")
    printer.print(_create_teacher_rows(plan.choice.assessments, plan.choice), "")
    outlying = [*_explain_outlying_means(plan.choice)]
    if outlying:
        printer.print(*outlying, "")
    printer.print_definitions(_explain_columns(plan))
    printer.print("", *_describe_measured_epochs(plan.choice), _describe_excluded(plan.choice))
    if plan.smaller:
        printer.print("", Text("If the gap is smaller", style="bold"))
    for gap, choice in plan.smaller:
        printer.print("", f"With a gap of {gap:.4g}, the best teacher of each kind:", "")
        printer.print(_create_teacher_rows(_best_of_kinds(choice), choice))
    if plan.remedies:
        printer.print("", Text("What an undecided teacher needs", style="bold"), "")
        printer.print(*(_describe_remedy(each, plan) for each in plan.remedies))
    printer.print("", Text("Recommendation", style="bold"), "")
    printer.print(_name_choice(plan.choice), "", plan.why, *_describe_smaller_gaps(plan))


def _name_choice(choice: Choice) -> Text:
    best = choice.best
    if best is None:
        return Text("no teacher", style="bold red")
    if not choice.teaching_pays:
        return Text(f"{best.measurement.label}, but without a teacher the sum is lower", style="bold yellow")
    return Text(best.measurement.label, style="bold green")


def _describe_request(plan: Plan) -> list[tuple[str, str]]:
    request = plan.request
    first = request.first.instance
    name = "assumed: every run has its own random means" if request.case.varied else first.name
    clients = Counter(request.first.client_specs)
    gap = f"{request.case.gap:.6g} between the means of the best and the second-best arm"
    notes = [(name, fact) for name, fact in first.notes if name in ("read as", "activity", "delay")]
    return [
        ("instance", name),
        ("size", f"{format_count(first.num_clients, 'client')}, {format_count(first.num_arms, 'arm')}"),
        ("gap", gap),
        *notes,
        ("clients", ", ".join(f"{count} x {spec}" for spec, count in clients.items())),
        ("horizon", f"{format_count(request.horizon, 'round')}"),
        ("simulated", f"{format_count(request.runs, 'run')} with each teacher, seed {request.seed}"),
    ]


def _create_epoch_rows(plan: Plan) -> Table:
    """Return the table of the epochs of TAL and TWL."""
    table = create_table("epoch", "pulls", "round", "in time", "likely gap", "sure gap")
    for each in plan.reach.epochs:
        table.add_row(
            str(each.epoch),
            f"{each.pulls:,}",
            f"{each.round:,}",
            "yes" if each.in_time else "no",
            f"{each.likely_gap:.4g}",
            f"{each.sure_gap:.4g}",
        )
    return table


def _describe_decision_times(plan: Plan) -> Iterator[str]:
    """Say when each kind of teacher decides."""
    if plan.request.case.gap == 0:
        yield "The best arms are tied, and no epoch separates them. blt with a tolerance would decide."
    caveats = _caveats(plan)
    for kind, likely in plan.reach.likely.items():
        verb = "may decide" if kind in caveats else "is likely to decide"
        certainty = "on average" if plan.reach.on_average else "with high probability"
        sentence = f"{kind} {verb} in epoch {_ending(likely, 'depending on the means')}"
        if kind in plan.reach.sure:
            sentence += f", and {certainty} by epoch {_ending(plan.reach.sure[kind], _by(plan, kind))}"
        yield f"{sentence}."
    if plan.reach.unproved:
        names = " or ".join(_unproved(plan))
        yield f"No theorem says by which round {names} decides with these clients; simulated rounds follow."
    for kind, caveat in caveats.items():
        yield f"The first round of {kind} {caveat}."
    if plan.reach.sure and not plan.reach.on_average:
        yield f"High probability is about 1 - 1/T, as in tutelage bound. {describe_assumptions()}"
    others = {kind_of(each.measurement.spec): each for each in plan.choice.assessments if each.can_learn}
    for kind, each in others.items():
        if not has_formula(each.measurement.teacher) and not each.measurement.has_epochs:
            yield f"{kind} has no epochs; the table below shows when it decided."


def _caveats(plan: Plan) -> dict[str, str]:
    """Return the caveats of the likely rounds by the kind of teacher."""
    kinds = {kind_of(TEACHERS.spec(teacher)): teacher.likely_caveat for teacher in plan.request.teachers}
    return {kind: caveat for kind, caveat in kinds.items() if caveat and kind in plan.reach.likely}


def _unproved(plan: Plan) -> Iterator[str]:
    """List the teachers without a proved round, and only the kind if that holds for all of the kind."""
    unproved = Counter(kind_of(TEACHERS.spec(teacher)) for teacher in plan.reach.unproved)
    requested = Counter(kind_of(TEACHERS.spec(teacher)) for teacher in plan.request.teachers)
    yield from (kind for kind, count in unproved.items() if 1 < count == requested[kind])
    for teacher in plan.reach.unproved:
        kind = kind_of(TEACHERS.spec(teacher))
        if not 1 < unproved[kind] == requested[kind]:
            yield TEACHERS.label(teacher)


def _by(plan: Plan, kind: str) -> str:
    """Say what the round of this kind of teacher depends on."""
    gammas = sum(kind_of(TEACHERS.spec(teacher)) == kind for teacher in plan.request.teachers) > 1
    return "depending on " + " and ".join(["gamma1 and gamma2"] * gammas + ["the means"] * plan.request.case.varied)


def _ending(ending: DecisionTime, by: str) -> str:
    rounds = f"round {ending.earliest:,}"
    if ending.latest != ending.earliest:
        rounds = f"rounds {ending.earliest:,} to {ending.latest:,} ({by})"
    if ending.in_time:
        return f"{ending.epoch}, {rounds}, in time"
    late = "too late" if ending.earliest > ending.horizon else "in time for some only"
    return f"{ending.epoch}, {rounds}, {late}"


def _create_teacher_rows(assessments: Sequence[Assessment], choice: Choice) -> Table:
    table = create_table("decided", "round", "regret", "cost", "sum", first="teacher", width=SPEC_WIDTH)
    for each in assessments:
        chosen = each is choice.best
        measurement = each.measurement
        table.add_row(
            fold_spec(measurement.label),
            _format_decided(each),
            _format_round(each),
            format_mean(summarize_runs(measurement.regret)),
            format_mean(summarize_runs(measurement.cost)),
            format_table_number(each.score),
            style="green" if chosen else None,
        )
    return table


def _explain_outlying_means(choice: Choice) -> Iterator[str]:
    for each in choice.assessments:
        measurement = each.measurement
        yield from explain_outlying_mean(measurement.label, "regret", measurement.regret)
        yield from explain_outlying_mean(measurement.label, "cost", measurement.cost)


def _format_decided(assessment: Assessment) -> Text:
    """Format the share of runs with a decision and, on a second line, the number of wrong ones."""
    if not assessment.can_learn:
        return Text("-")
    share = f"{100 * assessment.measurement.decided:.0f} %"
    wrong = int(assessment.measurement.wrong.sum())
    return Text.assemble(share, "\n", (f"{wrong} wrong", "red")) if wrong else Text(share)


def _format_round(assessment: Assessment) -> Text:
    """Format the median round and, on a second line, the range of 80 % of the decisions."""
    decisions = assessment.measurement.decisions
    if not assessment.can_learn or not decisions.size:
        return Text("-")
    over = summarize_runs(decisions.astype(np.float64))
    if over.q10 == over.q90:
        return Text(format_table_number(over.q50))
    return Text.assemble(format_table_number(over.q50), "\n", (format_range(over), "dim"))


def _explain_columns(plan: Plan) -> list[tuple[str, str]]:
    rule = plan.choice.rule
    never = (
        f"a teacher that decides in less than {100 * rule.min_decided:g} % of the runs (--min-decided), or on "
        "a wrong arm in any run"
    )
    return [
        ("decided", "share of the runs in which the teacher decided on a target, and the number of wrong decisions"),
        ("round", f"median round of the decision; {_RANGE}"),
        ("regret", f"reward lost by all clients together, mean over the runs; {_RANGE}"),
        ("cost", f"total change to the rewards, the sum of |revealed - observed|, mean over the runs; {_RANGE}"),
        ("sum", f"regret + {rule.cost_weight:g} x cost (--cost-weight); the teacher with the lowest sum is chosen"),
        ("not chosen", never),
    ]


def _describe_measured_epochs(choice: Choice) -> Iterator[str]:
    """Say in which epochs the best teacher of each kind decided."""
    for each in _best_of_kinds(choice):
        counts = each.measurement.epoch_counts
        if counts and each.can_learn:
            listed = ", ".join(f"epoch {epoch} in {format_count(runs, 'run')}" for epoch, runs in counts.items())
            yield f"{each.measurement.label} decided in {listed}."


def _describe_excluded(choice: Choice) -> str:
    reasons = [f"{each.measurement.label} {each.rejection}" for each in choice.assessments if not each.can_learn]
    return f"Only shown for comparison and never chosen: {'; '.join(reasons)}."


def _best_of_kinds(choice: Choice) -> list[Assessment]:
    """Return the first teacher of each kind, in the order of the choice."""
    first: dict[str, Assessment] = {}
    for each in choice.assessments:
        first.setdefault(kind_of(each.measurement.spec), each)
    return list(first.values())


def _describe_smaller_gaps(plan: Plan) -> Iterator[str]:
    for gap, choice in plan.smaller:
        chosen = choice.best.measurement.label if choice.best else "no teacher"
        yield f"With a gap of {gap:.4g} {chosen} is recommended{_add_caveat(choice)}."


def _add_caveat(choice: Choice) -> str:
    return "" if choice.teaching_pays else ", but without a teacher the sum is lower"


def _describe_remedy(remedy: Remedy, plan: Plan) -> str:
    """Say which horizon and which gap the teacher needs."""
    horizon, gap = remedy.horizon, remedy.gap
    sentences = [f"{remedy.teacher} decides too late or never."]
    if horizon is not None:
        sentences.append(f"A horizon of {horizon.value:,.0f} rounds {_describe_trial(horizon)}.")
    elif plan.request.case.gap == 0:
        sentences.append("No horizon is long enough: the best arms are tied.")
    else:
        sentences.append("A longer horizon would take too long to simulate.")
    if gap is not None:
        sentences.append(f"A gap of {gap.value:.4g} {_describe_trial(gap)}.")
    elif remedy.has_formula:
        sentences.append("No gap was found that is large enough for this horizon.")
    else:
        sentences.append("No larger gap could be tried.")
    return " ".join(sentences)


def _describe_trial(trial: Trial) -> str:
    if trial.decided is None:
        return "is enough by a theorem (it takes too long to simulate)"
    decided = f"it then decided in {100 * trial.decided:.0f} % of {trial.runs} simulated runs"
    return f"is enough: {decided}" if trial.enough else f"is the largest that was tried, and not enough: {decided}"
