"""The epochs f, F and CB against the paper's numbers and its own bounds."""

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests import reference
from tutelage.epoch_schedule import confidence_radius, make_schedule, squared_weights

FIFTHS = (0.2,) * 5


@st.composite
def problems(draw):
    """Arms, a horizon and positive weights that sum to 1."""
    parts = draw(st.lists(st.floats(1e-6, 1), min_size=1, max_size=20))
    if draw(st.booleans()):
        parts = [1.0] * len(parts)
    total = math.fsum(parts)
    return draw(st.integers(1, 100)), draw(st.integers(1, 10**12)), tuple(part / total for part in parts)


def test_numbers_of_the_paper():
    """M = K = 5, T = 50,000: f = 154, 613, 2452, 9807 and F = 154, 767, 3219, 13026; F(5) exceeds T."""
    schedule = make_schedule(5, 50_000, FIFTHS)
    assert schedule.ends == (154, 767, 3219, 13026)
    assert [schedule.pulls(epoch) for epoch in (1, 2, 3, 4)] == [154, 613, 2452, 9807]
    assert schedule.squared_weights == 1 / 5
    assert 13026 + 39228 > 50_000


def test_fourth_epoch_needs_more_rounds_than_there_are():
    """Psi = 4 fits into one arm's pulls, not into all five arms' (5 x 13,026 rounds)."""
    ends = make_schedule(5, 50_000, FIFTHS).ends
    assert 5 * ends[2] == 16_095
    assert 5 * ends[3] > 50_000 >= ends[3]


@given(problems())
@example((5, 50_000, FIFTHS))
def test_radius_never_exceeds_paper(problem):
    """CB(psi) <= 2^-(psi + 2) in floating point too, for any size and any weights; hardly below it."""
    schedule = make_schedule(*problem)
    for epoch in range(1, len(schedule.ends) + 1):
        radius = confidence_radius(schedule, epoch)
        assert radius <= 2.0 ** -(epoch + 2)
        pulls = schedule.pulls(epoch)
        assert pulls == 1 or radius >= 2.0 ** -(epoch + 2) * math.sqrt((pulls - 1) / pulls) * (1 - 1e-12)


@given(problems())
def test_epochs_are_those_of_the_plain_formula(problem):
    """F is the running sum of the reference's f, up to the horizon and not one epoch less."""
    num_arms, horizon, weights = problem
    ends, total, epoch = [], 0, 1
    while (total := total + reference.f(epoch, num_arms, horizon, weights)) <= horizon:
        ends.append(total)
        epoch += 1
    assert make_schedule(num_arms, horizon, weights).ends == tuple(ends)


def test_weights_replace_the_number_of_clients():
    """One client that counts for nearly everything needs as many pulls as if it were the only one."""
    single = make_schedule(5, 50_000, (1.0,))
    skewed = make_schedule(5, 50_000, (1 - 4e-9, 1e-9, 1e-9, 1e-9, 1e-9))
    assert skewed.ends == single.ends
    uneven = (0.5, 0.3, 0.2)
    assert squared_weights(uneven) == pytest.approx(0.38, rel=1e-15)
    assert make_schedule(5, 50_000, uneven).pulls(1) == math.ceil(32 * math.log(2 * 5 * 50_000**2) * 0.38)


@given(st.integers(1, 1000))
def test_equal_weights_give_one_over_m(num_clients):
    """Sum w^2 is exactly 1/M where all weights are equal, whatever their rounding."""
    assert squared_weights((1 / num_clients,) * num_clients) == 1 / num_clients


def test_radius_of_fewer_clients():
    """With another sum of squared weights only that factor changes; log M is added to the logarithm."""
    schedule = make_schedule(5, 50_000, FIFTHS)
    log = math.log(2 * 5 * 50_000**2)
    assert confidence_radius(schedule, 1, 1 / 4) == math.sqrt(log / 4 / (2 * 154))
    assert confidence_radius(schedule, 1, 1 / 4, math.log(5)) == math.sqrt((log + math.log(5)) / 4 / (2 * 154))


@pytest.mark.parametrize(("num_arms", "horizon"), [(1, 1), (5, 1), (5, 50), (3, 60)])
def test_short_horizon_has_no_epoch(num_arms, horizon):
    """Where even f(1) exceeds T no epoch is listed."""
    assert make_schedule(num_arms, horizon, FIFTHS).ends == ()


def test_long_horizon_has_few_epochs():
    """10^9 rounds have room for eleven epochs, and nothing longer is allocated."""
    schedule = make_schedule(5, 10**9, FIFTHS)
    assert len(schedule.ends) == 11
    assert schedule.ends[-1] <= 10**9 < schedule.ends[-1] + 4 * schedule.pulls(11)
