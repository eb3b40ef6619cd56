"""The memory of all clients: segments of evidence, layout, copies, restarts."""

import numpy as np
import pytest

from tutelage.engine.memory import NOT_REACHED, add_to_segment, new_memory
from tutelage.seeding import client_streams


def make_memory(num_clients=2, num_arms=3, num_cuts=2, state_size=1):
    """Make the memory of clients before their first pull."""
    return new_memory(num_arms, num_cuts, state_size, client_streams(0, 0, num_clients))


def test_segments_are_cut_at_exact_pulls():
    """Pull F(psi) completes segment psi and the next pull begins another; after the last nothing is added."""
    memory, cuts = make_memory(), np.array([2, 5])
    pulls, segments, sums = memory.evidence_pulls[0], memory.completed_segments[0], memory.segment_sums[0]
    done = []
    for reward in range(1, 9):
        add_to_segment(1, float(reward), pulls, segments, sums, cuts)
        done.append(int(segments[1]))
    assert done == [0, 1, 1, 1, 2, 2, 2, 2]
    assert sums[1].tolist() == [1 + 2, 3 + 4 + 5, 0.0]
    assert segments.tolist() == [0, 2, 0]
    assert not sums[0].any()


def test_without_cuts_there_are_no_segments():
    """A teacher that uses no evidence has no sums."""
    memory = make_memory(num_cuts=0)
    pulls, segments, sums = memory.evidence_pulls[0], memory.completed_segments[0], memory.segment_sums[0]
    add_to_segment(0, 1.0, pulls, segments, sums, np.zeros(0, dtype=np.int64))
    assert memory.completed_segments[0, 0] == 0
    assert not memory.segment_sums.any()


def test_new_memory_is_empty_and_of_the_right_size():
    """Nothing is pending, counted or completed, and no array grows with the horizon."""
    memory = make_memory(num_clients=4, num_arms=3, num_cuts=2, state_size=0)
    assert memory.pending_arm.tolist() == [-1] * 4
    assert (memory.quota_rounds == NOT_REACHED).all()
    assert memory.segment_sums.shape == (4, 3, 3)
    assert memory.policy_states.shape == (4, 1)
    untouched = set(memory._fields) - {"pending_arm", "quota_rounds", "streams", "block"}
    assert not any(getattr(memory, name).any() for name in untouched)
    assert all(len(getattr(memory, name)) == 4 for name in (*untouched, "pending_arm", "quota_rounds", "streams"))


def test_arrays_do_not_overlap_and_fill_the_block():
    """Every number of the block belongs to exactly one array."""
    memory = make_memory(num_clients=3, num_arms=4, num_cuts=5, state_size=6)
    parts = memory[:-1]
    assert sum(array.size for array in parts) == memory.block.size
    for array in parts:
        array[...] = 0
    for array in parts:
        assert not array.any()
        array[...] = 1
    assert memory.block.all()


@pytest.mark.parametrize("field", make_memory()._fields)
def test_a_copy_of_the_block_restores_every_array(field):
    """Copying the block back after a change of any array makes all arrays what they were."""
    memory = make_memory()
    changed, before = getattr(memory, field), memory.block.copy()
    original = changed.copy()
    changed += np.asarray(1, dtype=changed.dtype)
    assert not np.array_equal(original, changed)
    np.copyto(memory.block, before)
    assert np.array_equal(original, changed)


def test_a_restart_forgets_evidence_but_not_pulls():
    """After a restart only a pending pull is evidence; pulls in all and what policies learned remain."""
    memory, cuts = make_memory(num_clients=2), np.array([1, 5])
    for name in set(memory._fields) - {"pending_arm", "block"}:
        getattr(memory, name)[...] = 1
    memory.pending_arm[:] = [2, -1]
    memory.pending_reward[:] = [0.25, 0.5]
    memory.restart_evidence(cuts)
    assert memory.pulls_since_restart.tolist() == [[0, 0, 1], [0, 0, 0]]
    assert memory.observed_sums.tolist() == [[0, 0, 0.25], [0, 0, 0]]
    assert memory.completed_segments.tolist() == [[0, 0, 1], [0, 0, 0]]
    assert memory.segment_sums[0, 2].tolist() == [0.25, 0, 0]
    assert not memory.revealed_sums.any()
    assert not memory.rule_states.any()
    for array in (memory.pulls, memory.revealed_pulls, memory.revealed_means, memory.costs):
        assert (array == 1).all()
