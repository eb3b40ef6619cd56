"""Which teacher to run, by rule and measured figures; no teacher's name counts."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tutelage.errors import InputError
from tutelage.metrics import summarize_runs
from tutelage.planning.measure import Measured
from tutelage.text import short, some_of
from tutelage.theory import checks

MOST_WEIGHT = 1e9  # of a unit of cost against one of regret


@dataclass(frozen=True)
class Rule:
    """What a choice goes by.

    Of the candidates that decided in at least ``least_ends`` of the runs, and in no run for a wrong arm, the
    one with the lowest mean of regret + ``cost_weight`` x cost is chosen; the first of equal ones.
    Raises ``InputError`` for a weight outside 0 to 1e9 and a share outside (0, 1].
    """

    cost_weight: float = 1.0
    least_ends: float = 0.9

    def __post_init__(self) -> None:
        for name, what in (("cost_weight", "cost weight"), ("least_ends", "share of runs that must end")):
            object.__setattr__(self, name, checks.number(what, getattr(self, name)))
        if not 0 <= self.cost_weight <= MOST_WEIGHT:
            raise InputError(
                f"The cost weight {self.cost_weight:g} lies outside 0 to {MOST_WEIGHT:g}: give one, as in 1."
            )
        if not 0 < self.least_ends <= 1:
            raise InputError(
                f"The share {self.least_ends:g} of runs that must end lies outside (0, 1]: give 0.9."
            )

    def score(self, measured: Measured) -> float:
        """The mean over runs of regret + cost_weight x cost."""
        return math.fsum((measured.regret + self.cost_weight * measured.cost).tolist()) / measured.regret.size

    def loses(self, measured: Measured) -> str | None:
        """Why this teacher cannot be chosen, as the end of a sentence that begins with it."""
        runs, wrong = measured.rounds.size, int(measured.wrong.sum())
        reasons = (
            (measured.teacher.needs_best_arm, "is told the best arm"),
            (measured.teacher.lab_only, "sees what only a simulation can"),
            (measured.never_decides, "settles on no arm"),
            (measured.is_guess, "does not learn its target"),
            (wrong > 0, f"was wrong in {some_of(wrong, runs)}"),
            (measured.ends < self.least_ends, f"decided in {some_of(measured.decisions.size, runs)}"),
        )
        return next((reason for holds, reason in reasons if holds), None)


@dataclass(frozen=True, eq=False)
class Judged:
    """A teacher's figures, its score, and why it cannot be chosen (None: it can)."""

    measured: Measured
    score: float
    loses: str | None

    @property
    def can_learn(self) -> bool:
        """Whether it is a candidate at all: it may settle on an arm that it has found out itself."""
        told = self.measured.teacher.needs_best_arm or self.measured.teacher.lab_only
        return not (told or self.measured.never_decides or self.measured.is_guess)

    def as_json(self) -> dict[str, Any]:
        """The figures, the score and the reason as plain values."""
        return self.measured.as_json() | {"score": self.score, "loses": self.loses}


@dataclass(frozen=True, eq=False)
class Choice:
    """All teachers, the best first: those that can be chosen, other candidates, those that do not learn.

    ``why`` says in sentences why ``best`` is chosen, or why none is.
    """

    rule: Rule
    judged: tuple[Judged, ...]

    @property
    def best(self) -> Judged | None:
        first = self.judged[0]
        return first if first.loses is None else None

    @property
    def pays(self) -> bool:
        """Whether the chosen teacher's score is below that of no teaching; true where none is chosen."""
        nothing = [each.score for each in self.judged if each.measured.spec == "none"]
        return self.best is None or all(self.best.score < score for score in nothing)

    @property
    def why(self) -> str:
        told = [self._reason(self.best) if self.best else self._no_choice()]
        if self.best:
            told += [self._beside_nothing(self.best), *self._lost()]
        return " ".join(sentence for sentence in told if sentence)

    def _reason(self, best: Judged) -> str:
        rivals = [each for each in self.judged if each.loses is None]
        runs = best.measured.rounds.size
        ended = some_of(best.measured.decisions.size, runs)
        about = f"{best.measured.brief} decided in {ended}, never for a wrong arm"
        if len(rivals) == 1:
            only = f"no other teacher decided rightly in at least {100 * self.rule.least_ends:g} % of them"
            return f"{about}, and {only}; {self._formula()} comes to {short(best.score)}."
        return (
            f"{about}, and of the {len(rivals)} teachers that can be chosen it has the lowest "
            f"{self._formula()}: {short(best.score)}. {self._beside_next(best, rivals[1])}"
        )

    def _formula(self) -> str:
        weight = self.rule.cost_weight
        if weight == 0:
            return "regret (cost does not count)"
        return "regret + cost" if weight == 1 else f"regret + {weight:g} x cost"

    def _beside_next(self, best: Judged, second: Judged) -> str:
        """The next best, and whether so few runs can tell the two apart: all play the same runs."""
        weight = self.rule.cost_weight
        extra = summarize_runs(
            second.measured.regret
            + weight * second.measured.cost
            - best.measured.regret
            - weight * best.measured.cost
        )
        told = f"Next is {second.measured.brief} with {short(second.score)}"
        if extra.sd is None:
            return f"{told}; one run cannot tell whether that is chance."
        error = 2 * extra.sd / math.sqrt(second.measured.regret.size)
        more = f"{short(extra.mean)} +- {short(error)} more"
        if extra.mean <= error:
            return f"{told}, {more} (two standard errors), which may be chance: more --runs would tell."
        return f"{told}, {more} (two standard errors)."

    def _beside_nothing(self, best: Judged) -> str:
        """What it gains over no teaching, and what is lost for want of knowing the target."""
        scores = {each.measured.spec: each.score for each in self.judged}
        told = []
        if "none" in scores:
            pays = "" if self.pays else ", so at this cost weight teaching does not pay"
            told.append(f"With no teaching the same sum is {short(scores['none'])}{pays}.")
        if "known" in scores:
            told.append(f"With the target known from the start it is {short(scores['known'])}.")
        return " ".join(told)

    def _lost(self) -> list[str]:
        """The candidates that cannot be chosen although their sum is no higher, and why."""
        best = self.best
        cheaper = [
            each
            for each in self.judged
            if each.loses and each.can_learn and best is not None and each.score <= best.score
        ]
        return [f"{each.measured.brief} is cheaper but {each.loses}." for each in cheaper]

    def _no_choice(self) -> str:
        runs = self.judged[0].measured.rounds.size
        share = 100 * self.rule.least_ends
        told = f"No teacher decided in at least {share:g} % of {runs} runs and never for a wrong arm."
        candidates = [each for each in self.judged if each.can_learn]
        if not candidates:
            return f"{told} None of these learns a target."
        nearest = min(candidates, key=lambda each: (-_rightly(each.measured), each.score))
        if not nearest.measured.decisions.size:
            return f"{told} None decided in any run."
        return f"{told} {nearest.measured.brief} came closest: it {nearest.loses}."


def choose(measured: Sequence[Measured], rule: Rule) -> Choice:
    """Judge all teachers and put them in order."""
    judged = [Judged(each, rule.score(each), rule.loses(each)) for each in measured]
    return Choice(rule, tuple(sorted(judged, key=_rank)))


def _rank(judged: Judged) -> tuple[int, float]:
    return (0 if judged.loses is None else 1 if judged.can_learn else 2, judged.score)


def _rightly(measured: Measured) -> float:
    return measured.ends - float(measured.wrong.mean())
