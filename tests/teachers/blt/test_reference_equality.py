"""BLT in the simulator: equal to the algorithm in plain Python, draw for draw."""

import functools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.random_games import assert_equal, draw_exclusions, games, make_instance, play_reference
from tests.reference_blt import BetLevelLift, WindowedBetLevelLift
from tests.simulated_run import simulate_once

from tutelage.policies import POLICIES
from tutelage.teachers.blt.teacher import BLT

SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "leading_arm": st.sampled_from(["free", "levelled"]),
        "rho": st.sampled_from([1, 2, 3, 7]),
        "tolerance": st.sampled_from([0.01, 0.1, 0.3]),
        "lift": st.booleans(),
        "level": st.sampled_from([True, True, True, False]),
        "growth": st.sampled_from([0.01, 0.1, 0.5, 2.0]),
        "stakes": st.sampled_from([1, 2, 14]),
        "head_start": st.sampled_from([0, 1, 3, 50]),
        "risk": st.sampled_from([0.2, 0.01]),
        "hope": st.sampled_from([0.0, 1.0, float("inf")]),
    },
)
SHAPES = st.fixed_dictionaries(
    {},
    optional={
        "offset": st.sampled_from([0.0, 1.0, 4.0]),
        "band": st.sampled_from([0.0, 0.5, 2.0]),
        "slack": st.sampled_from([0.0, 3.0]),
        "slack_share": st.sampled_from([0.0, 1.0]),
        "push": st.sampled_from([0.0, 0.5]),
        "freeze_pulls": st.sampled_from([1.0, 2.5, 20.0]),
        "freeze_share": st.sampled_from([0.3, 1.0]),
    },
)


class Watched:
    """A BLT that records its latest state."""

    def __init__(self, teacher):
        self.teacher = teacher

    def __getattr__(self, name):
        return getattr(self.teacher, name)

    def begin(self, problem, generator):
        self.state = self.teacher.begin(problem, generator)
        return self.state

    def advance(self, state, evidence):
        self.state = self.teacher.advance(state, evidence)
        return self.state

    def exclude(self, state, client):
        self.state = self.teacher.exclude(state, client)
        return self.state

    def report(self, state):
        self.state = state  # after routine consultations, of which advance does not know
        return self.teacher.report(state)


def assert_same_game(game, settings, exclude=None, groups=None):
    """Pulls, observed and revealed rewards, costs, events are ``==``; log W agrees.  ``groups`` [M] depend."""
    means, weights, distribution, mix, T, seed = game
    instance = make_instance(means, weights, distribution)
    servers = []

    def server_of(stage, _):
        algorithm = BetLevelLift if groups is None else functools.partial(WindowedBetLevelLift, groups=groups)
        server = algorithm(stage.M, stage.K, stage.T, stage.weights, exclude=exclude or {}, **settings)
        servers.append(server)
        return server

    game = play_reference(instance, distribution, mix, server_of, T, seed, 0)
    dependence = None if groups is None else "any" if set(groups) == {0} else ";".join(map(str, groups))
    teacher = Watched(BLT(dependence=dependence, **settings))
    outcome = simulate_once(
        instance,
        [POLICIES.parse(spec) for spec in mix],
        teacher,
        horizon=T,
        seed=seed,
        run=0,
        checkpoints=np.arange(1, T + 1),
        exclude=exclude,
        trace=True,
    )
    assert_equal(outcome, game, T)
    assert_same_wealth(servers[0], teacher.state)
    return outcome


def assert_same_wealth(server, state):
    """Of all pairs of active arms: as many steps, and the same log W as far as 40 halvings go.

    They leave 4e-12 of doubt in a prediction, which counts once a pull.
    """
    doubt = 1e-9 + 1e-11 * server.M * server.T
    for (j, k), logs in server.log_W.items():
        if j in server.active and k in server.active:
            assert state.steps[j][k] == server.step[j, k]  # 0 of all pairs in windows
            assert np.allclose(state.log_wealth[j, k], logs, rtol=1e-9, atol=doubt)


@given(games(), SETTINGS)
def test_equals_the_algorithm(game, settings):
    """Random sizes, weights, distributions, mixes, horizons and options: everything that happens is the same."""
    assert_same_game(game, settings)


@given(games(), SETTINGS, SHAPES)
def test_equals_the_algorithm_with_other_constants(game, settings, shapes):
    """The same with the other constants changed too."""
    assert_same_game(game, settings | shapes)


@given(games(), SETTINGS, st.data())
def test_equals_the_algorithm_when_clients_exclude(game, settings, data):
    """The same with clients excluded in the midst of a run."""
    assert_same_game(game, settings, draw_exclusions(data, len(game[3]), game[4]))


@given(games(), SETTINGS, st.data())
def test_equals_the_algorithm_in_windows(game, settings, data):
    """The same with clients that may depend on each other, and with clients excluded."""
    settings = {name: value for name, value in settings.items() if name != "risk"}
    num_clients = len(game[3])
    some = st.lists(st.integers(0, 3), min_size=num_clients, max_size=num_clients)
    groups = data.draw(st.one_of(st.just([0] * num_clients), some))
    assert_same_game(game, settings, draw_exclusions(data, num_clients, game[4]), tuple(groups))


@pytest.mark.parametrize("weights", [(1 / 6,) * 6, (0.4, 0.25, 0.15, 0.1, 0.05, 0.05)])
@pytest.mark.parametrize("distribution", ["bernoulli", "beta(4)"])
def test_equals_the_algorithm_up_to_the_target(weights, distribution):
    """Six mixed clients until after the decision, the target lifted at a client for which it is nothing."""
    means = np.clip(np.array([0.3, 0.55, 0.8]) + np.linspace(-0.2, 0.2, 6)[:, None], 0, 1)
    means[5] = (0.6, 0.9, 0.0)
    mix = ["ts", "eps-greedy", "ucb1"] * 2
    outcome = assert_same_game((means, np.array(weights), distribution, mix, 4000, 3), {})
    assert outcome.target == 2
    assert len([event for event in outcome.events if len(event.active_arms) == 2]) >= 2
    lifted = (outcome.trace.arms[5] == 2) & (outcome.trace.revealed[5] > outcome.trace.observed[5])
    assert lifted[outcome.decided_in :].sum() > 5
