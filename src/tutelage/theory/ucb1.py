"""UCB1 clients: how they explore, and what they do after a history of constants (Shi et al., appendix A).

UCB1 pulls the arm with the largest mean + sqrt(2 log t / n), t its own pull now being played.
"""

import math

from tutelage.errors import InputError
from tutelage.theory import arguments
from tutelage.theory.client_bounds import LEAST_LEAD, ClientBound, ExplorationBound, WarmStartBound
from tutelage.theory.guarantees import Bound, Guarantee
from tutelage.theory.setting import TheorySetting

_TAIL = 2.0  # the pull that crosses the threshold, and sum over t >= 2 of t^-3 = 0.2021


def exploration_of_ucb1(num_arms: int) -> ExplorationBound:
    """eta-low(tau) = floor(tau / |I|) and eta-high(tau) = ceil(tau / |I|), for any set I of arms.

    Shi et al., Lemma tal_learning_UCB.  The last time that the arm with most pulls was pulled it had one
    less, which was still more than some other arm had, and the same mean: its index was smaller.  (The proof
    writes N(t') for N(t' - 1) in the indices.)  ``needed(n)`` is |I| n, since floor has many inverses.

    Raises ``InputError`` for a number of arms below 1.
    """
    num_arms = arguments.whole("number of arms", num_arms, 1)
    return ExplorationBound(
        least=lambda pulls: arguments.pulls(pulls) // num_arms,
        most=lambda pulls: -(-arguments.pulls(pulls) // num_arms),
        needed=lambda each: learning_time_of_ucb1(each, num_arms),
        failure=0.0,
    )


def target_lead(best_mean: float, gamma1: float, gamma2: float) -> float:
    """d: the distance of a client's index of the best arm above gamma2, except with vanishing probability.

    Shi et al., Lemma tal_teaching_UCB: mu_dagger - gamma2 where gamma1 >= mu_dagger > gamma2.  Its history of
    gamma1 keeps the client optimistic about the best arm.

    Goes beyond the paper in two ways.  Where gamma1 < mu_dagger, the same step with gamma1 for mu_dagger
    gives gamma1 - gamma2: a mean of gamma1 and rewards of mean mu_dagger is at least gamma1.  Where
    gamma1 = gamma2 = 0, see :func:`total_pulls_of_ucb1`.

    Raises ``InputError`` if no arm leads: gamma1 = gamma2 > 0, gamma1 < gamma2, mu_dagger <= gamma2;
    and for a number outside [0, 1].
    """
    best_mean = arguments.real("mean of the best arm", best_mean)
    gamma1, gamma2 = arguments.real("gamma1", gamma1), arguments.real("gamma2", gamma2)
    if not (gamma1 - gamma2 > LEAST_LEAD or gamma1 == gamma2 == 0):
        raise InputError(
            f"UCB1 clients have no theorem with gamma1={gamma1:g} and gamma2={gamma2:g}: "
            "gamma1 must be above gamma2, or both 0."
        )
    if best_mean - gamma2 < LEAST_LEAD:
        raise InputError(
            f"A client whose mean of the best arm is {best_mean:g} cannot be led there by gamma2={gamma2:g}: "
            "the theorems ask for a mean above gamma2."
        )
    return best_mean - gamma2 if gamma1 == gamma2 else min(best_mean, gamma1) - gamma2


def total_pulls_of_ucb1(history: float, excess: float, lead: float, last_round: int) -> float:
    """N*: pulls of an arm, its history included, after which it is not pulled again.

    The least N with g tau / N + sqrt(2 log t / N) <= d, where tau = ``history`` pulls showed gamma1 and all
    others gamma2, g = gamma1 - gamma2 = ``excess``, d = ``lead`` and t = ``last_round``:

        N* = ((sqrt(2 log t) + sqrt(2 log t + 4 d g tau)) / (2 d))^2  <=  2 g tau / d + 2 log(t) / d^2.

    Shi et al., Lemma tal_teaching_UCB_restate, where the pulls after the history are L = N* - tau.

    Departs from the paper: its proof prints L = (g tau + 2 log(t)) / (4 d^2), with which the inequality above
    fails: for gamma1 = 1, gamma2 = 0, tau = 1000, mu_dagger = 0.5 the mean is then 0.49, and the index
    above 0.5 (test_printed_pulls_do_not_suffice).  The order that the lemma states, g tau / d + log(t) / d^2,
    is that of N*.

    With gamma1 = gamma2 = 0 take g = d = mu_dagger.  The best arm's mean is never below the other's, 0, so an
    arm is pulled only while it has no more pulls than the best arm; then, of N pulls, the best arm has shown
    N - tau or more true rewards, and its index is above d (N - tau) / N except with the probability of the
    lemma: d (1 - tau / N) <= sqrt(2 log t / N) is the same inequality.

    Raises ``InputError`` for a history below 0, an excess outside [0, 1], a lead outside [1e-100, 1] and a
    round below 1.
    """
    history = arguments.real("history", history, most=float(arguments.MOST_ROUNDS))
    excess, lead = arguments.real("excess", excess), arguments.real("lead", lead, LEAST_LEAD)
    last_round = arguments.rounds("last round", last_round)
    log = 2.0 * math.log(last_round)
    return ((math.sqrt(log) + math.sqrt(log + 4.0 * lead * excess * history)) / (2.0 * lead)) ** 2


def warm_start_of_ucb1(history: float, best_mean: float, gamma1: float, gamma2: float, last_round: int) -> float:
    """iota_k: expected pulls of an arm k other than the best after ``history`` pulls that showed gamma1.

    Shi et al., Lemma tal_teaching_UCB_restate: L + 2, with L = N* - tau of :func:`total_pulls_of_ucb1`.
    ``last_round`` is the client's pull at the end, T + t_H in the paper; in TAL it is T, as the history is
    part of the T rounds.  It does not fall as ``history`` grows.

    The 2 is right, by another sum than the paper's: pulls with n <= L are up to L + 1, and beyond L the
    probability of a pull in round t is at most t * t^-4 by a union over only the best arm's pulls (k's
    rewards are known), which sums to less than 1 from t = 2 on.  The paper sums over k's pulls too, to t^-2,
    and leaves out the one (test_two_pulls_cover_the_tail).

    Raises ``InputError`` where :func:`target_lead` and :func:`total_pulls_of_ucb1` do.
    """
    lead = target_lead(best_mean, gamma1, gamma2)
    equal = gamma1 == gamma2
    total = total_pulls_of_ucb1(history, lead if equal else gamma1 - gamma2, lead, last_round)
    return total - history + _TAIL + equal  # with equal gammas the best arm may have shown one more


def ucb1_client(best_mean: float, gamma1: float, gamma2: float, num_arms: int, horizon: int) -> ClientBound:
    """A UCB1 client under TAL.

    Raises ``InputError`` where :func:`target_lead` does, and for counts below 1.
    """
    target_lead(best_mean, gamma1, gamma2)
    arguments.rounds("horizon", horizon)

    def warm_start(history: float) -> WarmStartBound:
        each = warm_start_of_ucb1(history, best_mean, gamma1, gamma2, horizon)
        return WarmStartBound(each, (num_arms - 1) * each, failure=0.0)

    return ClientBound(exploration_of_ucb1(num_arms), warm_start)


def performance_of_known_target_with_ucb1(setting: TheorySetting) -> Guarantee:
    """Regret and cost of UCB1 clients under a target known from the start, all other arms being revealed as 0.

    2 log T / mu_dagger^2 + 2 expected pulls of every other arm: :func:`warm_start_of_ucb1` without a history.

    Raises ``InputError`` unless every client's own mean of the best arm is above 0.
    """
    arguments.instance_of(TheorySetting, "setting", setting)
    pulls = [warm_start_of_ucb1(0, mean, 1.0, 0.0, setting.horizon) for mean in setting.best_means]
    shown = setting.adjustments(0.0)[:, list(setting.others)].sum(axis=1).tolist()
    return Guarantee(
        theorem="lem:tal_teaching_UCB",
        regret=Bound(0.0, sum(pulls) * sum(setting.other_gaps), 0.0),
        cost=Bound(0.0, sum(each * cost for each, cost in zip(pulls, shown, strict=True)), 0.0),
        horizon=setting.horizon,
        last_epoch=None,
        learning_time=0,
        decides_by=0,
        needed_horizon=1,
        most_regret=setting.most_regret,
        most_cost=setting.most_cost(0.0, 0.0),
    )


def learning_time_of_ucb1(last_end: int, num_arms: int) -> int:
    """T_1 = K F(psi_max), F(psi_max) being ``last_end``: by then every arm has that many pulls.

    Shi et al., eq. (tal_ucb_T1).  Raises ``InputError`` for arms below 1 and an F below 0.
    """
    return arguments.whole("number of arms", num_arms, 1) * arguments.pulls(last_end)
