"""The conformance suite of teachers."""

import json
from typing import Any, ClassVar

import numpy as np
import pytest

from tutelage.errors import InputError
from tutelage.registry import Table, parameters_of
from tutelage.teachers import TEACHERS
from tutelage.teachers.base import Evidence, Teacher, decode_state, encode_state
from tutelage.testing.checked_teacher import begin, parts_of, play, problem_for


class TeacherContract:
    """What every teacher keeps to.  A subclass gives the fixture ``spec``: the SPEC of a teacher.

    ``table`` is where SPECs are looked up.  ``counts_are_cuts`` is False for a teacher whose quotas list
    counts between two cuts.
    """

    table: ClassVar[Table[Teacher]] = TEACHERS
    counts_are_cuts: ClassVar[bool] = True

    @pytest.fixture
    def spec(self) -> str:
        """Return the SPEC of the teacher under test."""
        raise NotImplementedError("define a fixture `spec` that returns the SPEC of your teacher")

    @pytest.fixture
    def teacher(self, spec: str) -> Teacher:
        """Return the teacher under test."""
        return self.table.parse(spec)

    @pytest.mark.parametrize("seed", [0, 1])
    @pytest.mark.parametrize("means", [(0.0, 0.1, 0.9), (0.4, 0.5, 0.5)])
    def test_whole_runs(self, teacher: Teacher, seed: int, means: tuple[float, ...]) -> None:
        """Every function is pure at every consultation of a run; states survive JSON; directives are sound."""
        checked, _ = play(
            teacher, clients=6, horizon=2200, means=means, seed=seed, counts_are_cuts=self.counts_are_cuts
        )
        if checked.problem is not None and teacher.segments(checked.problem):
            assert checked.calls >= 2

    def test_uneven_weights(self, teacher: Teacher) -> None:
        """The same holds with clients of unequal weight."""
        play(
            teacher,
            clients=4,
            horizon=1500,
            means=(0.1, 0.2, 0.9),
            weights=(0.4, 0.3, 0.2, 0.1),
            counts_are_cuts=self.counts_are_cuts,
        )

    def test_clients_are_excluded_one_after_the_other(self, teacher: Teacher) -> None:
        """Every client but the last can be excluded at any time."""
        exclude = {2: 5, 0: 700, 3: 700, 1: 1600}
        checked, outcome = play(teacher, clients=5, horizon=2000, exclude=exclude, counts_are_cuts=self.counts_are_cuts)
        assert len(outcome.events) >= len(exclude)
        assert checked.calls >= len(exclude)

    @pytest.mark.parametrize(
        ("clients", "arms", "horizon"), [(1, 1, 1), (1, 1, 500), (3, 1, 500), (1, 4, 500), (2, 5, 2), (2, 5, 1)]
    )
    def test_smallest_problems(self, teacher: Teacher, clients: int, arms: int, horizon: int) -> None:
        """One client, one arm, one round, fewer rounds than arms: a run ends without an error."""
        means = np.linspace(0, 1, arms).tolist()
        play(teacher, clients=clients, horizon=horizon, means=means, counts_are_cuts=self.counts_are_cuts)

    def test_segments_increase_and_are_few(self, teacher: Teacher) -> None:
        """Cuts are whole, increasing, within the horizon, and fewer than 1,000 at any horizon."""
        for T in (1, 2, 100, 50_000, 10**9):
            cuts = teacher.segments(problem_for(teacher, T=T))
            assert all(type(cut) is int and 1 <= cut <= T for cut in cuts)
            assert list(cuts) == sorted(set(cuts))
            assert len(cuts) < 1000

    def test_state_size_does_not_depend_on_the_horizon(self, teacher: Teacher) -> None:
        """The first state of a run of 10^9 rounds is less than 2,000 bytes of JSON."""
        assert len(encode_state(begin(teacher, problem_for(teacher, T=10**9)))) < 2000

    def test_a_decision_out_of_reach_is_reported(self, teacher: Teacher) -> None:
        """With a horizon of 3, a teacher asks within the horizon or reports that no decision can come."""
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

    def test_the_generator_decides_the_rest(self, teacher: Teacher) -> None:
        """The same generator gives the same state; nothing else is random."""
        problem = problem_for(teacher)
        assert encode_state(begin(teacher, problem, 3)) == encode_state(begin(teacher, problem, 3))

    def test_clients_that_cannot_be_excluded(self, teacher: Teacher) -> None:
        """A teacher with evidence refuses an unknown client, one that is excluded already, and the last one."""
        if not teacher.segments(problem_for(teacher)):
            pytest.skip("the teacher uses no evidence")
        state = begin(teacher, problem_for(teacher, M=3))
        for unknown in (3, -1, 100):
            with pytest.raises(InputError, match=rf"client {unknown}\b"):
                teacher.exclude(state, unknown)
        state = teacher.exclude(state, 1)
        with pytest.raises(InputError, match="client 1"):
            teacher.exclude(state, 1)
        state = teacher.exclude(state, 0)
        with pytest.raises(InputError, match="last"):
            teacher.exclude(state, 2)

    @pytest.mark.parametrize(
        "text", ["", "{}", "[]", "null", "3", '"state"', "{", '{"problem": 3}', '{"num_arms": "three"}', "\x00"]
    )
    def test_malformed_state(self, teacher: Teacher, text: str) -> None:
        """A text that is not a state of this teacher is an ``InputError``."""
        with pytest.raises(InputError, match="state"):
            decode_state(teacher, text)

    def test_damaged_state(self, teacher: Teacher) -> None:
        """A field that is missing or of another type is an ``InputError``, wherever it stands."""
        problem = problem_for(teacher, M=2, K=2)
        state = begin(teacher, problem)
        if teacher.segments(problem):
            state = teacher.advance(state, Evidence(tuple(np.full((1, 2), arm * 100.0) for arm in range(2))))
        text = encode_state(state)
        wrong_values: tuple[Any, ...] = ({"a": 1}, [[], 1], "word")
        for path, part in parts_of(json.loads(text)):
            for wrong in wrong_values:
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

    def test_foreign_state(self, teacher: Teacher) -> None:
        """The state of another kind of teacher is an ``InputError``."""
        for name in TEACHERS:
            foreign = TEACHERS.parse(name)
            if teacher.state_type is not foreign.state_type:
                with pytest.raises(InputError, match="state"):
                    decode_state(teacher, encode_state(begin(foreign, problem_for(foreign))))

    def test_spec_round_trip(self, teacher: Teacher) -> None:
        """A SPEC parses to a teacher whose own SPEC parses back equal."""
        canonical = self.table.spec(teacher)
        assert self.table.parse(canonical) == teacher
        assert self.table.spec(self.table.parse(canonical)) == canonical

    def test_is_documented(self, teacher: Teacher) -> None:
        """The class says in one line what it is; parameters have help and defaults; all values are frozen."""
        cls = type(teacher)
        assert (cls.__doc__ or "").strip().splitlines()[0].endswith(".")
        frozen: tuple[Any, ...] = (cls, cls.state_type)
        assert all(each.__dataclass_params__.frozen for each in frozen)
        for item in parameters_of(cls):
            assert item.help, f"the parameter {item.name} has no help text"
            assert not item.required, f"the parameter {item.name} has no default"
