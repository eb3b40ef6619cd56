"""Teachers with a risk in the place of the horizon (docs/theory.md, "Unknown horizon")."""

import math

import numpy as np
import pytest
from scipy import stats
from tests.random_games import run_engine
from tests.teachers.evidence import UNEVEN

import tutelage
from tutelage.epoch_schedule import confidence_radius, log_term
from tutelage.errors import InputError
from tutelage.instances.base import Instance, equal_weights
from tutelage.planning.decision_times import likely_round
from tutelage.policies.ucb1 import UCB1
from tutelage.rules import Lift
from tutelage.teachers import TEACHERS
from tutelage.teachers.base import Evidence, Problem
from tutelage.teachers.blt.teacher import BLT
from tutelage.teachers.families.intervals import schedule_of
from tutelage.teachers.tal import TAL
from tutelage.teachers.twl import TWL
from tutelage.theory.floors import compute_floors

APART = Instance("apart", np.tile([0.1, 0.5, 0.9], (10, 1)), equal_weights(10))
CLOSER = Instance("closer", np.tile([0.3, 0.5, 0.7], (10, 1)), equal_weights(10))


def test_risks_of_all_epochs_sum_to_the_stated_one():
    """2 K exp(-log term) over 10,000 epochs: up to the risk, and the rest is what later epochs may use."""
    K, risk, epochs = 3, 0.05, 10_000
    total = math.fsum(2 * K * math.exp(-log_term(K, 1, risk, epoch)) for epoch in range(1, epochs + 1))
    assert total == pytest.approx(risk * (1 - 1 / (epochs + 1)), rel=1e-9)


@pytest.mark.parametrize("teacher", [TAL(risk=0.05), TWL(risk=0.05)])
def test_intervals_are_as_wide_as_with_the_horizon(teacher):
    """The radius is at most 2^-(psi + 2), and sqrt(log(2 K psi (psi + 1) / risk) sum w^2 / 2f)."""
    problem = teacher.begin(UNEVEN, None).problem
    schedule, squared = schedule_of(problem), sum(weight**2 for weight in UNEVEN.weights)
    assert teacher.segments(UNEVEN) == schedule.ends != schedule_of(UNEVEN).ends
    for epoch in range(1, len(schedule.ends) + 1):
        log = math.log(2 * 3 * epoch * (epoch + 1) / 0.05)
        assert schedule.pulls(epoch) == math.ceil(2 ** (2 * epoch + 3) * log * squared)
        radius = confidence_radius(schedule, epoch)
        assert radius == pytest.approx(math.sqrt(log * squared / (2 * schedule.pulls(epoch))), rel=1e-12)
        assert radius <= 2.0 ** -(epoch + 2)


def games(instance, spec, seed, *horizons):
    """The same game, played up to each of the horizons."""
    return [run_engine(instance, ["ucb1"] * 10, TEACHERS.parse(spec), T, seed, 0) for T in horizons]


@pytest.mark.parametrize(("spec", "instance"), [("tal", APART), ("twl(gamma1=0.7)", APART), ("blt", CLOSER)])
def test_the_horizon_changes_nothing_before_it(spec, instance):
    """Every pull and revealed reward of the first 600 rounds is that of a game three times as long."""
    risky = f"{spec.removesuffix(')')}{',' if '(' in spec else '('}risk=0.02)"
    short, long = games(instance, risky, 3, 600, 1800)
    for name in ("arms", "observed", "revealed"):
        assert getattr(short.trace, name).tolist() == getattr(long.trace, name)[:, :600].tolist()
    assert short.target == long.target == 2
    assert short.decided_in == long.decided_in
    short, long = games(instance, spec, 3, 600, 1800)
    assert short.trace.revealed.tolist() != long.trace.revealed[:, :600].tolist()


def test_sentences_state_the_risk():
    """The bound on the error is the risk, not 1/T."""
    for spec in ("tal(risk=0.01)", "twl(risk=0.01)", "blt(risk=0.01)"):
        assert (
            TEACHERS.parse(spec).error_bound(UNEVEN).startswith("Wrong with probability at most 0.01, at any horizon.")
        )
    assert "1/T" in TEACHERS.parse("twl").error_bound(UNEVEN)


@pytest.mark.parametrize("risk", [0, 1, -0.1, 2])
def test_a_risk_is_a_probability(risk):
    """0 and 1 are refused: the first would never decide, the second says nothing."""
    with pytest.raises(InputError, match="risk"):
        TEACHERS.parse(f"twl(risk={risk})")


def test_what_needs_the_horizon_refuses():
    """The change detector's own test, theorems and floors are about 1/T; a likely round has a formula."""
    with pytest.raises(InputError, match="its own test needs the horizon, so leave out risk"):
        TEACHERS.parse("change-detector(teacher='twl(risk=0.01)')")
    for name in ("twl", "blt"):
        with pytest.raises(InputError, match=f"There is no theorem on {name}"):
            tutelage.bound("paper", f"{name}(risk=0.01)", runs=0)
    assert compute_floors(APART, TWL(risk=0.01), [UCB1()] * 10, 1000) == ()
    assert likely_round(TWL(risk=1e-3), APART, 1000) < likely_round(TWL(), APART, 1000)


def test_wrong_targets_of_blt_are_within_the_risk():
    """Two arms that differ by 10^-6, risk 0.2: 400 games end on the worse one as often as the risk allows."""
    even = Instance("even", np.array([[0.5, 0.5 + 1e-6]]), np.ones(1))
    result = tutelage.simulate(even, "blt(risk=0.2)", horizon=2000, runs=400, seed=0)
    wrong = int((result.target == 0).sum())
    assert 0 < wrong <= stats.binom.isf(1e-6, 400, 0.2)


def test_blt_doubles_the_horizon_of_its_lift():
    """After the decision T is the smallest power of 2 above the pulls; it is consulted when the target reaches it."""
    teacher = BLT(risk=0.2)
    problem = Problem(1, 2, 10_000, (1.0,))
    state = teacher.begin(problem, None)
    cuts = np.array(teacher.segments(problem))
    done = int(np.searchsorted(cuts, 100, side="right"))
    lengths = np.diff(cuts[:done], prepend=0).astype(float)[:, None]
    state = teacher.advance(state, Evidence((lengths, 0.0 * lengths)))
    pulls = [int(cuts[done - 1])] * 2
    while True:
        T = 2 ** math.ceil(math.log2(sum(pulls) + 1))
        directive = teacher.directive(state)
        assert directive.target == 0
        assert directive.rules[0] == Lift(min(1.0, (2 * math.log(T) / T) ** (1 / 3)))
        if directive.quota is None:
            break
        assert directive.quota.counts == (cuts[cuts >= T - pulls[1]][0], 0)
        first, pulls[0] = pulls[0], directive.quota.counts[0]
        between = cuts[(cuts > first) & (cuts <= pulls[0])]
        lengths = np.diff(between, prepend=first).astype(float)[:, None]
        state = teacher.advance(state, Evidence((lengths, np.zeros((0, 1)))))
    assert problem.horizon / 2 < T
