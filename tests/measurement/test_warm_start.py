"""Measured warm-start pulls against a plain-Python transcription and the two teaching lemmas."""

import numpy as np
import pytest
from tests.reference import UCB1, EpsilonGreedy, Thompson, generator

import tutelage
from tutelage.errors import InputError
from tutelage.instances.base import Instance
from tutelage.measurement.warm_start import warm_start_pulls
from tutelage.policies.base import no_learning
from tutelage.theory.ucb1 import warm_start_of_ucb1

MEANS = (0.2, 0.5, 0.9)
REFERENCE = {"ucb1": UCB1, "eps-greedy": EpsilonGreedy, "ts": Thompson}


def transcription(policy, history, horizon, gamma1, gamma2, target, seed, run):
    """The definition, round by round: feed the history, play on, count the pulls."""
    rewards, stream = generator(seed, run, 1, 0, 0), generator(seed, run, 1, 0, 1)
    client = REFERENCE[policy](len(MEANS))
    left = list(history)
    rewards.random(sum(history))  # what a pull of the history brings is drawn, and nobody sees it
    while any(left):
        for arm in range(len(left)):
            fed = history[arm] - left[arm]
            if left[arm] and fed == min(history[k] - left[k] for k in range(len(left)) if left[k]):
                client.learn(arm, gamma1, stream)
                left[arm] -= 1
    pulls = [0] * len(history)
    for t in range(1, horizon + 1):
        arm = client.choose(sum(history) + t, stream)
        reward = 1.0 if rewards.random() < MEANS[arm] else 0.0
        pulls[arm] += 1
        client.learn(arm, reward if gamma2 is None or arm == target else gamma2, stream)
    return pulls


@pytest.mark.parametrize("policy", REFERENCE)
@pytest.mark.parametrize(
    ("history", "gamma1", "gamma2"),
    [
        ((20, 20, 20), 1.0, 0.0),
        ((7, 0, 12), 0.3, 0.2),
        ((0, 0, 0), 0.5, 0.1),
        ((1, 30, 2), 0.0, 0.0),
        ((5, 5, 6), 0.6, None),
    ],
)
def test_the_engine_equals_the_definition(policy, history, gamma1, gamma2):
    """Pull for pull, in every run, for the three policies of the paper."""
    seen = warm_start_pulls(policy, history, MEANS, 300, gamma1=gamma1, gamma2=gamma2, target=1, runs=3, seed=8)
    for run in range(3):
        wanted = transcription(policy, history, 300, gamma1, gamma2, 1, 8, run)
        assert seen.pulls[run, -1].tolist() == wanted


@pytest.mark.parametrize(("gamma2", "teacher"), [(0.0, "known(target=1)"), (None, "none")])
def test_no_history_is_the_ends_of_the_scale(gamma2, teacher):
    """Without a history the environment is that of the teacher `known`, or of `none`."""
    instance = Instance("one client", np.array([MEANS]), np.ones(1))
    data = tutelage.simulate(instance, teacher, "ts", horizon=2000, runs=4, seed=3, checkpoints=10)
    seen = warm_start_pulls("ts", 0, MEANS, 2000, gamma2=gamma2, target=1, runs=4, seed=3, checkpoints=10)
    assert (seen.rounds == data.checkpoint.values).all()
    assert (seen.pulls == data.pulls.values[0, :, 0]).all()


def test_what_is_told_of_a_start():
    """Pulls leave the history out; iota is their mean; the target is the best arm unless it is named."""
    seen = warm_start_pulls("ucb1", (3, 40, 5), MEANS, 500, runs=5, checkpoints=7)
    assert seen.target == 2
    assert seen.history == (3, 40, 5)
    assert (seen.pulls.sum(axis=2) == seen.rounds).all()
    assert (seen.pulls >= 0).all()
    assert (seen.iota == seen.pulls.mean(axis=0)).all()
    assert (seen.off_target == seen.pulls[:, :, 0] + seen.pulls[:, :, 1]).all()
    assert warm_start_pulls("ucb1", 3, MEANS, 50, runs=1).history == (3, 3, 3)
    assert warm_start_pulls("ucb1", np.array([3, 1, 2]), MEANS, 50, runs=1).history == (3, 1, 2)


def test_one_seed_gives_one_result():
    """The same seed gives the same pulls on any number of workers, another seed others."""
    one, two, three = (
        warm_start_pulls("ts", 10, MEANS, 200, runs=10, seed=seed, workers=workers).pulls
        for seed, workers in ((5, 1), (5, 3), (6, 1))
    )
    assert (one == two).all()
    assert (one != three).any()


def follow(round, learner, parameters, stream):
    """In pull ``round``, the arm round - first mod K: its pulls show which rounds and parameters it gets."""
    return int(round - parameters[0]) % learner.counts.size


class Follow:
    """A policy that no table knows, with a parameter."""

    choose, learn = staticmethod(follow), staticmethod(no_learning)

    def __init__(self, first):
        self.first = first

    def state_size(self, num_arms):
        return 0

    def parameters(self):
        return (float(self.first),)


def test_a_policy_of_ones_own_goes_on_after_its_history():
    """Its next pull after 2 + 0 + 5 of a history is its eighth; it gets its own parameters."""
    seen = warm_start_pulls(Follow(6), (2, 0, 5), MEANS, 4, runs=1, checkpoints=4)
    assert np.diff(seen.pulls[0], axis=0, prepend=0).argmax(axis=1).tolist() == [2, 0, 1, 2]
    assert seen.policy.endswith(":Follow")


def standard_errors(values):
    """The standard error of the mean over runs."""
    return values.std(axis=0, ddof=1) / np.sqrt(len(values))


@pytest.mark.parametrize("length", [0, 30, 1000])
@pytest.mark.parametrize("best_mean", [0.25, 0.5, 0.9])
@pytest.mark.parametrize(("gamma1", "gamma2"), [(1.0, 0.0), (0.6, 0.0), (0.3, 0.0), (1.0, 0.2), (0.0, 0.0)])
def test_ucb1_keeps_the_teaching_lemma(length, best_mean, gamma1, gamma2):
    """Lemma tal_teaching_UCB: the mean over runs is not five standard errors above the bound, arm by arm."""
    means = [0.3, best_mean, 0.8]
    seen = warm_start_pulls("ucb1", length, means, 6000, gamma1=gamma1, gamma2=gamma2, target=1, runs=30, checkpoints=1)
    off = seen.pulls[:, -1, [0, 2]]
    assert (off.mean(axis=0) - 5 * standard_errors(off) <= seen.lemma.each).all()
    assert seen.lemma.together == pytest.approx(2 * seen.lemma.each)
    assert seen.lemma.failure == 0.0


def test_the_printed_constant_of_the_teaching_lemma_is_too_small():
    """L = (tau (gamma1 - gamma2) + 2 log(T + t_H)) / (4 (mu - gamma2)^2) + 2 as printed: UCB1 pulls more."""
    length, horizon, best_mean = 1000, 30_000, 0.5
    seen = warm_start_pulls("ucb1", length, [0.5] * 5, horizon, target=4, runs=30, checkpoints=1)
    printed = (length + 2 * np.log(horizon + 5 * length)) / (4 * best_mean**2) + 2
    off = seen.pulls[:, -1, :4]
    assert (off.mean(axis=0) - 5 * standard_errors(off) > printed).all()
    assert (off.mean(axis=0) < seen.lemma.each).all()


@pytest.mark.parametrize("length", [0, 30, 1000])
@pytest.mark.parametrize("best_mean", [0.05, 0.25, 0.9])
@pytest.mark.parametrize("policy", ["eps-greedy", "eps-greedy(c=5,d=.5)"])
def test_eps_greedy_keeps_the_teaching_lemma(length, best_mean, policy):
    """Lemma tal_teaching_epsilon: zeros, then zeros off the target; T times its chance to fail is 1 pull."""
    means = [0.3, best_mean, 0.8]
    seen = warm_start_pulls(policy, length, means, 6000, gamma1=0.0, target=1, runs=100, checkpoints=1)
    off = seen.off_target[:, -1]
    assert off.mean() - 5 * standard_errors(off) <= seen.lemma.together + 6000 * seen.lemma.failure
    assert seen.lemma.failure == 1 / 6000


def test_the_lemma_looks_at_each_history():
    """Arms with histories of their own: the longest counts for each of them, all for their sum."""
    both = warm_start_pulls("ucb1", (50, 9, 900), MEANS, 100, target=1, runs=1).lemma
    short, long = (warm_start_of_ucb1(length, MEANS[1], 1.0, 0.0, 50 + 9 + 900 + 100) for length in (50, 900))
    assert both.each == long
    assert both.together == short + long


@pytest.mark.parametrize(
    ("policy", "history", "gammas"),
    [
        ("ts", 10, (0.0, 0.0)),
        ("eps-greedy", 10, (1.0, 0.0)),
        ("ucb1", 10, (1.0, None)),
        ("ucb1", 10, (0.5, 0.5)),
        ("ucb1", 10, (1.0, 0.6)),
        ("ucb1", (10, 11, 10), (0.0, 0.0)),
    ],
)
def test_there_is_not_always_a_lemma(policy, history, gammas):
    """Other policies, other constants, a target that is worth less than gamma2: the paper is silent."""
    gamma1, gamma2 = gammas
    seen = warm_start_pulls(policy, history, MEANS, 50, gamma1=gamma1, gamma2=gamma2, target=1, runs=1)
    assert seen.lemma is None


def test_after_ones_thompson_sampling_has_to_forget():
    """A history of ones has to be outweighed by zeros: pulls grow with it; after zeros they do not."""
    ones = [warm_start_pulls("ts", n, MEANS, 20_000, target=1, runs=20).off_target[:, -1] for n in (10, 1000)]
    zeros = [
        warm_start_pulls("ts", n, MEANS, 20_000, gamma1=0.0, target=1, runs=20).off_target[:, -1] for n in (10, 1000)
    ]
    assert ones[1].min() > 20 * ones[0].max()
    assert zeros[1].mean() - 5 * standard_errors(zeros[1]) < zeros[0].mean() + 5 * standard_errors(zeros[0])


@pytest.mark.parametrize(
    ("arguments", "options", "said"),
    [
        (("ucb1", (1, 2), MEANS, 10), {}, "2 lengths for 3 arms"),
        (("ucb1", -1, MEANS, 10), {}, "length of a history -1"),
        (("ucb1", 1.5, MEANS, 10), {}, "length of a history 1.5"),
        (("ucb1", 1, (0.5, 1.5), 10), {}, "1.5"),
        (("ucb1", 1, (), 10), {}, "local means"),
        (("ucb1", 1, MEANS, 0), {}, "horizon 0"),
        (("nobody", 1, MEANS, 10), {}, "nobody"),
        (("ucb1", 1, MEANS, 10), {"gamma1": 2.0}, "gamma1 2"),
        (("ucb1", 1, MEANS, 10), {"gamma2": -1.0}, "gamma2 -1"),
        (("ucb1", 1, MEANS, 10), {"target": 3}, "target 3"),
        (("ucb1", 1, MEANS, 10), {"rewards": "gauss"}, "gauss"),
    ],
)
def test_what_cannot_be_measured_is_named(arguments, options, said):
    """One sentence with the offending value."""
    with pytest.raises(InputError, match=said):
        warm_start_pulls(*arguments, **options)
