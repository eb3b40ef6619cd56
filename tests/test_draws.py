"""The compiled draws against numpy's Generator(SFC64), bit for bit."""

import numpy as np
import pytest
from scipy.stats import kstest

from tutelage import draws
from tutelage.engine.kernel_compiler import compiled
from tutelage.seeding import REWARDS, client_generator, client_streams, shock_key

NUMBERS = 100_000
CASES = [
    (draws.random, ()),
    (draws.index, (1,)),
    (draws.index, (7,)),
    (draws.beta, (1.0, 1.0)),
    (draws.beta, (0.3, 0.6)),
    (draws.beta, (0.02, 0.9)),
    (draws.beta, (1e-3, 1e-3)),  # powers of uniform numbers underflow
    (draws.beta, (1e-12, 3e-12)),
    (draws.beta, (1e-200, 3e-200)),
    (draws.beta, (0.5, 4.0)),
    (draws.beta, (2.5, 7.0)),
    (draws.beta, (1e8, 3.0)),
    (draws.normal, ()),
    (draws.exponential, ()),
    (draws.gamma, (1.0,)),
    (draws.gamma, (0.4,)),
    (draws.gamma, (3.7,)),
]


def stream_and_generator(seed):
    """A row of words and the generator that it comes from."""
    return client_streams(seed, 0, 1)[0, REWARDS], client_generator(seed, 0, 0, REWARDS)


def words_of(generator):
    """The four SFC64 words of a generator."""
    return generator.bit_generator.state["state"]["state"].tolist()


@pytest.mark.parametrize(("draw", "arguments"), CASES, ids=lambda case: getattr(case, "__name__", str(case)))
def test_compiled_draws_are_numpys(draw, arguments):
    """100,000 numbers in a row are the same, and both streams end in the same place."""
    stream, generator = stream_and_generator(11)
    twin = compiled(draw)
    got = [twin(stream, *arguments) for _ in range(NUMBERS)]
    wanted = [draw(generator, *arguments) for _ in range(NUMBERS)]
    assert got == wanted
    assert stream.tolist() == words_of(generator)


def test_mixed_draws_continue_each_other():
    """Draws of all kinds from one stream, in random order, stay together."""
    stream, generator = stream_and_generator(5)
    for case in np.random.default_rng(0).integers(len(CASES), size=10_000).tolist():
        draw, arguments = CASES[case]
        assert compiled(draw)(stream, *arguments) == draw(generator, *arguments)
    assert stream.tolist() == words_of(generator)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 64, 1000])
def test_index_stays_in_range(size):
    """The largest number that can be drawn still gives the last index, the smallest the first."""

    class Fixed:
        def __init__(self, value):
            self.value = value

        def random(self):
            return self.value

    assert draws.index(Fixed(0.0), size) == 0
    assert draws.index(Fixed(1 - 2**-53), size) == size - 1


def test_index_takes_one_uniform_number():
    """An index is floor(size u), u the number that random() would have given."""
    _, first = stream_and_generator(3)
    _, second = stream_and_generator(3)
    for size in (1, 2, 5, 13):
        assert draws.index(first, size) == int(second.random() * size)


@pytest.mark.parametrize("draw", [draws.shock, draws.uniform_at])
def test_compiled_hashes_are_the_plain_ones(draw):
    """Numbers of places are the same bit for bit, whatever the round and the source; no two of them are equal."""
    twin, key = compiled(draw), shock_key(2**40, 3)
    places = [(t, source) for t in (0, 1, 2, 1000, 10**9, 2**52) for source in (0, 1, 7, 10**6)]
    wanted = [draw(key, *place) for place in places]
    assert [twin(key, *place) for place in places] == wanted
    assert len(set(wanted)) == len(wanted)


def test_hashed_numbers_are_uniform():
    """Kolmogorov's test of places next to each other, and of sources (a false alarm in a million seeds; fixed)."""
    key = shock_key(5, 0)
    for numbers in (
        [draws.uniform_at(key, t, 3) for t in range(4000)],
        [draws.uniform_at(key, 9, m) for m in range(4000)],
    ):
        assert kstest(numbers, "uniform").pvalue > 1e-6
