"""Routine consultations: the same states, quotas and leading arms as ``advance`` and ``directive`` give."""

import numpy as np
import pytest

from tutelage.engine.simulation import simulate_run
from tutelage.simulator import make_request
from tutelage.teachers.base import Evidence, Problem
from tutelage.teachers.blt.routine import NOT_ROUTINE
from tutelage.teachers.blt.teacher import BLT

CASES = [
    (BLT(), (0.6, 0.3, 0.5), 5, 20_000),
    (BLT(growth=0.3, rho=2), (0.55, 0.5, 0.45, 0.2), 9, 3_000),
    (BLT(tolerance=0.05, leading_arm="levelled"), (0.6, 0.4), 3, 20_000),
    (BLT(stakes=9), (1.0, 0.0, 0.0), 2, 2_000),
    (BLT(growth=0.3, hope=0.5), (0.5, 0.5, 0.5), 4, 1_500),  # hopeless before long
]


@pytest.mark.parametrize(("teacher", "means", "num_clients", "horizon"), CASES)
def test_equal_to_advance(teacher, means, num_clients, horizon):
    """Segments of random rewards, and now and then several at once, until the teacher decides or gives up."""
    rng = np.random.default_rng(7)
    problem = Problem(num_clients, len(means), horizon, tuple([1.0 / num_clients] * num_clients))
    cuts = np.array((0, *teacher.segments(problem)))
    sums = np.array([rng.binomial(np.diff(cuts), mean, (num_clients, cuts.size - 1)) for mean in means], dtype=float)
    sums = np.concatenate((sums.transpose(1, 0, 2), np.zeros((num_clients, len(means), 1))), axis=2)
    state, done = teacher.begin(problem, rng), np.zeros(len(means), dtype=np.int64)
    directive, routine = teacher.directive(state), teacher.routine(state)
    kinds = []
    while routine is not None and directive.quota is not None:
        wanted = np.searchsorted(cuts, directive.quota.counts)
        arm = rng.choice(np.flatnonzero(directive.quota.counts))
        end = done.copy()
        end[arm] = max(end[arm], wanted[arm]) + rng.integers(0, 2)
        end = np.minimum(end, cuts.size - 1)
        quota = np.zeros(len(means), dtype=np.int64)
        leading_arm = routine.consult(routine.arrays, sums, done, end, quota)
        before = routine.restore()
        new = Evidence(tuple(sums[:, k, done[k] : end[k]].T for k in range(len(means))))
        following, done = teacher.advance(state, new), end
        after = teacher.directive(following)
        kinds.append(leading_arm != NOT_ROUTINE)
        if leading_arm == NOT_ROUTINE:
            _check_equal(before, state)
            routine = teacher.routine(following)
        else:
            _check_equal(before, following)
            assert after.active_arms == directive.active_arms
            assert (after.rules, after.target) == (directive.rules, None)
            assert after.leading_arm == (None if leading_arm < 0 else leading_arm)
            assert after.quota.counts == tuple(quota)
        state, directive = following, after
    assert len(state.active_arms) == 1 or state.provisional is not None or directive.quota is None
    assert len(kinds) > 20
    assert np.mean(kinds) > 0.8


def _check_equal(state, other):
    assert state.steps == other.steps
    assert (state.active_arms, state.consultations) == (other.active_arms, other.consultations)
    assert all(np.array_equal(*pair) for pair in zip(state.totals, other.totals, strict=True))
    assert np.array_equal(state.log_wealth, other.log_wealth)


def test_compiled_run_is_the_same(monkeypatch):
    """A run whose routine consultations are compiled ends as one in which Python answers all of them."""
    request = make_request("paper", "blt", "ucb1", horizon=4000, runs=1, seed=5, exclude={1: 3000})
    compiled = simulate_run(request, 0, 0)
    monkeypatch.setattr(BLT, "routine", lambda self, state: None)
    plain = simulate_run(request, 0, 0)
    assert compiled.events == plain.events
    assert len(compiled.events) > 50
    assert np.array_equal(compiled.pulls, plain.pulls)
    assert np.array_equal(compiled.costs, plain.costs)
    assert compiled.report == plain.report
