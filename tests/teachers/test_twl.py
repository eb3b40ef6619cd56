"""TWL on hand-made evidence (Alg. 2), and compared with TAL."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.simulated_run import simulate_once
from tests.teachers.evidence import (
    EPOCHS,
    SINGLE_CLIENT,
    THREE,
    UNEVEN,
    begin,
    bounds_by_hand,
    evidence_of,
    just_touching,
    same_for_all,
    zeros_against,
)

from tutelage.instances import load
from tutelage.policies import POLICIES
from tutelage.rules import KEEP, Set
from tutelage.teachers.base import Directive, Problem, Quota, encode_state
from tutelage.teachers.families.intervals import schedule_of
from tutelage.teachers.tal import TAL
from tutelage.teachers.twl import TWL

TEACHER = TWL(0.75, 0.25)
ENDS = schedule_of(THREE).ends


def test_begins_with_all_arms():
    """Line 1 and 9: all arms are active and revealed as gamma1."""
    wanted = Directive((Set(0.75),) * 3, Quota((ENDS[0],) * 3), (0, 1, 2))
    assert TEACHER.directive(begin(TEACHER)) == wanted


def test_eliminates():
    """Lines 6 and 9: an arm whose UCB is below another's LCB is revealed as gamma2, no longer asked for."""
    state = TEACHER.advance(begin(TEACHER), same_for_all(THREE, 1, 0.0, 0.55, 0.6))
    assert TEACHER.directive(state) == Directive(
        (Set(0.25), Set(0.75), Set(0.75)), Quota((0, ENDS[1], ENDS[1])), (1, 2)
    )
    assert TEACHER.report(state).sentence == "learning, epoch 2, 2 arms active"
    assert TEACHER.report(state).consultations == 1


def test_decides_when_one_arm_is_left():
    """The last arm has KEEP, all others are revealed as gamma2."""
    state = TEACHER.advance(begin(TEACHER), same_for_all(THREE, 1, 0.0, 0.9, 0.3))
    assert TEACHER.directive(state) == Directive((Set(0.25), KEEP, Set(0.25)), None, (1,), target=1)
    report = TEACHER.report(state)
    assert (report.target, report.consultations) == (1, 1)
    assert report.sentence == "decided on arm 1 in epoch 1"


def test_eliminates_one_after_the_other():
    """The worst arm goes first, then the middle one; the arm that went is not looked at again."""
    state = TEACHER.advance(begin(TEACHER), same_for_all(THREE, 1, 0.2, 0.5, 0.6))
    assert state.active_arms == (1, 2)
    state = TEACHER.advance(state, same_for_all(THREE, 2, 1.0, 0.45, 0.65))
    assert state.active_arms == (2,)
    report = TEACHER.report(state)
    assert report.lower[0] is None
    assert report.upper[0] is None
    assert report.lower[2] == pytest.approx(bounds_by_hand(THREE, 2, [0.65] * 3)[0], rel=1e-14)


def test_the_best_arm_rules_out_all_that_are_below():
    """Arms are compared with the highest LCB, whichever arm has it."""
    problem = Problem(3, 5, 50_000, (1 / 3,) * 3)
    state = TEACHER.advance(begin(TEACHER, problem), same_for_all(problem, 1, 0.9, 0.1, 0.85, 0.2, 0.5))
    assert state.active_arms == (0, 2)


def test_boundary_keeps():
    """UCB equal to LCB keeps the arm (>= in line 6); a last bit less does not."""
    total = just_touching()
    assert TEACHER.advance(begin(TEACHER, SINGLE_CLIENT), zeros_against(total)).active_arms == (0, 1)
    assert TEACHER.advance(begin(TEACHER, SINGLE_CLIENT), zeros_against(total + 1e-12)).active_arms == (1,)


def test_asks_only_for_active_arms():
    """An epoch is complete without the segments of arms that are ruled out."""
    state = TEACHER.advance(begin(TEACHER), same_for_all(THREE, 1, 0.0, 0.5, 0.6))
    state = TEACHER.advance(state, same_for_all(THREE, 2, None, 0.45, 0.65))
    assert state.active_arms == (2,)


def test_segments_that_come_early_wait():
    """Two epochs at once: one consultation, one elimination; the next needs no more evidence."""
    both = [[(1, [mean] * 3), (2, [late] * 3)] for mean, late in [(0.1, 0.1), (0.55, 0.3), (0.6, 0.8)]]
    state = TEACHER.advance(begin(TEACHER), evidence_of(THREE, both))
    assert (state.epoch, state.active_arms) == (2, (1, 2))
    state = TEACHER.advance(state, evidence_of(THREE, [[], [], []]))
    assert (state.epoch, state.active_arms) == (3, (2,))


def test_runs_out_of_epochs():
    """When no further epoch fits into the horizon it asks no more and says so."""
    last = sum(2 * end <= THREE.horizon for end in schedule_of(THREE).ends)  # two arms stay active
    state = begin(TEACHER)
    for epoch in range(1, last + 1):
        state = TEACHER.advance(state, same_for_all(THREE, epoch, 0.0, 0.5, 0.5))
    assert TEACHER.directive(state) == Directive((Set(0.25), Set(0.75), Set(0.75)), None, (1, 2))
    assert not TEACHER.report(state).reachable
    assert TEACHER.report(state).sentence.startswith(f"epoch {last + 1} needs more pulls")


def test_one_arm_is_decided_from_the_start():
    """With K = 1 one arm is left before the first pull."""
    state = begin(TEACHER, Problem(2, 1, 50_000, (0.5, 0.5)))
    assert TEACHER.directive(state) == Directive((KEEP,), None, (0,), target=0)
    assert TEACHER.report(state).sentence == "decided on arm 0 in epoch 1"


def test_with_both_gammas_0_twl_may_decide_before_tal():
    """Both reveal the same until arm 0, which epoch 1 ruled out, looks good in epoch 2: TAL waits, TWL does not."""
    tal, twl = TAL(0.0, 0.0), TWL(0.0, 0.0)
    first, second = same_for_all(THREE, 1, 0.0, 0.9, 0.8), same_for_all(THREE, 2, 0.9, 0.9, 0.1)
    waits, decides = tal.advance(begin(tal), first), twl.advance(begin(twl), first)
    assert decides.active_arms == (1, 2)
    assert set(tal.directive(waits).rules) == set(twl.directive(decides).rules) == {Set(0.0)}
    waits, decides = tal.advance(waits, second), twl.advance(decides, second)
    assert tal.directive(waits).target is None
    assert twl.directive(decides).target == 1


# ------------------------------------------------------------------------------------------- excluding


def test_arms_return():
    """An arm that only the excluded client spoke against is active again."""
    rows = [[0.0, 0.6, 0.6], [0.9, 0.6, 0.6], [0.9, 0.55, 0.6]]
    state = TEACHER.advance(begin(TEACHER, UNEVEN), evidence_of(UNEVEN, [[(1, row)] for row in rows]))
    assert state.active_arms == (1, 2)
    state = TEACHER.exclude(state, 0)
    assert state.active_arms == (0, 1, 2)
    ends = schedule_of(UNEVEN).ends
    assert TEACHER.directive(state).quota == Quota((ends[1],) * 3)
    for arm, row in enumerate(rows):
        lower, upper = bounds_by_hand(UNEVEN, 1, row, gone=(0,))
        assert TEACHER.report(state).lower[arm] == pytest.approx(lower, rel=1e-14)
        assert TEACHER.report(state).upper[arm] == pytest.approx(upper, rel=1e-14)


def test_replay_stops_where_a_returned_arm_has_no_segment():
    """An arm that came back has not been pulled on: the later epochs wait for it."""
    first = [[0.0, 0.6, 0.6], [0.9, 0.6, 0.6], [0.9, 0.55, 0.6]]
    state = TEACHER.advance(begin(TEACHER), evidence_of(THREE, [[(1, row)] for row in first]))
    second = [[], [(2, [0.7, 0.7, 0.7])], [(2, [0.7, 0.7, 0.7])]]
    state = TEACHER.advance(state, evidence_of(THREE, second))
    assert (state.active_arms, state.epoch) == ((1, 2), 3)
    state = TEACHER.exclude(state, 0)
    assert (state.active_arms, state.epoch) == ((0, 1, 2), 2)


def test_decision_is_withdrawn():
    """When the client on whom it rested goes, several arms are active again."""
    rows = [[1.0, 0.5, 0.5], [0.1, 0.5, 0.5], [0.1, 0.5, 0.5]]
    state = TEACHER.advance(begin(TEACHER, UNEVEN), evidence_of(UNEVEN, [[(1, row)] for row in rows]))
    assert TEACHER.directive(state).target == 0
    state = TEACHER.exclude(state, 0)
    assert TEACHER.directive(state).target is None
    assert state.active_arms == (0, 1, 2)


def test_order_of_excluding_does_not_matter():
    """Clients 0 then 2, or 2 then 0: the same state, whatever they had said."""
    rows = [[0.9, 0.1, 0.1], [0.5, 0.3, 0.5], [0.1, 0.1, 0.1]]
    other_rows = [[0.1, 0.1, 0.7], [0.2, 0.3, 0.1], [0.4, 0.1, 0.1]]
    states = [
        TEACHER.advance(begin(TEACHER), evidence_of(THREE, [[(1, row)] for row in rows])) for rows in (rows, other_rows)
    ]
    one = TEACHER.exclude(TEACHER.exclude(states[0], 0), 2)
    other = TEACHER.exclude(TEACHER.exclude(states[0], 2), 0)
    assert encode_state(one) == encode_state(other)
    different = TEACHER.exclude(TEACHER.exclude(states[1], 2), 0)
    assert TEACHER.directive(different) == TEACHER.directive(one)
    assert TEACHER.report(different) == TEACHER.report(one)


# ------------------------------------------------------------------------------------------ compared with TAL


@given(st.floats(0, 1), st.lists(st.lists(st.floats(0, 1), min_size=3, max_size=3), max_size=EPOCHS))
def test_equal_gammas_publish_the_same_rules(gamma, means):
    """TAL and TWL with gamma1 = gamma2 reveal the same until one of them decides."""
    tal, twl = TAL(gamma, gamma), TWL(gamma, gamma)
    one, other = begin(tal), begin(twl)
    for epoch, row in enumerate(means, start=1):
        published = tal.directive(one), twl.directive(other)
        if any(directive.target is not None for directive in published):
            break
        assert published[0].rules == published[1].rules
        new = same_for_all(THREE, epoch, *row)
        one, other = tal.advance(one, new), twl.advance(other, new)


@pytest.mark.parametrize("gamma", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("clients", ["ucb1", "eps-greedy"])
def test_equal_gammas_play_the_same(gamma, clients):
    """In whole runs every pull and every revealed reward is the same until the first decides."""
    instance = load("planted:clients=8,arms=3,gap=0.3,seed=2")
    one, other = (
        simulate_once(
            instance,
            [POLICIES.parse(clients)] * 8,
            teacher,
            horizon=6000,
            seed=4,
            run=0,
            checkpoints=np.array([6000]),
            trace=True,
        )
        for teacher in (TAL(gamma, gamma), TWL(gamma, gamma))
    )
    assert other.decided_in is not None
    assert one.decided_in is not None
    before = min(one.decided_in, other.decided_in) - 1
    assert before > 100
    assert np.array_equal(one.trace.arms[:, : before + 1], other.trace.arms[:, : before + 1])
    assert np.array_equal(one.trace.revealed[:, :before], other.trace.revealed[:, :before])
    assert one.target == other.target == instance.best_arm
