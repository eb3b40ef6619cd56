"""The compiled engine against the plain-Python transcription of the paper."""

import threading
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import reference
from tests.contracts.ladder import Ladder
from tests.random_games import (
    assert_contract,
    assert_equal,
    draw_exclusions,
    games,
    make_instance,
    play_reference,
    run_engine,
)
from tests.simulated_run import simulate_once

from tutelage import instances
from tutelage.conditions import Conditions, MeanShift
from tutelage.engine import run_clients
from tutelage.engine.agent_group import Cancelled
from tutelage.engine.scheduled_changes import find_silent_clients
from tutelage.instances.base import Instance
from tutelage.policies import POLICIES
from tutelage.teachers import TEACHERS

GAMMAS = st.one_of(st.sampled_from([0.0, 1.0, 0.1, 0.5]), st.floats(0, 1))


@given(games(), GAMMAS, GAMMAS, st.sampled_from(["tal", "twl"]))
def test_engine_equals_algorithms_one_and_two(game, gamma1, gamma2, name):
    """TAL and TWL: the engine plays exactly what Alg. 1 and Alg. 2 prescribe."""
    means, weights, distribution, mix, T, seed = game
    instance = make_instance(means, weights, distribution)
    teacher = TEACHERS.cls(name)(gamma1, gamma2)
    algorithm = {"tal": reference.AlgorithmOne, "twl": reference.AlgorithmTwo}[name]
    plain = play_reference(instance, distribution, mix, lambda stage, _: algorithm(stage, gamma1, gamma2), T, seed, 3)
    assert_equal(run_engine(instance, mix, teacher, T, seed, 3), plain, T)


@given(games(), st.sampled_from(["ng", "na", "known", "none"]))
def test_engine_equals_baselines(game, name):
    """NG, NA, the known target and no teaching: the engine plays exactly their plain versions."""
    means, weights, distribution, mix, T, seed = game
    instance = make_instance(means, weights, distribution)
    guess = int(reference.generator(seed, 0, 0).random() * instance.num_arms)
    nu = instance.global_means.tolist()
    server_of = {
        "ng": lambda stage, _: reference.FixedTarget(guess),
        "na": lambda stage, rewards: reference.NaiveAlignment([(0, nu)], rewards),
        "known": lambda stage, _: reference.FixedTarget(nu.index(max(nu))),
        "none": lambda stage, _: reference.FixedTarget(None),
    }[name]
    plain = play_reference(instance, distribution, mix, server_of, T, seed, 0)
    assert_equal(run_engine(instance, mix, TEACHERS.parse(name), T, seed, 0), plain, T)


@given(games(), st.sampled_from(["any", "all"]), st.integers(1, 30), st.booleans(), st.data())
def test_engine_keeps_the_contract(game, mode, length, windows, data):
    """Any quota, segments, windows, rules with a memory, exclusion: the engine equals the round-by-round runner."""
    means, weights, distribution, mix, T, seed = game
    instance = make_instance(means, weights, distribution)
    exclude = draw_exclusions(data, len(mix), T)
    assert_contract(instance, distribution, mix, Ladder(mode, length, windows), T, seed, exclude)


@given(games(), st.sampled_from(["tal(gamma1=0.1)", "twl", "known", "none"]), st.data())
def test_engine_excludes_clients(game, spec, data):
    """Clients excluded in the midst of a run: the engine equals the round-by-round runner."""
    means, weights, distribution, mix, T, seed = game
    instance = make_instance(means, weights, distribution)
    exclude = draw_exclusions(data, len(mix), T)
    assert_contract(instance, distribution, mix, TEACHERS.parse(spec), T, seed, exclude)


@pytest.mark.parametrize("name", ["tal", "twl"])
@pytest.mark.parametrize("gammas", [(0.0, 0.0), (1.0, 0.0), (0.1, 0.05)])
def test_engine_equals_algorithms_over_several_epochs(name, gammas):
    """Twelve mixed clients and gaps that take three epochs: the engine plays Alg. 1 and Alg. 2 exactly."""
    means = np.clip(np.array([0.35, 0.5, 0.6]) + np.linspace(-0.3, 0.3, 12)[:, None], 0, 1)
    instance, T = Instance("ladder", means, np.full(12, 1 / 12)), 3500
    algorithm = {"tal": reference.AlgorithmOne, "twl": reference.AlgorithmTwo}[name]
    mix = ["ucb1", "eps-greedy", "ucb1", "eps-greedy"] * 3 if gammas[0] > 0 else ["ucb1", "eps-greedy", "ts"] * 4
    plain = play_reference(instance, "bernoulli", mix, lambda stage, _: algorithm(stage, *gammas), T, 5, 0)
    assert len(plain.events) >= 2
    assert_equal(run_engine(instance, mix, TEACHERS.cls(name)(*gammas), T, 5, 0), plain, T)


def test_a_cancelled_run_stops():
    """A run that is asked to stop ends with Cancelled instead of a result."""
    cancel = threading.Event()
    cancel.set()
    instance = Instance("one", np.full((1, 2), 0.5), np.ones(1))
    with pytest.raises(Cancelled):
        run_engine(instance, ["ucb1"], TEACHERS.parse("none"), 10, 0, 0, cancel=cancel)


def test_pieces_of_a_long_run_fit(monkeypatch):
    """The engine cuts long stretches into slices; how long these are changes nothing."""
    instance = Instance("two", np.array([[0.2, 0.7], [0.4, 0.5]]), np.full(2, 0.5))
    whole = run_engine(instance, ["ucb1", "ts"], Ladder("all", 6), 2000, 1, 0)
    monkeypatch.setattr(run_clients, "SLICE", 7)
    pieces = run_engine(instance, ["ucb1", "ts"], Ladder("all", 6), 2000, 1, 0)
    assert pieces.trace.revealed.tolist() == whole.trace.revealed.tolist()
    assert pieces.events == whole.events


def plain_acts(conditions, M, seed):
    """When clients act, in plain Python: (m, t) -> bool, asked in order of rounds."""
    streams = [reference.generator(seed, 0, 1, m, 2) for m in range(M)]
    wait = list(conditions.delays or [0] * M)
    last = dict(conditions.stops)

    def acts(m, t):
        if t > last.get(m, t):
            return False
        if wait[m] > 0:
            wait[m] -= 1
            return False
        activity = conditions.activity[m] if conditions.activity else 1.0
        if activity < 1.0 and streams[m].random() >= activity:
            return False
        wait[m] = conditions.delays[m] if conditions.delays else 0
        return True

    return acts


@st.composite
def conditions(draw, M, K, T):
    """Clients that act seldom, late, or stop, and means that shift."""
    shares = st.one_of(st.just(1.0), st.floats(0.05, 1.0))
    later = st.integers(1, max(1, T))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return Conditions(
        activity=draw(st.one_of(st.just(()), st.tuples(*[shares] * M))),
        delays=draw(st.one_of(st.just(()), st.tuples(*[st.integers(0, 3)] * M))),
        stops=tuple(draw(st.dictionaries(st.integers(0, M - 1), later, max_size=M - 1)).items()),
        shifts=tuple(MeanShift(after, rng.random((M, K))) for after in draw(st.sets(later, max_size=2))),
    )


@given(games(), st.sampled_from(["ladder-any", "ladder-all", "twl", "tal(gamma1=0.1)", "na", "none"]), st.data())
def test_engine_under_real_conditions(game, spec, data):
    """Stragglers, late pulls, stops, shifting means, exclusion: the engine equals the plain runner."""
    means, weights, distribution, mix, T, seed = game
    distribution = "bernoulli" if distribution == "empirical" else distribution
    M, K = means.shape
    real = data.draw(conditions(M, K, T))
    instance = replace(make_instance(means, weights, distribution), conditions=real)
    teacher = Ladder(spec[7:], 12) if spec.startswith("ladder") else TEACHERS.parse(spec)
    exclude = draw_exclusions(data, M, T)
    if spec == "na":
        plain = play_reference(
            instance,
            distribution,
            mix,
            lambda stage, streams: reference.NaiveAlignment(
                [(p.after, p.global_means.tolist()) for p in instance.phases], streams
            ),
            T,
            seed,
            0,
            plain_acts(real, M, seed),
        )
        assert_equal(run_engine(instance, mix, teacher, T, seed, 0), plain, T)
    else:
        assert_contract(instance, distribution, mix, teacher, T, seed, exclude, plain_acts(real, M, seed))


@given(st.floats(0.02, 1.0), st.integers(0, 3), st.integers(1, 400), st.floats(1, 30), st.integers(0, 1000))
def test_silence_is_found_as_it_is_defined(activity, delay, stop, multiple, seed):
    """The round in which a client is excluded by rule is the first with a silence over so many usual gaps."""
    real = Conditions(activity=(activity, 1.0), delays=(delay, 0), stops=((0, stop),))
    acts = plain_acts(real, 2, seed)
    pulls, expected = [], None
    for t in range(1, 801):
        if acts(0, t):
            pulls.append(t)
        elif len(pulls) > 1 and t - pulls[-1] > multiple * (pulls[-1] / len(pulls)):
            expected = t
            break
    instance = Instance("two", np.full((2, 2), 0.5), np.full(2, 0.5), conditions=real)
    assert find_silent_clients(instance, seed, 0, 800, multiple).get(0) == expected


def test_a_silent_client_is_excluded_and_learning_goes_on():
    """One of five clients stops early: without the rule TWL never decides, with it it does."""
    stops = Conditions(stops=((0, 100),))
    paper = replace(instances.load("paper"), conditions=stops)
    ask = [POLICIES.parse("ucb1")] * 5
    play = {"horizon": 50_000, "seed": 1, "run": 0, "checkpoints": np.array([50_000])}
    assert simulate_once(paper, ask, TEACHERS.parse("twl"), **play).target is None
    assert simulate_once(paper, ask, TEACHERS.parse("twl"), exclude_after=20.0, **play).target == 4
