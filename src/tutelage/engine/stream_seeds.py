"""The streams of all clients of a run and the key of its shocks at once, in compiled code: the words of seeding.py.

numpy's ``SeedSequence`` hashes words of 32 bits into a pool of four, one after the other: a seed's words, at least
four with zeros, then those of the spawn key (numpy, ``bit_generator.pyx``).  The pool of the seed is numpy's own;
the words of the spawn key are added here.  ``SFC64`` takes three words of 64 bits from the pool and discards the
first 12 numbers.
"""

import functools
from typing import Any

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

from tutelage.engine.kernels import RepeatedCalls, compiled_main
from tutelage.engine.stream_words import next_uint64

_INIT_A, _MULT_A, _INIT_B, _MULT_B = 0x43B0D7E5, 0x931E8875, 0x8B51F9DD, 0x58F38DED
_MIX_LEFT, _MIX_RIGHT, _WORD = 0xCA01F9DD, 0x4973F715, 0xFFFFFFFF
_POOL, _DISCARDED = 4, 12
_CLIENTS, _SHOCKS = 1, 2  # what comes after the run in a spawn key


class StreamSeeder:
    """Writes the streams of the clients of one run after the other."""

    def __init__(self) -> None:
        self.kernel = RepeatedCalls(_seeding_kernel())
        self.numbers = np.zeros(3 * _POOL + 6, dtype=np.int64)

    def fill(self, seed: int, run: int, first: int, streams: NDArray[np.uint64], shock_key: NDArray[np.uint64]) -> None:
        """Write ``seeding.client_streams`` of the clients from ``first`` on, and ``seeding.shock_key``.

        ``streams`` is [M, 3, 4], ``shock_key`` [1].
        """
        self.kernel(*_mix_seed(seed), run, self.numbers, first, streams, shock_key)


@functools.lru_cache(maxsize=16)
def _mix_seed(seed: int) -> tuple[NDArray[np.int64], int]:
    """Return the pool [4] that spawn keys of a seed continue, and the factor of the next multiplication."""
    num_words = max(_POOL, -(-int(seed).bit_length() // 32))
    factor = _INIT_A * pow(_MULT_A, _POOL * num_words, _WORD + 1) & _WORD  # after as many multiplications
    return SeedSequence(seed).pool.astype(np.int64), factor


@functools.cache
def _seeding_kernel() -> Any:
    return compiled_main(seed_streams, "seed_streams")


def seed_streams(
    seed_pool: NDArray[np.int64],
    seed_factor: int,
    run: int,
    numbers: NDArray[np.int64],
    first: int,
    streams: NDArray[np.uint64],
    shock_key: NDArray[np.uint64],
) -> None:
    """Fill ``streams`` [M, 3, 4] of the clients from ``first`` on, and ``shock_key`` [1].

    ``numbers`` [18] is for intermediate results.
    """
    of_run, mixed, halves = numbers[:_POOL], numbers[_POOL : 2 * _POOL], numbers[2 * _POOL :]
    for place in range(_POOL):
        of_run[place] = seed_pool[place]
    run_factor = mix_word(run & _WORD, seed_factor, of_run)
    while run > _WORD:
        run >>= 32
        run_factor = mix_word(run & _WORD, run_factor, of_run)
    for place in range(_POOL):
        mixed[place] = of_run[place]
    mix_word(_SHOCKS, run_factor, mixed)
    hash_pool(mixed, halves[:2])
    shock_key[0] = halves[0] | halves[1] << 32
    for row in range(streams.shape[0]):
        for purpose in range(streams.shape[1]):
            stream = streams[row, purpose]
            for place in range(_POOL):
                mixed[place] = of_run[place]
            factor = mix_word(_CLIENTS, run_factor, mixed)
            factor = mix_word(first + row, factor, mixed)
            mix_word(purpose, factor, mixed)
            hash_pool(mixed, halves)
            for place in range(3):
                stream[place] = halves[2 * place] | halves[2 * place + 1] << 32
            stream[3] = 1
            for _ in range(_DISCARDED):
                next_uint64(stream)


def mix_word(word: int, factor: int, pool: NDArray[np.int64]) -> int:
    """Mix a word of a spawn key into a pool [4]; return the factor of the next multiplication."""
    for place in range(pool.size):
        following = factor * _MULT_A & _WORD
        total = _MIX_LEFT * pool[place] - _MIX_RIGHT * hash_word(word, factor, following) & _WORD
        pool[place] = total ^ total >> 16
        factor = following
    return factor


def hash_pool(pool: NDArray[np.int64], words: NDArray[np.int64]) -> None:
    """Write ``SeedSequence.generate_state`` of a pool, words of 32 bits."""
    factor = _INIT_B
    for place in range(words.size):
        following = factor * _MULT_B & _WORD
        words[place] = hash_word(pool[place % _POOL], factor, following)
        factor = following


def hash_word(word: int, before: int, after: int) -> int:
    """Hash a word of 32 bits with a factor before and after its multiplication."""
    value = (word ^ before) * after & _WORD
    return value ^ value >> 16
