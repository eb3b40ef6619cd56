"""What a plan is made for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutelage import load_instance
from tutelage.conditions import Conditions
from tutelage.distributions.base import Samples
from tutelage.distributions.bernoulli import Bernoulli
from tutelage.errors import InputError
from tutelage.instances.base import Instance, equal_weights
from tutelage.planning.cases import AssumedInstance, KnownInstance, with_gap


@given(seed=st.integers(0, 10_000), gap=st.floats(1e-3, 1.0), shape=st.tuples(st.integers(1, 6), st.integers(2, 6)))
def test_any_gap_can_be_given(seed, gap, shape):
    """Smaller or larger: the same arm leads by exactly this, and all means stay in [0, 1]."""
    instance = load_instance(f"uniform:clients={shape[0]},arms={shape[1]},seed={seed}")
    moved = with_gap(instance, gap)
    assert moved.best_arm == instance.best_arm
    assert moved.min_gap == pytest.approx(gap, abs=1e-12)
    assert moved.local_means.min() >= 0
    assert moved.local_means.max() <= 1


def test_a_smaller_gap_moves_the_best_arm_alone():
    """All other arms stay as they are, and clients go on disagreeing."""
    paper = load_instance("paper")
    moved = with_gap(paper, paper.min_gap / 2)
    assert np.array_equal(moved.local_means[:, :4], paper.local_means[:, :4])
    assert np.ptp(moved.local_means[:, 4]) > 0.9 * np.ptp(paper.local_means[:, 4])


def test_a_moved_instance_keeps_weights_rewards_and_conditions():
    """Only the means are others, and the name says so."""
    instance = Instance(
        "mine",
        np.array([[0.2, 0.9], [0.4, 0.5]]),
        np.array([0.3, 0.7]),
        rewards="beta(7)",
        conditions=Conditions(activity=(1.0, 0.5)),
    )
    moved = with_gap(instance, 0.1)
    assert moved.rewards == instance.rewards
    assert moved.conditions == instance.conditions
    assert np.array_equal(moved.weights, instance.weights)
    assert moved.name == "mine with a gap of 0.1"


def test_observed_rewards_cannot_be_moved():
    """An empirical distribution becomes Bernoulli, since its rewards are what was seen."""
    seen = Samples(np.arange(3), np.array([0.2, 0.6]), np.ones(2))  # one value for each of two arms
    instance = Instance("seen", np.array([[0.2, 0.6]]), equal_weights(1), rewards="empirical", samples=seen)
    assert with_gap(instance, 0.1).rewards == Bernoulli()


@given(seed=st.integers(0, 1000), low=st.floats(0, 0.5), width=st.floats(0.1, 0.5), share=st.floats(0.01, 1.0))
def test_guessed_instances_lie_in_their_range(seed, low, width, share):
    """Every run has another instance, its means within [low, high] and its gap exactly the guess."""
    high = low + width
    gap = share * (high - low)
    guess = AssumedInstance(num_clients=3, num_arms=4, gap=gap, low=low, high=high)
    first, second = (guess.instance(guess.gap, seed, run) for run in (0, 1))
    for each in (first, second):
        assert each.local_means.min() >= low
        assert each.local_means.max() <= high
        assert each.min_gap == pytest.approx(gap, abs=1e-11)
    assert not np.array_equal(first.local_means, second.local_means)


def test_a_guess_over_the_whole_range_is_planted():
    """Run r of seed S is the planted instance of seed S + r, which tutelage simulate can play."""
    guess = AssumedInstance(num_clients=4, num_arms=3, gap=0.2, rewards="beta(3)", weights="0.1;0.2;0.3;0.4")
    planted = load_instance("planted:clients=4,arms=3,gap=0.2,seed=12,rewards=beta(3),weights=0.1;0.2;0.3;0.4")
    made = guess.instance(0.2, 10, 2)
    assert np.array_equal(made.local_means, planted.local_means)
    assert np.array_equal(made.weights, planted.weights)
    assert made.rewards == planted.rewards


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"gap": 0.0}, "Invalid gap 0: use 1e-06 to "),
        ({"gap": 0.6, "low": 0.3, "high": 0.8}, "Invalid gap 0.6: use 1e-06 to 0.5, the largest gap"),
        ({"gap": float("nan")}, "gap nan"),
        ({"low": 0.8, "high": 0.2}, "0.8;0.2 are not a range"),
        ({"high": 1.5}, "means 0;1.5"),
        ({"low": float("nan")}, "lowest mean nan"),
    ],
)
def test_a_guess_that_cannot_be(options, said):
    """The offending value is named."""
    with pytest.raises(InputError, match=said):
        AssumedInstance(**({"num_clients": 3, "num_arms": 3, "gap": 0.1} | options))


def test_instances_without_a_plan():
    """One arm, or means that shift."""
    with pytest.raises(InputError, match="one arm"):
        KnownInstance(Instance("one", np.array([[0.5]]), equal_weights(1)))
    with pytest.raises(InputError, match="shift"):
        KnownInstance(load_instance('shift:paper,then="uniform:clients=5,arms=5,seed=3",at=20'))
