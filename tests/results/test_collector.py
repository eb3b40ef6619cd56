"""Outcomes of runs collected into arrays."""

import numpy as np

from tutelage import simulator
from tutelage.instances import Instance
from tutelage.results import Collector, result_size
from tutelage.run_outcome import PullTrace, RunEvent, RunOutcome
from tutelage.teachers.base import Report


def test_many_events_make_room():
    """Events that need more room than there is are stored with those of the runs put before."""
    request = simulator.make_request("paper", "none", horizon=100, runs=3)
    collector = Collector(request)
    pulls, costs = np.zeros((5, 100, 5), dtype=np.int32), np.zeros((5, 100))
    report = Report(0, (0, 1, 2, 3, 4), None, (), (), True, "No decision.")
    trace = PullTrace(*np.zeros((3, 5, 0)))
    for run, count in enumerate((1, 7, 3)):
        events = tuple(RunEvent(run * 10 + n + 1, (n % 5,), None) for n in range(count))
        collector.put(
            RunOutcome(0, run, pulls, costs, events, None, None, report, np.zeros(5, dtype=np.int64), 5, trace)
        )
    finished = collector.finish()
    assert finished.event_round.shape == (1, 3, 7)
    assert finished.event_round[0].tolist() == [
        [1, 0, 0, 0, 0, 0, 0],
        [11, 12, 13, 14, 15, 16, 17],
        [21, 22, 23, 0, 0, 0, 0],
    ]
    assert finished.event_active[0].sum(axis=(1, 2)).tolist() == [1, 7, 3]


def test_counts_of_a_long_horizon_are_64_bit():
    """From 2^31 rounds on counts need 64 bits."""
    one = Instance("one", np.array([[0.5]]), np.array([1.0]))
    collector = Collector(simulator.make_request(one, "none", horizon=2**31, runs=1))
    assert collector.pulls.dtype == np.int64


def test_result_size_is_that_of_the_arrays():
    """Pulls, regret and cost need the memory that is computed beforehand."""
    request = simulator.make_request("paper", ["twl", "none"], horizon=1000, runs=3)
    collector = Collector(request)
    assert result_size(request) == collector.pulls.nbytes + collector.regret.nbytes + collector.cost.nbytes
