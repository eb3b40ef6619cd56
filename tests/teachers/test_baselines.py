"""The known target and no teaching."""

import pytest

from tutelage.errors import InputError
from tutelage.rules import KEEP, Set
from tutelage.teachers.base import Directive, Problem, number_arms
from tutelage.teachers.baselines import KnownTarget, NoTeaching

PROBLEM = Problem(2, 3, 100, (0.5, 0.5))


def test_known_target_reveals_all_others_as_zero():
    """Rangi et al. 2021: SET(0) for every arm except the target, which has KEEP; never consulted."""
    teacher = KnownTarget()
    state = teacher.begin(Problem(2, 3, 100, (0.5, 0.5), best_arm=1), None)
    wanted = Directive((Set(0.0), KEEP, Set(0.0)), None, (1,), target=1)
    assert teacher.directive(state) == wanted
    assert teacher.directive(teacher.exclude(state, 0)) == wanted
    assert teacher.report(state).target == 1
    assert teacher.segments(PROBLEM) == ()


def test_known_target_may_be_given():
    """Then it does not ask which arm is best; arm 0 is an arm like any."""
    for target in (0, 2):
        teacher = KnownTarget(target)
        assert not teacher.needs_best_arm
        assert teacher.directive(teacher.begin(PROBLEM, None)).target == target
    assert KnownTarget().needs_best_arm


def test_known_target_must_be_an_arm():
    """Arms are counted from 0 to K - 1."""
    with pytest.raises(InputError, match="target=-1"):
        KnownTarget(-1)
    with pytest.raises(InputError, match=r"target=3 .* 0 to 2"):
        KnownTarget(3).begin(PROBLEM, None)
    with pytest.raises(InputError, match="target=ARM"):
        KnownTarget().begin(PROBLEM, None)
    with pytest.raises(InputError, match="target=red by its name"):
        KnownTarget("red").begin(PROBLEM, None)
    with pytest.raises(InputError, match="or the name of an arm"):
        KnownTarget("")


@pytest.mark.parametrize(("target", "number"), [("red", 0), ("2021", 1), (2021, 1), (1, 1), (0, 0), (None, None)])
def test_names_become_numbers(target, number):
    """A name is replaced by the number of its arm; a number below K is a number."""
    assert number_arms(KnownTarget(target), ("red", "2021", "0"), 3) == KnownTarget(number)


def test_other_names_are_refused():
    """The message lists the names that exist."""
    with pytest.raises(InputError, match=r"target='blue', but the arms are red, 2021"):
        number_arms(KnownTarget("blue"), ("red", "2021"), 2)


def test_no_teaching_touches_nothing():
    """KEEP for every arm, all arms stay active, without a target."""
    teacher = NoTeaching()
    state = teacher.begin(PROBLEM, None)
    assert teacher.directive(state) == Directive((KEEP,) * 3, None, (0, 1, 2))
    assert teacher.directive(teacher.exclude(state, 0)).target is None
    assert teacher.report(state).sentence == "not teaching"
