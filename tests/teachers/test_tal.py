"""TAL on hand-made evidence (Alg. 1)."""

import numpy as np
import pytest
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

from tutelage.distributions.constant import Constant
from tutelage.instances.base import Instance
from tutelage.policies import POLICIES
from tutelage.rules import KEEP, Set
from tutelage.teachers.base import Directive, Problem, Quota, encode_state
from tutelage.teachers.families.intervals import schedule_of
from tutelage.teachers.tal import TAL

TEACHER = TAL(0.75, 0.25)
ENDS = schedule_of(THREE).ends


def test_begins_by_asking_for_the_first_epoch():
    """Line 1 and 11: everything is revealed as gamma1 until each client has F(1) pulls of each arm."""
    wanted = Directive((Set(0.75),) * 3, Quota((ENDS[0],) * 3), (0, 1, 2))
    assert TEACHER.directive(begin(TEACHER)) == wanted
    assert TEACHER.segments(THREE) == ENDS
    assert TEACHER.report(begin(TEACHER)).consultations == 0


def test_decides():
    """Lines 6, 7 and 12: an arm far above the others has KEEP, all others are revealed as gamma2."""
    state = TEACHER.advance(begin(TEACHER), same_for_all(THREE, 1, 0.2, 0.9, 0.5))
    assert TEACHER.directive(state) == Directive((Set(0.25), KEEP, Set(0.25)), None, (1,), target=1)
    report = TEACHER.report(state)
    assert (report.target, report.consultations, report.reachable) == (1, 1, True)
    assert report.sentence == "decided on arm 1 in epoch 1"


def test_does_not_decide():
    """Line 8: with two arms close together the next epoch begins, with the quota F(2)."""
    state = TEACHER.advance(begin(TEACHER), same_for_all(THREE, 1, 0.0, 0.5, 0.6))
    assert TEACHER.directive(state) == Directive((Set(0.75),) * 3, Quota((ENDS[1],) * 3), (0, 1, 2))
    assert TEACHER.report(state).sentence == "learning, epoch 2"
    assert TEACHER.report(state).consultations == 1


def test_second_epoch_uses_its_own_pulls_only():
    """Epochs are independent: what the first showed does not count in the second."""
    state = TEACHER.advance(begin(TEACHER), same_for_all(THREE, 1, 0.5, 0.5, 0.6))
    state = TEACHER.advance(state, same_for_all(THREE, 2, 0.2, 0.6, 0.2))
    assert TEACHER.directive(state).target == 1
    assert TEACHER.report(state).lower[1] == pytest.approx(bounds_by_hand(THREE, 2, [0.6] * 3)[0], rel=1e-14)


def test_boundary_decides():
    """LCB equal to UCB is enough (>= in line 6); a last bit less is not."""
    total = just_touching()
    assert TEACHER.advance(begin(TEACHER, SINGLE_CLIENT), zeros_against(total)).target == 1
    assert TEACHER.advance(begin(TEACHER, SINGLE_CLIENT), zeros_against(np.nextafter(total, 0) - 1e-12)).target is None


def test_intervals_are_those_of_equation_one():
    """Estimates weigh the clients, the radius their squared weights."""
    means = ([0.2, 0.4, 0.9], [0.0, 0.0, 1.0], [1.0, 0.3, 0.5])
    state = TEACHER.advance(begin(TEACHER, UNEVEN), evidence_of(UNEVEN, [[(1, row)] for row in means]))
    report = TEACHER.report(state)
    for arm, row in enumerate(means):
        lower, upper = bounds_by_hand(UNEVEN, 1, row)
        assert report.lower[arm] == pytest.approx(lower, rel=1e-14)
        assert report.upper[arm] == pytest.approx(upper, rel=1e-14)


def test_segments_that_come_early_wait():
    """Two epochs at once: only the first is looked at; the second's quota is met and decides next time."""
    both = [[(1, [mean] * 3), (2, [late] * 3)] for mean, late in [(0.5, 0.1), (0.5, 0.9), (0.6, 0.2)]]
    state = TEACHER.advance(begin(TEACHER), evidence_of(THREE, both))
    assert (state.epoch, state.target) == (2, None)
    assert TEACHER.directive(state).quota == Quota((ENDS[1],) * 3)
    state = TEACHER.advance(state, evidence_of(THREE, [[], [], []]))
    assert (state.epoch, state.target) == (2, 1)


def test_waits_for_the_last_arm():
    """An epoch is decided only when every arm has its segment."""
    state = TEACHER.advance(begin(TEACHER), same_for_all(THREE, 1, 0.1, 0.9, None))
    assert (state.epoch, state.target) == (1, None)
    state = TEACHER.advance(state, same_for_all(THREE, 1, None, None, 0.2))
    assert state.target == 1


def test_runs_out_of_epochs():
    """When no further epoch fits into the horizon it asks no more and says so."""
    state = begin(TEACHER)
    for epoch in range(1, EPOCHS + 1):
        assert TEACHER.report(state).reachable
        state = TEACHER.advance(state, same_for_all(THREE, epoch, 0.5, 0.5, 0.5))
    directive, report = TEACHER.directive(state), TEACHER.report(state)
    assert directive == Directive((Set(0.75),) * 3, None, (0, 1, 2))
    assert not report.reachable
    assert report.sentence == f"epoch {EPOCHS + 1} needs more pulls than the horizon allows: no decision"


def test_decision_is_final():
    """More evidence changes nothing: Alg. 1 learns no more once it teaches."""
    state = TEACHER.advance(begin(TEACHER), same_for_all(THREE, 1, 0.2, 0.9, 0.5))
    later = TEACHER.advance(state, same_for_all(THREE, 2, 0.9, 0.1, 0.5))
    assert (later.target, later.epoch) == (1, 1)
    assert TEACHER.directive(later) == TEACHER.directive(state)


def test_one_arm_is_decided_in_the_first_epoch():
    """With K = 1 the condition of line 6 is empty; line 4 still asks for F(1) pulls."""
    problem = Problem(2, 1, 50_000, (0.5, 0.5))
    state = begin(TEACHER, problem)
    assert TEACHER.directive(state).target is None
    assert TEACHER.advance(state, same_for_all(problem, 1, 0.5)).target == 0


# ------------------------------------------------------------------------------------------- excluding

MEANS = ([0.9, 0.1, 0.1], [0.5, 0.3, 0.5], [0.1, 0.1, 0.1])  # only client 0 likes arm 0


def test_excluded_client_was_never_evidence():
    """The intervals become those of the other clients: weights scaled, their squares, the same logarithm."""
    state = TEACHER.advance(begin(TEACHER, UNEVEN), evidence_of(UNEVEN, [[(1, row)] for row in MEANS]))
    state = TEACHER.exclude(state, 1)
    report = TEACHER.report(state)
    for arm, row in enumerate(MEANS):
        lower, upper = bounds_by_hand(UNEVEN, 1, row, gone=(1,))
        assert report.lower[arm] == pytest.approx(lower, rel=1e-14)
        assert report.upper[arm] == pytest.approx(upper, rel=1e-14)


def test_excluded_column_does_not_matter():
    """Whatever the excluded client had said, the state's directives and bounds are the same."""
    reports = []
    for value in (0.0, 0.3, 1.0):
        rows = [[(1, [row[0], value, row[2]])] for row in MEANS]
        state = TEACHER.exclude(TEACHER.advance(begin(TEACHER, UNEVEN), evidence_of(UNEVEN, rows)), 1)
        reports.append((TEACHER.report(state), TEACHER.directive(state)))
    assert reports[0] == reports[1] == reports[2]


def test_order_of_excluding_does_not_matter():
    """Clients 0 then 2, or 2 then 0: the same state."""
    state = TEACHER.advance(begin(TEACHER, UNEVEN), evidence_of(UNEVEN, [[(1, row)] for row in MEANS]))
    one = TEACHER.exclude(TEACHER.exclude(state, 0), 2)
    other = TEACHER.exclude(TEACHER.exclude(state, 2), 0)
    assert encode_state(one) == encode_state(other)


def test_decision_is_withdrawn():
    """When the client on whom it rested goes, learning goes on where the others' evidence leaves it."""
    rows = [[0.95, 0.4, 0.4], [0.1, 0.4, 0.45], [0.1, 0.4, 0.4]]
    state = TEACHER.advance(begin(TEACHER, UNEVEN), evidence_of(UNEVEN, [[(1, row)] for row in rows]))
    assert state.target == 0
    state = TEACHER.exclude(state, 0)
    assert (state.epoch, state.target) == (2, None)
    assert TEACHER.directive(state) == Directive((Set(0.75),) * 3, Quota((ENDS_UNEVEN[1],) * 3), (0, 1, 2))


ENDS_UNEVEN = schedule_of(UNEVEN).ends


def test_excluding_may_decide():
    """Without the client who disagreed, the stored first epoch is enough; more of it is not looked at."""
    rows = [[0.1, 0.7, 0.7], [0.9, 0.3, 0.3], [0.1, 0.1, 0.1]]
    state = TEACHER.advance(begin(TEACHER, THREE), evidence_of(THREE, [[(1, row)] for row in rows]))
    assert (state.epoch, state.target) == (2, None)
    state = TEACHER.exclude(state, 0)
    assert (state.epoch, state.target) == (1, 0)


def test_excluding_replays_several_epochs():
    """All stored epochs are gone through in order until one decides."""
    state = begin(TEACHER)
    for epoch in (1, 2):
        close = [[0.5, 0.5, 0.5], [0.5, 0.6, 0.5], [0.5, 0.5, 0.5]]
        state = TEACHER.advance(state, evidence_of(THREE, [[(epoch, row)] for row in close]))
    assert state.epoch == 3
    assert TEACHER.exclude(state, 0).epoch == 3
    clear = [[(3, [0.0, 1.0, 1.0])], [(3, [1.0, 0.0, 0.0])], [(3, [0.5, 0.5, 0.5])]]
    state = TEACHER.exclude(TEACHER.advance(state, evidence_of(THREE, clear)), 0)
    assert (state.epoch, state.target) == (3, 0)


def test_round_of_a_decision_that_excluding_changed():
    """A run that ends with another target than it first had reports the round of the last decision."""
    means = np.array([[1.0, 0.0], [0.0, 0.5]])
    instance = Instance("two", means, np.array([0.6, 0.4]), Constant())
    outcome = simulate_once(
        instance,
        [POLICIES.parse("ucb1")] * 2,
        TAL(1.0, 0.0),
        horizon=2000,
        seed=0,
        run=0,
        checkpoints=np.array([2000]),
        exclude={0: 1500},
    )
    assert [(event.target, event.round == 1500) for event in outcome.events][-2:] == [(0, False), (1, True)]
    assert (outcome.target, outcome.decided_in) == (1, 1500)
