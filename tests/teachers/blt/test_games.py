"""BLT in the simulator: the smallest problems, the paper's instance, random instances, and clients of every kind."""

import numpy as np
import pytest
from tests.random_games import play_reference
from tests.reference_blt import BetLevelLift
from tests.reluctant_policies import Bagging, Reluctant
from tests.simulated_run import simulate_once

from tutelage.instances import load
from tutelage.instances.base import Instance
from tutelage.policies import POLICIES
from tutelage.teachers.blt.teacher import BLT


def run(instance, teacher, T, *, seed=0, mix=("ucb1",), trace=False):
    """One run; the clients take turns through the mix."""
    policies = [POLICIES.parse(mix[m % len(mix)]) for m in range(instance.num_clients)]
    last = np.array([T])
    return simulate_once(instance, policies, teacher, horizon=T, seed=seed, run=0, checkpoints=last, trace=trace)


@pytest.mark.parametrize("num_clients", [1, 4])
def test_one_arm_is_decided_at_the_start(num_clients):
    """With K = 1 there is a target from the start, no bet, and rewards are what they are."""
    instance = Instance("one", np.full((num_clients, 1), 0.4), np.full(num_clients, 1 / num_clients))
    outcome = run(instance, BLT(), 50, trace=True)
    assert (outcome.target, outcome.decided_in, outcome.events) == (0, 0, ())
    assert outcome.trace.revealed.tolist() == outcome.trace.observed.tolist()


def test_one_client_two_arms():
    """With M = 1 and K = 2 it decides like any other: right, and dear only as long as it learns."""
    instance = Instance("least", np.array([[0.8, 0.2]]), np.ones(1))
    for seed in range(5):
        outcome = run(instance, BLT(), 3000, seed=seed)
        assert outcome.target == 0
        assert outcome.decided_in < 600


@pytest.mark.parametrize("T", [1, 2, 4])
def test_hardly_any_rounds(T):
    """A horizon of a few rounds ends as it should."""
    instance = Instance("short", np.array([[0.8, 0.2], [0.3, 0.9]]), np.full(2, 0.5))
    outcome = run(instance, BLT(), T)
    assert outcome.pulls[:, -1].sum() == 2 * T
    assert outcome.report.reachable is (T == 4)  # 3 pulls of one arm and 1 of another are the first step
    assert ("horizon" in outcome.report.sentence) is (T < 4)


MIXES = {"ucb1": ["ucb1"] * 5, "mixed": ["ucb1", "ucb1", "eps-greedy", "eps-greedy", "ts"]}


@pytest.mark.parametrize("mix", list(MIXES))
def test_paper_instance(mix):
    """On the paper's instance: right in each of 20 runs, decided within 2,000 rounds, cheap.

    A wrong target has probability 1/T = 2e-5 a run at most, three of 20 below 1e-10.  Of 200 runs with
    each kind of clients the latest decision was made in round 1,720, and the mean cost was 984 to 1,161.
    """
    runs = [run(load("paper"), BLT(), 50_000, seed=seed, mix=MIXES[mix]) for seed in range(20)]
    assert sum(outcome.target != 4 for outcome in runs) <= 2
    assert all(outcome.decided_in < 2000 for outcome in runs)
    assert np.mean([outcome.costs[:, -1].sum() for outcome in runs]) < 1500


def test_never_wrong_on_small_instances():
    """300 runs of short games with clear and narrow gaps and uneven weights: hardly a wrong target.

    Each is wrong with probability 1/T <= 1/500 at most, so more than 9 of 300 have probability below 1e-7
    even so; in 10,000 of them benchmarks/blt_comparison.py finds none.
    """
    wrong = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        M, K = int(rng.integers(1, 6)), int(rng.integers(2, 4))
        weights = rng.random(M) + 0.05
        instance = Instance("small", rng.random((M, K)), weights / weights.sum())
        outcome = run(instance, BLT(), 500, seed=seed, mix=("ucb1", "eps-greedy", "ts"))
        wrong += outcome.target is not None and outcome.target not in instance.best_arms
    assert wrong <= 9


@pytest.mark.parametrize("policy", [Reluctant(), Bagging()])
def test_who_never_tries_another_arm_is_led_without_levelling(policy):
    """docs/blt.md: such clients stay at the arm they met first, unless all is revealed as 0 until the decision."""
    for teacher, target in ((BLT(), None), (BLT(level=False, rho=1), 4)):
        outcome = simulate_once(
            load("paper"), [policy] * 5, teacher, horizon=5000, seed=0, run=0, checkpoints=np.array([5000])
        )
        assert outcome.target == target


def test_the_first_reward_of_every_arm_is_revealed_as_one():
    """For every policy, so that no arm is ever worthless for a client that follows means."""
    outcome = run(load("paper"), BLT(), 200, mix=MIXES["mixed"], trace=True)
    assert outcome.target is None
    for arms, revealed in zip(outcome.trace.arms, outcome.trace.revealed, strict=True):
        for arm in range(5):
            assert revealed[arms == arm][0] == 1.0


class CountsExplorers(BetLevelLift):
    """The reference, which counts how often a client is seen to explore while several arms are active."""

    def round(self, t, pi, x):
        """Count after round 50, when wander has forgotten its start."""
        revealed = super().round(t, pi, x)
        if self.target is None and t > 50:
            self.explorers = [*getattr(self, "explorers", ()), *(client.wander > 0.12 for client in self.free)]
        return revealed


@pytest.mark.parametrize(("spec", "least", "most"), [("ucb1", 0.9, 1.0), ("ts", 0.4, 0.8), ("eps-greedy", 0.0, 0.15)])
def test_who_explores(spec, least, most):
    """UCB1 always, Thompson sampling more often than not, eps-greedy rarely."""
    servers = []

    def server_of(stage, _):
        servers.append(CountsExplorers(stage.M, stage.K, stage.T, stage.weights))
        return servers[0]

    play_reference(load("paper"), "bernoulli", [spec] * 5, server_of, 1000, 0, 0)
    assert least <= np.mean(servers[0].explorers) <= most


def test_tolerance_ends_near_ties():
    """Two arms a hair apart: without tolerance it goes on; with it, it takes either soon."""
    instance = Instance("tie", np.array([[0.5, 0.505], [0.52, 0.52]]), np.full(2, 0.5))
    assert run(instance, BLT(), 4000).target is None
    outcome = run(instance, BLT(tolerance=0.3), 4000)
    assert outcome.target is not None
    assert outcome.decided_in < 1500
