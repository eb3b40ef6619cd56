"""Make a plan: can learning end in time, what will each teacher cost, and which one to run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, cast

import msgspec

from tutelage import simulator
from tutelage.errors import InputError
from tutelage.instances import load as load_instance
from tutelage.instances.base import Instance
from tutelage.planning.answers import PlanAnswers, answer
from tutelage.planning.candidates import CandidateSimulator, shift_progress
from tutelage.planning.cases import AssumedInstance, Case, KnownInstance
from tutelage.planning.choice import Choice, SelectionRule, choose
from tutelage.planning.decision_times import Reachability, compute_reachability, rounds_per_pull
from tutelage.planning.remedy import Remedy, RemedySearch, find_failing, find_remedy, is_enough
from tutelage.progress_bar import ProgressOption, show_progress
from tutelage.request import SimulationRequest
from tutelage.results import describe_instance
from tutelage.simulator.requests import list_teachers
from tutelage.teachers import TEACHERS
from tutelage.teachers.base import Teacher, describe_assumptions
from tutelage.theory import arguments
from tutelage.versions import package_version

# Rewards revealed while learning, and off the target afterwards.  gamma2 above gamma1 would draw clients away
# from the target; where both are equal, TAL and TWL have the same directives until one of them decides.
GAMMAS = ((1.0, 0.0), (1.0, 0.25), (0.5, 0.0), (0.5, 0.25), (0.0, 0.0))
CANDIDATES = (
    *(f"{kind}(gamma1={gamma1:g},gamma2={gamma2:g})" for kind in ("tal", "twl") for gamma1, gamma2 in GAMMAS),
    "blt",
)
BASELINES = ("known", "none")
SMALLER = (0.5, 0.25)  # shares of the gap at which the plan is made again
_SLOWEST = 1e9  # rounds for a pull


@dataclass(frozen=True, eq=False)
class PlanRequest:
    """The resolved and checked arguments of a plan; ``first`` is the simulation of the first instance."""

    case: Case
    clients: str
    rule: SelectionRule
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
        """Runs of all teachers at all gaps, without those of the search for remedies."""
        return len(self.teachers) * self.runs * (1 + len(self.smaller_gaps))


@dataclass(frozen=True, eq=False)
class Plan:
    """The result: what formulas say, the choice at the gap and at smaller gaps, and remedies."""

    request: PlanRequest
    reach: Reachability
    choice: Choice
    smaller: tuple[tuple[float, Choice], ...]
    remedies: tuple[Remedy, ...]

    @property
    def answers(self) -> PlanAnswers:
        """The answers in three sentences."""
        request = self.request
        return answer(request.case, request.first.instance, request.horizon, self.choice, self.remedies)

    @property
    def why(self) -> str:
        """Why this teacher is chosen; if none can be, also the smallest horizon and gap that are enough."""
        if self.choice.best:
            return self.choice.why
        sentences = [self.choice.why]
        horizons = [(each.horizon.value, each.teacher) for each in self.remedies if is_enough(each.horizon)]
        gaps = [(each.gap.value, each.teacher) for each in self.remedies if is_enough(each.gap)]
        if horizons:
            sentences.append("The shortest horizon found to be enough is {:,.0f} rounds ({}).".format(*min(horizons)))
        if gaps:
            sentences.append("The smallest gap found to be enough is {:.4g} ({}).".format(*min(gaps)))
        return " ".join(sentences)

    def summary(self) -> dict[str, Any]:
        """Return the plan as plain finite numbers, the document of ``tutelage plan --json``."""
        request = self.request
        return {
            "tutelage": package_version(),
            "answers": self.answers.as_json(),
            "instance": _case_as_json(request),
            "clients": list(request.first.client_specs),
            "horizon": request.horizon,
            "runs": request.runs,
            "seed": request.seed,
            "cost_weight": request.rule.cost_weight,
            "min_decided": request.rule.min_decided,
            "assumptions": describe_assumptions(),
            "reach": self.reach.as_json(),
            **_choice_as_json(self.choice),
            "why": self.why,
            "smaller_gaps": [{"gap": gap, **_choice_as_json(choice)} for gap, choice in self.smaller],
            "remedies": [each.as_json() for each in self.remedies],
        }


def _choice_as_json(choice: Choice) -> dict[str, Any]:
    best = choice.best
    return {
        "teachers": [each.as_json() for each in choice.assessments],
        "choice": best.measurement.label if best else None,
        "why": choice.why,
        "teaching_pays": choice.teaching_pays,
    }


def _case_as_json(request: PlanRequest) -> dict[str, Any]:
    """The known instance, or what is known of a guessed one."""
    case = request.case
    if isinstance(case, KnownInstance):
        described: dict[str, Any] = msgspec.to_builtins(describe_instance(case.known))
        return described
    known = msgspec.to_builtins(describe_instance(request.first.instance))
    shared = ("num_clients", "num_arms", "weights", "rewards", "activity", "delays")
    return {
        "name": "planted, one for each run",
        "min_gap": case.gap,
        **{name: known[name] for name in shared if name in known},
    }


def make_request(
    case: Case,
    teachers: str | Teacher | Sequence[str | Teacher] | None = None,
    clients: str = simulator.DEFAULT_CLIENTS,
    *,
    horizon: int = simulator.DEFAULT_HORIZON,
    runs: int = simulator.DEFAULT_RUNS,
    seed: int = simulator.DEFAULT_SEED,
    cost_weight: float = 1.0,
    min_decided: float = 0.9,
) -> PlanRequest:
    """Resolve and check the arguments of a plan.

    ``teachers`` are the candidates, by default ``CANDIDATES``; the baselines ``known`` and ``none`` are
    added.  Raises ``InputError`` with the invalid value and what to do.
    """
    arguments.instance_of(Case, "case", case)
    rule = SelectionRule(cost_weight, min_decided)
    seed = arguments.whole("seed", seed, 0, 2**64 - 1)
    chosen = _candidates(teachers)
    first = simulator.make_request(
        case.instance(case.gap, seed, 0), chosen, clients, horizon=horizon, runs=runs, seed=seed, checkpoints=1
    )
    pace = rounds_per_pull(first.instance)
    if pace > _SLOWEST:
        raise InputError(
            f"The slowest client takes {pace:.3g} rounds for a pull, more than {_SLOWEST:g}: leave it out, "
            "or use a higher activity or a shorter delay."
        )
    return PlanRequest(case, clients, rule, first.runs, first.seed, first)


def _candidates(teachers: str | Teacher | Sequence[str | Teacher] | None) -> list[Teacher]:
    """The candidates as objects, and the baselines that are not among them."""
    chosen = list_teachers(CANDIDATES if teachers is None else teachers)
    specs = [TEACHERS.spec(each) for each in chosen]
    return [*chosen, *(TEACHERS.parse(spec) for spec in BASELINES if spec not in specs)]


def plan(
    instance: str | PurePath | Instance | Case,
    teachers: str | Teacher | Sequence[str | Teacher] | None = None,
    clients: str = simulator.DEFAULT_CLIENTS,
    *,
    horizon: int = simulator.DEFAULT_HORIZON,
    runs: int = simulator.DEFAULT_RUNS,
    seed: int = simulator.DEFAULT_SEED,
    cost_weight: float = 1.0,
    min_decided: float = 0.9,
    workers: int | None = None,
    progress: ProgressOption = False,
) -> Plan:
    """Choose a teacher before the start: whether the horizon is enough, which arm looks best, which teacher to run.

    ``instance`` is one as :func:`tutelage.simulate` takes it, or an ``AssumedInstance`` where only the gap is
    known.  The other arguments are those of :func:`make_request` and :func:`make_plan`.  Raises ``InputError``.
    """
    case = instance
    if not isinstance(case, AssumedInstance | KnownInstance):
        case = KnownInstance(case if isinstance(case, Instance) else load_instance(cast("str | PurePath", case)))
    request = make_request(
        case, teachers, clients, horizon=horizon, runs=runs, seed=seed, cost_weight=cost_weight, min_decided=min_decided
    )
    with show_progress(progress, request.num_runs) as callback:
        return make_plan(request, workers=workers, progress=callback)


def make_plan(
    request: PlanRequest, *, workers: int | None = None, progress: Callable[[float], None] | None = None
) -> Plan:
    """Simulate the teachers and make the plan.

    ``workers`` (all cores by default) changes how long it takes, never the result.  ``progress`` is called with
    the number of finished runs, of :attr:`PlanRequest.num_runs`; if it has a method ``describe``, this gets the
    name of the work that comes next.  Raises ``InputError`` for arguments of another type, and fewer than 1 worker.
    """
    arguments.instance_of(PlanRequest, "request", request)
    if progress is not None:
        arguments.function("progress", progress)
    describe = getattr(progress, "describe", None)
    workers = arguments.workers(workers)
    candidates = CandidateSimulator(request.case, request.clients, request.seed, workers)
    gaps = (request.case.gap, *request.smaller_gaps)
    choices = []
    for position, gap in enumerate(gaps):
        before = position * len(request.teachers) * request.runs
        measurements = candidates.measure(
            request.teachers, gap, request.horizon, request.runs, progress and shift_progress(before, progress)
        )
        choices.append(choose(measurements, request.rule))
    remedies = []
    for failed in find_failing(choices[0]):
        if callable(describe):
            describe(f"remedies for {failed.measurement.label}")
        search = RemedySearch(
            candidates,
            failed.measurement.teacher,
            request.first.policies,
            request.case.gap,
            request.horizon,
            request.rule,
        )
        remedies.append(find_remedy(search, failed))
    return Plan(
        request=request,
        reach=compute_reachability(_instances(request), request.horizon, request.teachers, request.first.policies),
        choice=choices[0],
        smaller=tuple(zip(gaps[1:], choices[1:], strict=True)),
        remedies=tuple(remedies),
    )


def _instances(request: PlanRequest) -> list[Instance]:
    """The instances of all runs."""
    case = request.case
    runs = request.runs if case.varied else 1
    return [case.instance(case.gap, request.seed, run) for run in range(runs)]
