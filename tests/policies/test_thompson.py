"""Thompson sampling: posteriors, and the trial for rewards inside (0, 1)."""

import pytest
from scipy import stats
from tests import reference
from tests.policies.thompson_laws import Case, p_value_of_law

from tutelage.errors import InputError
from tutelage.policies.thompson import ThompsonSampling
from tutelage.testing import SingleClient, count_choices, generator_words

FALSE_ALARM = 1e-7


@pytest.mark.parametrize(
    ("histories", "chance"),
    [
        ([[1.0], [0.0]], 5 / 6),  # Beta(2, 1) against Beta(1, 2)
        ([[], [0.0]], 2 / 3),  # Beta(1, 1) against Beta(1, 2)
        ([[1.0, 1.0], []], 3 / 4),  # Beta(3, 1) against Beta(1, 1)
        ([[0.0, 1.0], [1.0, 0.0]], 1 / 2),
    ],
)
def test_chooses_with_the_probability_of_being_best(histories, chance):
    """From Beta(1, 1) priors the first arm's draw is the larger one with these probabilities."""
    low, high = stats.binom.interval(1 - FALSE_ALARM, 20_000, chance)
    assert low <= count_choices("ts", 2, histories)[0] <= high


def test_counts_zeros_and_ones():
    """A 1 is a success, a 0 a failure of its arm, and no number is drawn for it."""
    client = SingleClient("ts", 3)
    before = generator_words(client.stream)
    for arm, reward in [(0, 1.0), (0, 1.0), (0, 0.0), (2, 0.0)]:
        client.see(arm, reward)
    assert client.learner.state[:6].tolist() == [2, 0, 0, 1, 0, 1]
    assert generator_words(client.stream) == before


def test_reward_inside_is_a_trial():
    """A reward of .3 is a success with probability .3, otherwise a failure."""
    client = SingleClient("ts", 2)
    for _ in range(20_000):
        client.see(1, 0.3)
    successes, failures = client.learner.state[1], client.learner.state[3]
    low, high = stats.binom.interval(1 - FALSE_ALARM, 20_000, 0.3)
    assert successes + failures == 20_000
    assert low <= successes <= high


def test_fractional_adds_the_reward_itself():
    """With update=fractional .25 adds .25 successes and .75 failures and draws nothing."""
    client = SingleClient("ts(update=fractional)", 2)
    before = generator_words(client.stream)
    for reward in (0.25, 1.0, 0.0):
        client.see(0, reward)
    assert client.learner.state[:4].tolist() == [1.25, 0, 1.75, 0]
    assert generator_words(client.stream) == before


@pytest.mark.parametrize("update", ["bernoulli", "fractional"])
def test_equals_the_reference(update):
    """Choices and draws are those of the plain transcription."""
    client, plain = SingleClient(f"ts(update={update})", 4, seed=8), reference.Thompson(4, update)
    stream, rewards = reference.generator(8, 0, 1, 0, 1), reference.generator(8, 9)
    for round in range(1, 3001):
        arm = client.choose_arm(round)
        assert arm == plain.choose(round, stream)
        reward = rewards.random() if round % 3 else float(rewards.random() < 0.2 * arm)
        client.see(arm, reward)
        plain.learn(arm, reward, stream)


def test_equal_draws_are_broken_fairly():
    """Should draws be equal, each arm is as likely: the second of two replaces the first half the time."""

    class Same:
        def __init__(self, numbers):
            self.numbers = iter(numbers)

        def beta(self, a, b):
            return 0.5

        def random(self):
            return next(self.numbers)

    client = SingleClient("ts", 3)
    for numbers, arm in [((0.6, 0.6), 0), ((0.4, 0.5), 1), ((0.9, 0.3), 2), ((0.1, 0.1), 2)]:
        client.stream = Same(numbers)
        assert client.choose_arm(1) == arm


def test_unknown_update():
    """There are two ways to learn from a reward inside (0, 1)."""
    with pytest.raises(InputError, match="Invalid update='half' in ThompsonSampling: use bernoulli or fractional"):
        ThompsonSampling("half")


@pytest.mark.parametrize(
    ("case", "horizon"),
    [
        (Case((9, 8, 7), (0, 0, 2), (1, 1, 0)), 6),
        (Case((3, 5), (4, 2), (0.5, 0.3)), 8),
        (Case((60, 25), (3, 0), (0.9, 1)), 6),
    ],
    ids=["learning", "any", "skewed"],
)
def test_first_pulls_of_leaps_have_their_law(case, horizon):
    """Pulls and ones are as frequent as enumeration says; the slow tests have more cases and clients."""
    assert p_value_of_law(case, horizon, 1500) > 1e-8
