"""A teacher that is checked at every call, and a simulated run under it."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

import numpy as np

from tutelage.engine.runs import warm_up
from tutelage.engine.simulation import simulate_run
from tutelage.errors import InputError
from tutelage.instances import Instance
from tutelage.policies import POLICIES
from tutelage.request import SimulationRequest
from tutelage.rule_memory import RuleMemory, state_size
from tutelage.rules import ALIGN_KIND, make_rule_arrays, reveal
from tutelage.run_outcome import RunOutcome
from tutelage.seeding import teacher_generator
from tutelage.teachers import TEACHERS
from tutelage.teachers.base import (
    Directive,
    Evidence,
    Problem,
    Quota,
    QuotaMode,
    Report,
    Teacher,
    decode_state,
    encode_state,
)
from tutelage.teachers.baselines import NoTeaching
from tutelage.testing.contract_rules import RuleViolation, require

_RANDOM_PULLS = POLICIES.parse("eps-constant(epsilon=1)")


def problem_for(
    teacher: Teacher, M: int = 3, K: int = 3, T: int = 3000, weights: Sequence[float] | None = None
) -> Problem:
    """Return a problem of M clients, K arms and T rounds, with the best arm only if the teacher needs it."""
    best = K - 1 if teacher.needs_best_arm else None
    return Problem(M, K, T, (1 / M,) * M if weights is None else tuple(weights), best)


def begin(teacher: Teacher, problem: Problem, seed: int = 0) -> Any:
    """Return the teacher's first state."""
    return teacher.begin(problem, teacher_generator(seed, 0))


class CheckedTeacher:
    """A teacher whose every call is checked: pure functions, states that survive JSON, sound directives.

    ``calls`` counts the states that have been checked.
    """

    def __init__(self, teacher: Teacher) -> None:
        self.teacher, self.calls = teacher, 0
        self.problem: Problem | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.teacher, name)

    def begin(self, problem: Problem, generator: Any) -> Any:
        """Check the first state."""
        self.problem = problem
        return self._checked(self.teacher.begin(problem, generator), "begin")

    def advance(self, state: Any, evidence: Evidence) -> Any:
        """Check a consultation; the evidence cannot be written."""
        return self._same(state, lambda given: self.teacher.advance(given, evidence), "advance")

    def exclude(self, state: Any, client: int) -> Any:
        """Check an exclusion."""
        return self._same(state, lambda given: self.teacher.exclude(given, client), "exclude")

    def _same(self, state: Any, step: Callable[[Any], Any], function: str) -> Any:
        """Return the next state, which is the same from the state, from it again, and from its JSON."""
        text = encode_state(state)
        after = step(state)
        self._require_state(after, function)
        require(encode_state(state) == text, f"{function}() changed the state that it was given")
        require(
            encode_state(step(state)) == encode_state(after),
            f"{function}() returned another state when it was called again with the same arguments",
        )
        require(
            encode_state(step(decode_state(self.teacher, text))) == encode_state(after),
            f"{function}() returned another state for a state that went to JSON and back",
        )
        return self._checked(after, function)

    def _require_state(self, state: Any, function: str) -> None:
        wanted = self.teacher.state_type
        require(isinstance(state, wanted), f"{function}() returned {state!r}, which is not a {wanted.__name__}")

    def _checked(self, state: Any, function: str) -> Any:
        if self.problem is None:
            raise AssertionError(function)
        self.calls += 1
        self._require_state(state, function)
        text = encode_state(state)
        decoded = decode_state(self.teacher, text)
        require(encode_state(decoded) == text, f"The state that {function}() returned does not survive JSON")
        directive, report = self.teacher.directive(state), self.teacher.report(state)
        for other in (state, decoded):
            require(self.teacher.directive(other) == directive, "directive() returned two results for one state")
            require(self.teacher.report(other) == report, "report() returned two results for one state")
        require(encode_state(state) == text, "directive() or report() changed the state")
        check_directive(self.teacher, self.problem, directive)
        check_report(self.problem, report, directive)
        return state


def check_directive(teacher: Teacher, problem: Problem, directive: Directive) -> None:
    """Require K rules that reveal within [0, 1], sorted active arms, and a sound quota and target."""
    K, active = problem.num_arms, directive.active_arms
    require(len(directive.rules) == K, f"directive() returned {len(directive.rules)} rules for {K} arms")
    sound = bool(active) and list(active) == sorted(set(active) & set(range(K)))
    require(sound, f"The active arms {active} are not existing arms in ascending order, each once")
    leading, target = directive.leading_arm, directive.target
    require(leading is None or leading in active, f"The leading arm {leading} is not one of the active arms {active}")
    require(target is None or active == (target,), f"With the target {target} the active arms are {active}")
    if not teacher.simulation_only:
        aligns = any(rule.kind == ALIGN_KIND for rule in directive.rules)
        require(not aligns, "A rule is ALIGN, which only a teacher with simulation_only = True may use")
    if directive.quota is not None:
        _check_quota(teacher, problem, directive.quota, active)
    _check_revealed(directive)


def _check_quota(teacher: Teacher, problem: Problem, quota: Quota, active: tuple[int, ...]) -> None:
    """Require counts of active arms, each a cut."""
    K, counts, cuts = problem.num_arms, quota.counts, teacher.segments(problem)
    require(len(counts) == K, f"The quota has {len(counts)} counts for {K} arms")
    require(quota.mode in get_args(QuotaMode), f"The mode of the quota is {quota.mode!r}: use all or any")
    for count in counts:
        require(type(count) is int and count >= 0, f"The quota lists {count!r} pulls: use whole numbers (int) from 0")
    listed = [arm for arm in range(K) if counts[arm] > 0]
    require(listed, "The quota lists no arm: use None for no further consultation")
    require(set(listed) <= set(active), f"The quota lists the arms {listed}, but only {active} are active")
    require(cuts, "There is a quota, but segments() returned no cuts, so a consultation would bring no evidence")
    for arm in listed:
        require(
            counts[arm] >= cuts[0], f"The quota's count {counts[arm]} completes no segment: the first cut is {cuts[0]}"
        )
        if getattr(teacher, "counts_are_cuts", True):
            require(
                counts[arm] in cuts,
                f"The quota's count {counts[arm]} is not a cut of segments(): use cuts, or declare "
                "counts_are_cuts = False",
            )


def _check_revealed(directive: Directive) -> None:
    """Require that every rule reveals a reward in [0, 1] after any history."""
    K, rng = len(directive.rules), np.random.default_rng(0)
    rule_arrays = make_rule_arrays(directive.rules, directive.active_arms, directive.leading_arm, directive.target)
    for arm in range(K):
        for reward in (0.0, 0.3, 1.0):
            pulls = rng.integers(1, 100, K)
            sums = rng.random(K) * pulls, rng.random(K) * (pulls - 1)
            value = reveal(rule_arrays, RuleMemory(pulls, *sums, np.zeros(state_size(K))), arm, reward, 1.0)
            require(0 <= value <= 1, f"The rule {directive.rules[arm]} reveals {value:g}, outside [0, 1]")


def check_report(problem: Problem, report: Report, directive: Directive) -> None:
    """Require that a report says what the directive does."""
    for name in ("active_arms", "target"):
        said, done = getattr(report, name), getattr(directive, name)
        require(said == done, f"report() says {name}={said}, but directive() {name}={done}")
    sizes = len(report.lower), len(report.upper)
    require(sizes == (problem.num_arms,) * 2, f"report() has {sizes} bounds for {problem.num_arms} arms")
    for lower, upper in zip(report.lower, report.upper, strict=True):
        fits = (lower is None and upper is None) or (lower is not None and upper is not None and lower < upper)
        require(fits, f"report() has the lower bound {lower} with the upper bound {upper}")
    require(report.sentence, "The sentence of report() is empty")
    require(
        report.reachable or (directive.quota is None and directive.target is None),
        "report() says that no decision is reachable, but there is a quota or a target",
    )


def play(
    teacher: Teacher,
    *,
    clients: int = 3,
    horizon: int = 3000,
    means: Sequence[float] = (0.0, 0.5, 1.0),
    weights: Sequence[float] | None = None,
    seed: int = 0,
    exclude: Mapping[int, int] | None = None,
) -> tuple[CheckedTeacher, RunOutcome]:
    """Simulate clients that pull arms at random under a checked teacher."""
    checked: Any = CheckedTeacher(teacher)
    shares = np.full(clients, 1 / clients) if weights is None else np.array(weights)
    request = SimulationRequest(
        instance=Instance("random pulls", np.tile(np.array(means), (clients, 1)), shares),
        teachers=(checked,),
        policies=(_RANDOM_PULLS,) * clients,
        horizon=horizon,
        runs=1,
        seed=seed,
        checkpoints=np.array([horizon]),
        exclude=dict(exclude or {}),
    )
    warm_up_clients()
    try:
        outcome = simulate_run(request, 0, 0, trace=True)
    except InputError as error:  # it names the class above
        raise RuleViolation(str(error).replace(TEACHERS.spec(checked), TEACHERS.spec(teacher))) from error
    revealed = outcome.trace.revealed
    require(np.all((revealed >= 0) & (revealed <= 1)), "A reward outside [0, 1] was revealed")
    return checked, outcome


@functools.cache
def warm_up_clients() -> None:
    """Compile what plays the clients; the log says so, as before a simulation."""
    means = np.array([[0.0, 1.0]])
    warm_up(
        SimulationRequest(
            instance=Instance("random pulls", means, np.ones(1)),
            teachers=(NoTeaching(),),
            policies=(_RANDOM_PULLS,),
            horizon=1,
            runs=1,
            seed=0,
            checkpoints=np.ones(1, dtype=np.int64),
        )
    )


def parts_of(value: Any, path: tuple[Any, ...] = ()) -> Any:
    """Yield (path, part) for every part of a JSON document."""
    yield path, value
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in items:
        yield from parts_of(part, (*path, key))
