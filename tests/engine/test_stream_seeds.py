"""The compiled streams of all clients and the key of their shocks are numpy's."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tutelage.engine.stream_seeds import StreamSeeder
from tutelage.seeding import client_streams, shock_key


@given(st.integers(0, 2**200), st.integers(0, 2**32), st.integers(1, 6))
def test_streams_are_those_of_numpy(seed, run, num_clients):
    """Seeds of one to seven words, runs of one and two, from words that numpy's generators begin with."""
    expected, seeder = client_streams(seed, run, num_clients), StreamSeeder()
    streams, last = np.zeros_like(expected), np.zeros_like(expected[-1:])
    key, same_key = np.zeros((2, 1), dtype=np.uint64)
    seeder.fill(seed, run, 0, streams, key)
    seeder.fill(seed, run, num_clients - 1, last, same_key)
    assert (streams == expected).all()
    assert (last == expected[-1:]).all()
    assert key == same_key == shock_key(seed, run)
