"""A client's memory: exact means, segments of evidence, copies."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import reference

from tutelage.engine.memory import NOT_YET, Shown, add_to_segment, new_memory, show
from tutelage.seeding import client_streams

REWARDS = st.one_of(st.sampled_from([0.0, 1.0, 0.1, 0.3]), st.floats(0, 1))


def a_memory(num_clients=2, num_arms=3, num_cuts=2, state_size=1):
    """A fresh memory."""
    return new_memory(num_arms, num_cuts, state_size, client_streams(0, 0, num_clients))


def shown_of(memory, client=0):
    """A client's rows of what it was shown."""
    return Shown(*(getattr(memory, name)[client] for name in Shown._fields))


@given(st.lists(REWARDS, min_size=1, max_size=60))
def test_mean_is_the_definition(rewards):
    """The mean is gamma while all equal gamma and (n0 gamma + s) / n afterwards, as in the reference."""
    shown, plain = shown_of(a_memory()), reference.Arm()
    for reward in rewards:
        show(shown, 1, reward)
        plain.add(reward)
        assert shown.means[1] == plain.mean()
    assert shown.counts.tolist() == [0, len(rewards), 0]
    assert shown.means[0] == shown.means[2] == 0.0


@given(st.floats(0, 1), st.integers(1, 300))
def test_mean_of_a_constant_is_the_constant(gamma, pulls):
    """However often the same reward is shown, the mean is that very number: ties stay exact."""
    shown = shown_of(a_memory())
    for _ in range(pulls):
        show(shown, 0, gamma)
        assert shown.means[0] == gamma


@given(st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=300))
def test_mean_of_zeros_and_ones_is_exact(rewards):
    """For 0/1 rewards the mean is the correctly rounded quotient, in whatever order they came."""
    shown = shown_of(a_memory())
    for reward in rewards:
        show(shown, 0, reward)
    assert shown.means[0] == float(Fraction(int(sum(rewards)), len(rewards)))


def test_constant_that_returns_does_not_count_as_the_beginning():
    """After another reward the first constant is one of the rest: n0 stays."""
    shown = shown_of(a_memory())
    for reward in (0.25, 0.25, 1.0, 0.25):
        show(shown, 0, reward)
    assert (shown.constant_counts[0], shown.constants[0], shown.rests[0]) == (2, 0.25, 1.25)
    assert shown.means[0] == 1.75 / 4


def test_segments_are_cut_at_exact_pulls():
    """Pull F(psi) completes segment psi, the next pull begins another; after the last nothing is added."""
    memory, cuts = a_memory(), np.array([2, 5])
    segments, sums = memory.segments[0], memory.segment_sums[0]
    done = []
    for pulls in range(1, 9):
        add_to_segment(1, pulls, float(pulls), segments, sums, cuts)
        done.append(int(segments[1]))
    assert done == [0, 1, 1, 1, 2, 2, 2, 2]
    assert sums[1].tolist() == [1 + 2, 3 + 4 + 5, 0.0]
    assert segments.tolist() == [0, 2, 0]
    assert not sums[0].any()


def test_no_cuts_no_segments():
    """A teacher without evidence keeps no sums."""
    memory = a_memory(num_cuts=0)
    add_to_segment(0, 1, 1.0, memory.segments[0], memory.segment_sums[0], np.zeros(0, dtype=np.int64))
    assert memory.segments[0, 0] == 0
    assert not memory.segment_sums.any()


def test_new_memory_is_empty_and_of_the_right_size():
    """Nothing is pending, reached or counted, and no array grows with the horizon."""
    memory = a_memory(num_clients=4, num_arms=3, num_cuts=2, state_size=0)
    assert memory.pending_arm.tolist() == [-1] * 4
    assert (memory.reached == NOT_YET).all()
    assert memory.segment_sums.shape == (4, 3, 3)
    assert memory.states.shape == (4, 1)
    untouched = set(memory._fields) - {"pending_arm", "reached", "streams", "block"}
    assert not any(getattr(memory, name).any() for name in untouched)
    assert all(len(getattr(memory, name)) == 4 for name in (*untouched, "pending_arm", "reached", "streams"))


def test_arrays_are_apart_and_fill_the_block():
    """Every number of the block belongs to exactly one array."""
    memory = a_memory(num_clients=3, num_arms=4, num_cuts=5, state_size=6)
    parts = memory[:-1]
    assert sum(array.size for array in parts) == memory.block.size
    for array in parts:
        array[...] = 0
    for array in parts:
        assert not array.any()
        array[...] = 1
    assert memory.block.all()


@pytest.mark.parametrize("field", a_memory()._fields)
def test_copies_are_complete_and_independent(field):
    """A copy equals its original in every array and shares none; copying back restores it."""
    memory, before = a_memory(), a_memory()
    before.copy_from(memory)
    changed = getattr(memory, field)
    changed += np.asarray(1, dtype=changed.dtype)
    assert not np.array_equal(getattr(before, field), changed)
    memory.copy_from(before)
    assert np.array_equal(getattr(memory, field), getattr(before, field))
    assert not any(np.shares_memory(mine, theirs) for mine, theirs in zip(memory, before, strict=True))
