"""The epochs that tell arms apart, and the horizon that has room for them."""

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests import paper_epochs, reference

import tutelage
from tutelage import theory
from tutelage.epoch_schedule import confidence_radius, make_schedule
from tutelage.errors import InputError
from tutelage.instances.base import Instance, equal_weights

FIFTHS = (0.2,) * 5


def test_the_papers_instance():
    """Gap .1: psi_max = ceil(log2 10) = 4, F(4) and T_1 = K F(4) > T as the paper's formulas give them."""
    assert theory.last_epoch([0.4, 0.3, 0.2, 0.1]) == paper_epochs.epoch_for(0.1) == 4
    last_end = theory.epoch_end(4, 5, 50_000, FIFTHS)
    assert last_end == paper_epochs.last_round(4, 50_000)
    assert theory.learning_time_of_ucb1(last_end, 5) == paper_epochs.learning_time(50_000) > 50_000


@given(st.integers(2, 50), st.integers(1, 10**9), st.lists(st.floats(0.01, 1), min_size=1, max_size=9))
def test_ends_are_those_of_the_schedule(num_arms, horizon, parts):
    """Where the schedule has room for an epoch, F is the same; the next one does not fit."""
    weights = tuple(part / math.fsum(parts) for part in parts)
    ends = make_schedule(num_arms, horizon, weights).ends
    found = [theory.epoch_end(epoch, num_arms, horizon, weights) for epoch in range(len(ends) + 2)]
    assert found[0] == 0
    assert tuple(found[1:-1]) == ends
    assert found[-1] > horizon
    assert found[-1] == sum(reference.f(epoch, num_arms, horizon, weights) for epoch in range(1, len(ends) + 2))


@given(st.floats(1e-9, 1))
@example(0.5)
@example(0.25)
@example(1.0)
def test_four_radii_fit_into_the_gap(gap):
    """2^-psi_k <= Delta_k, rounding aside, and psi_k is the first such epoch."""
    epoch = theory.separating_epoch(gap)
    assert 2.0**-epoch <= gap * (1 + 1e-11)
    assert epoch == 1 or 2.0 ** -(epoch - 1) > gap


def test_rounding_costs_no_epoch():
    """A gap of 1/8 as .145 - .02, which comes out below 1/8, is separated in epoch 3."""
    gap = 0.145 - 0.02
    assert gap < 0.125
    assert theory.separating_epoch(gap) == 3


def test_a_gap_of_one_takes_an_epoch():
    """Departs from the paper: ceil(log2(1/1)) = 0 epochs of F(0) = 0 pulls end no learning; TAL takes one."""
    assert math.ceil(math.log2(1 / 1)) == 0
    assert theory.epoch_end(0, 2, 1000, (0.5, 0.5)) == 0
    assert theory.last_epoch([1.0]) == 1
    instance = Instance("sure", [[1.0, 0.0]] * 2, equal_weights(2))
    data = tutelage.simulate(instance, "tal", "ucb1", horizon=1000, runs=2, seed=0)
    assert (data.decided_in == 2 * theory.epoch_end(1, 2, 1000, (0.5, 0.5))).all()


@pytest.mark.parametrize("gap", [0.0, -0.1, 1.5, math.nan])
def test_no_epoch_for_no_gap(gap):
    """A gap must lie in (0, 1]."""
    with pytest.raises(InputError, match="Invalid gap"):
        theory.separating_epoch(gap)


def test_tied_arms_have_no_last_epoch():
    """Gaps of 0 are skipped, and at least one gap must be above 0."""
    assert theory.last_epoch([0.0, 0.5]) == 1
    with pytest.raises(InputError, match="No gap is above 0"):
        theory.last_epoch([0.0, 0.0])


@given(st.integers(2, 100), st.integers(1, 10**12))
def test_chances_are_those_of_hoeffding(num_arms, horizon):
    """2 exp(-2 CB^2 f / sum w^2) = 1 / (K T^2), and K arms in T epochs make 1 / T."""
    weights = (0.5, 0.3, 0.2)
    schedule = make_schedule(num_arms, max(horizon, 10**4), weights)
    radius = confidence_radius(schedule, 1)
    chance = 2 * math.exp(-2 * radius**2 * schedule.pulls(1) / schedule.squared_weights)
    assert theory.interval_failure(num_arms, max(horizon, 10**4)) == pytest.approx(chance, rel=1e-9)
    whole = theory.interval_failure(num_arms, horizon) * num_arms * horizon
    assert theory.good_event_failure(horizon) == pytest.approx(whole)


@given(st.integers(2, 30), st.integers(1000, 10**12), st.integers(1, 40))
def test_two_radii_are_less_than_half_the_gap(num_arms, horizon, num_clients):
    """TWL rules out only where LCB > UCB; the proof ends in >=, the rounded f makes it strict."""
    schedule = make_schedule(num_arms, horizon, (1 / num_clients,) * num_clients)
    for epoch in range(1, len(schedule.ends) + 1):
        assert confidence_radius(schedule, epoch) < 2.0 ** -(epoch + 2)


@given(st.floats(0.1, 200), st.integers(1, 7), st.integers(0, 5000))
def test_needed_horizon_is_the_least(slope, step, start):
    """All horizons from it on are long enough, the one before is not, whatever the steps."""

    def time(horizon):
        return start + step * math.ceil(slope * math.log(horizon + 1))

    needed = theory.horizon_needed(time)
    assert needed == 1 or time(needed - 1) > needed - 1
    assert all(time(horizon) <= horizon for horizon in range(needed, needed + 3000))
