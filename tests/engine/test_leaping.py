"""Leaping has the same distribution as stepping."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.lib.array_utils import byte_bounds
from tests import leap_comparison
from tests.leap_comparison import Case, count_outcomes, differences, eager_leap, enumerate_outcomes, play, unlikely
from tests.simulated_run import simulate_once

from tutelage import simulator
from tutelage.conditions import Conditions
from tutelage.distributions import parse_distribution
from tutelage.engine.leaping import count_pulls_without_lift, new_scratch
from tutelage.engine.policy_groups import functions_of
from tutelage.engine.time_estimates import check_duration
from tutelage.errors import InputError
from tutelage.instances.base import Instance
from tutelage.policies import POLICIES
from tutelage.policies.ucb1 import leap
from tutelage.rule_memory import RuleMemory
from tutelage.rules import KEEP, Align, Level, Lift, Set, make_rule_arrays, reveal
from tutelage.teachers import TEACHERS

ZERO, ONE = Set(0.0), Set(1.0)
LEARNT = (((1.0, 60),), ((1.0, 60),), ((1.0, 20), (0.0, 4)))  # the third arm has been ruled out
LED = (((1.0, 400), (0.0, 100)), ((1.0, 20), (0.0, 30)), ((1.0, 9), (0.0, 21)))
LEVELLED = tuple(((0.3, 1), (mean, pulls)) for mean, pulls in ((0.83, 400), (0.41, 40), (0.33, 30)))
CASES = {
    "leading arm": Case("", (0.8, 0.4, 0.3), history=LED),
    "fresh": Case("", (0.9, 0.2)),
    "sure": Case("", (0.0, 1.0, 0.3)),
    "learning": Case("", (0.5, 0.4, 0.3), (ONE, ONE, ZERO), LEARNT, quota=(120, 120, 0), cuts=(100, 120)),
    "teaching": Case("", (0.3, 0.6, 0.2), (KEEP, ZERO, ZERO), LED, target=0),
    "align": Case("", (0.9, 0.4, 0.3), (Align(), ZERO, Align()), LED),
    "lift": Case("", (0.8, 0.4, 0.3), (Lift(0.3), ZERO, ZERO), LED, target=0),
    "lift after levels": Case("", (0.8, 0.4, 0.3), (Lift(0.3), ZERO, ZERO), LEVELLED, target=0),
    "constant": Case("", (0.2, 0.7, 0.7), (KEEP, KEEP, Set(0.7)), rewards="constant"),
}
CASES_OF_POLICIES = [replace(case, policy=policy) for policy in ("ucb1", "eps-greedy") for case in CASES.values()]
LEAPS = {"ucb1": eager_leap(), "eps-greedy": None}  # None: as it is
NAMES = [f"{policy}, {name}" for policy in ("ucb1", "eps-greedy") for name in CASES]


@pytest.mark.parametrize("case", [each for each in CASES_OF_POLICIES if each.rewards == "bernoulli"])
def test_leaps_are_distributed_as_steps(case):
    """Pulls at several times, means, segment sums, cost and quota rounds of 3,000 clients; and clients do leap."""
    leaping = play(case, 3000, "leap", 1, leap=LEAPS[case.policy])
    assert differences(leaping, play(case, 3000, "step", 2)) == []
    assert leaping.leapt > 0.0 or case.rewards == "constant"


@pytest.mark.parametrize("case", CASES_OF_POLICIES, ids=NAMES)
def test_compiled_leaps_are_the_plain_ones(case):
    """The loop in plain Python with leaps ends with the same memory, bit for bit."""
    compiled, plain = (play(case, 5, "leap", 3, leap=LEAPS[case.policy], plain=each) for each in (False, True))
    assert all((one == other).all() for one, other in zip(compiled.memory[:-1], plain.memory[:-1], strict=True))


LEADS = (((1.0, 24), (0.0, 9)), ((1.0, 12), (0.0, 21)))
SMALL = {
    "ones are rare": Case("", (0.1, 0.4), history=LEADS, rounds=30, cuts=(), checkpoints=()),
    "learning": Case(
        "", (0.5, 0.4, 0.1), (ONE, ONE, ZERO), (((1.0, 20),), ((1.0, 20),), ((1.0, 9), (0.0, 1))), rounds=26, cuts=()
    ),
}


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("policy", ["ucb1", "eps-greedy"])
def test_joint_distribution_of_the_next_pulls_is_exact(policy, name):
    """How often 40,000 clients have each pulls and means agrees with an enumeration."""
    case = replace(SMALL[name], policy=policy)
    choice = {"ucb1": leap_comparison.ucb1_choice, "eps-greedy": leap_comparison.greedy_choice}[policy]
    chances = enumerate_outcomes(case, choice)
    assert sum(chances.values()) == pytest.approx(1.0)
    played = play(case, 40_000, "leap", 4, leap=LEAPS[policy])
    assert played.leapt > 0.5
    assert unlikely(count_outcomes(played), chances) == []


@given(
    st.floats(0, 1),
    st.floats(0, 1),
    st.integers(1, 60),
    st.floats(0, 1),
    st.floats(0, 1),
    st.lists(st.floats(0, 1), min_size=300, max_size=300),
)
@example(5e-324, 0.0, 1, 0.0, 1.0, [0.0] * 300)  # the smallest number above 0
def test_lift_changes_no_reward_of_a_stretch(lift, share, pulls, observed, revealed, rewards):
    """In as many pulls of the target as a stretch may have, LIFT reveals each reward as it is."""
    rules = make_rule_arrays((Lift(lift), ZERO), (0,), None, 0)
    memory = RuleMemory(
        np.array([pulls, 5]), np.array([pulls * observed, 0.0]), np.array([pulls * revealed, 0.0]), np.zeros(5)
    )
    memory.state[1] = share
    for reward in rewards[: count_pulls_without_lift(rules, memory, 0)]:
        memory.pulls[0] += 1
        memory.observed[0] += reward
        assert reveal(rules, memory, 0, reward, 0.0) == reward
        memory.revealed[0] += reward


def test_lift_is_foreseen_for_many_pulls():
    """Where the revealed mean is far above the level, or the client's own far below it, stretches are long."""
    rules = make_rule_arrays((Lift(0.4), ZERO), (0,), None, 0)
    for observed, revealed in ((80.0, 80.0), (10.0, 30.0)):
        memory = RuleMemory(np.array([100, 5]), np.array([observed, 0.0]), np.array([revealed, 0.0]), np.zeros(5))
        assert 40 <= count_pulls_without_lift(rules, memory, 0) <= 101


def test_other_rules_step():
    """Under a rule that depends on single rewards, clients are played draw for draw as by stepping."""
    case = replace(CASES["leading arm"], policy="eps-greedy", rules=(Level(), Level(), Level()))
    leaping, stepping = play(case, 5, "leap", 5), play(case, 5, "step", 5)
    assert (leaping.memory.block == stepping.memory.block).all()


@pytest.mark.parametrize("spec", ["beta(10)", "gaussian", "correlated", "empirical"])
def test_other_reward_distributions_step(spec):
    """Kernels for them are compiled without the policy's leap."""
    policy, rewards = POLICIES.parse("ucb1"), parse_distribution(spec)
    assert functions_of(policy, rewards, "leap") == functions_of(policy, rewards, "step")
    assert functions_of(policy, parse_distribution("bernoulli"), "leap")[2] is leap


@pytest.mark.parametrize(
    "conditions", [Conditions(activity=(0.5, 0.9)), Conditions(delays=(1, 2)), Conditions(stops=((0, 0), (1, 5)))]
)
def test_clients_that_do_not_always_act_step(conditions):
    """A client that may not act in each round, or has stopped, is stepped; so is everyone under a trace."""
    instance = Instance("two", [[0.9, 0.2], [0.8, 0.3]], [0.5, 0.5], conditions=conditions)
    policies, teacher = [POLICIES.parse("eps-greedy")] * 2, TEACHERS.parse("none")
    outcomes = [simulate_once(instance, policies, teacher, horizon=500, engine=each) for each in ("leap", "step")]
    assert (outcomes[0].pulls == outcomes[1].pulls).all()


def test_a_trace_steps():
    """With a trace every pull is recorded, and is that of stepping."""
    instance = Instance("one", [[0.9, 0.2]], [1.0])
    arguments = (instance, [POLICIES.parse("eps-greedy")], TEACHERS.parse("none"))
    traces = [simulate_once(*arguments, horizon=300, engine=each, trace=True).trace for each in ("leap", "step")]
    assert (traces[0].arms == traces[1].arms).all()


def test_a_client_leaps_until_it_stops():
    """A client with a last round leaps up to it: its pulls end there."""
    instance = Instance("one", [[0.9, 0.2]], [1.0], conditions=Conditions(stops=((0, 700),)))
    outcome = simulate_once(
        instance, [POLICIES.parse("eps-greedy")], TEACHERS.parse("none"), horizon=1000, engine="leap"
    )
    assert outcome.pulls[0, -1].sum() == 700


@pytest.mark.parametrize("teacher", ["none", "known", "twl"])
def test_the_longest_horizon_takes_no_longer_than_its_logarithm(teacher):
    """10^15 rounds, of which a machine steps through some 10^13 in a day, are played and not taken for years."""
    request = simulator.make_request("paper", teacher, "eps-greedy", horizon=10**15, runs=20, checkpoints=1)
    assert request.engine == "leap"
    result = simulator.simulate_request(request, workers=1)
    assert (result.pulls[..., -1, :].sum(axis=-1) == 10**15).all()


def test_years_of_clients_that_cannot_leap_are_refused():
    """Clients that cannot leap step, also with the engine that leaps where it can."""
    request = simulator.make_request("paper", "none", "4*kl-ucb,1*ts", horizon=10**15, runs=2000)
    assert request.engine == "leap"
    with pytest.raises(InputError, match="these runs would take at least "):
        check_duration(request, 2)


def test_scratch_arrays_have_cache_lines_of_their_own():
    """They are zeros, do not overlap, and lie at least 128 bytes from all memory that is not theirs."""
    prospect, stretch = new_scratch(3)
    arrays = [prospect.means, prospect.is_constant, prospect.is_settled, prospect.room, *stretch]
    ((start, end),) = {byte_bounds(array.base) for array in arrays}
    places = sorted(map(byte_bounds, arrays))
    assert places[0][0] - start >= 128
    assert end - places[-1][1] >= 128
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(places))
    assert all(array.flags.aligned and array.flags.c_contiguous and not array.any() for array in arrays)
    assert [array.shape for array in stretch[3:]] == [(64, 3), (64, 3), (64,)]
