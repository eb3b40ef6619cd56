"""Liu and Shroff 2019: the rule SHIFT, the teacher, and the growth of the cost in the source.

Every statistical check states how likely it is to fail; the file fails with probability below 1e-6.
"""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
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
from tutelage.rules import KEEP, Shift, reveal
from tutelage.teachers.ace import ACE
from tutelage.teachers.base import Directive, Problem

PROBLEM = Problem(2, 3, 100, (0.5, 0.5))
SHIFTS = st.builds(Shift, DELTAS, st.booleans())
ACES = st.builds(
    ACE,
    target=st.sampled_from([None, 0]),
    delta=st.sampled_from([0.05, 0.9]),
    fit=st.sampled_from(["scaled", "clipped"]),
)

# ----------------------------------------------------------------------------------------------- the rule


@pytest.mark.parametrize(
    ("scaled", "reward", "shown"),
    [(False, 1.0, 0.7), (False, 0.2, 0.0), (True, 1.0, 0.4), (True, 0.5, 0.2), (True, 0.0, 0.0)],
)
def test_shift_by_example(scaled, reward, shown):
    """Observed means .5 and 1 with beta = .4 each: alpha is .5 - 1 + .8 = .3, which leaves .2 of .5."""
    memory = a_memory([50, 50], [25.0, 50.0], [0.0, 50.0])
    assert math.isclose(reveal(towards(Shift(DELTA, scaled)), memory, 0, reward, 0.0), shown, abs_tol=1e-12)


@pytest.mark.parametrize("scaled", [False, True])
def test_shift_spares_an_arm_that_is_surely_worse(scaled):
    """Observed means .1 and 1: alpha would be -.1, so nothing is subtracted."""
    memory = a_memory([50, 50], [5.0, 50.0], [0.0, 50.0])
    assert reveal(towards(Shift(DELTA, scaled)), memory, 0, 0.75, 0.0) == 0.75


@given(moments(SHIFTS))
def test_shift_takes_off_what_the_source_says(moment):
    """X - alpha, at least 0, or X scaled so that the arm's observed mean loses alpha, at most all of it."""
    directive, memory_of, arm, reward = moment
    memory, K = memory_of(), directive.target
    shown = reveal(rule_arrays_for(directive), memory, arm, reward, 0.0)
    assert 0.0 <= shown <= reward
    if K is None or arm == K:
        assert shown == reward
    elif memory.pulls[K] == 0:
        assert shown == 0.0
    else:
        rule, N, Q = directive.rules[arm], memory.pulls.tolist(), memory.observed.tolist()
        means = [total / max(1, n) for total, n in zip(Q, N, strict=True)]
        beta = [
            math.sqrt(2 * 0.25 / n * math.log(math.pi**2 * len(N) * n**2 / (3 * rule.delta))) for n in (N[arm], N[K])
        ]
        alpha = max(0.0, means[arm] - means[K] + sum(beta))
        if rule.scaled:
            assert math.isclose(shown * means[arm], reward * max(0.0, means[arm] - alpha), abs_tol=1e-12)
        else:
            assert math.isclose(shown, max(0.0, reward - alpha), abs_tol=1e-12)


@given(moments(SHIFTS), UNIT)
def test_shift_compiled_equals_plain_and_reference(moment, aligned):
    """Bit for bit."""
    directive, memory_of, arm, reward = moment
    rule_arrays, memory = rule_arrays_for(directive), memory_of()
    pupil = reference.RuleClient(len(directive.rules))
    pupil.N, pupil.Q, pupil.S = memory.pulls.tolist(), memory.observed.tolist(), memory.revealed.tolist()
    shown = reveal(rule_arrays, memory, arm, reward, aligned)
    assert compiled(reveal)(rule_arrays, memory_of(), arm, reward, aligned) == shown
    assert pupil.reveal(directive, arm, reward) == shown


# -------------------------------------------------------------------------------------------- the teacher


@pytest.mark.parametrize("fit", ["scaled", "clipped"])
def test_ace_shifts_all_but_the_target(fit):
    """SHIFT with its delta on every other arm; KEEP for the target; never consulted."""
    teacher = ACE(delta=0.1, fit=fit)
    state = teacher.begin(Problem(2, 3, 100, (0.5, 0.5), best_arm=1), None)
    shift = Shift(0.1, fit == "scaled")
    wanted = Directive((shift, KEEP, shift), None, (1,), target=1)
    assert teacher.directive(state) == wanted
    assert teacher.directive(teacher.exclude(state, 0)) == wanted
    assert "arm 1" in teacher.report(state).sentence
    assert teacher.segments(PROBLEM) == ()
    assert teacher.needs_best_arm
    assert not ACE(target=0).needs_best_arm


def test_ace_must_be_told_what_there_is():
    """A target that is an arm, a chance of failure, a way to fit that is known."""
    with pytest.raises(InputError, match="target=-1"):
        ACE(target=-1)
    with pytest.raises(InputError, match=r"target=3 .* 0 to 2"):
        ACE(target=3).begin(PROBLEM, None)
    with pytest.raises(InputError, match="target=ARM"):
        ACE().begin(PROBLEM, None)
    for delta in (0.0, 1.0, -1.0, math.nan):
        with pytest.raises(InputError, match=f"delta={delta:g}"):
            ACE(delta=delta)
    with pytest.raises(InputError, match=r"fit='squeezed' .* scaled or clipped"):
        ACE(fit="squeezed")


@settings(max_examples=30)
@given(games(), ACES, st.data())
def test_engine_equals_the_plain_runner(game, teacher, data):
    """Any game, clients excluded in its midst: every pull and every cost is the same."""
    means, weights, distribution, mix, T, seed = game
    instance = make_instance(means, weights, distribution)
    assert_contract(instance, distribution, mix, teacher, T, seed, draw_exclusions(data, len(mix), T))


# ------------------------------------------------------------------------------------------- growth of the cost


@pytest.mark.parametrize(("policy", "num_clients"), [("eps-greedy", 40), ("ts", 20)])
def test_cost_grows_like_the_logarithm(policy, num_clients):
    """From 10^5 to 10^6 rounds no more than three times is added as from 10^4 to 10^5; linear is ten times.

    Over 60 other clients the distance of the mean to that limit was above 6 of its standard deviations.
    """
    costs, off = play(f"ace(target={TARGET})", policy, num_clients)
    assert growth(costs) < 3
    assert growth(off) < 3
    assert off[:, -1].mean() < 0.001 * ROUNDS[-1]
    assert (costs <= off).all()


def test_ucb1_clients_obey_but_explore():
    """UCB1 clients pull the target T - o(T) times: the distance that ACE leaves shrinks with their bonus.

    From 10^5 to 10^6 rounds less than five times is added as from 10^4 to 10^5, and the share of pulls off
    the target falls below a third.  Over 60 other clients both were above 6 standard deviations from that.
    """
    costs, off = play(f"ace(target={TARGET})", "ucb1", 20)
    assert growth(costs) < 5
    assert growth(off) < 5
    shares = (off / ROUNDS).mean(axis=0)
    assert (shares[1:] < shares[:-1] / 3).all()
    assert (costs <= off).all()


@pytest.mark.parametrize(("policy", "lost"), [("ucb1", 0.9), ("ts", 0.3)])
def test_a_clipped_shift_fails(policy, lost):
    """Clipped at 0 the shift leaves an arm of mean .9 above a target of .3, once beta is small.

    The mean share of pulls off the target was above 6 standard deviations higher than this over 60 clients.
    """
    costs, off = play(f"ace(target={TARGET},fit=clipped)", policy, 20)
    assert off[:, -1].mean() > lost * ROUNDS[-1]
    assert growth(costs) > 5
