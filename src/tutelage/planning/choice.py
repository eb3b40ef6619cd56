"""Choose a teacher by a rule and measured figures, whatever its name."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tutelage.metrics import summarize_runs
from tutelage.planning.candidates import Measurement
from tutelage.text import format_number, format_runs
from tutelage.validation import check_number

MOST_WEIGHT = 1e9  # of a unit of cost compared with one of regret


@dataclass(frozen=True)
class SelectionRule:
    """The rule by which a teacher is chosen.

    Of the candidates that decided in at least ``min_decided`` of the runs, and in no run on a wrong arm, the
    one with the lowest mean of regret + ``cost_weight`` x cost is chosen; the first of equal ones.
    Raises ``InputError`` for a weight outside 0 to 1e9 and a share outside (0, 1].
    """

    cost_weight: float = 1.0
    min_decided: float = 0.9

    def __post_init__(self) -> None:
        weight = check_number("cost weight", self.cost_weight, 0, MOST_WEIGHT)
        share = check_number("share of decided runs", self.min_decided, above=0, maximum=1)
        object.__setattr__(self, "cost_weight", weight)
        object.__setattr__(self, "min_decided", share)

    def score(self, measurement: Measurement) -> float:
        """Return the mean over runs of regret + cost_weight x cost."""
        totals = measurement.regret + self.cost_weight * measurement.cost
        return math.fsum(totals.tolist()) / totals.size

    def rejection(self, measurement: Measurement) -> str | None:
        """Return why this teacher cannot be chosen, as the end of a sentence that begins with its name."""
        runs, wrong, teacher = measurement.rounds.size, int(measurement.wrong.sum()), measurement.teacher
        reasons = (
            (teacher.needs_best_arm, "is given the best arm"),
            (teacher.simulation_only, "uses what only a simulation can see"),
            (not teacher.decides, "never decides"),
            (measurement.is_guess, "does not learn its target"),
            (wrong > 0, f"was wrong in {format_runs(wrong, runs)}"),
            (measurement.decided < self.min_decided, f"decided in {format_runs(measurement.decisions.size, runs)}"),
        )
        return next((reason for holds, reason in reasons if holds), None)


@dataclass(frozen=True, eq=False)
class Assessment:
    """A teacher's figures, its score, and why it cannot be chosen (None if it can)."""

    measurement: Measurement
    score: float
    rejection: str | None

    @property
    def can_learn(self) -> bool:
        """Whether it is a candidate at all, that is, may decide on an arm that it has learned itself."""
        teacher = self.measurement.teacher
        has_privileged_input = teacher.needs_best_arm or teacher.simulation_only
        return teacher.decides and not (has_privileged_input or self.measurement.is_guess)

    def as_json(self) -> dict[str, Any]:
        """Return the figures, the score and the reason as plain values."""
        return self.measurement.as_json() | {"score": self.score, "rejection": self.rejection}


@dataclass(frozen=True, eq=False)
class Choice:
    """All teachers, the best first: those that can be chosen, other candidates, those that do not learn.

    ``why`` says in sentences why ``best`` is chosen, or why no teacher is.
    """

    rule: SelectionRule
    assessments: tuple[Assessment, ...]

    @property
    def best(self) -> Assessment | None:
        first = self.assessments[0]
        return first if first.rejection is None else None

    @property
    def teaching_pays(self) -> bool:
        """Whether the chosen teacher's score is below that of no teaching; true if none is chosen."""
        untaught = [each.score for each in self.assessments if each.measurement.spec == "none"]
        return self.best is None or all(self.best.score < score for score in untaught)

    @property
    def why(self) -> str:
        if not self.best:
            return self._no_choice()
        return " ".join([self._reason(self.best), *self._baselines(), *self._cheaper_rejected(self.best)])

    def _reason(self, best: Assessment) -> str:
        rivals = [each for each in self.assessments if each.rejection is None]
        measurement = best.measurement
        decided = format_runs(measurement.decisions.size, measurement.rounds.size)
        about = f"{measurement.label} decided in {decided}, never on a wrong arm"
        if len(rivals) == 1:
            if any(each.can_learn and each is not best for each in self.assessments):
                about += f", and no other teacher decided rightly in at least {100 * self.rule.min_decided:g} % of them"
            return f"{about}; its {self.formula} is {format_number(best.score)}."
        return (
            f"{about}, and of the {len(rivals)} teachers that can be chosen it has the lowest "
            f"{self.formula}: {format_number(best.score)}. {self._second_best(best, rivals[1])}"
        )

    @property
    def formula(self) -> str:
        """What the score is, in words."""
        weight = self.rule.cost_weight
        if weight == 0:
            return "regret (cost does not count)"
        return "regret + cost" if weight == 1 else f"regret + {weight:g} x cost"

    def _second_best(self, best: Assessment, second: Assessment) -> str:
        """Compare with the second best, run by run: all teachers are simulated on the same runs."""
        weight = self.rule.cost_weight
        extra = summarize_runs(
            second.measurement.regret
            + weight * second.measurement.cost
            - best.measurement.regret
            - weight * best.measurement.cost
        )
        sentence = f"The second best is {second.measurement.label} with {format_number(second.score)}"
        if extra.sd is None:
            return f"{sentence}; one run cannot show whether the difference is due to chance."
        error = 2 * extra.sd / math.sqrt(second.measurement.regret.size)
        more = f"{format_number(extra.mean)} +- {format_number(error)} more (two standard errors)"
        if extra.mean <= error:
            return f"{sentence}, {more}, which may be due to chance: use more --runs to find out."
        return f"{sentence}, {more}."

    def _baselines(self) -> list[str]:
        """Compare with no teaching, and with a target that is known from the start."""
        scores = {each.measurement.spec: each.score for each in self.assessments}
        sentences = []
        if "none" in scores:
            pays = "" if self.teaching_pays else ", so at this cost weight teaching does not pay"
            sentences.append(f"Without teaching the same sum is {format_number(scores['none'])}{pays}.")
        if "known" in scores:
            sentences.append(f"With the target known from the start it is {format_number(scores['known'])}.")
        return sentences

    def _cheaper_rejected(self, best: Assessment) -> list[str]:
        """The candidates that cannot be chosen although their sum is not higher, and why."""
        return [
            f"{each.measurement.label} is cheaper but {each.rejection}."
            for each in self.assessments
            if each.rejection and each.can_learn and each.score <= best.score
        ]

    def _no_choice(self) -> str:
        runs = self.assessments[0].measurement.rounds.size
        share = 100 * self.rule.min_decided
        sentence = f"No teacher decided in at least {share:g} % of {runs} runs without a wrong decision."
        candidates = [each for each in self.assessments if each.can_learn]
        if not candidates:
            return f"{sentence} None of these learns a target."
        nearest = min(candidates, key=lambda each: (-each.measurement.decided_rightly, each.score))
        if not nearest.measurement.decisions.size:
            return f"{sentence} None decided in any run."
        return f"{sentence} {nearest.measurement.label} came closest: it {nearest.rejection}."


def choose(measurements: Sequence[Measurement], rule: SelectionRule) -> Choice:
    """Assess all teachers and put them in order."""
    assessments = [Assessment(each, rule.score(each), rule.rejection(each)) for each in measurements]
    return Choice(rule, tuple(sorted(assessments, key=_rank)))


def _rank(assessment: Assessment) -> tuple[int, float]:
    return (0 if assessment.rejection is None else 1 if assessment.can_learn else 2, assessment.score)
