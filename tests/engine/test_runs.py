"""Runs as calls of an executor: how many at a time."""

from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool

import pytest

from tutelage import simulator
from tutelage.engine import runs
from tutelage.engine.runs import _Tasks


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
    assert len(list(tasks.collect(team.futures[0]))) == 1
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
        list(tasks.collect(first))
    tasks.take_back()
    assert list(tasks.left) == [(0, 0, 0), (0, 0, 2), (0, 0, 3), (0, 0, 4)]
    assert list(tasks.waiting) == [second]
    assert third not in tasks.waiting
