"""What a comparison of teachers shows, in up to three sentences that are computed from the result."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from tutelage.results import NONE, SimulationResult
from tutelage.text import format_runs, format_table_number, join_words


def describe_comparison(result: SimulationResult, labels: Sequence[str]) -> Iterator[str]:
    """Say which teacher that learns has the lowest regret, which ones lose more than no teaching, and why.

    ``labels`` are the teachers' names.  Nothing is said where no teacher learns its target.
    """
    learners = [teacher for teacher in range(len(labels)) if _learns(result, teacher)]
    if not learners or len(labels) == 1:
        return
    regrets = [float(result.totals(teacher)[0].mean()) for teacher in range(len(labels))]
    untaught = labels.index("none") if "none" in labels else None
    yield _describe_best(result, labels, learners, regrets, untaught)
    losers = [] if untaught is None else [each for each in learners if regrets[each] > regrets[untaught]]
    if untaught is None or not losers:
        return
    names = join_words([labels[each] for each in losers], "and")
    losses = join_words([format_table_number(regrets[each]) for each in losers], "and")
    verb = "lose" if len(losers) > 1 else "loses"
    yield f"{names} {verb} more than no teaching: {losses}, against {format_table_number(regrets[untaught])}."
    yield _explain_loss(result, losers, untaught)


def choose_reference(result: SimulationResult) -> int:
    """Return the teacher with which others are compared: of those that learn, or else of all, the lowest regret.

    Differences are corrected for all pairs of teachers, so the choice may depend on the results.
    """
    everyone = range(len(result.request.teachers))
    learners = [teacher for teacher in everyone if _learns(result, teacher)]
    return min(learners or everyone, key=lambda each: float(result.totals(each)[0].mean()))


def _learns(result: SimulationResult, teacher: int) -> bool:
    """Return whether the teacher decides on a target that it has learned itself."""
    entry, rounds = result.request.teachers[teacher], result.decided_in[teacher]
    is_guess = bool((rounds != NONE).any()) and not rounds[rounds != NONE].any()
    return entry.decides and not (entry.needs_best_arm or entry.simulation_only or is_guess)


def _describe_best(
    result: SimulationResult,
    labels: Sequence[str],
    learners: Sequence[int],
    regrets: Sequence[float],
    untaught: int | None,
) -> str:
    first, *others = sorted(learners, key=lambda each: regrets[each])
    regret, compared = format_table_number(regrets[first]), []
    if others:
        sentence = f"{labels[first]} has the lowest regret of the teachers that learn their target: {regret}"
        compared.append((f"that of the next best, {labels[others[0]]}", regrets[others[0]]))
    else:
        sentence = f"{labels[first]}, the only one of these teachers that learns its target, has a regret of {regret}"
    if untaught is not None:
        compared.append(("that without teaching", regrets[untaught]))
    shares = [
        f"{100 * regrets[first] / value:.3g} % of {name} ({format_table_number(value)})"
        for name, value in compared
        if value
    ]
    if shares:
        sentence += f", which is {join_words(shares, 'and')}"
    if "known" in labels:
        sentence += (
            f"; known, which gets the target from the start, has {format_table_number(regrets[labels.index('known')])}"
        )
    wrong = int(result.is_wrong(first).sum())
    if wrong:
        sentence += f"; it decided on a wrong arm in {format_runs(wrong, result.request.runs)}"
    return f"{sentence}."


def _explain_loss(result: SimulationResult, losers: Sequence[int], untaught: int) -> str:
    """Say how much of the regret arises before the decision, and how rarely the best arm is pulled until then."""
    before = total = 0.0
    pulls, pulls_untaught = (np.zeros(result.request.instance.num_arms) for _ in range(2))
    for teacher in losers:
        for run, place in enumerate(_learning_ends(result, teacher).tolist()):
            before += float(result.regret[teacher, run, :, place].sum())
            total += float(result.regret[teacher, run, :, -1].sum())
            pulls += result.pulls[teacher, run, :, place].sum(axis=0)
            pulls_untaught += result.pulls[untaught, run, :, place].sum(axis=0)
    best = list(result.request.final_phase.best_arms)
    taught, without = (100 * each[best].sum() / each.sum() for each in (pulls, pulls_untaught))
    they_learn = "they learn" if len(losers) > 1 else "it learns"
    return (
        f"{100 * before / total:.0f} % of this regret arises while {they_learn}, up to the decision or the horizon: in "
        f"that time {taught:.0f} % of the clients' pulls are of the best arm, without teaching {without:.0f} %."
    )


def _learning_ends(result: SimulationResult, teacher: int) -> NDArray[np.int64]:
    """Return for each run [R] the last checkpoint before the decision; the last of all without one."""
    rounds = result.decided_in[teacher]
    places = np.searchsorted(result.request.checkpoints, rounds, side="right") - 1
    ends: NDArray[np.int64] = np.where(rounds == NONE, result.request.checkpoints.size - 1, np.maximum(places, 0))
    return ends
