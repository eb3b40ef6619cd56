"""The rules of the contract of teachers."""

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from tutelage.read_only_arrays import read_only
from tutelage.teachers import TEACHERS
from tutelage.teachers.base import Evidence, Teacher, decode_state, encode_state
from tutelage.testing.checked_teacher import begin, parts_of, play, problem_for
from tutelage.testing.contract_rules import ContractRules, RuleNotApplicable, require, require_input_error
from tutelage.testing.policies import require_documented, require_frozen

TEACHER_RULES = ContractRules()
_PROBLEMS = [(1, 1, 1), (1, 1, 500), (3, 1, 500), (1, 4, 500), (2, 5, 2), (2, 5, 1)]  # M, K and T
_NO_STATES = ["", "{}", "[]", "null", "3", '"state"', "{", '{"problem": 3}', '{"num_arms": "three"}', "\x00"]
_WRONG_VALUES: tuple[Any, ...] = ({"a": 1}, [[], 1], "word")


@TEACHER_RULES.rule(seed=[0, 1], means=[(0.0, 0.1, 0.9), (0.4, 0.5, 0.5)])
def whole_runs(spec: str, seed: int, means: tuple[float, ...]) -> None:
    """Every function is pure at every consultation of a run; states survive JSON; directives are sound."""
    teacher = TEACHERS.parse(spec)
    checked, _ = play(teacher, clients=6, horizon=2200, means=means, seed=seed)
    if checked.problem is not None and teacher.segments(checked.problem):
        require(checked.calls >= 2, "The teacher was never consulted in 2,200 rounds of clients that explore evenly")


@TEACHER_RULES.rule()
def uneven_weights(spec: str) -> None:
    """The same holds with clients of unequal weight."""
    weights = (0.4, 0.3, 0.2, 0.1)
    play(TEACHERS.parse(spec), clients=4, horizon=1500, means=(0.1, 0.2, 0.9), weights=weights)


@TEACHER_RULES.rule(exclude=[{2: 5, 0: 700, 3: 700, 1: 1600}])
def clients_are_excluded_one_after_the_other(spec: str, exclude: Mapping[int, int]) -> None:
    """Every client but the last can be excluded at any time."""
    checked, outcome = play(TEACHERS.parse(spec), clients=5, horizon=2000, exclude=exclude)
    require(len(outcome.events) >= len(exclude), "A client could not be excluded")
    require(checked.calls >= len(exclude), "exclude() was not called for every client")


@TEACHER_RULES.rule(size=_PROBLEMS)
def smallest_problems(spec: str, size: tuple[int, int, int]) -> None:
    """One client, one arm, one round, fewer rounds than arms: a run ends without an error."""
    clients, arms, horizon = size
    play(TEACHERS.parse(spec), clients=clients, horizon=horizon, means=np.linspace(0, 1, arms).tolist())


@TEACHER_RULES.rule(horizon=[1, 2, 100, 50_000, 10**9])
def segments_increase_and_are_few(spec: str, horizon: int) -> None:
    """Cuts are whole, increasing, within the horizon, and fewer than 1,000 at any horizon."""
    teacher = TEACHERS.parse(spec)
    cuts = teacher.segments(problem_for(teacher, T=horizon))
    for cut in cuts:
        require(
            type(cut) is int and 1 <= cut <= horizon,
            f"With a horizon of {horizon:,} segments() returned the cut {cut!r}: cuts are whole numbers (int) from 1 "
            "to the horizon",
        )
    require(list(cuts) == sorted(set(cuts)), f"With a horizon of {horizon:,} the cuts do not increase")
    require(len(cuts) < 1000, f"With a horizon of {horizon:,} there are {len(cuts):,} cuts, where fewer than 1,000 fit")


@TEACHER_RULES.rule()
def state_size_does_not_depend_on_the_horizon(spec: str) -> None:
    """The first state of a run of 10^9 rounds is less than 2,000 bytes of JSON."""
    teacher = TEACHERS.parse(spec)
    size = len(encode_state(begin(teacher, problem_for(teacher, T=10**9))))
    require(size < 2000, f"With a horizon of 10^9 the first state is {size:,} bytes of JSON")


@TEACHER_RULES.rule()
def a_decision_out_of_reach_is_reported(spec: str) -> None:
    """With a horizon of 3, a teacher asks within the horizon or reports that no decision can come."""
    teacher = TEACHERS.parse(spec)
    problem = problem_for(teacher, T=3)
    state = begin(teacher, problem)
    directive, report = teacher.directive(state), teacher.report(state)
    if directive.quota is not None:
        require(report.reachable, "With a quota in force report() says that no decision is reachable")
        most = max(directive.quota.counts)
        require(most <= 3, f"With a horizon of 3 the quota lists {most} pulls: no count lies beyond the horizon")
        return
    learns = bool(teacher.segments(problem_for(teacher)))
    require(
        report.reachable is not learns,
        "With a horizon of 3 there is no quota, but report() says that a decision is reachable"
        if learns
        else "The teacher has no segments, but report() says that its decision does not fit into the horizon",
    )
    named = "horizon" in report.sentence
    require(
        named is learns,
        f"The sentence of report() must hold the word horizon if it is too short, and only then: {report.sentence!r}",
    )


@TEACHER_RULES.rule()
def the_generator_decides_the_rest(spec: str) -> None:
    """The same generator gives the same state; nothing else is random."""
    teacher = TEACHERS.parse(spec)
    first, second = (encode_state(begin(teacher, problem_for(teacher), 3)) for _ in range(2))
    require(first == second, "begin() returned two states for the same generator")


@TEACHER_RULES.rule()
def clients_that_cannot_be_excluded(spec: str) -> None:
    """A teacher with evidence refuses an unknown client, one that is excluded already, and the last one."""
    teacher = TEACHERS.parse(spec)
    if not teacher.segments(problem_for(teacher)):
        raise RuleNotApplicable("The teacher uses no evidence")
    state = begin(teacher, problem_for(teacher, M=3))
    for unknown in (3, -1, 100):
        with require_input_error(f"excluding client {unknown} of three", rf"client {unknown}\b"):
            teacher.exclude(state, unknown)
    state = teacher.exclude(state, 1)
    with require_input_error("excluding client 1 twice", "client 1"):
        teacher.exclude(state, 1)
    state = teacher.exclude(state, 0)
    with require_input_error("excluding the last client", "last"):
        teacher.exclude(state, 2)


@TEACHER_RULES.rule(text=_NO_STATES)
def malformed_state(spec: str, text: str) -> None:
    """A text that is not a state of this teacher is an ``InputError``."""
    with require_input_error(f"reading the state {text!r}", "state"):
        decode_state(TEACHERS.parse(spec), text)


@TEACHER_RULES.rule()
def damaged_state(spec: str) -> None:
    """A field that is missing or of another type is an ``InputError``, wherever it stands."""
    teacher = TEACHERS.parse(spec)
    problem = problem_for(teacher, M=2, K=2)
    state = begin(teacher, problem)
    if teacher.segments(problem):
        sums = tuple(read_only(np.full((1, 2), arm * 100.0)) for arm in range(2))
        state = teacher.advance(state, Evidence(sums))
    text = encode_state(state)
    for path, part in parts_of(json.loads(text)):
        for wrong in _WRONG_VALUES:
            if isinstance(part, str) and isinstance(wrong, str):
                continue
            document = json.loads(text)
            place = document
            for key in path[:-1]:
                place = place[key]
            if path:
                place[path[-1]] = wrong
            with require_input_error(f"a state with {wrong!r} at {'.'.join(map(str, path)) or 'its root'}", "state"):
                decode_state(teacher, json.dumps(document if path else wrong))


@TEACHER_RULES.rule()
def foreign_state(spec: str) -> None:
    """The state of another kind of teacher is an ``InputError``, unless it has the same fields."""
    teacher = TEACHERS.parse(spec)
    for name in TEACHERS:
        foreign = TEACHERS.parse(name)
        if _name_fields(teacher) != _name_fields(foreign):
            with require_input_error(f"reading a state of {name}", "state"):
                decode_state(teacher, encode_state(begin(foreign, problem_for(foreign))))


def _name_fields(teacher: Teacher) -> set[str]:
    """Return the names of all that a teacher remembers, by which its states are recognized."""
    return {field.name for field in dataclasses.fields(teacher.state_type)}


@TEACHER_RULES.rule()
def spec_round_trip(spec: str) -> None:
    """A SPEC parses to a teacher whose own SPEC parses back equal."""
    teacher = TEACHERS.parse(spec)
    canonical = TEACHERS.spec(teacher)
    again = TEACHERS.parse(canonical)
    require(again == teacher and TEACHERS.spec(again) == canonical, f"{spec} is not equal to {canonical}, its own SPEC")


@TEACHER_RULES.rule()
def is_documented(spec: str) -> None:
    """The class says in one line what it is; parameters have help and defaults; all values are frozen."""
    cls: Any = type(TEACHERS.parse(spec))
    require_documented(cls)
    for each in (cls, cls.state_type):
        require_frozen(each)
