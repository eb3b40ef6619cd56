"""The result of ``tutelage simulate`` for people: what was played, a row a teacher, and what was learned."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.table import Table as Grid
from rich.text import Text

from tutelage.cli.page import Page, broken, grid, with_band
from tutelage.instances import Instance
from tutelage.metrics import compute_pull_share, summarize_runs
from tutelage.policies import POLICIES
from tutelage.request import SimulationRequest
from tutelage.results import NONE, SimulationResult
from tutelage.teachers import TEACHERS
from tutelage.text import counted, some_of

_LATE = 0.9  # the share of the horizon after which pulls are late ones
_SPEC_WIDTH = 22


def show(outcome: SimulationResult, saved_to: Path | None = None) -> None:
    """Print everything to standard output."""
    page = Page()
    page.put_definitions(_request(outcome.request))
    page.put("", _rows(outcome), "")
    page.put_definitions(_columns(outcome.request))
    if len(outcome.request.teachers) > 1:
        page.put("", "All teachers played the same runs, with the same random numbers.")
    page.put("", *learned(outcome))
    if saved_to is not None:
        page.put("", f"Every run is saved in {saved_to}.")


def _request(request: SimulationRequest) -> list[tuple[str, str]]:
    instance = request.instance
    best = ", ".join(_arm(instance, arm) for arm in instance.best_arms)
    at_first = " at first" if len(instance.phases) > 1 else ""
    weighted = "" if np.all(instance.weights == instance.weights[0]) else "weighted "
    mean = f"{instance.global_means[instance.best_arm]:.4g}"
    clients = Counter(POLICIES.brief(policy) for policy in request.policies)
    played = f"{counted(request.runs, 'run')} of {counted(request.horizon, 'round')}"
    return [
        ("instance", instance.name),
        (
            "size",
            f"{counted(instance.num_clients, 'client')}, {counted(instance.num_arms, 'arm')}, counted from 0",
        ),
        ("best arm", f"{best}{at_first}, whose {weighted}mean over all clients is {mean}"),
        *((name, _note(name, fact)) for name, fact in instance.notes),
        ("clients", ", ".join(f"{count} x {spec}" for spec, count in clients.items())),
        ("played", f"{played} with each teacher, seed {request.seed}"),
    ]


def _arm(instance: Instance, arm: int) -> str:
    """The arm's name, if it has one, and its number, which teachers' reports and ``--json`` use."""
    return f"{instance.arm_label(arm)} (arm {arm})" if instance.arm_names else instance.arm_label(arm)


def _note(name: str, fact: str) -> str:
    is_gap = name == "gap" and fact.replace(".", "").isdigit() and float(fact) > 0
    return f"{fact} from the best arm's mean to the next best" if is_gap else fact


def _columns(request: SimulationRequest) -> list[tuple[str, str]]:
    """What each column says."""
    regret = (
        "what all clients lost: for each pull, how much lower the arm's mean over all clients is than the "
        "best arm's"
    )
    best = "the best arm" + (" or one tied with it" if len(request.final_phase.best_arms) > 1 else "")
    best += " at the end" if len(request.instance.phases) > 1 else ""
    cost = "how much the teacher changed: the sum of |revealed - observed| over all rewards"
    if request.runs > 1:
        regret += "; the mean of the runs, and below it the range of 80 % of them (10th to 90th percentile)"
        cost += "; likewise"
    return [
        ("regret", regret),
        ("cost", cost),
        ("decided", "runs in which the teacher settled on an arm to teach, and the median round"),
        ("wrong", f"runs in which that is not {best}"),
        ("late", f"share of all pulls after round {_late_round(request):,} that went to {best}"),
    ]


def _rows(outcome: SimulationResult) -> Grid:
    table = grid("regret", "cost", "decided", "wrong", "late", first="teacher", width=_SPEC_WIDTH)
    for teacher, spec in enumerate(_briefly(outcome.request)):
        regret, cost = outcome.totals(teacher)
        table.add_row(
            broken(spec),
            with_band(summarize_runs(regret)),
            with_band(summarize_runs(cost)),
            _decided(outcome, teacher),
            _wrong(outcome, teacher),
            f"{100 * _late_share(outcome, teacher):.1f} %",
        )
    return table


def _briefly(request: SimulationRequest) -> list[str]:
    """The teachers as people read them; ``--json`` and ``--out`` spell every parameter out."""
    return [TEACHERS.brief(teacher) for teacher in request.teachers]


def _decided(outcome: SimulationResult, teacher: int) -> Text:
    rounds = _decisions(outcome, teacher)
    if not rounds.size:
        return Text("-" if outcome.never_decides(teacher) else f"0 of {outcome.request.runs}")
    median = float(np.median(rounds))
    when = f"at {median:,.0f}" if median else "at the start"
    return Text.assemble(f"{rounds.size} of {outcome.request.runs}", "\n", (when, "dim"))


def _wrong(outcome: SimulationResult, teacher: int) -> str:
    return str(int(outcome.is_wrong(teacher).sum())) if _decisions(outcome, teacher).size else "-"


def _decisions(outcome: SimulationResult, teacher: int) -> NDArray[np.int64]:
    """The rounds in which the runs decided, of those that did."""
    rounds = outcome.decided_in[teacher]
    decisions: NDArray[np.int64] = rounds[rounds != NONE]
    return decisions


def _late_share(outcome: SimulationResult, teacher: int) -> float:
    """The share of all pulls after :func:`_late_round` that went to a best arm."""
    pulls, position = outcome.pulls[teacher], _late_position(outcome.request)
    before: NDArray[Any] = pulls[:, :, position] if position >= 0 else np.zeros_like(pulls[:, :, 0])
    return compute_pull_share(outcome.request.final_phase.best_arms, before, pulls[:, :, -1])


def _late_position(request: SimulationRequest) -> int:
    """The last checkpoint within the first nine tenths; -1 for the start, where there is none."""
    return int(np.searchsorted(request.checkpoints, _LATE * request.horizon, side="right")) - 1


def _late_round(request: SimulationRequest) -> int:
    position = _late_position(request)
    return int(request.checkpoints[position]) if position >= 0 else 0


def learned(outcome: SimulationResult) -> Iterator[str]:
    """What was and was not learned, a sentence a teacher; those that never settle share one."""
    never = []
    for teacher, spec in enumerate(_briefly(outcome.request)):
        if outcome.never_decides(teacher):
            never.append(spec)
        else:
            yield f"{spec} {_learned(outcome, teacher)}."
    if never:
        yield f"{' and '.join(never)} {'settle' if len(never) > 1 else 'settles'} on no arm."
    if any(outcome.undecided[n] and not outcome.never_decides(n) for n in range(len(outcome.undecided))):
        yield (
            "A teacher decides once every client has pulled every active arm often enough; where clients do "
            "not, or not in time, a longer --horizon, another gamma1 or blt may help."
        )


def _learned(outcome: SimulationResult, teacher: int) -> str:
    runs, rounds = outcome.request.runs, _decisions(outcome, teacher)
    wrong = int(outcome.is_wrong(teacher).sum())
    right = int(rounds.size) - wrong
    best = "a best arm" if len(outcome.request.final_phase.best_arms) > 1 else "the best arm"
    places = [(right, best), (wrong, "a wrong arm")]
    settled = " and ".join(f"{arm} in {some_of(some, runs)}" for some, arm in places if some)
    told = []
    if rounds.any():
        told.append(f"settled on {settled}")
    elif settled:
        told.append(f"taught {settled}, from the start")
    if rounds.size < runs:
        told.append(
            f"had not decided by the horizon in {some_of(runs - rounds.size, runs)}{_why(outcome, teacher)}"
        )
    return ", and ".join(told)


def _why(outcome: SimulationResult, teacher: int) -> str:
    """Where the teacher stood in the runs without a decision, in its own words, the commonest first."""
    reasons = outcome.undecided[teacher]
    if len(reasons) == 1:
        return f" ({reasons[0][0]})"
    told = "; ".join(f"{count} x {sentence}" for sentence, count in reasons[:3])
    return f" ({told}{'; ...' if len(reasons) > 3 else ''})"
