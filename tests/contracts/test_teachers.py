"""What every teacher keeps to, whichever it is: a new one is covered by its line in the table."""

import dataclasses
import json

import numpy as np
import pytest

from tests import reference
from tests.contracts.ladder import Ladder
from tutelage.errors import InputError
from tutelage.registry import Table
from tutelage.rules import ALIGN_KIND, KEEP, RuleMemory, make_rule_arrays, reveal
from tutelage.teachers import TEACHERS
from tutelage.teachers.base import Evidence, Problem, decode_state, encode_state

VARIANTS = ["tal(gamma1=0)", "tal(gamma1=0.3,gamma2=0.2)", "twl(gamma1=0)", "twl(gamma1=0.1,gamma2=0.05)"]
SPECS = [*TEACHERS, *VARIANTS, "known(target=0)"]
WITH_LADDER = Table("teacher", "teachers", {**TEACHERS.entries, "ladder": "tests.contracts.ladder:Ladder"})
ALL_SPECS = [*SPECS, "ladder(mode=any)", "ladder(mode=all)"]

every_teacher = pytest.mark.parametrize("spec", ALL_SPECS)


def make(spec):
    """The teacher of a SPEC."""
    return WITH_LADDER.parse(spec)


def problem_for(teacher, M=3, K=3, T=3000, weights=None):
    """A problem that tells the teacher no more than it asks for."""
    best = K - 1 if teacher.needs_best_arm else None
    return Problem(M, K, T, (1 / M,) * M if weights is None else weights, best)


def begin(teacher, problem, seed=0):
    """The state at the start."""
    return teacher.begin(problem, reference.generator(seed, 0, 0))


def check_directive(teacher, problem, directive):
    """K rules that reveal within [0, 1], sorted active arms, a target only alone, sane quotas."""
    K = problem.num_arms
    assert len(directive.rules) == K
    assert directive.active_arms
    assert list(directive.active_arms) == sorted(set(directive.active_arms) & set(range(K)))
    assert directive.leading_arm is None or directive.leading_arm in directive.active_arms
    assert directive.target is None or directive.active_arms == (directive.target,)
    if not teacher.lab_only:
        assert all(rule.kind != ALIGN_KIND for rule in directive.rules)
    if directive.quota is not None:
        counts, cuts = directive.quota.counts, teacher.segments(problem)
        assert len(counts) == K
        assert directive.quota.mode in ("all", "any")
        assert all(isinstance(count, int) and count >= 0 for count in counts)
        listed = [arm for arm in range(K) if counts[arm] > 0]
        assert listed
        assert set(listed) <= set(directive.active_arms)
        assert all(counts[arm] >= cuts[0] for arm in listed)  # meeting it completes a segment
        if not isinstance(teacher, Ladder):
            assert all(counts[arm] in cuts for arm in listed)
    check_revealed(directive)


def check_revealed(directive):
    """Whatever was observed and revealed before, every rule reveals a reward."""
    K, rng = len(directive.rules), np.random.default_rng(0)
    rule_arrays = make_rule_arrays(
        directive.rules, directive.active_arms, directive.leading_arm, directive.target
    )
    for arm in range(K):
        for reward in (0.0, 0.3, 1.0):
            pulls = rng.integers(1, 100, K)
            sums = rng.random(K) * pulls, rng.random(K) * (pulls - 1)
            assert 0 <= reveal(rule_arrays, RuleMemory(pulls, *sums, np.zeros(2)), arm, reward, 1.0) <= 1


@dataclasses.dataclass
class Checked:
    """A teacher that is checked at every call: pure, and able to go on from its state as JSON."""

    teacher: object
    problem: Problem
    calls: int = 0

    def segments(self, problem):
        return self.teacher.segments(problem)

    def begin(self, problem, rng):
        return self.checked(self.teacher.begin(problem, rng))

    def advance(self, state, evidence):
        before = [sums.copy() for sums in evidence.sums]
        after = self.same(state, lambda given: self.teacher.advance(given, evidence))
        assert all(np.array_equal(*pair) for pair in zip(before, evidence.sums, strict=True))
        return after

    def exclude(self, state, client):
        return self.same(state, lambda given: self.teacher.exclude(given, client))

    def directive(self, state):
        """For the plain runner, which cannot see the global model's rewards, ALIGN becomes KEEP."""
        directive = self.teacher.directive(state)
        rules = tuple(KEEP if rule.kind == ALIGN_KIND else rule for rule in directive.rules)
        return dataclasses.replace(directive, rules=rules)

    def same(self, state, step):
        """The next state; from the very state, from it again, and from its JSON the same."""
        text = encode_state(state)
        after = step(state)
        assert encode_state(state) == text
        assert encode_state(step(state)) == encode_state(after)
        assert encode_state(step(decode_state(self.teacher, text))) == encode_state(after)
        return self.checked(after)

    def checked(self, state):
        """Directive and report are the same again and from JSON; the directive is sound."""
        self.calls += 1
        text = encode_state(state)
        decoded = decode_state(self.teacher, text)
        assert isinstance(state, self.teacher.state_type)
        assert encode_state(decoded) == text
        directive, report = self.teacher.directive(state), self.teacher.report(state)
        for other in (state, decoded):
            assert self.teacher.directive(other) == directive
            assert self.teacher.report(other) == report
        assert encode_state(state) == text
        check_directive(self.teacher, self.problem, directive)
        self.check_report(report, directive)
        return state

    def check_report(self, report, directive):
        """A report tells what the directive does."""
        assert (report.active_arms, report.target) == (directive.active_arms, directive.target)
        assert len(report.lower) == len(report.upper) == self.problem.num_arms
        for lower, upper in zip(report.lower, report.upper, strict=True):
            assert (lower is None) == (upper is None)
            assert lower is None or lower < upper
        assert report.sentence
        assert report.reachable or (directive.quota is None and directive.target is None)


def run(spec, problem_of, *, seed=0, means=None, exclude=None):
    """A game of random pulls under a checked teacher, round by round; the checked teacher and its server."""
    teacher = make(spec)
    problem = problem_of(teacher)
    M, K = problem.num_clients, problem.num_arms
    checked = Checked(teacher, problem)
    server = reference.ContractServer(checked, problem, reference.generator(seed, 0, 0), exclude)
    rng = np.random.default_rng(seed)
    means = np.linspace(0, 1, K) if means is None else np.array(means)
    for t in range(1, problem.horizon + 1):
        pulls = rng.integers(K, size=M).tolist()
        rewards = (rng.random(M) < means[pulls]).astype(float).tolist()
        assert all(0 <= shown <= 1 for shown in server.round(t, pulls, rewards))
    return checked, server


@every_teacher
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("means", [(0.0, 0.1, 0.9), (0.4, 0.5, 0.5)])
def test_whole_games(spec, seed, means):
    """At every consultation of a game: pure functions, JSON there and back, sound directives."""
    checked, _ = run(spec, lambda teacher: problem_for(teacher, M=6, T=2200), seed=seed, means=means)
    if checked.teacher.segments(checked.problem):
        assert checked.calls >= 2


@every_teacher
def test_uneven_weights(spec):
    """The same with clients that count unequally."""
    run(
        spec,
        lambda teacher: problem_for(teacher, M=4, weights=(0.4, 0.3, 0.2, 0.1), T=1500),
        means=(0.1, 0.2, 0.9),
    )


@every_teacher
def test_clients_exclude_one_after_the_other(spec):
    """Every client but the last may go, at any time; what remains goes on."""
    leaving = {2: 5, 0: 700, 3: 700, 1: 1600}
    checked, server = run(spec, lambda teacher: problem_for(teacher, M=5, T=2000), exclude=leaving)
    assert len(server.events) >= len(leaving)
    assert checked.calls >= len(leaving)


@every_teacher
@pytest.mark.parametrize("sizes", [(1, 1, 1), (1, 1, 500), (3, 1, 500), (1, 4, 500), (2, 5, 2), (2, 5, 1)])
def test_smallest_problems(spec, sizes):
    """One client, one arm, one round, fewer rounds than arms: nothing breaks."""
    run(spec, lambda teacher: problem_for(teacher, *sizes))


@every_teacher
def test_segments_increase_and_are_few(spec):
    """Cuts are whole, increasing, within the horizon, and few even where the horizon is long."""
    teacher = make(spec)
    for T in (1, 2, 100, 50_000, 10**9):
        cuts = teacher.segments(problem_for(teacher, T=T))
        assert all(isinstance(cut, int) and 1 <= cut <= T for cut in cuts)
        assert list(cuts) == sorted(set(cuts))
        assert len(cuts) < 1000


@every_teacher
def test_state_does_not_depend_on_the_horizon_in_size(spec):
    """At the start the state of a game of 10^9 rounds is as small as any."""
    teacher = make(spec)
    assert len(encode_state(begin(teacher, problem_for(teacher, T=10**9)))) < 2000


@pytest.mark.parametrize("spec", SPECS)
def test_epochs_out_of_reach_are_said_to_be(spec):
    """Without room for a decision a teacher of epochs says so, and never asks to be consulted.

    One that bets has no epochs: it goes on asking within the horizon.
    """
    teacher = make(spec)
    problem = problem_for(teacher, T=3)
    state = begin(teacher, problem)
    directive, report = teacher.directive(state), teacher.report(state)
    if directive.quota is not None:
        assert report.reachable
        assert max(directive.quota.counts) <= 3
        return
    learns = bool(teacher.segments(problem_for(teacher)))
    assert report.reachable is not learns
    assert ("horizon" in report.sentence) is learns


@every_teacher
def test_generator_decides_the_rest(spec):
    """The same generator gives the same state; nothing else is random."""
    teacher = make(spec)
    problem = problem_for(teacher)
    assert encode_state(begin(teacher, problem, 3)) == encode_state(begin(teacher, problem, 3))


@pytest.mark.parametrize("spec", [spec for spec in SPECS if make(spec).segments(problem_for(make(spec)))])
def test_whom_one_cannot_exclude(spec):
    """A teacher with evidence refuses a client that is not there, one that is gone, and the last one."""
    teacher = make(spec)
    state = begin(teacher, problem_for(teacher, M=3))
    for stranger in (3, -1, 100):
        with pytest.raises(InputError, match=rf"client {stranger}\b"):
            teacher.exclude(state, stranger)
    state = teacher.exclude(state, 1)
    with pytest.raises(InputError, match="client 1"):
        teacher.exclude(state, 1)
    state = teacher.exclude(state, 0)
    with pytest.raises(InputError, match="last"):
        teacher.exclude(state, 2)


@every_teacher
@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "null", "3", '"state"', "{", '{"problem": 3}', '{"num_arms": "three"}', "\x00"]
)
def test_malformed_state(spec, text):
    """What is not a state of this teacher is an InputError."""
    with pytest.raises(InputError, match="state"):
        decode_state(make(spec), text)


def damages(value, path=()):
    """Ways to a part of a JSON document, each with the part."""
    yield path, value
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in items:
        yield from damages(part, (*path, key))


@every_teacher
def test_damaged_state(spec):
    """A field that is missing or no longer of its kind is an InputError, wherever it stands."""
    teacher = make(spec)
    problem = problem_for(teacher, M=2, K=2)
    state = begin(teacher, problem)
    if teacher.segments(problem):
        state = teacher.advance(state, Evidence(tuple(np.full((1, 2), arm * 100.0) for arm in range(2))))
    text = encode_state(state)
    for path, part in damages(json.loads(text)):
        for wrong in ({"a": 1}, [[], 1], "word"):
            if isinstance(part, str) and isinstance(wrong, str):
                continue
            document = json.loads(text)
            place = document
            for key in path[:-1]:
                place = place[key]
            if path:
                place[path[-1]] = wrong
            with pytest.raises(InputError, match="state"):
                decode_state(teacher, json.dumps(document if path else wrong))


@pytest.mark.parametrize("spec", ALL_SPECS)
@pytest.mark.parametrize("other", ALL_SPECS)
def test_foreign_state(spec, other):
    """A state of another kind of teacher is an InputError."""
    teacher, foreign = make(spec), make(other)
    if teacher.state_type is foreign.state_type:
        return
    with pytest.raises(InputError, match="state"):
        decode_state(teacher, encode_state(begin(foreign, problem_for(foreign))))


@every_teacher
def test_spec_round_trip(spec):
    """A SPEC parses to a teacher whose own SPEC parses back equal."""
    teacher = make(spec)
    canonical = WITH_LADDER.spec(teacher)
    assert WITH_LADDER.parse(canonical) == teacher
    assert WITH_LADDER.spec(WITH_LADDER.parse(canonical)) == canonical


@pytest.mark.parametrize("name", list(TEACHERS))
def test_is_documented(name):
    """Its class says in a line what it is, every parameter has a help text, and it is a frozen value."""
    cls = TEACHERS.cls(name)
    assert TEACHERS.summary(name).endswith(".")
    assert cls.__dataclass_params__.frozen
    assert cls.state_type.__dataclass_params__.frozen
    assert all(item.help and not item.required for item in TEACHERS.parameters(name))
