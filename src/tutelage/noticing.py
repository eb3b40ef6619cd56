"""Whether a client could notice that it is taught: a test of its revealed rewards against its own history.

A client that sees the rewards themselves sees, of each arm, independent values in [0, 1] with one mean.  So each
time that it has n = 2, 4, 8, ... revealed rewards of an arm, it compares the mean of the first half with that of
the second.  With d their difference, n = 2^i and K arms, it notices where

    n d^2 / 2 >= log(2 K i (i + 1) / LEVEL)

By Hoeffding's inequality one comparison errs with probability at most LEVEL / (K i (i + 1)), and the sum over i
and the arms is LEVEL: a client that is not taught, whatever its policy, ever notices with at most this probability.
The test assumes nothing of the rewards' distribution.  Where means shift by themselves a client notices that.

The test sees changes of a mean only.  Another one could find the regularity of levelled rewards or a constant
that rewards cannot have; what a client notices here is the least that it could.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tutelage.revealed_rewards import RevealedRewards

LEVEL = 0.05  # largest probability that a client which is not taught ever notices


class Noticing(NamedTuple):
    """What the test of one client remembers."""

    first_half_means: NDArray[np.float64]  # [K] revealed mean at the latest power of 2 of the arm's revealed rewards
    noticed_in: NDArray[np.int64]  # [1] round, 0: not yet


def compare_halves(arm: int, round: int, rewards: RevealedRewards, noticing: Noticing) -> None:
    """Compare the halves of an arm's revealed rewards, the latest of them in this round, if they are 2^i."""
    count = rewards.pulls[arm]
    if count & (count - 1) != 0:
        return
    if count > 1 and noticing.noticed_in[0] == 0:
        difference = 2.0 * (rewards.means[arm] - noticing.first_half_means[arm])  # of the means of the halves
        power = int(math.log2(count))  # exact for a power of 2
        bound = math.log(2.0 * rewards.pulls.size * power * (power + 1) / LEVEL)
        if count * difference * difference / 2.0 >= bound:
            noticing.noticed_in[0] = round
    noticing.first_half_means[arm] = rewards.means[arm]
