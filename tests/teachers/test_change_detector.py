"""The change detector: false alarms are rare, and a target that has become worse raises an alarm."""

import itertools
import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
from tests.simulated_run import simulate_once

from tutelage.conditions import Conditions, MeanShift
from tutelage.errors import InputError
from tutelage.instances import load
from tutelage.policies import POLICIES
from tutelage.teachers import TEACHERS
from tutelage.teachers.base import Evidence, Problem, decode_state
from tutelage.teachers.change_detector import _STAKES, ChangeDetector, _log_gain, _lowered, mark_radius

PAPER = load("paper")
WORSE = np.where(np.arange(5) == 4, 0.05, PAPER.local_means)  # the best arm becomes the worst


def play(spec, *, means=None, seed=0, horizon=20_000, run=0):
    """A run of UCB1 clients on the paper's instance; after round 5,000 with these means."""
    shifts = () if means is None else (MeanShift(5000, means),)
    instance = replace(PAPER, conditions=Conditions(shifts=shifts))
    rounds = np.array([horizon])
    policies = [POLICIES.parse("ucb1")] * 5
    teacher = TEACHERS.parse(spec)
    return simulate_once(instance, policies, teacher, horizon=horizon, seed=seed, run=run, checkpoints=rounds)


def test_while_nothing_changes_it_plays_like_its_teacher():
    """Without an alarm pulls and costs are those of the inner teacher (no alarm in 30 runs; one has 1/T)."""
    for run in range(30):
        undetected, detected = play("blt", run=run), play("change-detector(teacher=blt,restart=false)", run=run)
        assert np.array_equal(undetected.pulls, detected.pulls)
        assert np.array_equal(undetected.costs, detected.costs)
        assert (undetected.target, undetected.decided_in) == (detected.target, detected.decided_in)


def test_a_target_that_becomes_worse_is_noticed():
    """The report says so, or learning restarts: the target is withdrawn after the shift."""
    outcome = play("change-detector(teacher=blt,restart=false)", means=WORSE)
    assert outcome.target == 4
    assert "no longer holds" in outcome.report.sentence
    restarted = play("change-detector(teacher=blt)", means=WORSE)
    assert "restarted once" in restarted.report.sentence
    assert restarted.report.consultations == len(restarted.events)
    withdrawn = [event.round for event in restarted.events if event.target is None and event.round > 5000]
    assert withdrawn
    assert 5000 < withdrawn[0] < 8000


@dataclass(frozen=True)
class Recorded(ChangeDetector):
    """A change detector that lists its states."""

    recording: ClassVar[list]

    def advance(self, state, evidence):
        """Advance and remember."""
        later = super().advance(state, evidence)
        self.recording.append(later)
        return later


def play_by_hand(states, teacher):
    """Mark, test statistic and restarts again in plain Python: what each recorded state must contain."""
    problem, marks = states[0].problem, {}
    T, K, M, w = problem.horizon, problem.num_arms, problem.num_clients, list(problem.weights)
    cuts = [0, *teacher.segments(problem)]
    J = len(cuts) - 1
    for before, state in itertools.pairwise(states):
        restarts = state.restarts
        if state.mark is None or restarts != before.restarts:
            continue
        target = teacher.directive(state).target
        risk = 1 / (2 * T * (restarts + 1) * (restarts + 2))
        if restarts not in marks:
            bounds = [0.0]
            for k in range(K):
                n = cuts[len(state.totals[k]) - 1]
                if k != target and n > 0:
                    estimate = sum(w[m] * state.totals[k][-1][m] for m in range(M)) / n
                    radius = math.sqrt(sum(x * x for x in w) / (2 * n) * math.log(K * J / risk))
                    bounds.append(estimate - radius)
            marks[restarts] = max(bounds)
        assert state.mark == pytest.approx(marks[restarts], rel=1e-12)
        assert sum(state.alarms) / len(state.alarms) < J / risk or state.doubtful
    return marks


def test_marks_and_alarms_share_the_risk_of_all_starts(monkeypatch):
    """The mark holds at every cut, each start has its share, and the inner teacher has its own share too."""
    monkeypatch.setattr(Recorded, "recording", [], raising=False)
    teacher = Recorded(teacher="blt")
    back = (MeanShift(3000, WORSE), MeanShift(9000, np.where(np.arange(5) == 3, 0.05, PAPER.local_means)))
    simulate_once(
        replace(PAPER, conditions=Conditions(shifts=back)),
        [POLICIES.parse("ucb1")] * 5,
        teacher,
        horizon=20_000,
        seed=0,
        run=0,
        checkpoints=np.array([20_000]),
    )
    states = teacher.recording
    marks = play_by_hand(states, teacher)
    assert len(marks) >= 2
    assert all(mark > 0.05 for mark in marks.values())
    for state in states:
        start = state.restarts
        assert decode_state(teacher._inner, state.inner).problem.risk_divisor == (start + 1) * (start + 2)


@pytest.mark.parametrize("gone", [(), (1,), (1, 3)])
def test_an_alarm_waits_for_its_share(gone):
    """Restarting needs a mean statistic of 2 T (r + 1) (r + 2) M^e times the number of cuts, not less."""
    teacher = ChangeDetector(teacher="known(target=0)", restart=False)
    again = ChangeDetector(teacher="known(target=0)")
    problem = Problem(5, 2, 1000, (0.2,) * 5)
    for each, starts in ((teacher, 1), (again, 2)):
        state = each.begin(problem, np.random.Generator(np.random.SFC64(1)))
        for client in gone:
            state = each.exclude(state, client)
        needed = 2 * 1000 * starts * 5 ** len(gone) * len(each.segments(problem))
        for share, alarmed in ((0.99, False), (1.01, True)):
            # A mark below every possible prediction bets nothing: a step adds 1 and multiplies by 1.
            high = replace(state, mark=0.0, alarms=(share * needed - 1,) * len(_STAKES), tested=0)
            totals = (np.ones((1, 5)), np.zeros((0, 5)))
            later = each.advance(high, Evidence(totals))
            assert (later.doubtful or later.restarts == 1) == alarmed


def test_the_mark_holds_where_the_decision_chooses_the_cut():
    """At the worst of the cuts it fails no more often than claimed; a bound for one fixed cut fails more often.

    60,000 games; with probability below 1e-6 either share is off by a quarter of what is claimed.
    """
    weights, claimed = np.full(2, 0.5), 0.02
    cuts = np.array([*range(1, 20), *range(20, 200, 5)])
    generator = np.random.default_rng(0)
    means = np.array([generator.binomial(2, 0.5, (20_000, 200)).cumsum(axis=1) for _ in range(3)]).reshape(-1, 200)
    excess = means[:, cuts - 1] / (2 * cuts) - 0.5
    everywhere = np.array([mark_radius(weights, n, len(cuts), round(1 / claimed)) for n in cuts])
    fixed = np.array([mark_radius(weights, n, 1, round(1 / claimed)) for n in cuts])
    assert (excess >= everywhere).any(axis=1).mean() <= claimed
    assert (excess >= fixed).any(axis=1).mean() > 1.25 * claimed


def test_a_bet_is_fair_while_the_mark_is_held():
    """By enumeration: with means that reach the mark no stake's bet has a mean above 1."""
    weights, means = np.array([0.3, 0.7]), np.array([0.4, 0.8])
    mark = float(weights @ means)
    for truth in (means, np.array([0.75, 0.65]), np.array([0.9, 0.9])):
        if weights @ truth < mark:
            continue
        total = np.zeros(len(_STAKES))
        for first in (0.0, 1.0):
            for second in (0.0, 1.0):
                won = np.array([first, second])
                chance = np.prod(np.where(won == 1.0, truth, 1.0 - truth))
                total += chance * np.exp(_log_gain(np.array([0.5, 0.7]), won, 1, weights, mark))
        assert (total <= 1.0 + 1e-12).all()


def test_predictions_stay_below_the_mark():
    """Lowered means sum to at most the mark; there is nothing to bet on where that is out of reach."""
    weights = np.array([0.5, 0.5])
    lowered = _lowered(np.array([0.9, 0.3]), weights, 0.4)
    assert lowered is not None
    assert weights @ lowered <= 0.4
    assert _lowered(np.array([0.9, 0.3]), weights, 0.001) is None


@pytest.mark.parametrize(
    "spec", ["change-detector(growth=0)", "change-detector(teacher=change-detector)", "change-detector(teacher=nobody)"]
)
def test_invalid_parameters_are_refused(spec):
    """A step that does not grow, a change detector of a change detector, and an unknown teacher."""
    with pytest.raises(InputError):
        TEACHERS.parse(spec)
