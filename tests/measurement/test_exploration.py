"""Measured sufficient exploration against exact distributions, the paper's lemmas and what others have proved.

Where numbers of runs are compared with their exact chance, each comparison fails by accident less than once
in a million times.
"""

import dataclasses

import numpy as np
import pytest
from scipy import stats

from tutelage.errors import InputError
from tutelage.measurement.exploration import Exploration, sufficient_exploration
from tutelage.policies.base import no_learning
from tutelage.policies.ucb1 import UCB1
from tutelage.theory.client_bounds import ExplorationBound

RARE = 1e-6


def assert_share(hits, chance):
    """So many of the runs as this chance makes likely."""
    assert stats.binomtest(int(np.sum(hits)), len(hits), chance).pvalue > RARE


def urn_of_zeros(tau):
    """The distribution [tau + 1] of one of two arms' pulls after tau under Thompson sampling and rewards 0.

    Beta(1, 1 + n) is 1 - U^(1 / (1 + n)), so the arm with n pulls loses to the one with m with probability
    (1 + n) / (2 + n + m): the urn in which the other colour is added.
    """
    rewards = np.ones(1)
    for pulled in range(tau):
        first = np.arange(pulled + 1)
        up = rewards * (1 + pulled - first) / (2 + pulled)
        rewards = np.append(rewards - up, 0.0) + np.append(0.0, up)
    return rewards


@pytest.mark.parametrize("arms", [1, 2, 5, 7])
@pytest.mark.parametrize("gamma", [0.0, 0.1, 1.0])
def test_ucb1_is_balanced_to_one_pull(arms, gamma):
    """Lemma tal_learning_UCB: after every tau each arm has floor or ceil of tau / I, in every run."""
    seen = sufficient_exploration("ucb1", arms, gamma, 3000, runs=20, checkpoints=3000)
    assert (seen.taus == np.arange(1, 3001)).all()
    low, high = seen.curves()
    assert (low == seen.taus // arms).all()
    assert (high == -(-seen.taus // arms)).all()
    assert not seen.outside().any()
    assert seen.lemma.failure == 0.0


@pytest.mark.parametrize("others", [(0.0,), (0.6, 0.2), (1.0, 0.5, 0.5)])
def test_ucb1_is_balanced_on_every_set(others):
    """The same on a set of arms among others that are worse, better or as good."""
    seen = sufficient_exploration("ucb1", 3, 0.5, 4000, others=others, runs=20, checkpoints=4000)
    assert seen.taus.size > 50
    assert (seen.taus == np.arange(1, seen.taus.size + 1)).all()
    assert (seen.least == seen.taus // 3).all()
    assert (seen.most == -(-seen.taus // 3)).all()
    assert seen.taus[-1] < 4000


def test_a_tau_that_some_run_does_not_reach_is_left_out():
    """One of two equal arms: tau grows in half the rounds, and no curve goes on after the shortest run."""
    seen = sufficient_exploration("eps-greedy", 1, 0.5, 1000, others=(0.5,), runs=30, checkpoints=1000)
    assert 380 < seen.taus[-1] < 500
    assert (seen.least == seen.taus).all()
    assert seen.lemma is None


@pytest.mark.parametrize("gamma", [0.0, 0.3, 1.0])
def test_epsilon_greedy_stays_in_the_band_of_its_lemma(gamma):
    """Lemma tal_learning_epsilon: a run is ever outside with chance 1/T at most."""
    runs, horizon = 1000, 1000
    seen = sufficient_exploration("eps-greedy", 5, gamma, horizon, runs=runs, checkpoints=horizon)
    assert seen.lemma.failure == 1 / horizon
    assert seen.outside().any(axis=1).sum() <= stats.binom.isf(RARE, runs, 1 / horizon)


def test_epsilon_greedy_pulls_each_arm_with_equal_chance():
    """The step of that lemma's proof: after one pull of both arms, a fair coin decides each."""
    tau = 402
    seen = sufficient_exploration("eps-greedy", 2, 1.0, tau, runs=2000)
    for least in (180, 190, 195, 199):
        assert_share(seen.least[:, -1] <= least, 2 * stats.binom.cdf(least - 1, tau - 2, 0.5))


def test_thompson_sampling_is_balanced_under_zeros():
    """Kalvit and Zeevi 2021: with rewards 0 the shares come together; here by the exact distribution for two arms."""
    tau = 1000
    rewards = urn_of_zeros(tau)
    seen = sufficient_exploration("ts", 2, 0.0, tau, runs=2000)
    for least in (470, 480, 490, 495):
        assert_share(seen.least[:, -1] <= least, 2 * rewards[: least + 1].sum())
    assert 2 * rewards[:401].sum() < RARE / 2000
    assert seen.curves()[0][-1] > 400


@pytest.mark.parametrize("tau", [100, 1000, 10_000])
def test_thompson_sampling_is_arbitrarily_unbalanced_under_ones(tau):
    """Kalvit and Zeevi 2021: with rewards 1 any split is as likely as any other, however long it goes on.

    Beta(1 + n, 1) is U^(1 / (1 + n)): an arm wins with probability (1 + n) / (2 + tau), as in Polya's urn.
    """
    seen = sufficient_exploration("ts", 2, 1.0, tau, runs=1000)
    for share in (0.01, 0.05, 0.1, 0.25):
        least = int(share * tau)
        assert_share(seen.least[:, -1] <= least, 2 * (least + 1) / (tau + 1))


def test_thompson_sampling_would_not_pass_for_epsilon_greedy():
    """Under ones more than half of its runs leave the band that epsilon-greedy keeps."""
    low, high = sufficient_exploration("eps-greedy", 2, 1.0, 5000, runs=1).band()
    seen = sufficient_exploration("ts", 2, 1.0, 5000, runs=500)
    beyond = (seen.least[:, -1] < low[-1]) | (seen.most[:, -1] > high[-1])
    assert_share(beyond, 2 * np.ceil(low[-1]) / 5001)
    assert beyond.mean() > 0.5


def test_curves_leave_out_a_share_of_the_runs():
    """With a share of .75 one run of four may lie beyond each curve."""
    least, most = np.array([[4, 9], [1, 7], [3, 8], [2, 6]]), np.array([[5, 19], [8, 17], [7, 18], [6, 16]])
    seen = Exploration("p", 2, 1.0, (), np.array([9, 25]), least, most, None)
    assert [curve.tolist() for curve in seen.curves()] == [[1, 6], [8, 19]]
    assert [curve.tolist() for curve in seen.curves(0.75)] == [[2, 7], [7, 18]]
    assert [curve.tolist() for curve in seen.curves(0.8)] == [[1, 6], [8, 19]]
    ramp = np.arange(200)[:, None]
    many = dataclasses.replace(seen, taus=np.array([1]), least=ramp, most=ramp)
    assert [curve.tolist() for curve in many.curves(0.9)] == [[20], [179]]
    assert [curve.tolist() for curve in many.curves(0.07)] == [[186], [13]]
    assert [curve.tolist() for curve in many.curves(1e-12)] == [[199], [0]]


def test_outside_looks_at_both_curves():
    """A run is outside where its least or its most pulled arm is."""
    band = ExplorationBound(least=lambda tau: tau - 5.0, most=lambda tau: tau - 2.0, needed=int, failure=0.0)
    least, most = np.array([[2], [1], [2]]), np.array([[5], [5], [6]])
    seen = Exploration("p", 2, 1.0, (), np.array([7]), least, most, band)
    assert [curve.tolist() for curve in seen.band()] == [[2.0], [5.0]]
    assert seen.outside().tolist() == [[False], [True], [True]]


def test_one_seed_gives_one_result():
    """The same seed gives the same curves on any number of workers, another seed others."""
    one, two, three = (
        sufficient_exploration("ts", 3, 1.0, 200, runs=10, seed=seed, workers=workers)
        for seed, workers in ((5, 1), (5, 3), (6, 1))
    )
    assert (one.least == two.least).all()
    assert (one.most == two.most).all()
    assert (one.least != three.least).any()


def stay(round, learner, parameters, stream):
    """The first arm, for ever."""
    return 0


class Stay:
    """A policy that no table knows."""

    choose, learn = staticmethod(stay), staticmethod(no_learning)

    def state_size(self, num_arms):
        return 0

    def parameters(self):
        return ()


def test_a_policy_of_ones_own_is_measured():
    """A policy outside the table has no lemma."""
    seen = sufficient_exploration(Stay(), 3, 1.0, 100, runs=2)
    assert (seen.least == 0).all()
    assert (seen.most == seen.taus).all()
    assert seen.lemma is None
    assert seen.policy.endswith(":Stay")
    assert sufficient_exploration(UCB1(), 3, 1.0, 10, runs=1).policy == "ucb1"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("ucb1", 0, 1.0, 10), "number of arms 0"),
        (("ucb1", 2.5, 1.0, 10), "number of arms 2.5"),
        (("ucb1", True, 1.0, 10), "number of arms True"),
        (("ucb1", 2, 1.5, 10), "1.5"),
        (("ucb1", 2, "1", 10), "gamma '1'"),
        (("ucb1", 2, 1.0, 0), "horizon 0"),
        (("nobody", 2, 1.0, 10), "nobody"),
    ],
)
def test_what_cannot_be_measured_is_named(arguments, said):
    """One sentence with the offending value."""
    with pytest.raises(InputError, match=said):
        sufficient_exploration(*arguments)


def test_what_cannot_be_asked_is_named():
    """A share of no runs, and a lemma that does not exist."""
    seen = sufficient_exploration("ts", 2, 1.0, 10, runs=2)
    for share in (0.0, 1.5, float("nan")):
        with pytest.raises(InputError, match="share"):
            seen.curves(share)
    with pytest.raises(InputError, match="no lemma"):
        seen.outside()
