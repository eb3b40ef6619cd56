"""A teacher that is checked at every call, and a simulated run under it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tutelage.engine.simulation import simulate_run
from tutelage.instances import Instance
from tutelage.policies import POLICIES
from tutelage.request import SimulationRequest
from tutelage.rules import ALIGN_KIND, RuleMemory, make_rule_arrays, reveal
from tutelage.run_outcome import RunOutcome
from tutelage.seeding import teacher_generator
from tutelage.teachers.base import Directive, Evidence, Problem, Report, Teacher, decode_state, encode_state


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

    def __init__(self, teacher: Teacher, *, counts_are_cuts: bool = True) -> None:
        self.teacher, self.calls, self.counts_are_cuts = teacher, 0, counts_are_cuts
        self.problem: Problem | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.teacher, name)

    def begin(self, problem: Problem, generator: Any) -> Any:
        """Check the first state."""
        self.problem = problem
        return self._checked(self.teacher.begin(problem, generator))

    def advance(self, state: Any, evidence: Evidence) -> Any:
        """Check a consultation; the evidence stays as it was."""
        before = [sums.copy() for sums in evidence.sums]
        after = self._same(state, lambda given: self.teacher.advance(given, evidence))
        assert all(np.array_equal(*pair) for pair in zip(before, evidence.sums, strict=True)), (
            "advance() changed the evidence"
        )
        return after

    def exclude(self, state: Any, client: int) -> Any:
        """Check an exclusion."""
        return self._same(state, lambda given: self.teacher.exclude(given, client))

    def _same(self, state: Any, step: Callable[[Any], Any]) -> Any:
        """Return the next state, which is the same from the state, from it again, and from its JSON."""
        text = encode_state(state)
        after = step(state)
        assert encode_state(state) == text, "the teacher changed a state that it was given"
        assert encode_state(step(state)) == encode_state(after), "the same call gave another state"
        assert encode_state(step(decode_state(self.teacher, text))) == encode_state(after), (
            "a state that went to JSON and back leads to another state"
        )
        return self._checked(after)

    def _checked(self, state: Any) -> Any:
        assert self.problem is not None
        self.calls += 1
        text = encode_state(state)
        decoded = decode_state(self.teacher, text)
        assert isinstance(state, self.teacher.state_type)
        assert encode_state(decoded) == text, "a state does not survive JSON"
        directive, report = self.teacher.directive(state), self.teacher.report(state)
        for other in (state, decoded):
            assert self.teacher.directive(other) == directive
            assert self.teacher.report(other) == report
        assert encode_state(state) == text, "directive() or report() changed the state"
        check_directive(self.teacher, self.problem, directive, counts_are_cuts=self.counts_are_cuts)
        check_report(self.problem, report, directive)
        return state


def check_directive(teacher: Teacher, problem: Problem, directive: Directive, *, counts_are_cuts: bool = True) -> None:
    """Assert K rules that reveal within [0, 1], sorted active arms, and a sound quota and target."""
    K = problem.num_arms
    assert len(directive.rules) == K
    assert directive.active_arms
    assert list(directive.active_arms) == sorted(set(directive.active_arms) & set(range(K)))
    assert directive.leading_arm is None or directive.leading_arm in directive.active_arms
    assert directive.target is None or directive.active_arms == (directive.target,)
    if not teacher.simulation_only:
        assert all(rule.kind != ALIGN_KIND for rule in directive.rules)
    if directive.quota is not None:
        counts, cuts = directive.quota.counts, teacher.segments(problem)
        assert len(counts) == K
        assert directive.quota.mode in {"all", "any"}
        assert all(type(count) is int and count >= 0 for count in counts)
        listed = [arm for arm in range(K) if counts[arm] > 0]
        assert listed, "the quota lists no arm"
        assert set(listed) <= set(directive.active_arms)
        assert all(counts[arm] >= cuts[0] for arm in listed), "a count of the quota completes no segment"
        if counts_are_cuts:
            assert all(counts[arm] in cuts for arm in listed), "a count of the quota is not a cut"
    _check_revealed(directive)


def _check_revealed(directive: Directive) -> None:
    """Assert that every rule reveals a reward in [0, 1] after any history."""
    K, rng = len(directive.rules), np.random.default_rng(0)
    rule_arrays = make_rule_arrays(directive.rules, directive.active_arms, directive.leading_arm, directive.target)
    for arm in range(K):
        for reward in (0.0, 0.3, 1.0):
            pulls = rng.integers(1, 100, K)
            sums = rng.random(K) * pulls, rng.random(K) * (pulls - 1)
            assert 0 <= reveal(rule_arrays, RuleMemory(pulls, *sums, np.zeros(2)), arm, reward, 1.0) <= 1


def check_report(problem: Problem, report: Report, directive: Directive) -> None:
    """Assert that a report says what the directive does."""
    assert (report.active_arms, report.target) == (directive.active_arms, directive.target)
    assert len(report.lower) == len(report.upper) == problem.num_arms
    for lower, upper in zip(report.lower, report.upper, strict=True):
        assert (lower is None) == (upper is None)
        assert lower is None or upper is None or lower < upper
    assert report.sentence
    assert report.reachable or (directive.quota is None and directive.target is None)


def play(
    teacher: Teacher,
    *,
    clients: int = 3,
    horizon: int = 3000,
    means: Sequence[float] = (0.0, 0.5, 1.0),
    weights: Sequence[float] | None = None,
    seed: int = 0,
    exclude: Mapping[int, int] | None = None,
    counts_are_cuts: bool = True,
) -> tuple[CheckedTeacher, RunOutcome]:
    """Simulate clients that pull arms at random under a checked teacher."""
    checked: Any = CheckedTeacher(teacher, counts_are_cuts=counts_are_cuts)
    shares = np.full(clients, 1 / clients) if weights is None else np.array(weights)
    request = SimulationRequest(
        instance=Instance("random pulls", np.tile(np.array(means), (clients, 1)), shares),
        teachers=(checked,),
        policies=(POLICIES.parse("eps-constant(epsilon=1)"),) * clients,
        horizon=horizon,
        runs=1,
        seed=seed,
        checkpoints=np.array([horizon]),
        exclude=dict(exclude or {}),
    )
    outcome = simulate_run(request, 0, 0, trace=True)
    assert np.all((outcome.trace.revealed >= 0) & (outcome.trace.revealed <= 1))
    return checked, outcome


def parts_of(value: Any, path: tuple[Any, ...] = ()) -> Any:
    """Yield (path, part) for every part of a JSON document."""
    yield path, value
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in items:
        yield from parts_of(part, (*path, key))
