"""Epsilon-greedy: how often it explores, and what."""

import pytest
from scipy import stats
from tests import reference

from tutelage.errors import InputError
from tutelage.policies.epsilon_greedy import EpsilonGreedy
from tutelage.testing import SingleClient, count_choices

FALSE_ALARM = 1e-7
BEST_IS_FIRST = [[1.0] * 20, [0.0] * 10, [0.0] * 10, [0.0] * 5, [0.5] * 5]  # the next round is the 51st


@pytest.mark.parametrize(("spec", "epsilon"), [("eps-greedy", 5 / 51), ("eps-greedy(c=2,d=0.5)", 40 / 51)])
def test_explores_with_probability_epsilon(spec, epsilon):
    """In round 51 a random arm of all five is pulled with probability min(1, 5 c / (51 d^2))."""
    counts = count_choices(spec, 5, BEST_IS_FIRST)
    low, high = stats.binom.interval(1 - FALSE_ALARM, 20_000, epsilon / 5)
    for count in counts[1:]:
        assert low <= count <= high
    low, high = stats.binom.interval(1 - FALSE_ALARM, 20_000, 1 - epsilon * 4 / 5)
    assert low <= counts[0] <= high


def test_explores_always_while_epsilon_is_one():
    """With c K >= d^2 t the choice is uniform whatever the means."""
    low, high = stats.binom.interval(1 - FALSE_ALARM, 20_000, 1 / 5)
    assert all(low <= count <= high for count in count_choices("eps-greedy(c=11)", 5, BEST_IS_FIRST))


def test_without_exploration_it_is_greedy():
    """With c = 0 only the best mean is pulled once every arm has been tried."""
    assert count_choices("eps-greedy(c=0)", 5, BEST_IS_FIRST, trials=1000) == [1000, 0, 0, 0, 0]


def test_constant_means_are_tied():
    """Shown .1 three times or ten, arms have the same mean exactly and are chosen equally often."""
    low, high = stats.binom.interval(1 - FALSE_ALARM, 20_000, 1 / 4)
    counts = count_choices("eps-greedy(c=0)", 4, [[0.1] * 3, [0.1] * 5, [0.1] * 6, [0.1] * 10])
    assert all(low <= count <= high for count in counts)


@pytest.mark.parametrize(("c", "d"), [(1.0, 1.0), (5.0, 0.5), (0.0, 1.0)])
def test_equals_the_reference(c, d):
    """Choices and draws are those of the plain transcription of section VI-B."""
    client = SingleClient(f"eps-greedy(c={c},d={d})", 4, seed=8)
    plain, stream = reference.EpsilonGreedy(4, c, d), reference.generator(8, 0, 1, 0, 1)
    rewards = reference.generator(8, 9)
    for round in range(1, 3001):
        arm = client.choose_arm(round)
        assert arm == plain.choose(round, stream)
        reward = 0.1 if round < 1000 else float(rewards.random() < 0.2 * arm)
        client.see(arm, reward)
        plain.learn(arm, reward, stream)


@pytest.mark.parametrize("values", [{"c": -0.1}, {"c": float("inf")}, {"d": 0.0}, {"d": 1.01}, {"d": -1.0}])
def test_parameters_out_of_range(values):
    """The exploration c is at least 0 and finite, the gap d within (0, 1]."""
    with pytest.raises(InputError, match=f"{next(iter(values))}="):
        EpsilonGreedy(**values)
