"""States as JSON, and what a teacher refuses."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutelage.errors import InputError
from tutelage.teachers import TEACHERS
from tutelage.teachers.base import Problem, decode_state, describe_assumptions, encode_state
from tutelage.teachers.families.fixed_teacher import FixedTeacher
from tutelage.teachers.families.intervals import Intervals, SegmentSums
from tutelage.teachers.tal import TalState

AT_MOST = f"with probability at most 1/T = 0.00002. {describe_assumptions()}"


@given(
    st.lists(st.floats(0, 1e9), min_size=1, max_size=6),
    st.lists(st.one_of(st.none(), st.floats(-1, 2)), min_size=2, max_size=2),
    st.floats(0.01, 0.99),
)
def test_every_float_comes_back_bit_for_bit(sums, bounds, weight):
    """Weights, sums and bounds survive JSON exactly, empty arrays with their shape."""
    problem = Problem(2, 2, 100, (weight, 1 - weight))
    arrays = (np.array([sums, sums]).T, np.zeros((0, 2)))
    state = TalState(problem, SegmentSums(arrays, (1,)), Intervals(tuple(bounds), tuple(bounds[::-1])), 3, 1)
    decoded = decode_state(TEACHERS.parse("tal"), encode_state(state))
    assert decoded.problem == problem
    assert decoded.intervals == state.intervals
    assert (decoded.epoch, decoded.target, decoded.segment_sums.excluded) == (3, 1, (1,))
    for mine, theirs in zip(decoded.segment_sums.sums, arrays, strict=True):
        assert mine.dtype == np.float64
        assert mine.shape == theirs.shape
        assert mine.tobytes() == theirs.tobytes()


def test_a_state_holds_no_other_objects():
    """What JSON cannot tell may not be in a state: a programming error, said at once."""

    @dataclass
    class State:
        anything: object

    with pytest.raises(TypeError, match="cannot contain a complex"):
        encode_state(State(1j))


@pytest.mark.parametrize("value", [-0.01, 1.01, float("nan"), float("inf")])
@pytest.mark.parametrize("name", ["tal", "twl"])
@pytest.mark.parametrize("key", ["gamma1", "gamma2"])
def test_gammas_lie_within_the_unit(name, key, value):
    """A constant reward outside [0, 1] cannot be revealed: an InputError with name and value."""
    with pytest.raises(InputError, match=f"{key}={value:g}"):
        TEACHERS.cls(name)(**{key: value})


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
def test_gammas_within_the_unit(value):
    """0 and 1 are included."""
    assert TEACHERS.cls("tal")(gamma1=value, gamma2=value).gamma1 == value


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("tal", f"Wrong {AT_MOST}"),
        ("twl(gamma1=0.5)", f"Wrong {AT_MOST}"),
        ("blt", f"Wrong {AT_MOST}"),
        ("blt(tolerance=0)", f"Wrong {AT_MOST}"),
        ("blt(tolerance=0.1)", f"Worse than the best arm by more than 0.2, of rewards in [0, 1], {AT_MOST}"),
        ("ng", ""),
        ("known(target=0)", ""),
        ("change-detector", f"Wrong {AT_MOST}"),
        ("change-detector(teacher=ng)", ""),
    ],
)
def test_error_bounds(spec, sentence):
    """Teachers with a guarantee state it for a problem; the others state nothing."""
    problem = Problem(2, 3, 50_000, (0.5, 0.5))
    assert TEACHERS.parse(spec).error_bound(problem) == sentence


def test_assumptions_are_named():
    """Independence between clients, constant means, and exclusion that does not depend on rewards."""
    for part in ("clients are independent", "means are constant", "exclusion does not depend on rewards"):
        assert part in describe_assumptions()


def test_which_teachers_decide():
    """Only teachers that name no target by their nature are said never to decide."""
    decides = {name: TEACHERS.parse(name).decides for name in TEACHERS}
    assert not decides["na"]
    assert not decides["none"]
    assert decides["tal"]
    assert not TEACHERS.parse("change-detector(teacher=none)").decides


def test_a_teacher_of_another_package_needs_only_the_necessary_functions():
    """Everything that people are shown of a teacher has a default."""

    @dataclass(frozen=True)
    class Plain(FixedTeacher):
        """Reveals every reward as it is."""

        sentence: ClassVar[str] = "nothing"

    teacher = Plain()
    assert (teacher.style, teacher.side_by_side, teacher.likely_decision(None)) == (None, (), None)
    assert teacher.decides
    assert (teacher.needs_best_arm, teacher.simulation_only) == (False, False)
    assert not teacher.error_bound(Problem(1, 1, 1, (1.0,)))
