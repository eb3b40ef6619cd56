"""UCB1: its index, and the shortcut that must never change a choice."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests import reference

from tutelage.policies.ucb1 import bound_lead, ucb_index
from tutelage.testing import SingleClient

REWARDS = {
    "zeros": lambda rng, arm, t: 0.0,
    "same": lambda rng, arm, t: 0.1,
    "coins": lambda rng, arm, t: float(rng.random() < 0.3 + 0.1 * arm),
    "uniform": lambda rng, arm, t: rng.random(),
    "sure": lambda rng, arm, t: float(arm == 0),
    "turning": lambda rng, arm, t: float((t // 700 + arm) % 2),
    "one bad pull": lambda rng, arm, t: float(arm == 0 and t % 501 != 0),
}


def test_index_by_hand():
    """Mean 1/2 after 8 pulls in round 100: 0.5 + sqrt(2 log 100 / 8)."""
    assert ucb_index(0.5, 2 * math.log(100), 8) == 0.5 + math.sqrt(2 * math.log(100) / 8)


@pytest.mark.parametrize("rewards", REWARDS)
@pytest.mark.parametrize("num_arms", [1, 2, 5])
def test_equals_a_full_ranking(rewards, num_arms):
    """Keeping a leader without ranking the others chooses and draws as the plain ranking of the reference."""
    reward_of = REWARDS[rewards]
    client, plain = SingleClient("ucb1", num_arms, seed=3), reference.UCB1(num_arms)
    stream, rng = reference.generator(3, 0, 1, 0, 1), np.random.default_rng(1)
    for round in range(1, 3001):
        arm = client.choose_arm(round)
        assert arm == plain.choose(round, stream)
        reward = reward_of(rng, arm, round)
        client.see(arm, reward)
        plain.learn(arm, reward, stream)


@given(st.integers(2, 6), st.integers(0, 2**32), st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_equals_a_full_ranking_of_any_pattern(num_arms, seed, pattern):
    """The same with any repeated pattern of rewards, the best arm's a step higher."""
    client, plain = SingleClient("ucb1", num_arms, seed), reference.UCB1(num_arms)
    stream = reference.generator(seed, 0, 1, 0, 1)
    for round in range(1, 301):
        arm = client.choose_arm(round)
        assert arm == plain.choose(round, stream)
        reward = max(pattern[round % len(pattern)], 0.7 * (arm == 0))
        client.see(arm, reward)
        plain.learn(arm, reward, stream)


def test_shortcut_is_taken():
    """A clearly leading arm is pulled again without a ranking (else the tests above would test nothing)."""
    client, known_until = SingleClient("ucb1", 3), set()
    for round in range(1, 2001):
        arm = client.choose_arm(round)
        client.see(arm, float(arm == 1))
        known_until.add(client.learner.state[1])
    assert client.learner.state[0] == 2.0  # arm 1
    assert len(known_until) < 500


@given(st.integers(2, 6), st.integers(0, 2**32), st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_bounded_lead_is_that_of_a_full_ranking(num_arms, seed, pattern):
    """As long as a lead is bounded, the reference's ranking pulls this arm, whatever is revealed."""
    client, plain = SingleClient("ucb1", num_arms, seed), reference.UCB1(num_arms)
    stream, places, drawn = reference.generator(seed, 0, 1, 0, 1), itertools.cycle(range(len(pattern))), 0

    def pull(arm, round):
        assert arm == plain.choose(round, stream)
        reward = max(pattern[next(places)], 0.7 * (arm == 0))
        client.see(arm, reward)
        plain.learn(arm, reward, stream)
        return reward

    round = 1
    while round <= 1000:
        lead, pulls, revealed = bound_lead(round, client.learner, np.zeros(0)), 0, 0.0
        while pulls < lead.pulls and revealed > lead.least + pulls * lead.slope:
            revealed += pull(lead.arm, round + pulls)
            pulls += 1
        if pulls == 0:  # a tie, or an arm that was not pulled yet
            pull(client.choose_arm(round), round)
            drawn += 1
        round += max(1, pulls)
    assert drawn < 1000  # some leads are bounded


@pytest.mark.parametrize("num_arms", [2, 3])
def test_choices_and_bounded_leads_mix(num_arms):
    """Whether a lead is bounded or an arm chosen, pulls and draws are those of a full ranking."""
    for seed in range(20):
        client, plain = SingleClient("ucb1", num_arms, seed), reference.UCB1(num_arms)
        stream, rng, round = reference.generator(seed, 0, 1, 0, 1), np.random.default_rng(seed), 1
        while round <= 400:
            for asks in (True,) * int(rng.integers(1, 4)) + (False,) * int(rng.integers(9)):
                lead = bound_lead(round, client.learner, np.zeros(0)) if not asks else None
                is_led = lead is not None and lead.pulls > 0 and lead.least < 0.0
                arm = lead.arm if is_led else client.choose_arm(round)
                assert arm == plain.choose(round, stream)
                reward = float(rng.random() < 0.5)
                client.see(arm, reward)
                plain.learn(arm, reward, stream)
                round += 1


def test_bounded_lead_is_long():
    """A clearly leading arm is played in few parts."""
    client, round, parts = SingleClient("ucb1", 3), 1, 0
    while round <= 20_000:
        lead = bound_lead(round, client.learner, np.zeros(0))
        arm, pulls, revealed = lead.arm, 0, 0.0
        while pulls < lead.pulls and revealed > lead.least + pulls * lead.slope:
            client.see(arm, float(arm == 1))
            revealed += arm == 1
            pulls += 1
        if pulls == 0:
            client.see(client.choose_arm(round), 0.0)
        round, parts = round + max(1, pulls), parts + 1
    assert parts < 500


def test_begins_in_any_order():
    """The first K pulls are a permutation of the arms, each of the six as likely (false alarm below 1e-6)."""
    orders = [tuple(SingleClient("ucb1", 3, seed).play(3, lambda arm: 0.0)) for seed in range(3000)]
    low, high = stats.binom.interval(1 - 1e-7, 3000, 1 / 6)
    assert set(orders) == set(itertools.permutations(range(3)))
    assert all(low <= orders.count(order) <= high for order in set(orders))


@pytest.mark.parametrize("constant", [0.0, 0.1, 1.0])
def test_balances_constant_rewards(constant):
    """Lemma "Learning Phase in TAL" for UCB1: after every pull the counts differ by one at most."""
    client = SingleClient("ucb1", 5)
    for round in range(1, 3001):
        client.see(client.choose_arm(round), constant)
        assert client.revealed.pulls.max() - client.revealed.pulls.min() <= 1
