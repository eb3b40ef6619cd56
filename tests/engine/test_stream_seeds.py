"""The compiled streams of all clients are numpy's."""

from hypothesis import given
from hypothesis import strategies as st

from tutelage.engine.stream_seeds import compute_client_streams
from tutelage.seeding import client_streams


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**32), st.integers(1, 6))
def test_streams_are_those_of_numpy(seed, run, num_clients):
    """Seeds of one and two words, runs of one and two, from words that numpy's generators begin with."""
    streams = client_streams(seed, run, num_clients)
    assert (compute_client_streams(seed, run, num_clients) == streams).all()
    assert (compute_client_streams(seed, run, 1, num_clients - 1) == streams[-1:]).all()
