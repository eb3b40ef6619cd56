"""Jun et al. 2018: the rule SINK, the teacher, and the growth of the cost in the source.

Every statistical check states how likely it is to fail; the file fails with probability below 1e-6.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tests import reference
from tests.random_games import assert_contract, draw_exclusions, games, make_instance
from tests.teachers.attacks import (
    DELTA,
    DELTAS,
    ROUNDS,
    TARGET,
    UNIT,
    a_memory,
    growth,
    moments,
    play,
    rule_arrays_for,
    towards,
)

from tutelage.engine.kernel_compiler import compiled
from tutelage.errors import InputError
from tutelage.rules import KEEP, Sink, half_width, reveal
from tutelage.teachers.base import Directive, Problem
from tutelage.teachers.jun import Jun

PROBLEM = Problem(2, 3, 100, (0.5, 0.5))
SINKS = st.builds(Sink, st.one_of(st.sampled_from([0.0, 0.2, 1.0]), st.floats(0, 1)), DELTAS)
JUNS = st.builds(
    Jun, target=st.sampled_from([None, 0]), margin=st.sampled_from([0.0, 0.1, 0.5]), delta=st.sampled_from([0.05, 0.9])
)

# ----------------------------------------------------------------------------------------------- the rule


def test_half_width_by_example():
    """Lemma 1 with sigma = 1/2; it shrinks with the pulls."""
    assert math.isclose(half_width(50, 2, DELTA), 0.4)
    assert math.isclose(half_width(1, 1, 0.5), math.sqrt(math.log(2 * math.pi**2 / 3) / 2))
    widths = [half_width(n, 5, 0.05) for n in range(1, 2000)]
    assert widths == sorted(widths, reverse=True)


@pytest.mark.parametrize(
    ("revealed", "reward", "shown"),
    [
        (0.5, 1.0, 1.0),
        (1.5, 1.0, 0.5),  # only as far as the line
        (1.5, 0.25, 0.25),
        (2.5, 1.0, 0.0),  # the sum is beyond it: the rest is for the next pulls
        (2.5, 0.0, 0.0),
    ],
)
def test_sink_by_example(revealed, reward, shown):
    """Target at 1 after 50 pulls: the line is 1 - 2 x .4 - .1, so 20 pulls may be shown 2 in sum."""
    memory = a_memory([20, 50], [10.0, 50.0], [revealed, 50.0])
    assert math.isclose(reveal(towards(Sink(0.1, DELTA)), memory, 0, reward, 0.0), shown, abs_tol=1e-12)


@given(moments(SINKS))
def test_sink_takes_off_what_the_source_says(moment):
    """X - alpha of sections 3 and 4, at least 0; X itself on the target or without one."""
    directive, memory_of, arm, reward = moment
    memory, K = memory_of(), directive.target
    shown = reveal(rule_arrays_for(directive), memory, arm, reward, 0.0)
    assert 0.0 <= shown <= reward
    if K is None or arm == K:
        assert shown == reward
    elif memory.pulls[K] == 0:
        assert shown == 0.0
    else:
        rule, N, S = directive.rules[arm], memory.pulls.tolist(), memory.revealed.tolist()
        beta = math.sqrt(2 * 0.25 / N[K] * math.log(math.pi**2 * len(N) * N[K] ** 2 / (3 * rule.delta)))
        alpha = max(0.0, S[arm] + reward - N[arm] * (S[K] / N[K] - 2 * beta - rule.margin))
        assert math.isclose(shown, max(0.0, reward - alpha), abs_tol=1e-8)


@given(moments(SINKS), UNIT)
def test_sink_compiled_equals_plain_and_reference(moment, aligned):
    """Bit for bit."""
    directive, memory_of, arm, reward = moment
    rule_arrays, memory = rule_arrays_for(directive), memory_of()
    pupil = reference.RuleClient(len(directive.rules))
    pupil.N, pupil.Q, pupil.S = memory.pulls.tolist(), memory.observed.tolist(), memory.revealed.tolist()
    shown = reveal(rule_arrays, memory, arm, reward, aligned)
    assert compiled(reveal)(rule_arrays, memory_of(), arm, reward, aligned) == shown
    assert pupil.reveal(directive, arm, reward) == shown


@given(SINKS, st.lists(st.tuples(st.integers(0, 1), UNIT), max_size=300))
def test_sink_holds_the_mean_below(rule, pulls):
    """After each pull of the arm its revealed mean is 0, or below the line of then or of an earlier pull."""
    rule_arrays, memory = towards(rule), a_memory([0, 0], [0.0, 0.0], [0.0, 0.0])
    highest = 0.0
    for arm, reward in pulls:
        memory.pulls[arm] += 1
        memory.observed[arm] += reward
        memory.revealed[arm] += reveal(rule_arrays, memory, arm, reward, 0.0)
        if memory.pulls[1]:
            line = memory.revealed[1] / memory.pulls[1] - 2 * half_width(memory.pulls[1], 2, rule.delta)
            highest = max(highest, line - rule.margin)
        if memory.pulls[0]:
            assert memory.revealed[0] / memory.pulls[0] <= highest + 1e-9


# -------------------------------------------------------------------------------------------- the teacher


def test_jun_sinks_all_but_the_target():
    """SINK with its margin and delta on every other arm; KEEP for the target; never consulted."""
    teacher = Jun(margin=0.2, delta=0.1)
    state = teacher.begin(Problem(2, 3, 100, (0.5, 0.5), best_arm=1), None)
    sink = Sink(0.2, 0.1)
    wanted = Directive((sink, KEEP, sink), None, (1,), target=1)
    assert teacher.directive(state) == wanted
    assert teacher.directive(teacher.exclude(state, 0)) == wanted
    assert "arm 1" in teacher.report(state).sentence
    assert teacher.segments(PROBLEM) == ()
    assert teacher.needs_best_arm
    assert not Jun(target=0).needs_best_arm


def test_jun_must_be_told_what_there_is():
    """A target that is an arm, a margin from 0 up, a chance of failure."""
    with pytest.raises(InputError, match="target=-1"):
        Jun(target=-1)
    with pytest.raises(InputError, match=r"target=3 .* 0 to 2"):
        Jun(target=3).begin(PROBLEM, None)
    with pytest.raises(InputError, match="target=ARM"):
        Jun().begin(PROBLEM, None)
    for margin in (-0.1, math.nan, math.inf):
        with pytest.raises(InputError, match=f"margin={margin:g}"):
            Jun(margin=margin)
    for delta in (0.0, 1.0, -1.0, math.nan):
        with pytest.raises(InputError, match=f"delta={delta:g}"):
            Jun(delta=delta)


@settings(max_examples=30)
@given(games(), JUNS, st.data())
def test_engine_equals_the_plain_runner(game, teacher, data):
    """Any game, clients excluded in its midst: every pull and every cost is the same."""
    means, weights, distribution, mix, T, seed = game
    instance = make_instance(means, weights, distribution)
    assert_contract(instance, distribution, mix, teacher, T, seed, draw_exclusions(data, len(mix), T))


# ------------------------------------------------------------------------------------------- growth of the cost


def test_ucb1_clients_obey():
    """No other arm is pulled more than 1 + 2 log T / margin^2 times, so the target T - O(log T) times.

    UCB1 pulls an arm with n pulls in round t only if sqrt(2 log t / n) is at least the distance of the
    revealed means, and that is at least the margin while the target's own mean stays within beta, which
    fails with probability 1e-8 a client, and is above the margin, which from round 10^4 on it then is.
    """
    margin, delta, num_clients = 0.2, 1e-8, 20
    means = (0.9, 0.8, 0.7, 0.65, 0.6)
    costs, off = play(f"jun(target={TARGET},margin={margin},delta={delta})", "ucb1", num_clients, means=means)
    least = int((ROUNDS[0] - off[:, 0]).min())
    assert means[TARGET] - half_width(least, 5, delta) > margin
    for column, T in enumerate(ROUNDS):
        assert (off[:, column] <= 4 * (1 + 2 * math.log(T) / margin**2)).all()
    assert (costs <= off).all()


def test_eps_greedy_clients_obey():
    """With margin 0: except for exploration, others are pulled only until the target has shown its first 1.

    Until then all means are 0 and each greedy pull shows it with chance .3 / 5: more than 335 such pulls
    happen with probability 1e-9 a client.  Explorations of others are independent with chance
    .8 min(1, 5 / t); above its mean such a sum has lighter tails than Poisson's (Anderson and Samuels 1967),
    asked here for 1e-9.
    The target's mean leaves its interval with probability 1e-9.
    """
    costs, off = play(f"jun(target={TARGET},margin=0,delta=1e-9)", "eps-greedy", 60)
    chances = 0.8 * np.minimum(1.0, 5.0 / np.arange(1, ROUNDS[-1] + 1))
    explored = np.concatenate(([0.0], np.cumsum(chances)[ROUNDS - 1]))
    most = stats.poisson.isf(1e-9, np.diff(explored))
    assert most.sum() < 250
    added = np.diff(off, axis=1, prepend=0)
    assert (added <= most + np.array([4 + 335, 0, 0])).all()
    assert (costs <= off).all()


@pytest.mark.parametrize(
    ("policy", "margin", "num_clients"), [("ucb1", 0.2, 20), ("eps-greedy", 0.0, 120), ("ts", 0.2, 20)]
)
def test_cost_grows_like_the_logarithm(policy, margin, num_clients):
    """From 10^5 to 10^6 rounds no more than three times is added as from 10^4 to 10^5; linear is ten times.

    Over 60 other clients the distance of the mean to that limit was above 6 of its standard deviations.
    """
    costs, off = play(f"jun(target={TARGET},margin={margin})", policy, num_clients)
    assert growth(costs) < 3
    assert growth(off) < 3
    assert off[:, -1].mean() < 0.003 * ROUNDS[-1]


def test_ucb1_needs_a_margin():
    """With a distance of only 2 beta, which goes to 0, UCB1 clients continue to explore: the cost is linear."""
    costs, off = play(f"jun(target={TARGET},margin=0)", "ucb1", 4)
    assert growth(costs) > 5
    assert off[:, -1].min() > 0.3 * ROUNDS[-1]


@pytest.mark.parametrize("policy", ["ucb1", "eps-greedy", "ts"])
def test_a_wide_margin_is_the_known_target(policy):
    """A margin of 1 puts the line below 0: all others are revealed as 0, pull for pull as `known` does."""
    rounds = np.arange(1000, 5001, 1000)
    wide = play(f"jun(target={TARGET},margin=1)", policy, 3, rounds=rounds)
    known = play(f"known(target={TARGET})", policy, 3, rounds=rounds)
    assert np.array_equal(wide, known)
