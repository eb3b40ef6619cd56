"""Teaching-While-Learning with UCB1 clients: active arms, arms ruled out, and both (Shi et al., app. B)."""

import functools
import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tutelage.errors import InputError
from tutelage.theory import arguments
from tutelage.theory.client_bounds import LEAST_LEAD
from tutelage.theory.epochs import epoch_end, good_event_failure, horizon_needed, last_epoch, separating_epoch
from tutelage.theory.guarantees import Bound, Guarantee
from tutelage.theory.setting import TheorySetting
from tutelage.theory.ucb1 import learning_time_of_ucb1, total_pulls_of_ucb1, warm_start_of_ucb1

_Totals = NDArray[np.float64]
_MOST_ARMS = 20_000


def overshoot(epoch: int, num_arms: int, weights: Sequence[float]) -> int:
    """The most pulls of an active arm beyond F(psi) that a client may have when the slowest reaches F(psi).

    Departs from the paper: the proof of Lemma twl_learning_UCB says that every client has pulled each active
    arm the same F(psi) times at the end of epoch psi.  That holds until the first arm is ruled out.  In that
    round each client has a pull in progress; if its arm is one of those ruled out, the client has seen
    gamma1 there once less than others have, so from then on it pulls that arm at other times and may get
    ahead (test_a_client_runs_ahead: 768 pulls of an arm where F(2) = 767).

    How far: let A be ahead of B by 2 or more in an active arm, and let B have seen gamma1 on an arm that is
    ruled out j times more than A.  Both keep such an arm's index near those of the active arms, and comparing
    the indices in the rounds of B's last pull of the arm and of A's last pull of an active one shows that B
    has at most 2 j + ceil(j^2 / n) pulls of it more than A, if A has n (docs/theory.md).  In total B has as
    many pulls as A, so these are what A can be ahead on all active arms.  When arms are ruled out, j is at
    most what A is behind then, and 1 more for the arm of A's pull in progress.  The number here is the
    largest over all ways in which K - 2 arms can be ruled out in the epochs before psi.  It is sound and
    loose: for five clients and arms it allows 9 in epoch 4, where no simulation shows more than 1.

    Raises ``InputError`` unless the weights are above 0 and sum to 1, for an epoch below 1 or above 100, and
    for arms below 1 or above 20,000 (it takes K^2 steps an epoch).
    """
    epoch = arguments.whole("epoch", epoch, 1, arguments.MOST_EPOCH)
    num_arms = arguments.whole("number of arms", num_arms, 1, _MOST_ARMS)
    weights = arguments.weights_of(weights)
    if len(weights) == 1 or num_arms < 2:
        return 0
    totals = _behind(epoch - 1, num_arms, weights)
    most = float(_ahead(totals, num_arms).max())
    return int(most) if most < 2**53 else math.ceil(most * (1.0 + 1e-9))  # above it floats round


@functools.lru_cache(maxsize=256)
def _behind(epoch: int, num_arms: int, weights: tuple[float, ...]) -> _Totals:
    """[K - 1]: by how many pulls of g arms two clients may differ where these are ruled out by epoch psi.

    -1 where no g arms can be ruled out: before the first epoch, all but none.
    """
    if epoch == 0:
        return np.append(0.0, np.full(num_arms - 2, -1.0))
    totals = _behind(epoch - 1, num_arms, weights)
    fewest = max(1, epoch_end(epoch, num_arms, 1, weights) - 1)  # F is smallest for T = 1
    lead = np.maximum(_ahead(totals, num_arms), 0.0)
    first, each = (2.0 * shown + np.ceil(shown**2 / fewest) for shown in (lead + 1, lead))
    later = totals.copy()
    for gone in np.flatnonzero(totals >= 0).tolist():
        more = np.arange(num_arms - 2 - gone)
        grown = totals[gone] + first[gone] + more * each[gone]
        np.maximum(later[gone + 1 :], grown, out=later[gone + 1 :])
    return later


def _ahead(totals: _Totals, num_arms: int) -> _Totals:
    """[K - 1]: how far ahead on any active arm who is so far behind on those that are ruled out may be."""
    active = num_arms - np.arange(num_arms - 1)
    return np.where(totals > 0, 1.0 + np.floor((totals - 1) / active), 0.0)


def active_pulls_of_twl(gap: float, num_arms: int, horizon: int, weights: Sequence[float]) -> int:
    """N^1_(k, m): pulls of an arm by a UCB1 client while it is active, F(psi_k) and :func:`overshoot`.

    Shi et al., Lemma twl_learning_UCB; failure probability 1/T over all arms and clients (twl_arm_elim,
    :func:`tutelage.theory.epochs.separating_epoch`).  For the best arm put the smallest gap, as the paper
    does.

    Raises ``InputError`` where :func:`overshoot` and ``separating_epoch`` do.
    """
    epoch = separating_epoch(gap)
    return epoch_end(epoch, num_arms, horizon, weights) + overshoot(epoch, num_arms, weights)


def inactive_pulls_of_twl(active_pulls: int, best_mean: float, gamma1: float, gamma2: float, last_round: int) -> float:
    """N^2_(k, m): expected pulls of an arm by a UCB1 client once it is ruled out.

    Shi et al., Lemma twl_teaching_UCB: as in Lemma tal_teaching_UCB, with N^1 for the length of the history.
    While other arms are active their index is above gamma1 for certain, later the best arm's is above
    min(mu_dagger, gamma1) except with the probability of that lemma.

    Raises ``InputError`` where :func:`tutelage.theory.ucb1.warm_start_of_ucb1` does.
    """
    return warm_start_of_ucb1(active_pulls, best_mean, gamma1, gamma2, last_round)


def learning_time_of_twl(
    gaps: Sequence[float], horizon: int, weights: Sequence[float], gamma1: float, gamma2: float
) -> int:
    """The round by which TWL with UCB1 clients has ruled out all other arms; failure probability 1/T.

    The paper gives none.  The slowest client then has F(psi_max) pulls of the best arm and of those that take
    until psi_max, at most that many of any other (an arm that shows less than the active ones is not pulled
    more), and no more than N* of :func:`tutelage.theory.ucb1.total_pulls_of_ucb1` with d = gamma1 - gamma2,
    as an active arm's index is above gamma1.  At most T_1 of TAL, and equal to it where all arms take until
    psi_max or gamma1 = gamma2.

    ``gaps`` are the K - 1 of the arms other than the best, each above 0.

    Raises ``InputError`` where :func:`active_pulls_of_twl` does, and unless 1 >= gamma1 >= gamma2 >= 0: the
    arms that are ruled out would draw clients away from the active ones.
    """
    gaps = arguments.listed("gaps", gaps)
    excess = arguments.real("gamma1", gamma1) - arguments.real("gamma2", gamma2)
    if excess < 0:
        raise InputError(
            f"TWL may never end with gamma1={gamma1:g} below gamma2={gamma2:g}: give a gamma1 of at least gamma2."
        )
    num_arms, last = len(gaps) + 1, last_epoch(gaps)
    most = epoch_end(last, num_arms, horizon, weights)
    total = most
    for epoch, arms in Counter(map(separating_epoch, gaps)).items():
        pulls = most
        if excess > LEAST_LEAD and epoch < last:
            history = epoch_end(epoch, num_arms, horizon, weights) + overshoot(epoch, num_arms, weights)
            pulls = min(most, math.ceil(total_pulls_of_ucb1(history, excess, excess, horizon)))
        total += arms * pulls
    return total


def performance_of_twl_with_ucb1(setting: TheorySetting, gamma1: float = 1.0, gamma2: float = 0.0) -> Guarantee:
    """Regret and cost of TWL with UCB1 clients.

    Shi et al., Theorem twl_UCB, where gamma1 = 1 and gamma2 = 0; here any gamma1 > gamma2, as in
    :func:`tutelage.theory.ucb1.target_lead`.  (With gamma1 = gamma2 = 0 the bounds are those of TAL:
    :func:`tutelage.theory.tal.performance_of_tal_with_ucb1`.)  It holds whether or not learning ends in time.

    Departs from the paper: the cost in its last step has N^1 delta(0) where N^2 delta(0) is meant; with N^1
    the term log(T) / mu_dagger^2 that the theorem states would be missing
    (test_cost_of_arms_ruled_out_needs_their_own_pulls).

    Raises ``InputError`` unless gamma1 > gamma2 and mu_(dagger, m) > gamma2 for every client, and for more
    arms than :func:`overshoot` takes.
    """
    arguments.instance_of(TheorySetting, "setting", setting)
    if arguments.real("gamma1", gamma1) <= arguments.real("gamma2", gamma2):
        raise InputError(
            f"TWL has a theorem of its own with UCB1 clients where gamma1 is above gamma2, not for "
            f"{gamma1:g} and {gamma2:g}; with both 0 the theorem is that of TAL."
        )
    horizon, num_arms, weights, gaps = setting.horizon, setting.num_arms, setting.weights, setting.other_gaps
    active = [active_pulls_of_twl(gap, num_arms, horizon, weights) for gap in gaps]
    best = active_pulls_of_twl(min(gaps), num_arms, horizon, weights)
    shown1, shown2 = setting.adjustments(gamma1), setting.adjustments(gamma2)
    learning, teaching = [0.0, 0.0], [0.0, 0.0]
    for client, best_mean in enumerate(setting.best_means):
        learning[1] += best * float(shown1[client, setting.best_arm])
        for arm, gap, pulls in zip(setting.others, gaps, active, strict=True):
            later = inactive_pulls_of_twl(pulls, best_mean, gamma1, gamma2, horizon)
            learning[0] += gap * pulls
            teaching[0] += gap * later
            learning[1] += pulls * float(shown1[client, arm])
            teaching[1] += later * float(shown2[client, arm])
    lost = horizon * setting.num_clients * good_event_failure(horizon)

    def learning_time(rounds: int) -> int:
        return learning_time_of_twl(gaps, rounds, weights, gamma1, gamma2)

    return Guarantee(
        theorem="thm:twl_UCB",
        regret=Bound(learning[0], teaching[0], lost * max(gaps)),
        cost=Bound(learning[1], teaching[1], lost),
        horizon=horizon,
        last_epoch=last_epoch(gaps),
        learning_time=learning_time_of_ucb1(epoch_end(last_epoch(gaps), num_arms, horizon, weights), num_arms),
        decides_by=learning_time(horizon),
        needed_horizon=horizon_needed(learning_time),
        most_regret=setting.most_regret,
        most_cost=setting.most_cost(gamma1, gamma2),
    )
