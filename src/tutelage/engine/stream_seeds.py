"""The streams of all clients of a run at once, in compiled code: the same words as ``seeding.client_generator``.

numpy's ``SeedSequence`` hashes words of 32 bits into a pool of four, one after the other: a seed's words, at least
four with zeros, then those of the spawn key (numpy, ``bit_generator.pyx``).  The pool of the key (run, 1) is numpy's
own; the words of client and purpose are added here.  ``SFC64`` takes three words of 64 bits from the pool and
discards the first 12 numbers.
"""

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tutelage.engine.kernels import RepeatedCalls, compiled_main
from tutelage.engine.stream_words import next_uint64
from tutelage.seeding import mix_clients_seed

_INIT_A, _MULT_A, _INIT_B, _MULT_B = 0x43B0D7E5, 0x931E8875, 0x8B51F9DD, 0x58F38DED
_MIX_LEFT, _MIX_RIGHT, _WORD = 0xCA01F9DD, 0x4973F715, 0xFFFFFFFF
_POOL, _DISCARDED = 4, 12


class StreamSeeder:
    """Writes the streams of the clients of one run after the other."""

    def __init__(self) -> None:
        self.kernel = RepeatedCalls(_seeding_kernel())
        self.pool, self.numbers = np.zeros(_POOL, dtype=np.int64), np.zeros(_POOL + 6, dtype=np.int64)

    def fill(self, seed: int, run: int, first: int, streams: NDArray[np.uint64]) -> None:
        """Write ``seeding.client_streams`` of the clients from ``first`` on into ``streams`` [M, 3, 4]."""
        self.pool[...], num_words = mix_clients_seed(seed, run)
        factor = _INIT_A * pow(_MULT_A, _POOL * num_words, _WORD + 1) & _WORD  # after as many multiplications
        self.kernel(self.pool, factor, self.numbers, first, streams)


@functools.cache
def _seeding_kernel() -> Any:
    return compiled_main(seed_streams, "seed_streams")


def seed_streams(
    pool: NDArray[np.int64], first_factor: int, numbers: NDArray[np.int64], first: int, streams: NDArray[np.uint64]
) -> None:
    """Fill ``streams`` [M, 3, 4] of the clients from ``first`` on; ``numbers`` [10] is for intermediate results."""
    mixed, halves = numbers[:_POOL], numbers[_POOL:]
    for row in range(streams.shape[0]):
        for purpose in range(streams.shape[1]):
            factor, stream = first_factor, streams[row, purpose]
            for place in range(_POOL):
                mixed[place] = pool[place]
            for word in (first + row, purpose):
                for place in range(_POOL):
                    following = factor * _MULT_A & _WORD
                    total = _MIX_LEFT * mixed[place] - _MIX_RIGHT * hash_word(word, factor, following) & _WORD
                    mixed[place] = total ^ total >> 16
                    factor = following
            factor = _INIT_B
            for place in range(halves.size):
                following = factor * _MULT_B & _WORD
                halves[place] = hash_word(mixed[place % _POOL], factor, following)
                factor = following
            for place in range(3):
                stream[place] = halves[2 * place] | halves[2 * place + 1] << 32
            stream[3] = 1
            for _ in range(_DISCARDED):
                next_uint64(stream)


def hash_word(word: int, before: int, after: int) -> int:
    """Hash a word of 32 bits with a factor before and after its multiplication."""
    value = (word ^ before) * after & _WORD
    return value ^ value >> 16
