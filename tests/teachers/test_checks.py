"""Whatever a foreign teacher gets wrong is one sentence that names it, before compiled code sees it."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
from tests.simulated_run import simulate_once

from tutelage.errors import InputError
from tutelage.instances import load
from tutelage.policies import POLICIES
from tutelage.rules import KEEP, Level, Lift, Set, Shift, Sink
from tutelage.teachers.base import Directive, Quota, Teacher
from tutelage.teachers.baselines import NoTeaching
from tutelage.teachers.families.fixed_teacher import FixedState

ALL = (0, 1, 2, 3, 4)


@dataclass(frozen=True)
class Foreign(Teacher):
    """A teacher of another package that returns what the test wants."""

    answer: object = None
    cuts: object = ()
    reported: object = None

    state_type: ClassVar[type] = FixedState

    def segments(self, problem):
        return self.cuts

    def begin(self, problem, generator):
        return FixedState(problem.num_arms, None)

    def directive(self, state):
        return self.answer() if callable(self.answer) else self.answer

    def advance(self, state, evidence):
        return state

    def exclude(self, state, client):
        return state

    def report(self, state):
        return self.reported or NoTeaching().report(state)


def play(teacher):
    """One short run on the paper's instance."""
    policies = [POLICIES.parse("ucb1")] * 5
    rounds = np.array([20])
    return simulate_once(load("paper"), policies, teacher, horizon=20, seed=0, run=0, checkpoints=rounds)


def keep(**changes):
    """A directive that reveals everything as it is, but for these changes."""
    return Directive(**{"rules": (KEEP,) * 5, "quota": None, "active_arms": ALL} | changes)


@pytest.mark.parametrize(
    ("directive", "sentence"),
    [
        (None, "must be a Directive"),
        (keep(rules=(KEEP,) * 4), "4 rules for 5 arms"),
        (keep(rules=()), "0 rules for 5 arms"),
        (keep(rules=(KEEP,) * 4 + (None,)), "None as a rule"),
        (keep(active_arms=(99,)), "99 as an active arm"),
        (keep(active_arms=()), "at least one"),
        (keep(active_arms=(1, 1)), "each once"),
        (keep(target=10**9), "1000000000 as the target"),
        (keep(target=1.5), "1.5 as the target"),
        (keep(target=-7), "-7 as the target"),
        (keep(leading_arm=99), "99 as the leading arm"),
        (keep(quota="x"), "as a quota"),
        (keep(quota=Quota((3,) * 5, "some")), "all or any"),
        (keep(quota=Quota((3,))), "1 counts for 5 arms"),
        (keep(quota=Quota((0,) * 5, "any")), "lists no arm"),
        (keep(quota=Quota((-1,) * 5)), "-1 as a quota's count"),
        (keep(quota=Quota((2**70,) * 5)), "as a quota's count"),
        (lambda: 1 / 0, r"failed in directive\(\): ZeroDivisionError"),
    ],
)
def test_a_wrong_directive_is_refused(directive, sentence):
    """Rules, arms and quotas are checked, and what a teacher raises is reported."""
    with pytest.raises(InputError, match=f"The teacher .*Foreign.*{sentence}"):
        play(Foreign(directive))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Set(1.5),
        lambda: Set(math.nan),
        lambda: Set("a"),
        lambda: Level(leading_share=0.0),
        lambda: Level(band=math.inf),
        lambda: Lift(2.0),
        lambda: Sink(-1.0, 0.1),
        lambda: Sink(0.0, 0.0),
        lambda: Shift(math.nan, True),
    ],
)
def test_a_rule_checks_its_numbers(make):
    """A rule that could reveal a reward outside [0, 1], or no reward, cannot be created."""
    with pytest.raises(InputError, match="Invalid "):
        make()


@pytest.mark.parametrize("cuts", [None, ("a",), (5, 3, 1), (-5, 0), (1, 21), range(1, 10**9)])
def test_wrong_segments_are_refused(cuts):
    """Cuts are whole numbers, increasing, within the horizon, and as many as memory holds."""
    with pytest.raises(InputError, match=r"The teacher .*Foreign"):
        play(Foreign(keep(), cuts=cuts))


@pytest.mark.parametrize("reported", ["well", replace(NoTeaching().report(FixedState(5, None)), sentence=7)])
def test_a_wrong_report_is_refused(reported):
    """A report is a Report with a sentence."""
    with pytest.raises(InputError, match=r"report\(\)"):
        play(Foreign(keep(), reported=reported))


def test_a_teacher_of_another_package_plays():
    """A teacher that follows the contract is simulated."""
    assert play(Foreign(keep())).pulls.sum() == 100
