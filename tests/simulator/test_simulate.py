"""Simulations as people call them."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import pytest

from tutelage import simulator


def test_teachers_play_the_same_runs():
    """A teacher's runs do not depend on the other teachers: differences between teachers are paired."""
    together = simulator.simulate("paper", ["none", "twl", "ng"], "3*ucb1,2*ts", horizon=400, runs=3, seed=11)
    single = simulator.simulate("paper", "twl", "3*ucb1,2*ts", horizon=400, runs=3, seed=11)
    same = together.sel(teacher="twl")
    assert same.pulls.equals(single.pulls.isel(teacher=0))
    assert same.cost.equals(single.cost.isel(teacher=0))


def test_more_runs_begin_with_the_same_runs():
    """Run r of 4 is run r of 2."""
    few = simulator.simulate("paper", "twl", horizon=200, runs=2)
    many = simulator.simulate("paper", "twl", horizon=200, runs=4)
    assert many.isel(run=slice(2)).pulls.equals(few.pulls)


def test_exclusions_are_events_and_in_the_request():
    """An exclusion is an event in its round and is part of the saved request."""
    dataset = simulator.simulate("paper", "twl", horizon=500, runs=1, exclude={2: 100})
    assert 100 in dataset.event_round.values
    assert '"exclude": {"2": 100}' in dataset.attrs["request"]


def test_horizon_shorter_than_the_arms():
    """Two rounds on five arms decide nothing and raise nothing."""
    dataset = simulator.simulate("paper", horizon=2, runs=2)
    assert dataset.checkpoint.values.tolist() == [1, 2]
    assert (dataset.pulls.isel(checkpoint=-1).sum("arm") == 2).all()


def make_groups():
    """Two groups of two instances and one of many clients between them: 2 x 3, 1 and 2 x 2 runs."""
    groups = []
    for clients, runs in (("ucb1", 3), ("ts", 2)):
        asked = [f"uniform:clients=3,arms=3,seed={seed}" for seed in (1, 2)]
        groups.append([simulator.make_request(each, "twl", clients, horizon=300, runs=runs, seed=4) for each in asked])
    many = "planted:clients=5000,arms=2,gap=.1"
    groups.insert(1, [simulator.make_request(many, "none", horizon=9, runs=1)])
    return groups


@pytest.fixture(scope="module")
def groups():
    """The groups, and the results of each group by itself."""
    asked = make_groups()
    return asked, [[each.to_dataset() for each in simulator.simulate_requests(requests)] for requests in asked]


@pytest.mark.parametrize("executor", ["threads", "processes"])
@pytest.mark.parametrize("workers", [1, 3])
def test_groups_have_the_results_of_each_by_itself(groups, executor, workers):
    """Whatever plays them and in whatever order they are complete."""
    asked, alone = groups
    played = []
    results = dict(simulator.simulate_groups(asked, workers=workers, executor=executor, progress=played.append))
    assert sorted(results) == [0, 1, 2]
    for number, expected in enumerate(alone):
        assert all(each.to_dataset().identical(one) for each, one in zip(results[number], expected, strict=True))
    assert played == sorted(played)
    assert played[-1] == 11


def test_finished_runs_of_groups_are_not_played_again(groups):
    """The first group and half of the third are finished before; each new outcome comes with its place."""
    asked, alone = groups
    outcomes = []
    list(simulator.simulate_groups(asked, workers=1, on_outcome=lambda *what: outcomes.append(what)))
    assert len(outcomes) == 11
    finished = [{}, {}, {}]
    for group, request, outcome in outcomes:
        if group == 0 or (group, request) == (2, 1):
            finished[group].setdefault(request, []).append(outcome)
    again, played = [], []
    results = dict(
        simulator.simulate_groups(
            asked, finished=finished, on_outcome=lambda *what: again.append(what[:2]), progress=played.append
        )
    )
    assert sorted(again) == [(1, 0), (2, 0), (2, 0)]
    assert played[0] >= 6
    assert played[-1] == 11
    for number, expected in enumerate(alone):
        assert all(each.to_dataset().identical(one) for each, one in zip(results[number], expected, strict=True))


def test_a_group_is_complete_before_the_next_is_played(groups):
    """Its results can be used at once; with one worker at most the four calls under way have been played then."""
    asked, alone = groups
    outcomes = []
    results = simulator.simulate_groups(asked, workers=1, on_outcome=lambda *what: outcomes.append(what[0]))
    number, (first, second) = next(results)
    results.close()
    assert number == 0
    assert outcomes == [0] * 6
    assert first.to_dataset().identical(alone[0][0])
    assert second.to_dataset().identical(alone[0][1])


def test_groups_in_an_executor_of_the_caller(groups):
    """Its calls have the numbers that requests have within their group."""
    asked, alone = groups
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=context) as executor:
        results = dict(simulator.simulate_groups(asked, executor=executor))
    for number, expected in enumerate(alone):
        assert all(each.to_dataset().identical(one) for each, one in zip(results[number], expected, strict=True))
