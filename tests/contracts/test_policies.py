"""What every policy keeps to, whichever it is: a new one is covered by its line in the table.

Each statistical check here is wrong with probability at most 1e-8, so the file with at most 1e-6.
"""

import dataclasses
import math

import numpy as np
import pytest
from scipy import stats

from tests.contracts.client import Client, choices, words_of
from tutelage.errors import InputError
from tutelage.policies import POLICIES

VARIANTS = ["eps-greedy(c=5,d=0.5)", "eps-greedy(c=0)", "ts(update=fractional)"]
SPECS = [*POLICIES, *VARIANTS]
NUMBERS = [
    (name, item.name) for name in POLICIES for item in POLICIES.parameters(name) if item.type in (int, float)
]
WORDS = [(name, item.name) for name in POLICIES for item in POLICIES.parameters(name) if item.type is str]

every_policy = pytest.mark.parametrize("spec", SPECS)
FIRST_OF_TIES = {"first-tie"}  # breaks, on purpose, the assumption that ties are random
every_fair_policy = pytest.mark.parametrize("spec", [spec for spec in SPECS if spec not in FIRST_OF_TIES])


@every_policy
def test_tries_every_arm(spec):
    """Shown nothing but 0, a client tries all of its six arms."""
    for seed in range(5):
        assert set(Client(spec, 6, seed).play(300, lambda arm: 0.0)) == set(range(6))


@every_policy
@pytest.mark.parametrize("constant", [0.0, 0.1, 0.5, 1.0])
def test_constant_rewards(spec, constant):
    """Shown the same reward for ever, a client's means are that very number, and nothing breaks."""
    client = Client(spec, 4)
    client.play(600, lambda arm: constant)
    assert set(client.shown.means[client.shown.counts > 0]) == {constant}
    assert client.shown.counts.sum() == 600


@every_policy
def test_zeros_and_ones(spec):
    """With rewards 0 and 1 only, the arm that always gives 1 gets most pulls."""
    client = Client(spec, 3)
    arms = client.play(2000, lambda arm: float(arm == 1))
    assert arms.count(1) > 1500


@every_policy
@pytest.mark.parametrize("compile_it", [False, True])
def test_one_arm(spec, compile_it):
    """With one arm there is nothing to choose."""
    assert set(Client(spec, 1, compile_it=compile_it).play(100, lambda arm: 0.3)) == {0}


@every_policy
@pytest.mark.parametrize("compile_it", [False, True])
@pytest.mark.parametrize("counts", [(10**8,) * 4, (1, 10**8, 1, 10**8), (10**8, 0, 1, 10)])
def test_long_history(spec, compile_it, counts):
    """Counts of 10^8 with a fresh state, as after a change of policy: an arm within range, and it goes on."""
    client = Client(spec, 4, compile_it=compile_it)
    client.shown.counts[:] = client.shown.constant_counts[:] = counts
    client.shown.constants[:] = client.shown.means[:] = np.where(
        np.array(counts) > 0, (0.1, 0.9, 0.9, 0.0), 0.0
    )
    round = sum(counts)
    for step in range(1, 100):
        arm = client.pick(round + step)
        assert arm in range(4)
        client.take(arm, 0.25)
    assert np.isfinite(client.learner.state).all()
    assert client.shown.counts.sum() == round + 99


@every_policy
@pytest.mark.parametrize("num_arms", [1, 2, 3, 7])
def test_compiled_equals_interpreted(spec, num_arms):
    """Choices, states and the place in the stream are the same over 4,000 rounds of all kinds of rewards."""
    plain, fast = (
        Client(spec, num_arms, seed=num_arms),
        Client(spec, num_arms, seed=num_arms, compile_it=True),
    )
    rng = np.random.default_rng(num_arms)
    for round in range(1, 4001):
        arm = plain.pick(round)
        assert fast.pick(round) == arm
        kind = (round // 500) % 4  # constant, 0/1, any, mostly 0
        reward = (0.1, float(rng.random() < 0.5), rng.random(), float(rng.random() < 0.02))[kind]
        plain.take(arm, reward)
        fast.take(arm, reward)
        assert np.array_equal(plain.learner.state, fast.learner.state)
    assert np.array_equal(plain.shown.means, fast.shown.means)
    assert fast.stream.tolist() == words_of(plain.stream)


@every_policy
def test_state_size_is_what_is_used(spec):
    """Numbers behind the policy's own are neither read nor written: mixed clients share the widest row."""
    rng = np.random.default_rng(0)
    rewards = rng.random(500).round(1).tolist()
    exact, roomy = Client(spec, 3), Client(spec, 3, spare=4)
    size = exact.policy.state_size(3)
    roomy.learner.state[size:] = np.nan
    given, also_given = iter(rewards), iter(rewards)
    assert exact.play(500, lambda _: next(given)) == roomy.play(500, lambda _: next(also_given))
    assert np.isnan(roomy.learner.state[size:]).all()
    assert np.array_equal(roomy.learner.state[:size], exact.learner.state[:size])


@every_fair_policy
@pytest.mark.parametrize("constant", [0.0, 1.0])
def test_ties_are_broken_uniformly(spec, constant):
    """Arms shown the same constant equally often are chosen equally often."""
    low, high = stats.binom.interval(1 - 1e-9, 20_000, 1 / 4)
    for count in choices(spec, 4, [[constant] * 3] * 4):
        assert low <= count <= high


@every_fair_policy
def test_tied_arms_share_what_falls_to_them(spec):
    """Of three arms two are alike: what goes to either goes to each with probability 1/2."""
    first, _, last = choices(spec, 3, [[1.0, 0.0, 1.0, 1.0, 1.0], [0.0] * 5, [1.0, 1.0, 0.0, 1.0, 1.0]])
    assert first + last > 1000
    low, high = stats.binom.interval(1 - 1e-8, first + last, 1 / 2)
    assert low <= first <= high


@every_fair_policy
def test_first_arm_is_any(spec):
    """The very first pull is uniform over the arms."""
    low, high = stats.binom.interval(1 - 1e-9, 20_000, 1 / 5)
    for count in choices(spec, 5, [[]] * 5):
        assert low <= count <= high


@every_policy
def test_spec_round_trip(spec):
    """A SPEC parses to a policy whose own SPEC parses back equal and names every parameter."""
    policy = POLICIES.parse(spec)
    canonical = POLICIES.spec(policy)
    assert POLICIES.parse(canonical) == policy
    assert POLICIES.spec(POLICIES.parse(canonical)) == canonical
    assert all(f"{item.name}=" in canonical for item in POLICIES.parameters(spec.partition("(")[0]))


@every_policy
def test_is_a_frozen_value(spec):
    """A policy is a frozen dataclass; all of a kind share the two functions, hence one kernel."""
    policy, again = POLICIES.parse(spec), POLICIES.parse(spec)
    assert policy == again
    assert hash(policy) == hash(again)
    assert type(policy).__dataclass_params__.frozen
    assert policy.choose is again.choose
    assert policy.learn is again.learn
    assert all(isinstance(number, float) for number in policy.parameters())
    assert all(policy.state_size(arms) >= 0 for arms in (1, 2, 50))


@pytest.mark.parametrize(("name", "key"), NUMBERS)
@pytest.mark.parametrize("value", [math.nan, -math.inf, -1e9])
def test_number_out_of_range(name, key, value):
    """A parameter that is no number or far below any range is an InputError that names it and the value."""
    with pytest.raises(InputError, match=rf"{key}={value:g}".replace("+", r"\+")):
        POLICIES.cls(name)(**{key: value})


@pytest.mark.parametrize(("name", "key"), WORDS)
def test_unknown_word(name, key):
    """A word that a parameter does not know is an InputError that names it."""
    with pytest.raises(InputError, match="sideways"):
        POLICIES.parse(f"{name}({key}=sideways)")


@pytest.mark.parametrize("name", list(POLICIES))
def test_is_documented(name):
    """Its class says in a line what it is, and every parameter has a default and a help text."""
    cls = POLICIES.cls(name)
    assert POLICIES.summary(name).endswith(".")
    assert dataclasses.is_dataclass(cls)
    for item in POLICIES.parameters(name):
        assert item.help
        assert not item.required
