"""The plan for people: what is planned for, whether learning can end, what it costs, what to run."""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from rich.table import Table as Grid
from rich.text import Text

from tutelage.cli.page import Page, band, broken, grid, number, with_band
from tutelage.metrics import summarize_runs
from tutelage.planning import Plan
from tutelage.planning.choice import Choice, Judged
from tutelage.planning.reach import CLOSED, Ending, kind_of
from tutelage.planning.remedy import Remedy, Trial
from tutelage.teachers import TEACHERS
from tutelage.text import counted

_SPEC_WIDTH = 22


def show(plan: Plan) -> None:
    """Print everything to standard output."""
    page = Page()
    page.put_definitions(_asked(plan))
    page.put("", Text("Can learning end in time?", style="bold"), "")
    page.put(_epochs(plan), "", *_endings(plan))
    page.put("", Text("What to expect", style="bold"), "")
    page.put(_teachers(plan.choice.judged, plan.choice), "")
    page.put_definitions(_columns(plan))
    page.put("", *_measured_epochs(plan.choice), _no_candidates(plan.choice))
    if plan.smaller:
        page.put("", Text("If the gap is smaller", style="bold"))
    for gap, choice in plan.smaller:
        page.put("", f"With a gap of {gap:.4g}, the best of each kind of teacher:", "")
        page.put(_teachers(_best_of_kinds(choice), choice))
    if plan.remedies:
        page.put("", Text("What would do where learning does not end", style="bold"), "")
        page.put(*(_remedy(each, plan) for each in plan.remedies))
    page.put("", Text("What we would run", style="bold"), "")
    page.put(_chosen(plan.choice), "", plan.why, *_smaller_choices(plan))


def _chosen(choice: Choice) -> Text:
    best = choice.best
    if best is None:
        return Text("none of these", style="bold red")
    if not choice.pays:
        return Text(f"{best.measured.brief}, if at all: no teaching has the lower sum", style="bold yellow")
    return Text(best.measured.brief, style="bold green")


def _asked(plan: Plan) -> list[tuple[str, str]]:
    request = plan.request
    first = request.first.instance
    name = "unknown: every run has random means of its own" if request.case.varied else first.name
    clients = Counter(request.first.client_specs)
    gap = f"{request.case.gap:.6g} from the best arm's mean over all clients to the next best"
    pace = [(name, fact) for name, fact in first.notes if name in ("activity", "delay")]
    return [
        ("instance", name),
        ("size", f"{counted(first.num_clients, 'client')}, {counted(first.num_arms, 'arm')}"),
        ("gap", gap),
        *pace,
        ("clients", ", ".join(f"{count} x {spec}" for spec, count in clients.items())),
        ("horizon", f"{counted(request.horizon, 'round')}"),
        ("played", f"{counted(request.runs, 'run')} with each teacher, seed {request.seed}"),
    ]


def _epochs(plan: Plan) -> Grid:
    """The epochs of TAL and TWL."""
    table = grid("epoch", "pulls", "round", "in time", "likely gap", "sure gap")
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


def _endings(plan: Plan) -> Iterator[str]:
    """What the epochs say, and who has none."""
    yield (
        "TAL and TWL decide at the end of an epoch, once every client has so many pulls of each active arm; "
        "the round is the one in which clients that explore evenly have them of all arms. The epoch tells a "
        "likely gap about as often as not, a larger one soon nearly always, and the sure gap with "
        "probability 1 - 1/T."
    )
    if not plan.reach.likely:
        yield "The best arms are exactly tied: no epoch tells them apart. blt with a tolerance would end."
    for kind, likely in plan.reach.likely.items():
        may = "may end" if kind == "twl" else "should end"
        surely = "in the mean" if plan.reach.in_mean else "surely"
        told = f"{kind} {may} in epoch {_ending(likely, 'by the means')}"
        if kind in plan.reach.sure:
            told += f", and {surely} by epoch {_ending(plan.reach.sure[kind], _by(plan, kind))}"
        yield f"{told}."
    if plan.reach.unproved:
        names = " or ".join(_unproved(plan))
        yield f"No round is proved by which {names} has ended with these clients: see what was played below."
    if "twl" in plan.reach.likely:
        yield "twl's first round is that of clients that leave an arm once it is ruled out."
    if plan.reach.sure and not plan.reach.in_mean:
        yield "What is called sure may fail with a chance of about 1/T, as in tutelage bound."
    others = {kind_of(each.measured.spec): each for each in plan.choice.judged if each.can_learn}
    for kind, each in others.items():
        if kind not in CLOSED and not each.measured.has_epochs:
            yield f"{kind} has no epochs; when it decides is measured below."


def _unproved(plan: Plan) -> Iterator[str]:
    """The teachers of which no round is proved; a kind without its gammas if that is so of all of them."""
    lacking = Counter(kind_of(TEACHERS.spec(teacher)) for teacher in plan.reach.unproved)
    asked = Counter(kind_of(TEACHERS.spec(teacher)) for teacher in plan.request.teachers)
    yield from (kind for kind, count in lacking.items() if 1 < count == asked[kind])
    for teacher in plan.reach.unproved:
        kind = kind_of(TEACHERS.spec(teacher))
        if not 1 < lacking[kind] == asked[kind]:
            yield TEACHERS.brief(teacher)


def _by(plan: Plan, kind: str) -> str:
    """What the sure round of this kind of teacher depends on."""
    gammas = sum(kind_of(TEACHERS.spec(teacher)) == kind for teacher in plan.request.teachers) > 1
    return " and ".join(["by gamma1 and gamma2"] * gammas + ["by the means"] * plan.request.case.varied)


def _ending(ending: Ending, by: str) -> str:
    rounds = f"round {ending.earliest:,}"
    if ending.latest != ending.earliest:
        rounds = f"rounds {ending.earliest:,} to {ending.latest:,} ({by})"
    if ending.in_time:
        return f"{ending.epoch}, {rounds}, in time"
    late = "too late" if ending.earliest > ending.horizon else "in time for some only"
    return f"{ending.epoch}, {rounds}, {late}"


def _teachers(judged: Sequence[Judged], choice: Choice) -> Grid:
    table = grid("ends", "round", "regret", "cost", "sum", first="teacher", width=_SPEC_WIDTH)
    for each in judged:
        chosen = each is choice.best
        measured = each.measured
        table.add_row(
            broken(measured.brief),
            _ends(each),
            _round(each),
            with_band(summarize_runs(measured.regret)),
            with_band(summarize_runs(measured.cost)),
            number(each.score),
            style="green" if chosen else None,
        )
    return table


def _ends(judged: Judged) -> Text:
    """The share of runs with a decision and, below it, how many were wrong."""
    if not judged.can_learn:
        return Text("-")
    share = f"{100 * judged.measured.ends:.0f} %"
    wrong = int(judged.measured.wrong.sum())
    return Text.assemble(share, "\n", (f"{wrong} wrong", "red")) if wrong else Text(share)


def _round(judged: Judged) -> Text:
    """The median round and, below it, where 80 % of the decisions lie."""
    decisions = judged.measured.decisions
    if not judged.can_learn or not decisions.size:
        return Text("-")
    over = summarize_runs(decisions.astype(np.float64))
    if over.q10 == over.q90:
        return Text(number(over.q50))
    return Text.assemble(number(over.q50), "\n", (band(over), "dim"))


def _columns(plan: Plan) -> list[tuple[str, str]]:
    rule = plan.choice.rule
    never = (
        f"a teacher that ends in less than {100 * rule.least_ends:g} % of the runs (--least-ends) or "
        "settles on a wrong arm in any"
    )
    return [
        (
            "ends",
            "share of the runs in which the teacher settled on an arm, and how many of these were wrong",
        ),
        ("round", "the median round of that, and below it the range of 80 % of them"),
        ("regret", "what all clients lose; the mean, and below it the range of 80 % of the runs"),
        ("cost", "how much the teacher changes: the sum of |revealed - observed|; likewise"),
        ("sum", f"regret + {rule.cost_weight:g} x cost (--cost-weight); the least is chosen"),
        ("but never", never),
    ]


def _measured_epochs(choice: Choice) -> Iterator[str]:
    """The epochs in which learning ended in the runs, of the best of each kind of teacher that has them."""
    for each in _best_of_kinds(choice):
        counts = each.measured.epoch_counts
        if counts and each.can_learn:
            told = ", ".join(f"epoch {epoch} in {counted(runs, 'run')}" for epoch, runs in counts.items())
            yield f"{each.measured.brief} ended in {told}."


def _no_candidates(choice: Choice) -> str:
    told = [f"{each.measured.brief} {each.loses}" for each in choice.judged if not each.can_learn]
    return f"Shown for comparison, never chosen: {'; '.join(told)}."


def _best_of_kinds(choice: Choice) -> list[Judged]:
    """The first of each kind of teacher, in the choice's order."""
    first: dict[str, Judged] = {}
    for each in choice.judged:
        first.setdefault(kind_of(each.measured.spec), each)
    return list(first.values())


def _smaller_choices(plan: Plan) -> Iterator[str]:
    for gap, choice in plan.smaller:
        chosen = choice.best.measured.brief if choice.best else "none of these"
        yield f"With a gap of {gap:.4g} we would run {chosen}{_unless(choice)}."


def _unless(choice: Choice) -> str:
    return "" if choice.pays else ", though there no teaching has the lower sum"


def _remedy(remedy: Remedy, plan: Plan) -> str:
    """A sentence about a horizon and one about a gap."""
    horizon, gap = remedy.horizon, remedy.gap
    told = [f"{remedy.brief} ends too late or not at all."]
    if horizon is not None:
        told.append(f"A horizon of {horizon.value:,.0f} rounds {_verdict(horizon)}.")
    elif plan.request.case.gap == 0:
        told.append("No horizon would do: the best arms are exactly tied.")
    else:
        told.append("A longer horizon would take too long to be simulated here.")
    if gap is not None:
        told.append(f"A gap of {gap.value:.4g} {_verdict(gap)}.")
    elif kind_of(remedy.teacher) in CLOSED:
        told.append("No gap that would do within this horizon was found.")
    else:
        told.append("No larger gap could be tried.")
    return " ".join(told)


def _verdict(trial: Trial) -> str:
    if trial.ends is None:
        return "would do, as is proved (it takes too long to be simulated here)"
    ended = f"it then ended in {100 * trial.ends:.0f} % of {trial.runs} simulated runs"
    return f"would do: {ended}" if trial.enough else f"is the most that was tried, and not enough: {ended}"
