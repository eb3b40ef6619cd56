"""Clients of one run in shards give the same run, also where shards are made again; Dask's part is played here."""

import copy
from types import SimpleNamespace

import numpy as np
import pytest

from tutelage import request, simulator
from tutelage.conditions import Conditions, MeanShift
from tutelage.engine import run_record
from tutelage.engine.sharded_clients import (
    ShardedClients,
    ShardProgress,
    advance_shard,
    can_be_sharded,
    cut_into_blocks,
)
from tutelage.engine.simulation import play_run, simulate_run
from tutelage.errors import InputError
from tutelage.teachers.base import Quota

CLIENTS = "3*ucb1,1*eps-greedy,1*ucb1,2*eps-greedy,1*ucb1"
PLANTED = "planted:clients={},arms=3,rewards={}"


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch):
    """Regard more than 3 clients as many, in pieces of 2."""
    monkeypatch.setattr(request, "MOST_CURVES", 3)
    monkeypatch.setattr(run_record, "PIECE", 2)


class FakeCluster:
    """Calls functions at once, as a Dask client does on its workers, every ``loss``-th one with a copy of the shard."""

    def __init__(self, threads, loss):
        self.threads, self.loss, self.calls, self.copies = threads, loss, 0, 0

    def nthreads(self):
        return self.threads

    def submit(self, function, first, *arguments, pure, **place):
        self.calls += 1
        if function is advance_shard and self.calls % self.loss == 0:
            self.copies += 1
            first = copy.copy(first)
        return function(first, *arguments)

    def gather(self, futures):
        return futures


def make_request():
    """Make a request with a shift of the means and exclusions in two shards."""
    instance = simulator.make_request(PLANTED.format(8, "bernoulli")).instance
    shift = MeanShift(400, np.ascontiguousarray(instance.local_means[:, ::-1]))
    return simulator.make_request(
        instance,
        ["tal(gamma1=0,gamma2=0)", "twl", "none"],
        CLIENTS,
        horizon=20_000,
        runs=2,
        seed=3,
        checkpoints=[1, 10, 500, 19_999, 20_000],
        conditions=Conditions(shifts=(shift,)),
        exclude={5: 300, 6: 400},
    )


@pytest.mark.parametrize(
    ("threads", "loss"), [({"a": 1}, 10**9), ({"a": 2, "b": 1}, 10**9), ({"a": 1, "b": 1}, 3), ({"a": 9}, 2)]
)
def test_shards_play_the_same_run(threads, loss):
    """However many shards there are, and however often one is lost, every number is that of one process."""
    asked, cluster = make_request(), FakeCluster(threads, loss)
    for teacher in range(3):
        clients = ShardedClients(cluster, (asked,), asked, 0, teacher, 1)
        assert len(clients.shards) == min(4, sum(threads.values()))
        played, expected = play_run(asked, teacher, 1, clients), simulate_run(asked, teacher, 1)
        np.testing.assert_equal(vars(played), vars(expected))
        assert np.count_nonzero(played.pulls) > 0
        assert played.report.consultations >= 2 - teacher
    assert (cluster.copies > 0) == (loss < 10**9)


@pytest.mark.parametrize(("num_clients", "num_shards"), [(8, 1), (9, 3), (200, 2), (201, 3)])
def test_blocks_are_whole_pieces_and_dealt_evenly(num_clients, num_shards):
    """Each client is in one block, blocks begin with a piece, and shards have as many clients up to a block."""
    blocks = cut_into_blocks(num_clients, num_shards)
    assert [client for block in blocks for client in range(block.start, block.stop)] == list(range(num_clients))
    assert all(block.start % run_record.PIECE == 0 for block in blocks)
    sizes = [sum(each.stop - each.start for each in blocks[shard::num_shards]) for shard in range(num_shards)]
    assert max(sizes) - min(sizes) <= max(each.stop - each.start for each in blocks) + run_record.PIECE


def test_progress_is_that_of_the_run_that_is_played():
    """Reports of shards add up to the share of the run; those of another run, or after it, are ignored."""
    noted, subscribed = [], {}
    client = SimpleNamespace(subscribe_topic=subscribed.__setitem__)
    progress = ShardProgress(client, lambda run, share: noted.append((run, share)))
    receive = subscribed[progress.topic]
    receive((0.0, [[0, 0, 0], 0, 4.0]))
    progress.follow((0, 0, 1), 8)
    for report in ([[0, 0, 0], 0, 4.0], [[0, 0, 1], 0, 1.0], [[0, 0, 1], 1, 2.0], [[0, 0, 1], 0, 4.0]):
        receive((0.0, report))
    progress.follow(None)
    receive((0.0, [[0, 0, 1], 1, 4.0]))
    assert noted == [((0, 0, 1), 1 / 8), ((0, 0, 1), 3 / 8), ((0, 0, 1), 6 / 8)]


def test_what_can_be_sharded():
    """Not runs of few clients, quotas of any arm, shared shocks, binary reveals, or leaps of many slices."""
    asked = [
        simulator.make_request(PLANTED.format(4, "bernoulli"), ["twl", "none"]),
        simulator.make_request(PLANTED.format(4, "bernoulli"), "twl", engine="leap"),
        simulator.make_request(PLANTED.format(3, "bernoulli"), "twl"),
        simulator.make_request(PLANTED.format(4, "correlated(0.5)"), "twl"),
        simulator.make_request(PLANTED.format(4, "bernoulli"), "blt"),
        simulator.make_request(PLANTED.format(4, "bernoulli"), "twl", binary_reveals=True),
        simulator.make_request(PLANTED.format(4, "bernoulli"), "twl", horizon=10**7, engine="leap"),
    ]
    assert list(map(can_be_sharded, asked)) == [True, True, False, False, False, False, False]


def test_a_teacher_that_later_waits_for_any_arm_is_refused():
    """The error says what to use instead."""
    asked = make_request()
    clients = ShardedClients(FakeCluster({"a": 1}, 2), (asked,), asked, 0, 0, 0)
    teacher = asked.teachers[0]
    directive = teacher.directive(teacher.begin(asked.problem_for(teacher), np.random.default_rng(0)))
    with pytest.raises(InputError, match="waits for any one of several arms: use the executor threads"):
        clients.publish(type(directive)(directive.rules, Quota((1, 1, 1), "any"), directive.active_arms), None)
