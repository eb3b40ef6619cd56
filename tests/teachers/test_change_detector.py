"""The change detector: false alarms are rare, and a target that has become worse raises an alarm."""

from dataclasses import replace

import numpy as np
import pytest
from tests.simulated_run import simulate_once

from tutelage.conditions import Conditions, MeanShift
from tutelage.errors import InputError
from tutelage.instances import load
from tutelage.policies import POLICIES
from tutelage.teachers import TEACHERS
from tutelage.teachers.change_detector import _STAKES, _log_gain, _lowered

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
        undetected, detected = play("blt", run=run), play("change-detector(teacher=blt)", run=run)
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
