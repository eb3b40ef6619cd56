"""The mean of revealed rewards is exact for constants and for rewards 0 and 1."""

import functools
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests import reference
from tutelage.revealed_rewards import add_one_by_one, add_ones, add_revealed_reward, new_revealed_rewards

REWARDS = st.one_of(st.sampled_from([0.0, 1.0, 0.1, 0.3]), st.floats(0, 1))


@given(st.lists(REWARDS, min_size=1, max_size=60))
def test_mean_is_the_definition(rewards):
    """The mean is gamma while all equal gamma and (n0 gamma + s) / n afterwards, as in the reference."""
    revealed, plain = new_revealed_rewards(3), reference.Arm()
    for reward in rewards:
        add_revealed_reward(revealed, 1, reward)
        plain.add(reward)
        assert revealed.means[1] == plain.mean()
    assert revealed.pulls.tolist() == [0, len(rewards), 0]
    assert revealed.means[0] == revealed.means[2] == 0.0


@given(st.floats(0, 1), st.integers(1, 300))
def test_mean_of_a_constant_is_the_constant(gamma, pulls):
    """However often the same reward is revealed, the mean is exactly that number, so ties stay exact."""
    revealed = new_revealed_rewards(3)
    for _ in range(pulls):
        add_revealed_reward(revealed, 0, gamma)
        assert revealed.means[0] == gamma


@given(st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=300))
def test_mean_of_zeros_and_ones_is_exact(rewards):
    """For 0/1 rewards the mean is the correctly rounded quotient, in any order."""
    revealed = new_revealed_rewards(3)
    for reward in rewards:
        add_revealed_reward(revealed, 0, reward)
    assert revealed.means[0] == float(Fraction(int(sum(rewards)), len(rewards)))


def test_a_first_reward_that_returns_later_is_in_the_sum():
    """After another reward the first one is added to the sum of later rewards, and n0 stays."""
    revealed = new_revealed_rewards(3)
    for reward in (0.25, 0.25, 1.0, 0.25):
        add_revealed_reward(revealed, 0, reward)
    assert (revealed.first_reward_counts[0], revealed.first_rewards[0], revealed.later_sums[0]) == (2, 0.25, 1.25)
    assert revealed.means[0] == 1.75 / 4


@given(st.lists(st.floats(0, 1), min_size=2, max_size=5, unique=True), st.lists(st.booleans(), max_size=300))
def test_ones_and_zeros_at_once_are_those_one_by_one(levelled, rewards):
    """After rewards whose sum is rounded, too: the same numbers, bit for bit, whatever the order of the ones."""
    single, at_once = new_revealed_rewards(1), new_revealed_rewards(1)
    for reward in levelled:
        add_revealed_reward(single, 0, reward)
        add_revealed_reward(at_once, 0, reward)
    for reward in rewards:
        add_revealed_reward(single, 0, float(reward))
    add_ones(at_once, 0, sum(rewards), len(rewards))
    assert all((one == other).all() for one, other in zip(single, at_once, strict=True))


def test_one_addition_would_be_rounded_differently():
    """The sum of 1.0 many times is not that of one addition, for some start; powers of 2 are passed."""
    starts = np.random.default_rng(1).random(1000).tolist()
    looped = [functools.reduce(lambda total, _: total + 1.0, range(40), start) for start in starts]
    assert [add_one_by_one(start, 40) for start in starts] == looped
    assert [start + 40 for start in starts] != looped
