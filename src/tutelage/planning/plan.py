"""A plan: can learning end in time, what will each teacher cost, and which one to run."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

import msgspec

from tutelage import lab
from tutelage.errors import InputError
from tutelage.instances.base import Instance
from tutelage.planning.cases import Case, Given
from tutelage.planning.choice import Choice, Rule, choose
from tutelage.planning.measure import Setting, after
from tutelage.planning.reach import Reach, reach, rounds_per_pull
from tutelage.planning.remedy import Remedy, failing, is_enough, remedy
from tutelage.request import SimulationRequest
from tutelage.results import describe_instance
from tutelage.teachers import TEACHERS
from tutelage.teachers.base import Teacher
from tutelage.theory import checks
from tutelage.versions import package_version

# What is shown while learning, and off the target afterwards.  gamma2 above gamma1 would draw clients away
# from the target; where both are equal TAL and TWL publish the same until one of them decides.
GAMMAS = ((1.0, 0.0), (1.0, 0.25), (0.5, 0.0), (0.5, 0.25), (0.0, 0.0))
CANDIDATES = (
    *(f"{kind}(gamma1={gamma1:g},gamma2={gamma2:g})" for kind in ("tal", "twl") for gamma1, gamma2 in GAMMAS),
    "blt",
)
ENDS_OF_SCALE = ("known", "none")
SMALLER = (0.5, 0.25)  # shares of the gap at which the plan is made again
_SLOWEST = 1e9  # rounds for a pull


class Watcher(Protocol):
    """Who wants to know how far a plan has come."""

    def __call__(self, done: float) -> None:
        """So many runs have been played, of :attr:`PlanRequest.num_runs`."""
        ...

    def describe(self, what: str) -> None:
        """This piece of work comes next."""
        ...


@dataclass(frozen=True, eq=False)
class PlanRequest:
    """What a plan is asked, resolved and checked; ``first`` is the simulation of the first instance."""

    case: Case
    clients: str
    rule: Rule
    runs: int
    seed: int
    first: SimulationRequest

    @property
    def teachers(self) -> tuple[Teacher, ...]:
        return self.first.teachers

    @property
    def horizon(self) -> int:
        return self.first.horizon

    @property
    def smaller_gaps(self) -> tuple[float, ...]:
        """The gaps at which the plan is made again; none where the best arms are tied."""
        return tuple(share * self.case.gap for share in SMALLER) if self.case.gap > 0 else ()

    @property
    def num_runs(self) -> int:
        """Runs of all teachers at all gaps, without those that look for what would do."""
        return len(self.teachers) * self.runs * (1 + len(self.smaller_gaps))


@dataclass(frozen=True, eq=False)
class Plan:
    """What came out: reach in closed form, the choice at the gap, at smaller gaps, and what else would do."""

    request: PlanRequest
    reach: Reach
    choice: Choice
    smaller: tuple[tuple[float, Choice], ...]
    remedies: tuple[Remedy, ...]

    @property
    def why(self) -> str:
        """Why this teacher is chosen; where none can be, also the least horizon and gap found to do."""
        if self.choice.best:
            return self.choice.why
        told = [self.choice.why]
        horizons = [(each.horizon.value, each.brief) for each in self.remedies if is_enough(each.horizon)]
        gaps = [(each.gap.value, each.brief) for each in self.remedies if is_enough(each.gap)]
        if horizons:
            told.append("The shortest horizon found to do is {:,.0f} rounds ({}).".format(*min(horizons)))
        if gaps:
            told.append("The smallest gap found to do is {:.4g} ({}).".format(*min(gaps)))
        return " ".join(told)

    def summary(self) -> dict[str, Any]:
        """The plan as plain finite numbers, the document of ``tutelage plan --json``."""
        request = self.request
        return {
            "tutelage": package_version(),
            "instance": _case_as_json(request),
            "clients": list(request.first.client_specs),
            "horizon": request.horizon,
            "runs": request.runs,
            "seed": request.seed,
            "cost_weight": request.rule.cost_weight,
            "least_ends": request.rule.least_ends,
            "reach": self.reach.as_json(),
            **_choice_as_json(self.choice),
            "why": self.why,
            "smaller_gaps": [{"gap": gap, **_choice_as_json(choice)} for gap, choice in self.smaller],
            "would_do": [each.as_json() for each in self.remedies],
        }


def _choice_as_json(choice: Choice) -> dict[str, Any]:
    best = choice.best
    return {
        "teachers": [each.as_json() for each in choice.judged],
        "choice": best.measured.spec if best else None,
        "why": choice.why,
        "pays": choice.pays,
    }


def _case_as_json(request: PlanRequest) -> dict[str, Any]:
    """The instance, or the guess at one."""
    case = request.case
    if isinstance(case, Given):
        described: dict[str, Any] = msgspec.to_builtins(describe_instance(case.known))
        return described
    known = msgspec.to_builtins(describe_instance(request.first.instance))
    kept = ("num_clients", "num_arms", "weights", "rewards", "activity", "delays")
    return {
        "name": "planted, one for each run",
        "min_gap": case.gap,
        **{name: known[name] for name in kept if name in known},
    }


def make_request(
    case: Case,
    teachers: str | Teacher | Sequence[str | Teacher] | None = None,
    clients: str = lab.DEFAULT_CLIENTS,
    *,
    horizon: int = lab.DEFAULT_HORIZON,
    runs: int = lab.DEFAULT_RUNS,
    seed: int = lab.DEFAULT_SEED,
    cost_weight: float = 1.0,
    least_ends: float = 0.9,
) -> PlanRequest:
    """Resolve and check what is asked.

    ``teachers`` are the candidates, ``CANDIDATES`` if left out; ``known`` and ``none`` are added as the ends
    of the scale.  Raises ``InputError`` with the offending value and the remedy.
    """
    checks.instance_of(Case, "case", case)
    rule = Rule(cost_weight, least_ends)
    seed = checks.whole("seed", seed, 0, 2**64 - 1)
    chosen = _candidates(teachers)
    first = lab.make_request(
        case.instance(case.gap, seed, 0),
        chosen,
        clients,
        horizon=horizon,
        runs=runs,
        seed=seed,
        checkpoints=1,
    )
    pace = rounds_per_pull(first.instance)
    if pace > _SLOWEST:
        raise InputError(
            f"The slowest client takes {pace:.3g} rounds for a pull, too many to plan for: leave it out, or "
            "give it a higher activity or a shorter delay."
        )
    return PlanRequest(case, clients, rule, first.runs, first.seed, first)


def _candidates(teachers: str | Teacher | Sequence[str | Teacher] | None) -> list[Teacher]:
    """The candidates as objects, and the ends of the scale that are not among them."""
    named: Sequence[str | Teacher] = CANDIDATES
    if teachers is not None:
        is_one = isinstance(teachers, str) or not isinstance(teachers, Sequence)
        named = [cast("str | Teacher", teachers)] if is_one else cast("Sequence[str | Teacher]", teachers)
    if not named:
        raise InputError("There is no teacher: name at least one, or leave the teachers out for all of them.")
    chosen = [TEACHERS.parse(each) if isinstance(each, str) else each for each in named]
    specs = [TEACHERS.spec(each) for each in chosen]
    return chosen + [TEACHERS.parse(spec) for spec in ENDS_OF_SCALE if spec not in specs]


def run(request: PlanRequest, *, workers: int | None = None, progress: Watcher | None = None) -> Plan:
    """Make the plan.  ``workers`` (all cores by default) change how long it takes, never the result.

    Raises ``InputError`` for what is no ``PlanRequest`` and no ``Watcher``, and workers that are too few.
    """
    checks.instance_of(PlanRequest, "request", request)
    if progress is not None:
        checks.function("progress", progress)
        checks.function("method 'say' of progress", getattr(progress, "describe", None))
    workers = checks.workers(workers)
    setting = Setting(request.case, request.clients, request.seed, workers)
    gaps = (request.case.gap, *request.smaller_gaps)
    choices = []
    for position, gap in enumerate(gaps):
        before = position * len(request.teachers) * request.runs
        measured = setting.measure(
            request.teachers, gap, request.horizon, request.runs, progress and after(before, progress)
        )
        choices.append(choose(measured, request.rule))
    remedies = []
    for failed in failing(choices[0]):
        if progress is not None:
            progress.describe(f"what would do for {failed.measured.brief}")
        remedies.append(
            remedy(setting, failed, request.first.policies, request.case.gap, request.horizon, request.rule)
        )
    return Plan(
        request=request,
        reach=reach(_instances(request), request.horizon, request.teachers, request.first.policies),
        choice=choices[0],
        smaller=tuple(zip(gaps[1:], choices[1:], strict=True)),
        remedies=tuple(remedies),
    )


def _instances(request: PlanRequest) -> list[Instance]:
    """The instances of all runs."""
    case = request.case
    runs = request.runs if case.varied else 1
    return [case.instance(case.gap, request.seed, run) for run in range(runs)]
