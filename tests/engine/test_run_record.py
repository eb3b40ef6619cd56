"""What a run of many clients records of a piece of them in a compiled call."""

import numpy as np
import pytest

from tutelage import request, simulator
from tutelage.engine import run_record
from tutelage.engine.memory import new_memory
from tutelage.engine.run_record import RunRecord


@pytest.fixture
def record(monkeypatch):
    """The record of five clients in pieces of two, with checkpoints after rounds 2, 4, 6, 8 and 10."""
    monkeypatch.setattr(request, "MOST_CURVES", 3)
    monkeypatch.setattr(run_record, "PIECE", 2)
    return RunRecord(simulator.make_request("paper", "none", horizon=10, checkpoints=5), 5)


@pytest.fixture
def memory():
    """The memory of five clients."""
    return new_memory(5, 0, 1, np.zeros((5, 3, 4), dtype=np.uint64))


def write(part, memory, client, checkpoints):
    """Record these checkpoints of a client: as many pulls of each arm, and cost, as the checkpoint's number, from 1."""
    for checkpoint in checkpoints:
        place = client - part.first_client, checkpoint - part.first_checkpoint
        part.pulls[place] = checkpoint + 1
        part.costs[place] = checkpoint + 1
    memory.next_checkpoints[client] = checkpoints[-1] + 1


def test_a_piece_is_summed_as_far_as_it_is_filled(record, memory):
    """The first call stops a client after checkpoint 1 and the other after 2; the second goes on from there."""
    clients = np.array([2, 3])
    part = record.open_part(memory, clients)
    write(part, memory, 2, [0])
    write(part, memory, 3, [0, 1])
    sums = record.close_part(part, memory, clients)
    assert (sums.piece, sums.first_checkpoint) == (2 // run_record.PIECE, 0)
    assert sums.costs.tolist() == [2, 2]
    record.add_sums(sums)
    part = record.open_part(memory, clients)
    assert part.first_checkpoint == 1
    write(part, memory, 2, [1, 2, 3, 4])
    write(part, memory, 3, [2, 3, 4])
    record.add_sums(record.close_part(part, memory, clients))
    assert record.piece_costs[1].tolist() == [2, 4, 6, 8, 10]
    assert record.piece_pulls[1].tolist() == [[each] * 5 for each in (2, 4, 6, 8, 10)]
    assert not record.piece_costs[[0, 2]].any()


def test_arrays_of_a_piece_are_used_again(record, memory):
    """They are zeros again; a piece that is open has arrays of its own."""
    first, other = record.open_part(memory, np.array([0, 1])), record.open_part(memory, np.array([2, 3]))
    assert first.pulls is not other.pulls
    write(first, memory, 1, [0, 1, 2])
    record.close_part(first, memory, np.array([0, 1]))
    again = record.open_part(memory, np.array([4]))
    assert again.pulls is first.pulls
    assert again.first_client == 4
    assert not again.pulls.any()
    assert not again.costs.any()


def test_a_piece_in_which_no_checkpoint_is_reached(record, memory):
    """There is nothing to add."""
    part = record.open_part(memory, np.array([4]))
    sums = record.close_part(part, memory, np.array([4]))
    assert sums.costs.size == 0
    record.add_sums(sums)
    assert not record.piece_costs.any()


def test_few_clients_are_recorded_one_by_one():
    """Then the record is one, for all calls, and nothing is summed."""
    asked = simulator.make_request("paper", "none", horizon=10, checkpoints=5)
    record, memory = RunRecord(asked, 5), new_memory(5, 0, 1, np.zeros((5, 3, 4), dtype=np.uint64))
    part = record.open_part(memory, np.array([0, 1]))
    assert part.pulls is record.pulls
    assert record.close_part(part, memory, np.array([0, 1])) is None
