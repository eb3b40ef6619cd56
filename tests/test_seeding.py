"""One seed, independent generators: nothing depends on how many runs or clients there are."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import SFC64, Generator, SeedSequence

from tutelage.seeding import ACTIVITY, POLICY, REWARDS, client_generator, client_streams, teacher_generator


def words_of(generator):
    """The four SFC64 words of a generator."""
    return generator.bit_generator.state["state"]["state"].tolist()


@given(st.integers(0, 2**64), st.integers(0, 10**6), st.integers(1, 6))
def test_rows_are_the_generators(seed, run, num_clients):
    """Row [m, purpose] of the streams is where the generator of that client and purpose begins."""
    rows = client_streams(seed, run, num_clients)
    assert rows.shape == (num_clients, 3, 4)
    assert rows.dtype == np.uint64
    for client, purpose in itertools.product(range(num_clients), (REWARDS, POLICY, ACTIVITY)):
        assert rows[client, purpose].tolist() == words_of(client_generator(seed, run, client, purpose))


@given(st.integers(0, 2**64), st.integers(0, 10**6), st.integers(1, 5), st.integers(0, 20))
def test_a_client_does_not_depend_on_how_many_there_are(seed, run, num_clients, more):
    """Client m of 5 draws as client m of 25."""
    few, many = client_streams(seed, run, num_clients), client_streams(seed, run, num_clients + more)
    assert np.array_equal(few, many[:num_clients])


@pytest.mark.parametrize("num_runs", [10, 1000])
def test_runs_are_the_children_of_the_seed(num_runs):
    """Run r is the r-th child of SeedSequence(seed), spawned with 10 runs or with 1,000."""
    children = SeedSequence(7).spawn(num_runs)
    for run in (0, 1, 9):
        assert SeedSequence(7, spawn_key=(run,)).generate_state(8).tolist() == children[run].generate_state(8).tolist()


def test_all_generators_are_grandchildren_of_the_run():
    """What the run's sequence spawns: the teacher, then the clients with three generators each."""
    teacher, clients = SeedSequence(7, spawn_key=(4,)).spawn(2)
    assert words_of(teacher_generator(7, 4)) == words_of(Generator(SFC64(teacher)))
    for client, sequence in enumerate(clients.spawn(3)):
        for purpose, child in enumerate(sequence.spawn(3)):
            assert words_of(client_generator(7, 4, client, purpose)) == words_of(Generator(SFC64(child)))


def test_children_are_distinct():
    """No two of the streams of 4 seeds x 10 runs x 10 clients, teachers included, begin alike."""
    begins = [
        tuple(row)
        for seed, run in itertools.product((0, 1, 2, 2**40), range(10))
        for row in [*client_streams(seed, run, 10).reshape(-1, 4).tolist(), words_of(teacher_generator(seed, run))]
    ]
    assert len(begins) == 4 * 10 * 31
    assert len({word for begin in begins for word in begin[:3]}) == 3 * len(begins)


def test_same_seed_same_numbers():
    """A generator made twice draws the same numbers; it stores no state between."""
    first = client_generator(5, 2, 1, REWARDS).random(10)
    assert client_generator(5, 2, 1, REWARDS).random(10).tolist() == first.tolist()
    assert client_generator(5, 2, 1, POLICY).random(10).tolist() != first.tolist()
