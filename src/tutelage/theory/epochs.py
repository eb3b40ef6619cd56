"""The epochs that separate arms, and with which probability.

Shi et al., section V and appendix A, Lemmas tal_good_event and twl_arm_elim.  All of it holds for any weights
that sum to 1, with sum w^2 for the paper's 1/M: the estimate of nu_k in epoch psi is a sum of independent
terms in [0, w_m / f(psi)], f(psi) of them a client, and Hoeffding's inequality asks for nothing else.
"""

import math
from collections.abc import Callable, Iterable, Sequence

from tutelage.epoch_schedule import epoch_pulls, squared_weights
from tutelage.errors import InputError
from tutelage.theory import arguments
from tutelage.validation import check_number

_ROUNDING = 1e-12  # a gap of 1/8 that is computed as 0.12499999999999994 is separated in epoch 3


def epoch_end(epoch: int, num_arms: int, horizon: int, weights: Sequence[float]) -> int:
    """F(psi): the pulls of each (client, arm) that epochs 1 .. psi use, also where T has no room for them.

    The running sum of the rounded f, as in ``tutelage.epoch_schedule``; F(0) is 0.

    Raises ``InputError`` unless the weights are above 0 and sum to 1, and for counts below 1 (an epoch below
    0 or above 100).
    """
    epoch = arguments.whole("epoch", epoch, 0, arguments.MOST_EPOCH)
    num_arms, horizon = arguments.whole("number of arms", num_arms, 1), arguments.rounds("horizon", horizon)
    log_term, squared = math.log(2 * num_arms * horizon**2), squared_weights(arguments.weights_of(weights))
    return sum(epoch_pulls(each, log_term, squared) for each in range(1, epoch + 1))


def separating_epoch(gap: float) -> int:
    """psi_k = max(1, ceil(log2(1 / Delta_k))): the epoch that separates an arm of this gap from the best.

    Shi et al., Lemma twl_arm_elim; psi_max of section VI is that of the smallest gap.  There
    CB(psi) <= 2^-(psi + 2) <= Delta_k / 4, so four radii fit into the gap.

    Departs from the paper: epochs count from 1, so psi is at least 1.  ceil(log2(1 / Delta)) is 0 for a gap
    of 1, and F(0) = 0 pulls separate no arms (test_a_gap_of_one_takes_an_epoch).

    Raises ``InputError`` unless the gap lies in (0, 1], and for one below 1e-30.
    """
    gap = check_number("gap", gap)
    if not arguments.LEAST_GAP <= gap <= 1 + _ROUNDING:
        raise InputError(f"Invalid gap {gap:g}: use a number in [{arguments.LEAST_GAP:g}, 1].")
    return max(1, math.ceil(-math.log2(gap * (1 + _ROUNDING))))


def last_epoch(gaps: Iterable[float]) -> int:
    """psi_max = ceil(log2(1 / Delta_min)), at least 1: the epoch in which learning has ended.

    ``gaps`` are those of the arms that are not the best; gaps of 0 are skipped.  Shi et al., section VI and
    Lemma tal_learning_general; it holds on the event of :func:`good_event_failure`.

    The proofs of that lemma and of twl_arm_elim end in LCB >= UCB.  TAL's rule requires no more.  TWL's
    requires LCB > UCB, which the rounded f gives: its radius is below 2^-(psi + 2), as log(2 K T^2) is
    irrational.

    Raises ``InputError`` where no gap is above 0, and for one outside [0, 1].
    """
    given = [arguments.real("gap", gap, most=1 + _ROUNDING) for gap in arguments.listed("gaps", gaps)]
    positive = [gap for gap in given if gap > 0]
    if not positive:
        raise InputError("No gap is above 0: use at least one gap above 0.")
    return max(separating_epoch(gap) for gap in positive)


def interval_failure(num_arms: int, horizon: int) -> float:
    """1 / (K T^2): the probability that an epoch's estimate of an arm is further than CB(psi) from its mean.

    Shi et al., proof of Lemma tal_good_event: 2 exp(-2 CB^2 f / sum w^2) = 2 exp(-log(2 K T^2)).
    """
    num_arms, horizon = arguments.whole("number of arms", num_arms, 1), arguments.rounds("horizon", horizon)
    return 1.0 / (num_arms * horizon**2)


def good_event_failure(horizon: int) -> float:
    """1 / T: the probability that any estimate of any arm is further than CB(psi) from its mean.

    Shi et al., Lemma tal_good_event, and Lemma twl_arm_elim for only the active arms: the union over K arms
    and the epochs, of which there are at most T.
    """
    horizon = arguments.rounds("horizon", horizon)
    return horizon * interval_failure(1, horizon)


def horizon_needed(learning_time: Callable[[int], int]) -> int:
    """The smallest horizon from which learning fits: learning_time(T) <= T for this T and all larger ones.

    ``learning_time`` is T_1 as a function of T, and must not fall as T grows.  It grows like log T, so there
    is such a horizon.  The search runs downwards: if all horizons from h are long enough, so are all from
    learning_time(h).

    Raises ``InputError`` unless ``learning_time`` gives whole numbers of rounds, and where it is still above
    T / 2 for T = 1e100.
    """
    arguments.function("learning time", learning_time)

    def rounds(horizon: int) -> int:
        return max(1, arguments.whole("learning time", learning_time(horizon), 0, arguments.MOST_ROUNDS**2))

    horizon = 2
    while 2 * rounds(horizon) > horizon:
        horizon *= 2
        if horizon > arguments.MOST_ROUNDS:
            raise InputError("The learning time grows as fast as the horizon: no horizon is long enough.")
    while True:
        shorter = rounds(horizon)
        if shorter >= horizon:
            if horizon == 1 or rounds(horizon - 1) > horizon - 1:
                return horizon
            shorter = horizon - 1
        horizon = shorter
