"""UCB1's lemmas: the threshold of pulls against the inequality it is for, and against the printed one."""

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tutelage import measurement, theory
from tutelage.errors import InputError


def index_at(total, history, gamma1, gamma2, last_round):
    """UCB1's index of an arm that showed gamma1 ``history`` times and gamma2 in all its other pulls."""
    mean = (history * gamma1 + (total - history) * gamma2) / total
    return mean + math.sqrt(2 * math.log(last_round) / total)


def printed_pulls(history, best_mean, gamma1, gamma2, last_round):
    """L_{k,m} as the proof of lem:tal_teaching_UCB_restate prints it: pulls after the history."""
    distance = 4 * (best_mean - gamma2) ** 2
    return (gamma1 - gamma2) * history / distance + 2 * math.log(last_round) / distance


@given(st.integers(1, 100))
def test_exploration_is_balanced_to_one_pull(num_arms):
    """floor and ceil of tau / K, whose sum allows tau, and the least tau with n pulls of each."""
    exploration = theory.exploration_of_ucb1(num_arms)
    for pulls in (0, 1, num_arms, 7 * num_arms - 1, 7 * num_arms, 7 * num_arms + 1):
        assert exploration.least(pulls) == math.floor(pulls / num_arms)
        assert exploration.most(pulls) == math.ceil(pulls / num_arms)
    assert exploration.least(exploration.needed(7)) == 7
    assert exploration.least(exploration.needed(7) - 1) < 7
    assert exploration.failure == 0


def test_printed_pulls_do_not_suffice():
    """Departs from the paper: gamma1 = 1, gamma2 = 0, tau = 1000, mu = .5: after L pulls index > mu."""
    history, best_mean, last_round = 1000, 0.5, 50_000
    printed = printed_pulls(history, best_mean, 1.0, 0.0, last_round)
    assert printed == pytest.approx(1000 + 2 * math.log(50_000))
    assert index_at(history + printed, history, 1.0, 0.0, last_round) > best_mean
    needed = theory.total_pulls_of_ucb1(history, 1.0, best_mean, last_round)
    assert index_at(needed, history, 1.0, 0.0, last_round) == pytest.approx(best_mean, rel=1e-12)
    assert needed - history > printed


@given(st.integers(0, 10**6), st.floats(0.01, 1), st.floats(0.01, 1), st.integers(2, 10**9))
def test_threshold_solves_the_inequality(history, excess, lead, last_round):
    """At N* the index is the target's, just below it is above; N* <= 2 g tau / d + 2 log(t) / d^2."""
    total = theory.total_pulls_of_ucb1(history, excess, lead, last_round)
    assert index_at(total, history, excess, 0.0, last_round) == pytest.approx(lead, rel=1e-9)
    assert index_at(total * 0.999, history, excess, 0.0, last_round) > lead
    order = 2 * excess * history / lead + 2 * math.log(last_round) / lead**2
    assert total <= order * (1 + 1e-12)


@given(st.floats(0.05, 1), st.floats(0, 1), st.floats(0, 1), st.integers(0, 10**5))
def test_a_longer_history_takes_no_fewer_pulls(best_mean, gamma1, gamma2, history):
    """What the general theorem asks of a warm start, since learning may end early."""
    assume(gamma1 > gamma2 + 1e-3)
    assume(best_mean > gamma2 + 1e-3)
    pulls = [
        theory.warm_start_of_ucb1(length, best_mean, gamma1, gamma2, 10**6)
        for length in (history, history + 1, 2 * history + 5)
    ]
    assert pulls[0] <= pulls[1] * (1 + 1e-12)
    assert pulls[1] <= pulls[2] * (1 + 1e-12)


def test_two_pulls_cover_the_tail():
    """1 + sum_{t>=2} t * t^-4 < 2; the paper's t^-2 from t = 1 and the pull left out exceed 2."""
    tail = math.fsum(t**-3.0 for t in range(2, 10**5)) + 1 / (2 * (10**5 - 1) ** 2)
    assert 1 + tail < 2
    assert 1 + math.pi**2 / 6 > 2


@pytest.mark.parametrize(
    ("gamma1", "gamma2", "best_mean", "history", "ratio"),
    [
        (1.0, 0.0, 0.5, 300, 1.2),
        (1.0, 0.2, 0.5, 100, 1.25),
        (0.3, 0.0, 0.8, 300, 700),
        (0.0, 0.0, 0.4, 300, 200),
        (0.0, 0.0, 0.9, 40, 130),
    ],
)
def test_measured_warm_starts_stay_below(gamma1, gamma2, best_mean, history, ratio):
    """In the paper's case, there not far below, with a gamma1 below the mean, and with both gammas 0.

    ``ratio``: 1.12 and 1.17 were seen in the paper's case, with every seed tried; in the others, where 200
    runs have few pulls, about 490, 135 and 80, by 10 % more or less.
    """
    horizon, num_arms = 30_000, 3
    seen = measurement.warm_start_pulls(
        "ucb1", history, [best_mean, 0.1, 0.1], horizon, gamma1=gamma1, gamma2=gamma2, target=0, runs=200, checkpoints=1
    )
    bound = theory.warm_start_of_ucb1(history, best_mean, gamma1, gamma2, horizon + num_arms * history)
    assert bound / ratio < seen.iota[-1, 1:].max() <= bound


def test_lead_over_gamma2():
    """mu - gamma2 in the paper's case, gamma1 - gamma2 for a gamma1 below mu, mu with both gammas 0."""
    assert theory.target_lead(0.5, 1.0, 0.0) == 0.5
    assert theory.target_lead(0.5, 0.5, 0.1) == 0.4
    assert theory.target_lead(0.5, 0.3, 0.1) == pytest.approx(0.2)
    assert theory.target_lead(0.5, 0.0, 0.0) == 0.5


@pytest.mark.parametrize(
    ("best_mean", "gamma1", "gamma2", "message"),
    [
        (0.5, 0.5, 0.5, "gamma1=0.5 and gamma2=0.5"),
        (0.5, 0.0, 0.1, "gamma1 must be above gamma2"),
        (0.0, 1.0, 0.0, "mean of the best arm is 0"),
        (0.2, 1.0, 0.3, "mean above gamma2"),
        (0.0, 0.0, 0.0, "mean of the best arm is 0"),
        (1e-200, 1.0, 0.0, "mean of the best arm is 1e-200"),
        (0.5, 1e-200, 0.0, "gamma1=1e-200"),
    ],
)
def test_no_lead_no_theorem(best_mean, gamma1, gamma2, message):
    """Where gamma2 is not below gamma1 and the mean, UCB1 cannot be shown to come round."""
    with pytest.raises(InputError, match=message):
        theory.target_lead(best_mean, gamma1, gamma2)
