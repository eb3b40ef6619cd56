"""Independent random generators from one seed.

``SeedSequence(seed)`` spawns one child per run.  A run's child spawns the teacher's generator, and for every
client a generator of its rewards, one of its policy and one of when it acts, and keys of the shocks that
clients share and of the rounding of binary reveals.  A shock is a hash of its key and the round, not the next
number of a stream, so that any client can compute it at any time; so is the number that rounds a reveal.
Nothing depends on the number of workers, the order of the clients or the number of runs or clients: run r of 10
is run r of 1,000, and client m of 5 draws the same numbers as client m of 50.  All teachers of one comparison
use the same children.

The bit generator is SFC64.  Its state of four words fits in one row of an array, so compiled code uses
thousands of streams without a Python object for each (docs/decisions/0002-streams.md).
"""

import numpy as np
from numpy.random import SFC64, Generator, SeedSequence
from numpy.typing import NDArray

REWARDS, POLICY, ACTIVITY = 0, 1, 2  # the second axis of `streams`


def teacher_generator(seed: int, run: int) -> Generator:
    """Return the generator of the run's teacher (NG draws its target from it)."""
    return Generator(SFC64(SeedSequence(seed, spawn_key=(run, 0))))


def client_generator(seed: int, run: int, client: int, purpose: int) -> Generator:
    """Return a generator of one client of a run; ``purpose`` is ``REWARDS``, ``POLICY`` or ``ACTIVITY``."""
    return Generator(SFC64(SeedSequence(seed, spawn_key=(run, 1, client, purpose))))


class AgentSeed(int):
    """The seed of a client's agent in one run: a whole number below 2^32, as every library accepts.

    :meth:`generator` is the generator from which a compiled policy of this client draws in this run.
    """

    sequence: SeedSequence

    @classmethod
    def of(cls, sequence: SeedSequence) -> "AgentSeed":
        seed = cls(sequence.generate_state(1)[0])
        seed.sequence = sequence
        return seed

    def generator(self) -> Generator:
        return Generator(SFC64(self.sequence))


def agent_seed(seed: int, run: int, client: int) -> AgentSeed:
    """Return the seed of a client's agent in a run."""
    return AgentSeed.of(SeedSequence(seed, spawn_key=(run, 1, client, POLICY)))


def shock_key(seed: int, run: int) -> NDArray[np.uint64]:
    """Return the key of the run's shocks, uint64 [1] (``draws.shock``)."""
    return SeedSequence(seed, spawn_key=(run, 2)).generate_state(1, np.uint64).astype(np.uint64)


def rounding_key(seed: int, run: int) -> NDArray[np.uint64]:
    """Return the key of the run's numbers that round revealed rewards, uint64 [1] (``rules.round_reveal``)."""
    return SeedSequence(seed, spawn_key=(run, 3)).generate_state(1, np.uint64).astype(np.uint64)


def client_streams(seed: int, run: int, num_clients: int) -> NDArray[np.uint64]:
    """Return the same generators as rows of SFC64 words, for compiled code: uint64 [M, 3, 4].

    Row ``[m, REWARDS]`` continues exactly like ``client_generator(seed, run, m, REWARDS)``.
    """
    words = np.empty((num_clients, 3, 4), dtype=np.uint64)
    for client in range(num_clients):
        for purpose in (REWARDS, POLICY, ACTIVITY):
            sequence = SeedSequence(seed, spawn_key=(run, 1, client, purpose))
            words[client, purpose] = SFC64(sequence).state["state"]["state"]
    return words
