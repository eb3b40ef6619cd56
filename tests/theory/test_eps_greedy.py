"""epsilon-greedy's lemmas: the band holds for all tau, the first reward comes, random pulls add up."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutelage import theory
from tutelage.errors import InputError


def test_the_band_of_eps_greedy_holds_for_all_tau():
    """Ville's inequality with l = .43 and .6 gives 1 / (KMT) from KMT = 10 on; below it holds for certain."""
    assert math.exp(0.43) - 1 <= 1.25 * 0.43
    assert 1 - math.exp(-0.6) >= 0.75 * 0.6
    sizes = 10.0 ** np.arange(1, 20, 0.01)
    assert (sizes ** (-0.43 * 8 / 3) + sizes ** (-0.6 * 8 / 3) <= 1 / sizes).all()
    small = [(arms, clients, T) for arms in range(2, 10) for clients in range(1, 5) for T in range(1, 6)]
    for num_arms, num_clients, horizon in small:
        if num_arms * num_clients * horizon < 10:
            exploration = theory.exploration_of_eps_greedy(num_arms, horizon, num_clients)
            for pulls in range(1, horizon + 1):
                assert exploration.least(pulls) <= 0
                assert exploration.most(pulls) >= pulls


def test_the_band_is_not_far_too_wide():
    """Of 2,000 walks none leaves the band, which may happen once in T; a quarter of its offset is left."""
    num_arms, horizon, runs = 3, 600, 2000
    draws = np.random.default_rng(1).random((runs, horizon)) < 1 / num_arms
    pulls, taus = draws.cumsum(axis=1), np.arange(1, horizon + 1)
    exploration = theory.exploration_of_eps_greedy(num_arms, horizon)
    least = np.array([exploration.least(int(tau)) for tau in taus])
    most = np.array([exploration.most(int(tau)) for tau in taus])
    assert ((pulls >= least) & (pulls <= most)).all()
    offset = 8 / 3 * math.log(num_arms * horizon)
    assert (pulls > taus * 5 / (4 * num_arms) + offset / 4).any()


@given(st.integers(2, 40), st.integers(10, 10**9), st.integers(1, 40), st.integers(1, 10**6))
def test_learning_time_is_that_of_the_paper(num_arms, horizon, num_clients, last_end):
    """(4K/3) F + (32K/9) log(KMT), rounded up, and the lower line there is F."""
    time = theory.learning_time_of_eps_greedy(last_end, num_arms, horizon, num_clients)
    printed = 4 * num_arms / 3 * last_end + 32 * num_arms / 9 * math.log(num_arms * num_clients * horizon)
    assert time == pytest.approx(printed, abs=1 + 1e-9 * printed)
    exploration = theory.exploration_of_eps_greedy(num_arms, horizon, num_clients)
    assert exploration.least(time) >= last_end * (1 - 1e-12)
    assert exploration.least(time - 2) < last_end


@given(st.floats(0.02, 1), st.integers(1, 10**9))
def test_rounds_to_first_reward_hold_enough_pulls(best_mean, horizon):
    """n' fits into the lower line at tau', each but with chance 1 / (2T); for T < 4 it is trivial."""
    rounds = theory.rounds_to_first_reward(best_mean, 2, horizon)
    enough = math.ceil(math.log(2 * horizon) / (2 * best_mean**2))
    assert math.exp(-2 * enough * best_mean**2) <= 1 / (2 * horizon) * (1 + 1e-9)
    offset = math.log(2 * horizon) / 0.6  # exp(-0.6 offset) = 1 / (2T)
    assert rounds >= horizon if horizon < 4 else 3 * rounds / (4 * 2) - offset >= enough - 1e-6 * enough


@given(st.integers(2, 20), st.integers(1, 3000), st.floats(0, 8), st.floats(0.2, 1))
def test_random_pulls_bound_the_sum(num_arms, horizon, c, d):
    """At least (K - 1) / K sum_t min(1, cK / (d^2 t)), and above it by no more than log's rounding."""
    total = math.fsum(min(1.0, c * num_arms / (d * d * t)) for t in range(1, horizon + 1))
    bound = theory.random_pulls(num_arms, horizon, c, d)
    share = (num_arms - 1) / num_arms
    assert share * total <= bound * (1 + 1e-9)
    assert bound <= share * (2 * total + 1)


def test_a_client_without_rewards_has_no_theorem():
    """With mu = 0 no reward ever comes; a mean whose square is 0 has the same result."""
    for best_mean in (0.0, 1e-200):
        with pytest.raises(InputError, match="above 0"):
            theory.warm_start_of_eps_greedy(best_mean, 5, 1000)
