"""The compiled streams of all clients are numpy's."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tutelage.engine.stream_seeds import StreamSeeder
from tutelage.seeding import client_streams


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**32), st.integers(1, 6))
def test_streams_are_those_of_numpy(seed, run, num_clients):
    """Seeds of one and two words, runs of one and two, from words that numpy's generators begin with."""
    expected, seeder = client_streams(seed, run, num_clients), StreamSeeder()
    streams, last = np.zeros_like(expected), np.zeros_like(expected[-1:])
    seeder.fill(seed, run, 0, streams)
    seeder.fill(seed, run, num_clients - 1, last)
    assert (streams == expected).all()
    assert (last == expected[-1:]).all()
