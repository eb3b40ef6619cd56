"""Runs as calls of an executor: how many at a time."""

import time
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool

import pytest

from tutelage import simulator
from tutelage.engine import executors, runs
from tutelage.engine.runs import _Tasks
from tutelage.errors import InputError


class FakeTeam:
    """A team with two slots whose calls end when a test says so."""

    slots = 2

    def __init__(self):
        self.futures = []

    def submit(self, places):
        self.futures.append(Future())
        return self.futures[-1]


def test_short_runs_are_sent_together():
    """The first runs are sent one by one; once it is known that they take 20 ms, three at a time: 50 ms or more."""
    tasks, team = _Tasks([(0, 0, run) for run in range(9)], [0]), FakeTeam()
    tasks.submit(team)
    assert list(tasks.waiting.values()) == [[(0, 0, 0)], [(0, 0, 1)]]
    team.futures[0].set_result([(object(), 0.02)])
    assert len(tasks.collect(team.futures[0])) == 1
    tasks.submit(team)
    assert list(tasks.waiting.values()) == [[(0, 0, 1)], [(0, 0, 2), (0, 0, 3), (0, 0, 4)]]


def test_runs_of_another_teacher_are_not_taken_for_short():
    """How long a run takes is measured for each teacher."""
    tasks = _Tasks([(0, 0, 0), (0, 1, 0), (0, 0, 1), (0, 1, 1), (0, 0, 2)], [0])
    tasks.seconds = {(0, 0): runs._LEAST_SECONDS / 100}
    tasks.submit(FakeTeam())
    assert list(tasks.waiting.values()) == [[(0, 0, 0), (0, 1, 0)], [(0, 0, 1), (0, 1, 1)]]


def test_a_call_has_runs_of_one_group():
    """Else an error of one cell would lose the runs of another; how long a run takes is that of its group."""
    tasks = _Tasks([(0, 0, 0), (1, 0, 0), (2, 0, 0), (2, 0, 1), (2, 0, 2)], [0, 0, 1])
    tasks.seconds = {(0, 0): runs._LEAST_SECONDS / 100, (1, 0): runs._LEAST_SECONDS / 2}
    tasks.submit(FakeTeam())
    assert list(tasks.waiting.values()) == [[(0, 0, 0), (1, 0, 0)], [(2, 0, 0), (2, 0, 1)]]


def test_groups_of_many_clients_have_teams_of_their_own():
    """All others that follow each other have one team."""
    few = [simulator.make_request("paper", "none", horizon=9, runs=1)]
    many = [simulator.make_request("planted:clients=5000,arms=2,gap=.1", "none", horizon=9, runs=1)]
    batches = list(runs._cut_into_batches([few, few, many, many, few]))
    assert batches == [[few, few], [many], [many], [few]]


def test_lost_runs_are_sent_again_in_their_order():
    """What has a result is not played again; all else that was sent is, before the others."""
    tasks, team = _Tasks([(0, 0, run) for run in range(5)], [0]), FakeTeam()
    team.slots = 3
    tasks.submit(team)
    first, second, third = team.futures
    first.set_exception(BrokenProcessPool())
    second.set_result([(object(), 1.0)])
    with pytest.raises(BrokenProcessPool):
        tasks.collect(first)
    assert tasks.take_back() == 0
    assert list(tasks.left) == [(0, 0, 0), (0, 0, 2), (0, 0, 3), (0, 0, 4)]
    assert list(tasks.waiting) == [second]
    assert third not in tasks.waiting


def test_runs_of_the_next_group_are_expected_to_be_as_short():
    """Where it has many, so that workers have enough to do while the results of the group before are used."""
    places = [(number, 0, run) for number, runs in ((0, 4), (1, 64), (2, 4)) for run in range(runs)]
    tasks, team = _Tasks(places, [0, 1, 2]), FakeTeam()
    tasks.submit(team)
    for future, seconds in zip(team.futures, (0.001, 0.01), strict=True):
        future.set_result([(object(), seconds)])
        tasks.collect(future)
    tasks.submit(team)
    assert [len(places) for places in tasks.waiting.values()] == [
        2,
        5,
    ]  # the rest of group 0; 10 ms each, as the latest
    for future in list(tasks.waiting):
        future.set_result([(object(), 0.001)] * len(tasks.waiting[future]))
        tasks.collect(future)
    tasks.submit(team)
    assert [len(places) for places in tasks.waiting.values()] == [50, 9]  # now it is known
    for future in list(tasks.waiting):
        future.set_result([(object(), 0.001)] * len(tasks.waiting[future]))
        tasks.collect(future)
    tasks.submit(team)
    assert list(tasks.waiting.values()) == [[(2, 0, 0)], [(2, 0, 1)]]  # of few runs each might take long


def test_an_error_leaves_calls_of_earlier_groups_only():
    """Their results are to be complete; what is later is not played."""
    tasks, team = _Tasks([(number, 0, 0) for number in range(5)], [0, 1, 1, 2, 2]), FakeTeam()
    team.slots = 4
    tasks.submit(team)
    first, second, failed, last = team.futures
    tasks.give_up(failed)
    assert list(tasks.waiting) == [first]
    assert not tasks.left
    assert second.cancelled()
    assert last.cancelled()
    tasks.give_up(second)
    assert list(tasks.waiting) == [first]


@pytest.mark.parametrize("workers", [1, 3])
def test_an_error_costs_no_results_of_earlier_groups(monkeypatch, workers):
    """Here the first group takes longer than the second, which fails."""
    real = executors.simulate_run

    def run(request, *arguments, **options):
        if request.seed == 2:
            raise ArithmeticError
        time.sleep(0.3)
        return real(request, *arguments, **options)

    monkeypatch.setattr(executors, "simulate_run", run)
    groups = [[simulator.make_request("paper", "none", horizon=9, runs=2, seed=seed)] for seed in (1, 2, 3)]
    played = []
    results = runs.simulate_runs(groups, workers=workers, executor="threads")
    with pytest.raises(ArithmeticError):
        played.extend(number for number, _ in results)
    assert played == [0, 0]


def test_an_executor_that_is_shut_down(monkeypatch):
    """Its calls that have not begun are cancelled, and would never be done; here each would take long enough."""
    real = executors.simulate_run

    def run(*arguments, **options):
        time.sleep(0.1)
        return real(*arguments, **options)

    monkeypatch.setattr(executors, "simulate_run", run)
    request = simulator.make_request("paper", "none", horizon=9, runs=50)
    with ThreadPoolExecutor(1) as pool:
        results = runs.simulate_runs([[request]], executor=pool, workers=30)
        next(results)
        pool.shutdown(wait=True, cancel_futures=True)
        with pytest.raises((InputError, RuntimeError), match=r"The executor was shut down|cannot schedule"):
            list(results)


def test_progress_does_not_fall_and_ends_at_all_runs():
    """Also where all runs have been played before."""
    groups = [[simulator.make_request("paper", "none", horizon=9, runs=2)] for _ in range(2)]
    reported = []
    played = runs.simulate_runs(
        groups, progress=reported.append, skip={(number, 0, run) for number in (0, 1) for run in (0, 1)}
    )
    assert list(played) == []
    assert reported == [4]
