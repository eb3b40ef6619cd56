"""The conformance suite of policies.

Each statistical check is wrong with probability at most 1e-8.
"""

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from tutelage.errors import InputError
from tutelage.policies import POLICIES
from tutelage.registry import Parameter, parameters_of
from tutelage.testing.single_client import SingleClient, count_choices, generator_words
from tutelage.text import format_exact


def _parameters(spec: str) -> tuple[Parameter, ...]:
    return parameters_of(type(POLICIES.parse(spec)))


def _skip_unless_ties_are_random(spec: str) -> None:
    if not getattr(POLICIES.parse(spec), "breaks_ties_at_random", True):
        pytest.skip("the policy declares breaks_ties_at_random = False")


class PolicyContract:
    """What every policy keeps to.  A subclass gives the fixture ``spec``: the SPEC of a policy."""

    @pytest.fixture
    def spec(self) -> str:
        """Return the SPEC of the policy under test."""
        raise NotImplementedError("define a fixture `spec` that returns the SPEC of your policy")

    def test_tries_every_arm(self, spec: str) -> None:
        """With only rewards of 0, a client tries all of its six arms within 300 rounds."""
        for seed in range(5):
            assert set(SingleClient(spec, 6, seed).play(300, lambda arm: 0.0)) == set(range(6))

    @pytest.mark.parametrize("constant", [0.0, 0.1, 0.5, 1.0])
    def test_constant_rewards(self, spec: str, constant: float) -> None:
        """With the same reward in every round, the means equal that number exactly."""
        client = SingleClient(spec, 4)
        client.play(600, lambda arm: constant)
        assert set(client.revealed.means[client.revealed.pulls > 0]) == {constant}
        assert client.revealed.pulls.sum() == 600

    def test_zeros_and_ones(self, spec: str) -> None:
        """With rewards 0 and 1 only, the arm that always brings 1 gets most pulls."""
        client = SingleClient(spec, 3)
        arms = client.play(2000, lambda arm: float(arm == 1))
        assert arms.count(1) > 1500

    @pytest.mark.parametrize("compile_it", [False, True])
    def test_one_arm(self, spec: str, compile_it: bool) -> None:
        """With one arm, that arm is always chosen."""
        assert set(SingleClient(spec, 1, compile_it=compile_it).play(100, lambda arm: 0.3)) == {0}

    @pytest.mark.parametrize("compile_it", [False, True])
    @pytest.mark.parametrize("counts", [(10**8,) * 4, (1, 10**8, 1, 10**8), (10**8, 0, 1, 10)])
    def test_long_history(self, spec: str, compile_it: bool, counts: tuple[int, ...]) -> None:
        """Counts of 10^8 with a fresh state, as after a change of policy, give a valid arm each round."""
        client = SingleClient(spec, 4, compile_it=compile_it)
        client.revealed.pulls[:] = client.revealed.first_reward_counts[:] = counts
        client.revealed.first_rewards[:] = client.revealed.means[:] = np.where(
            np.array(counts) > 0, (0.1, 0.9, 0.9, 0.0), 0.0
        )
        round = sum(counts)
        for step in range(1, 100):
            arm = client.choose_arm(round + step)
            assert arm in range(4)
            client.see(arm, 0.25)
        assert np.isfinite(client.learner.state).all()
        assert client.revealed.pulls.sum() == round + 99

    @pytest.mark.parametrize("num_arms", [1, 2, 3, 7])
    def test_compiled_equals_interpreted(self, spec: str, num_arms: int) -> None:
        """Choices, states and draws are equal over 4,000 rounds of all kinds of rewards."""
        plain = SingleClient(spec, num_arms, seed=num_arms)
        fast = SingleClient(spec, num_arms, seed=num_arms, compile_it=True)
        rng = np.random.default_rng(num_arms)
        for round in range(1, 4001):
            arm = plain.choose_arm(round)
            assert fast.choose_arm(round) == arm
            kind = (round // 500) % 4  # constant, 0/1, any, mostly 0
            reward = (0.1, float(rng.random() < 0.5), rng.random(), float(rng.random() < 0.02))[kind]
            plain.see(arm, reward)
            fast.see(arm, reward)
            assert np.array_equal(plain.learner.state, fast.learner.state)
        assert np.array_equal(plain.revealed.means, fast.revealed.means)
        assert fast.stream.tolist() == generator_words(plain.stream)

    def test_state_size_is_what_is_used(self, spec: str) -> None:
        """Numbers behind the policy's own state are neither read nor written."""
        rng = np.random.default_rng(0)
        rewards = rng.random(500).round(1).tolist()
        exact, roomy = SingleClient(spec, 3), SingleClient(spec, 3, spare=4)
        size = exact.policy.state_size(3)
        roomy.learner.state[size:] = np.nan
        first, second = iter(rewards), iter(rewards)
        assert exact.play(500, lambda _: next(first)) == roomy.play(500, lambda _: next(second))
        assert np.isnan(roomy.learner.state[size:]).all()
        assert np.array_equal(roomy.learner.state[:size], exact.learner.state[:size])

    @pytest.mark.parametrize("constant", [0.0, 1.0])
    def test_ties_are_broken_uniformly(self, spec: str, constant: float) -> None:
        """Arms with the same constant rewards, equally often seen, are chosen equally often."""
        _skip_unless_ties_are_random(spec)
        low, high = stats.binom.interval(1 - 1e-9, 20_000, 1 / 4)
        for arm, count in enumerate(count_choices(spec, 4, [[constant] * 3] * 4)):
            assert low <= count <= high, f"arm {arm} got {count} of 20,000 tied pulls"

    def test_equal_arms_share_pulls_evenly(self, spec: str) -> None:
        """Of two arms with the same history, each gets half of the pulls that go to either."""
        _skip_unless_ties_are_random(spec)
        histories = [[1.0, 0.0, 1.0, 1.0, 1.0], [0.0] * 5, [1.0, 1.0, 0.0, 1.0, 1.0]]
        first, _, last = count_choices(spec, 3, histories)
        assert first + last > 1000
        low, high = stats.binom.interval(1 - 1e-8, first + last, 1 / 2)
        assert low <= first <= high

    def test_first_pull_is_uniform(self, spec: str) -> None:
        """The very first pull is uniform over the arms."""
        _skip_unless_ties_are_random(spec)
        low, high = stats.binom.interval(1 - 1e-9, 20_000, 1 / 5)
        for arm, count in enumerate(count_choices(spec, 5, [[]] * 5)):
            assert low <= count <= high, f"arm {arm} got {count} of 20,000 first pulls"

    def test_spec_round_trip(self, spec: str) -> None:
        """A SPEC parses to a policy whose own SPEC parses back equal and names every parameter."""
        policy = POLICIES.parse(spec)
        canonical = POLICIES.spec(policy)
        assert POLICIES.parse(canonical) == policy
        assert POLICIES.spec(POLICIES.parse(canonical)) == canonical
        assert all(f"{item.name}=" in canonical for item in _parameters(spec))

    def test_is_a_frozen_value(self, spec: str) -> None:
        """A policy is a frozen dataclass; all of a kind share their two functions, so one kernel serves them."""
        policy, again = POLICIES.parse(spec), POLICIES.parse(spec)
        assert policy == again
        assert hash(policy) == hash(again)
        cls: Any = type(policy)
        assert cls.__dataclass_params__.frozen
        assert policy.choose is again.choose
        assert policy.learn is again.learn
        assert all(isinstance(number, float) for number in policy.parameters())
        assert all(policy.state_size(arms) >= 0 for arms in (1, 2, 50))

    @pytest.mark.parametrize("value", [math.nan, -math.inf, -1e9])
    def test_number_out_of_range(self, spec: str, value: float) -> None:
        """A NaN or a number far below any range is an ``InputError`` that names the parameter and the value."""
        cls: Any = type(POLICIES.parse(spec))
        for item in _parameters(spec):
            if item.type in {int, float}:
                with pytest.raises(InputError, match=f"^Invalid {item.name}={format_exact(value)} in "):
                    cls(**{item.name: value})

    def test_unknown_word(self, spec: str) -> None:
        """A word that a parameter does not know is an ``InputError`` that names it."""
        name = spec.partition("(")[0]
        for item in _parameters(spec):
            if item.type is str:
                with pytest.raises(InputError, match="sideways"):
                    POLICIES.parse(f"{name}({item.name}=sideways)")

    def test_is_documented(self, spec: str) -> None:
        """The class says in one line what it is; every parameter has a default and a help text."""
        cls: type = type(POLICIES.parse(spec))
        assert dataclasses.is_dataclass(cls)
        assert (cls.__doc__ or "").strip().splitlines()[0].endswith(".")
        for item in _parameters(spec):
            assert item.help, f"the parameter {item.name} has no help text"
            assert not item.required, f"the parameter {item.name} has no default"
