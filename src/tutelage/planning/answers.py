"""The answers of a plan in three sentences: the horizon, the best arm, the teacher."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tutelage.instances.base import Instance
from tutelage.metrics import summarize_runs
from tutelage.planning.cases import Case
from tutelage.planning.choice import Choice
from tutelage.planning.remedy import Remedy, is_enough
from tutelage.text import format_number, format_runs, join_words


@dataclass(frozen=True)
class PlanAnswers:
    """Whether the horizon is enough, which arm looks best, and which teacher to run.

    ``round`` is the median round of the chosen teacher's decision where the horizon is enough; else the
    shortest horizon that was found to be enough, None if none was.  ``best_arms`` is empty where each run has
    its own means.  ``teacher`` is a SPEC without defaults, None if no teacher can be chosen.  ``sentences`` say
    all this.
    """

    is_horizon_enough: bool
    round: int | None
    best_arms: tuple[int, ...]
    teacher: str | None
    sentences: tuple[str, str, str]

    def as_json(self) -> dict[str, Any]:
        """Return the answers as plain values."""
        return vars(self) | {"best_arms": list(self.best_arms), "sentences": list(self.sentences)}


def answer(case: Case, instance: Instance, horizon: int, choice: Choice, remedies: Sequence[Remedy]) -> PlanAnswers:
    """Return the answers of a plan; ``instance`` is that of the first run."""
    round, first = _answer_horizon(horizon, choice, remedies)
    best = choice.best
    return PlanAnswers(
        is_horizon_enough=best is not None,
        round=round,
        best_arms=() if case.varied else instance.best_arms,
        teacher=best.measurement.label if best else None,
        sentences=(first, _describe_best_arm(case, instance, choice), _describe_teacher(choice)),
    )


def _answer_horizon(horizon: int, choice: Choice, remedies: Sequence[Remedy]) -> tuple[int | None, str]:
    """Return the round that the answer is about, and the sentence."""
    subject = f"The horizon of {horizon:,} rounds is"
    if choice.best is not None:
        measurement = choice.best.measurement
        decisions = summarize_runs(measurement.decisions.astype(np.float64))
        runs = measurement.rounds.size
        spread = f" (median of {runs} runs; 90 % of them by round {decisions.q90:,.0f})" if runs > 1 else ""
        sentence = f"{subject} enough: {measurement.label} decides in round {decisions.q50:,.0f}{spread}."
        return int(decisions.q50), sentence
    if not any(each.can_learn for each in choice.assessments):
        return None, f"{subject} not enough for these teachers: none of them learns a target."
    reason = f"no teacher decided in at least {100 * choice.rule.min_decided:g} % of the runs without a wrong decision"
    found = [(int(each.horizon.value), each.teacher) for each in remedies if is_enough(each.horizon)]
    if not found:
        return None, f"{subject} not enough: {reason}, and no longer horizon was found that is."
    needed, brief = min(found)
    return needed, f"{subject} not enough: {reason}; {needed:,} rounds are enough for {brief}."


def _describe_best_arm(case: Case, instance: Instance, choice: Choice) -> str:
    best = choice.best
    found = ""
    if best is not None:
        measurement = best.measurement
        right = int((~measurement.wrong[measurement.rounds >= 0]).sum())
        found = f"{measurement.label} decided on {{}} in {format_runs(right, measurement.rounds.size)}"
    if case.varied:
        sentence = "No arm looks best before the start, because each run has its own random means"
        return f"{sentence}; {found.format('the best arm of the run')}." if found else f"{sentence}."
    arms = instance.best_arms
    mean = f"{instance.global_means[instance.best_arm]:.4g}"
    names = join_words([instance.arm_label(arm) for arm in arms], "and")
    names = names[0].upper() + names[1:] if not instance.arm_names else names
    if len(arms) > 1:
        sentence = f"{names} look best: their mean over all clients is {mean}, and they are tied"
    else:
        sentence = f"{names} looks best: its mean over all clients is {mean}, {instance.min_gap:.4g} above the next"
    return f"{sentence}; {found.format('one of them' if len(arms) > 1 else 'it')}." if found else f"{sentence}."


def _describe_teacher(choice: Choice) -> str:
    best, untaught = choice.best, [each.score for each in choice.assessments if each.measurement.spec == "none"]
    without = f"{choice.formula} without teaching is {format_number(untaught[0])}" if untaught else ""
    if best is None:
        return f"No teacher can be recommended{f'; the {without}' if without else ''}."
    if not untaught:
        return f"Run {best.measurement.label}: its {choice.formula} is {format_number(best.score)}."
    if choice.teaching_pays:
        less = format_number(untaught[0] - best.score)
        about = f"its {choice.formula} is {format_number(best.score)}"
        return f"Run {best.measurement.label}: {about}, {less} less than without teaching."
    return (
        f"Run {best.measurement.label} only if deciding is worth it: its {choice.formula} is "
        f"{format_number(best.score)}, but the {without}."
    )
