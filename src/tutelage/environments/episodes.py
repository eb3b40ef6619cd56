"""Which run of which seed an environment plays: ``reset(seed=s)`` begins run 0, a reset without a seed the next one."""

from dataclasses import dataclass

from numpy.random import SeedSequence

from tutelage.theory import arguments


@dataclass
class Episodes:
    """The seed and the number of the present run; before the first reset there is none."""

    seed: int = 0
    run: int = -1

    def begin(self, seed: int | None) -> None:
        """Begin the first run of a seed, or the next run; without any seed one is drawn.

        Raises ``InputError`` for a seed that is not a whole number from 0 to 2^53.
        """
        if seed is not None:
            self.seed, self.run = arguments.whole("seed", seed, 0), 0
            return
        if self.run < 0:
            self.seed = int(SeedSequence().generate_state(1)[0])
        self.run += 1
