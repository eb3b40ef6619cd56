"""Gaussian rewards: what they are, who sees them, and how TAL and TWL scale by their constant."""

import math

import numpy as np
import pytest
from scipy import stats
from tests.random_games import assert_equal, play_reference, run_engine
from tests.reference import ContractServer, generator

import tutelage
from tutelage.distributions.base import sub_gaussian_of
from tutelage.distributions.gaussian import Gaussian
from tutelage.epoch_schedule import confidence_radius
from tutelage.errors import InputError
from tutelage.instances import load
from tutelage.instances.base import Instance
from tutelage.request import make_problem
from tutelage.teachers import TEACHERS
from tutelage.teachers.families.intervals import schedule_of
from tutelage.teachers.twl import TWL

MEANS, WEIGHTS = np.array([[0.05, 0.95], [0.1, 0.9], [0.0, 1.0]]), np.array([0.2, 0.3, 0.5])


def test_rewards_are_gaussian():
    """20,000 rewards follow N(mu, sigma^2): Kolmogorov-Smirnov, one alarm in a million."""
    gaussian, stream = Gaussian(0.5), np.random.default_rng(0)
    arrays = Instance("one", np.array([[0.3]]), np.ones(1), gaussian).reward_arrays()
    drawn = [gaussian.draw(arrays, 0, 0, stream) for _ in range(20_000)]
    assert stats.kstest(drawn, stats.norm(0.3, 0.5).cdf).pvalue > 1e-6
    assert gaussian.variances(arrays) == pytest.approx(np.full((1, 1), 0.25))


@pytest.mark.parametrize("spec", ["tal", "twl(gamma1=0.6,gamma2=0.1)", "known", "none"])
def test_engine_equals_reference(spec):
    """Pulls, rewards, clipped views, costs and decisions are those of the plain-Python game, in which arms differ."""
    T, seed, distribution, mix = 900, 7, "gaussian(0.25)", ["ucb1"] * 3
    instance = Instance("gaussian", MEANS, WEIGHTS, distribution)
    teacher = TEACHERS.parse(spec)
    problem = make_problem(instance, T, teacher)
    outcome = run_engine(instance, mix, teacher, T, seed, 0)

    def make_server(stage, generators):
        return ContractServer(teacher, problem, generator(seed, 0, 0))

    assert_equal(outcome, play_reference(instance, distribution, mix, make_server, T, seed, 0), T)
    assert outcome.trace.observed.min() < 0.0
    assert outcome.trace.observed.max() > 1.0
    assert outcome.target == (None if spec == "none" else 1)


@pytest.mark.parametrize("sigma", [0.1, 0.5, 2.0])
def test_an_interval_fails_with_the_paper_s_probability(sigma):
    """The radius is at most 2^-(psi + 2), and in standard deviations of the estimate sqrt(2 log(2 K T^2))."""
    T = 10**7
    problem = make_problem(Instance("any", MEANS, WEIGHTS, Gaussian(sigma)), T, TWL())
    schedule = schedule_of(problem)
    for epoch in range(1, len(schedule.ends) + 1):
        deviation = sigma * math.sqrt(np.sum(WEIGHTS**2) / schedule.pulls(epoch))
        assert confidence_radius(schedule, epoch) <= 2.0 ** -(epoch + 2)
        assert confidence_radius(schedule, epoch) / deviation == pytest.approx(math.sqrt(2 * math.log(4 * T**2)))


def test_constant_of_one_half_is_that_of_rewards_in_0_1():
    """sigma = 1/2 gives the epochs of Bernoulli rewards, exactly."""
    problems = [
        make_problem(Instance("any", MEANS, WEIGHTS, rewards), 10**6, TWL()) for rewards in ("gaussian(0.5)", "beta")
    ]
    assert schedule_of(problems[0]) == schedule_of(problems[1])


def test_learning_time_scales_with_the_variance():
    """Half the constant: each epoch needs a quarter of the pulls, and so does the decision."""
    results = [
        tutelage.simulate(f"paper:rewards=gaussian({sigma})", "twl", horizon=50_000, runs=3, seed=0)
        for sigma in (0.25, 0.5)
    ]
    short, long = (result.decided_in.mean().item() for result in results)
    assert short == pytest.approx(long / 4, rel=0.05)


@pytest.mark.parametrize("teacher", ["blt", "change-detector", "jun", "ace"])
def test_teachers_that_need_bounded_rewards_refuse(teacher):
    """One sentence with the teacher, the distribution and what to use instead."""
    with pytest.raises(InputError, match=rf"{teacher} needs rewards in \[0, 1\], but .*sigma=0.25.* use tal, twl"):
        tutelage.simulate("paper:rewards=gaussian", teacher, runs=1, horizon=100)


def test_bounds_and_plans_refuse():
    """The theorems and plans are about rewards in [0, 1]."""
    with pytest.raises(InputError, match=r"go beyond \[0, 1\], but the theorems require"):
        tutelage.bound("paper:rewards=gaussian", "twl", runs=0)
    with pytest.raises(InputError, match=r"go beyond \[0, 1\], but a plan assumes"):
        tutelage.plan("paper:rewards=gaussian")


@pytest.mark.parametrize("stated", [0.0, -1.0, math.inf, "wide"])
def test_a_stated_constant_is_a_number_above_0(stated):
    """A distribution of another package that states something else is refused."""

    class Odd:
        sub_gaussian = stated

    with pytest.raises(InputError, match="sub_gaussian of a reward distribution"):
        sub_gaussian_of(Odd())
    assert sub_gaussian_of(load("paper").rewards) is None
