"""epsilon-greedy clients: how they explore, and what they do after a history of zeros (Shi et al., app. A).

epsilon-greedy pulls any arm with probability min(1, c K / (d^2 t)), else one of largest mean, ties at random.
"""

import math
import sys

from tutelage.errors import InputError
from tutelage.theory import arguments
from tutelage.theory.client_bounds import LEAST_LEAD, ClientBound, ExplorationBound, WarmStartBound


def exploration_of_eps_greedy(num_arms: int, horizon: int, num_clients: int = 1) -> ExplorationBound:
    """eta(tau) = tau / K -+ (tau / (4 K) + (8/3) log(K M T)); failure probability 1 / (M T).

    Shi et al., Lemma tal_learning_epsilon_restate, where M is 1; eq. (tal_epsilon_T1) is for all M clients
    at once and has log(K M T).  Each arm is pulled with probability 1/K, as all means are equal.

    The proof (Bernstein, a union over arms) covers one tau, the definition requires all.  The same constants
    are sufficient: exp(l (N - 5 tau / (4 K))) is a supermartingale while e^l - 1 <= 5 l / 4, as for l =
    0.43, and exp(l (3 tau / (4 K) - N)) while 1 - e^-l >= 3 l / 4, as for l = 0.6, so by Ville's inequality
    an arm is ever outside with probability (K M T)^(-0.43 * 8/3) + (K M T)^(-0.6 * 8/3), at most 1 / (K M
    T) once K M T >= 10; below, no tau <= T is outside (test_the_band_of_eps_greedy_holds_for_all_tau).  The
    first K pulls, one of each arm, only make it better.

    Raises ``InputError`` for counts below 1.
    """
    num_arms, horizon = arguments.whole("number of arms", num_arms, 1), arguments.rounds("horizon", horizon)
    num_clients = arguments.whole("number of clients", num_clients, 1)
    slack = _slack(num_arms, horizon, num_clients)
    return ExplorationBound(
        least=lambda pulls: max(0.0, 3.0 * arguments.pulls(pulls) / (4.0 * num_arms) - slack),
        most=lambda pulls: min(float(arguments.pulls(pulls)), 5.0 * pulls / (4.0 * num_arms) + slack),
        needed=lambda each: learning_time_of_eps_greedy(each, num_arms, horizon, num_clients),
        failure=1.0 / (num_clients * horizon),
    )


def rounds_to_first_reward(best_mean: float, num_arms: int, horizon: int) -> int:
    """tau' = 4 K log(2T) / (3 mu_dagger^2) + 32 K log(T) / 9: rounds to the best arm's first reward above 0.

    Shi et al., proof of Lemma tal_teaching_epsilon_restate; failure probability 1/T.  While every mean is 0,
    all arms are pulled alike, and n' = ceil(log(2T) / (2 mu_dagger^2)) pulls include a reward above 0 with
    failure probability 1 / (2T).  That tau' rounds have n' pulls with failure probability 1 / (2T) follows
    from the lower line of :func:`exploration_of_eps_greedy`: n' <= log(2T) / mu_dagger^2, and exp(-0.6 *
    (8/3) log T) <= 1 / (2T) once T >= 4; before that tau' is at least T.

    Raises ``InputError`` unless the best arm's mean lies above 0 and at most at 1, and for counts below 1.
    """
    best_mean = _best_mean(best_mean)
    num_arms, horizon = arguments.whole("number of arms", num_arms, 1), arguments.rounds("horizon", horizon)
    return math.ceil(
        4.0 * num_arms * math.log(2.0 * horizon) / (3.0 * best_mean**2) + 32.0 * num_arms * math.log(horizon) / 9.0
    )


def random_pulls(num_arms: int, horizon: int, c: float = 1.0, d: float = 1.0) -> float:
    """Expected random pulls of arms other than the best in T rounds: at most (K - 1) / K sum_t epsilon_t.

    With s = c K / d^2: s (1 + log(T / max(1, s))), from the integral of min(1, s / t); at most T.  The
    "O(K log T)" of Lemma tal_teaching_epsilon.

    Raises ``InputError`` unless c >= 0, 0 < d <= 1 and the counts are 1 or more.
    """
    num_arms, horizon = arguments.whole("number of arms", num_arms, 1), arguments.rounds("horizon", horizon)
    c = arguments.real("parameter c", c, most=sys.float_info.max)
    d = arguments.real("parameter d", d, sys.float_info.min)
    scale = c * num_arms / d / d  # d**2 may be 0
    expected = float(horizon)
    if scale < horizon:
        expected = scale * (1.0 + math.log(horizon / max(1.0, scale)))
    return (num_arms - 1) / num_arms * expected


def warm_start_of_eps_greedy(best_mean: float, num_arms: int, horizon: int, c: float = 1.0, d: float = 1.0) -> float:
    """sum over k != best of iota_k, for any history of zeros and gamma2 = 0; failure probability 1 / T.

    Shi et al., Lemma tal_teaching_epsilon_restate: all of the tau' rounds until the best arm's first reward
    above 0, which puts its mean above all others, which remain 0; then only random pulls.

    Raises ``InputError`` unless the client's mean of the best arm is above 0, and where those two do.
    """
    return rounds_to_first_reward(best_mean, num_arms, horizon) + random_pulls(num_arms, horizon, c, d)


def eps_greedy_client(
    best_mean: float, num_arms: int, horizon: int, num_clients: int, c: float = 1.0, d: float = 1.0
) -> ClientBound:
    """An epsilon-greedy client under TAL or TWL with gamma1 = gamma2 = 0.

    Departs from the paper: the bounds with failure probability 1/(MT) and 1/T are for one client, so with M
    of them :func:`tutelage.theory.tal.performance_of_tal` adds M pulls for each, as part of the O(M).
    """
    together = warm_start_of_eps_greedy(best_mean, num_arms, horizon, c, d)
    bound = WarmStartBound(each=together, together=together, failure=1.0 / horizon)

    def warm_start(history: float) -> WarmStartBound:
        arguments.real("history", history, most=float(arguments.MOST_ROUNDS))
        return bound

    return ClientBound(exploration_of_eps_greedy(num_arms, horizon, num_clients), warm_start)


def learning_time_of_eps_greedy(last_end: int, num_arms: int, horizon: int, num_clients: int) -> int:
    """T_1 = (4 K / 3) F(psi_max) + (32 K / 9) log(K M T), F(psi_max) being ``last_end``.

    Shi et al., eq. (tal_epsilon_T1); failure probability 1/T over all clients.  It is where the lower line of
    :func:`exploration_of_eps_greedy` reaches F(psi_max).

    Raises ``InputError`` for counts below 1 (an F below 0).
    """
    last_end, slack = arguments.pulls(last_end), _slack(num_arms, horizon, num_clients)
    return math.ceil(4.0 * num_arms / 3.0 * (last_end + slack))


def _slack(num_arms: int, horizon: int, num_clients: int) -> float:
    """(8/3) log(K M T)."""
    num_arms, horizon = arguments.whole("number of arms", num_arms, 1), arguments.rounds("horizon", horizon)
    num_clients = arguments.whole("number of clients", num_clients, 1)
    return 8.0 / 3.0 * math.log(num_arms * num_clients * horizon)


def _best_mean(given: float) -> float:
    """A client's mean of the best arm, above 0."""
    best_mean = arguments.real("mean of the best arm", given)
    if best_mean < LEAST_LEAD:
        raise InputError(
            f"The theorem requires a mean of the best arm above 0 at every eps-greedy client, "
            f"but one has {best_mean:g}."
        )
    return best_mean
