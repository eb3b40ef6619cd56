"""The rules of the contract of policies.

Each statistical check is wrong with probability at most 1e-8 (Hoeffding's inequality).
"""

import math
from typing import Any

import numpy as np

from tutelage.policies import POLICIES
from tutelage.registry import Parameter, parameters_of
from tutelage.testing.contract_rules import ContractRules, RuleNotApplicable, require, require_input_error
from tutelage.testing.single_client import SingleClient, count_choices, generator_words
from tutelage.text import format_exact, join_words

POLICY_RULES = ContractRules()
_TRIALS = 20_000


def _parameters(spec: str) -> tuple[Parameter, ...]:
    return parameters_of(type(POLICIES.parse(spec)))


def _skip_unless_ties_are_random(spec: str) -> None:
    if not getattr(POLICIES.parse(spec), "breaks_ties_at_random", True):
        raise RuleNotApplicable("The policy declares breaks_ties_at_random = False")


_REMEDY = "use argmax and first_pulls of tutelage.policies.base, or set breaks_ties_at_random = False"


def _require_even(counts: list[int], what: str) -> None:
    """Require that pulls of equal arms are spread as uniform draws are."""
    total = sum(counts)
    if total in counts and len(counts) > 1:
        arm = counts.index(total)
        which = {0: "first", len(counts) - 1: "last"}.get(arm)
        how = f"broken by the {which} index" if which else f"always broken for arm {arm}"
        require(False, f"Ties are {how}: arm {arm} got {total:,} of {total:,} {what}; {_REMEDY}")
    spread = math.sqrt(total * math.log(2e9) / 2)
    for arm, count in enumerate(counts):
        expected = total / len(counts)
        require(
            abs(count - expected) <= spread,
            f"Ties are not broken uniformly: arm {arm} got {count:,} of {total:,} {what}, where {expected:,.0f} "
            f"are expected; {_REMEDY}",
        )


@POLICY_RULES.rule()
def tries_every_arm(spec: str) -> None:
    """With only rewards of 0, a client tries all of its six arms within 300 rounds."""
    for seed in range(5):
        missed = sorted(set(range(6)) - set(SingleClient(spec, 6, seed).play(300, lambda arm: 0.0)))
        require(not missed, f"With only rewards of 0, arm {join_words(map(str, missed or [0]))} was never pulled")


@POLICY_RULES.rule(constant=[0.0, 0.1, 0.5, 1.0])
def constant_rewards(spec: str, constant: float) -> None:
    """With the same reward in every round, the means equal that number exactly."""
    client = SingleClient(spec, 4)
    client.play(600, lambda arm: constant)
    means = set(client.revealed.means[client.revealed.pulls > 0].tolist())
    require(means == {constant}, f"With only rewards of {constant:g} the means are {sorted(means)}")
    require(client.revealed.pulls.sum() == 600, f"600 pulls were counted as {client.revealed.pulls.sum()}")


@POLICY_RULES.rule()
def zeros_and_ones(spec: str) -> None:
    """With rewards 0 and 1 only, the arm that always brings 1 gets most pulls."""
    count = SingleClient(spec, 3).play(2000, lambda arm: float(arm == 1)).count(1)
    require(
        count > 1500, f"The only arm that brings 1 got {count:,} of 2,000 pulls, where more than 1,500 are expected"
    )


@POLICY_RULES.rule(compile_it=[False, True])
def one_arm(spec: str, compile_it: bool) -> None:
    """With one arm, that arm is always chosen."""
    SingleClient(spec, 1, compile_it=compile_it).play(100, lambda arm: 0.3)


@POLICY_RULES.rule(compile_it=[False, True], counts=[(10**8,) * 4, (1, 10**8, 1, 10**8), (10**8, 0, 1, 10)])
def long_history(spec: str, compile_it: bool, counts: tuple[int, ...]) -> None:
    """Counts of 10^8 with a fresh state, as after a change of policy, give a valid arm each round."""
    client = SingleClient(spec, 4, compile_it=compile_it)
    client.revealed.pulls[:] = client.revealed.first_reward_counts[:] = counts
    client.revealed.first_rewards[:] = client.revealed.means[:] = np.where(
        np.array(counts) > 0, (0.1, 0.9, 0.9, 0.0), 0.0
    )
    round = sum(counts)
    for step in range(1, 100):
        client.see(client.choose_arm(round + step), 0.25)
    require(np.isfinite(client.learner.state).all(), f"After {counts} pulls the state has numbers that are not finite")
    require(client.revealed.pulls.sum() == round + 99, "The policy changed its counts of pulls")


@POLICY_RULES.rule(num_arms=[1, 2, 3, 7])
def compiled_equals_interpreted(spec: str, num_arms: int) -> None:
    """Choices, states and draws are equal over 4,000 rounds of all kinds of rewards."""
    plain = SingleClient(spec, num_arms, seed=num_arms)
    fast = SingleClient(spec, num_arms, seed=num_arms, compile_it=True)
    rng = np.random.default_rng(num_arms)
    for round in range(1, 4001):
        arm, other = plain.choose_arm(round), fast.choose_arm(round)
        require(arm == other, f"In round {round} the plain choose() returned arm {arm}, the compiled one arm {other}")
        kind = (round // 500) % 4  # constant, 0/1, any, mostly 0
        reward = (0.1, float(rng.random() < 0.5), rng.random(), float(rng.random() < 0.02))[kind]
        plain.see(arm, reward)
        fast.see(arm, reward)
        require(
            np.array_equal(plain.learner.state, fast.learner.state),
            f"After round {round} the plain functions left the state {plain.learner.state.tolist()}, the compiled "
            f"ones {fast.learner.state.tolist()}",
        )
    require(np.array_equal(plain.revealed.means, fast.revealed.means), "The means differ")
    require(
        fast.stream.tolist() == generator_words(plain.stream),
        "The compiled functions drew other random numbers than the plain ones",
    )


@POLICY_RULES.rule()
def state_size_is_what_is_used(spec: str) -> None:
    """Numbers after the policy's own state are neither read nor written."""
    rng = np.random.default_rng(0)
    rewards = rng.random(500).round(1).tolist()
    exact, roomy = SingleClient(spec, 3), SingleClient(spec, 3, spare=4)
    size = exact.policy.state_size(3)
    roomy.learner.state[size:] = np.nan
    first, second = iter(rewards), iter(rewards)
    same = exact.play(500, lambda _: next(first)) == roomy.play(500, lambda _: next(second))
    require(same, f"Choices depend on the state after the {size} numbers that state_size() announces")
    require(
        np.isnan(roomy.learner.state[size:]).all(),
        f"The policy wrote after the {size} numbers that state_size() announces",
    )
    require(
        np.array_equal(roomy.learner.state[:size], exact.learner.state[:size]),
        f"The state depends on what is after the {size} numbers that state_size() announces",
    )


@POLICY_RULES.rule(constant=[0.0, 1.0])
def ties_are_broken_uniformly(spec: str, constant: float) -> None:
    """Arms with the same constant rewards, equally often seen, are chosen equally often."""
    _skip_unless_ties_are_random(spec)
    _require_even(count_choices(spec, 4, [[constant] * 3] * 4, _TRIALS), "tied pulls")


@POLICY_RULES.rule()
def equal_arms_share_pulls_evenly(spec: str) -> None:
    """Of two arms with the same history, each gets half of the pulls that go to either."""
    _skip_unless_ties_are_random(spec)
    histories = [[1.0, 0.0, 1.0, 1.0, 1.0], [0.0] * 5, [1.0, 1.0, 0.0, 1.0, 1.0]]
    first, _, last = count_choices(spec, 3, histories, _TRIALS)
    total = first + last
    require(total > 1000, f"Two arms of mean 0.8 got {total:,} of {_TRIALS:,} pulls, the third of mean 0 the rest")
    _require_even([first, last], "pulls of two arms with the same rewards")


@POLICY_RULES.rule()
def first_pull_is_uniform(spec: str) -> None:
    """The very first pull is uniform over the arms."""
    _skip_unless_ties_are_random(spec)
    _require_even(count_choices(spec, 5, [[]] * 5, _TRIALS), "first pulls")


@POLICY_RULES.rule()
def spec_round_trip(spec: str) -> None:
    """A SPEC parses to a policy whose own SPEC parses back equal and names every parameter."""
    policy = POLICIES.parse(spec)
    canonical = POLICIES.spec(policy)
    again = POLICIES.parse(canonical)
    require(again == policy and POLICIES.spec(again) == canonical, f"{spec} is not equal to {canonical}, its own SPEC")
    lacking = [item.name for item in _parameters(spec) if f"{item.name}=" not in canonical]
    require(not lacking, f"{canonical} lacks the parameters {', '.join(lacking)}")


@POLICY_RULES.rule()
def is_a_frozen_value(spec: str) -> None:
    """A policy is a frozen dataclass; all of a kind share their two functions, so one kernel serves them."""
    policy, again = POLICIES.parse(spec), POLICIES.parse(spec)
    cls: Any = type(policy)
    require_frozen(cls)
    require(policy == again and hash(policy) == hash(again), "Two policies of the same SPEC are not equal")
    for name in ("choose", "learn"):
        same = getattr(policy, name) is getattr(again, name)
        require(same, f"{name} is another function for each object: write {name} = staticmethod({name})")
    for number in policy.parameters():
        require(isinstance(number, float), f"parameters() returned {number!r}, which is not a float")
    for arms in (1, 2, 50):
        size = policy.state_size(arms)
        require(size >= 0, f"state_size({arms}) is {size}, where 0 or more is expected")


@POLICY_RULES.rule(value=[math.nan, -math.inf, -1e9])
def number_out_of_range(spec: str, value: float) -> None:
    """A NaN or a number far below any range is an ``InputError`` that names the parameter and the value."""
    cls: Any = type(POLICIES.parse(spec))
    for item in _parameters(spec):
        if item.type in {int, float}:
            text = format_exact(value)
            with require_input_error(f"{item.name}={text}", f"^Invalid {item.name}={text} in "):
                cls(**{item.name: value})


@POLICY_RULES.rule()
def unknown_word(spec: str) -> None:
    """A word that a parameter does not know is an ``InputError`` that names it."""
    name = spec.partition("(")[0]
    for item in _parameters(spec):
        if item.type is str:
            with require_input_error(f"{item.name}=sideways", "sideways"):
                POLICIES.parse(f"{name}({item.name}=sideways)")


@POLICY_RULES.rule()
def is_documented(spec: str) -> None:
    """The class says in one line what it is; every parameter has a default and a help text."""
    require_documented(type(POLICIES.parse(spec)))


def require_frozen(cls: Any) -> None:
    """Require a frozen dataclass."""
    frozen = getattr(getattr(cls, "__dataclass_params__", None), "frozen", False)
    require(frozen, f"{cls.__name__} is not a frozen dataclass: write @dataclass(frozen=True)")


def require_documented(cls: type) -> None:
    """Require a first line of the docstring that ends in a full stop, and parameters with help and default."""
    first = ((cls.__doc__ or "").strip().splitlines() or [""])[0]
    require(first.endswith("."), f"The first line of the docstring of {cls.__name__} is not a sentence: {first!r}")
    for item in parameters_of(cls):
        require(item.help, f"The parameter {item.name} has no help text")
        require(not item.required, f"The parameter {item.name} has no default")
