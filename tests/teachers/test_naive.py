"""NG and NA (section IV of the paper)."""

from scipy import stats

from tutelage.rules import ALIGN, KEEP, Set
from tutelage.seeding import teacher_generator
from tutelage.teachers.base import Directive, Problem
from tutelage.teachers.naive import NaivelyAlign, NaivelyGuess

PROBLEM = Problem(2, 4, 100, (0.5, 0.5))


def test_guess_is_uniform():
    """Over 8,000 runs each of four arms is guessed a quarter of the time (false alarm below 1e-6)."""
    teacher = NaivelyGuess()
    guesses = [teacher.begin(PROBLEM, teacher_generator(0, run)).target for run in range(8000)]
    low, high = stats.binom.interval(1 - 1e-7, 8000, 1 / 4)
    assert all(low <= guesses.count(arm) <= high for arm in range(4))


def test_guess_is_taught_like_a_known_target():
    """All other arms are revealed as 0, from the start and for ever."""
    teacher = NaivelyGuess()
    state = teacher.begin(PROBLEM, teacher_generator(0, 0))
    rules = tuple(KEEP if arm == state.target else Set(0.0) for arm in range(4))
    assert teacher.directive(state) == Directive(rules, None, (state.target,), target=state.target)
    assert teacher.report(state).sentence == f"teaching a guess, arm {state.target}"


def test_align_replaces_every_reward():
    """NA has no target, is never consulted, and runs only in the simulator."""
    teacher = NaivelyAlign()
    state = teacher.begin(PROBLEM, None)
    assert teacher.directive(state) == Directive((ALIGN,) * 4, None, (0, 1, 2, 3))
    assert teacher.simulation_only
    assert teacher.report(state).target is None
