"""Teaching-After-Learning: what learning costs, what teaching costs, and both (Shi et al., section VI).

The general theorem holds for any clients that come with a :class:`~tutelage.theory.client_bounds.ClientBound`, each
with its own, so also for mixes; Theorems tal_UCB and tal_epsilon are it with the lemmas of one policy.

In the round in which the server decides, pulls are chosen under the old rules and revealed under the new ones
(docs/decisions/0001, rule 2).  Such a pull counts as the first of the teaching phase.
"""

from collections.abc import Callable, Sequence

from tutelage.theory import arguments
from tutelage.theory.client_bounds import ClientBound, ExplorationBound
from tutelage.theory.epochs import epoch_end, good_event_failure, horizon_needed, last_epoch
from tutelage.theory.eps_greedy import eps_greedy_client
from tutelage.theory.guarantees import Bound, Guarantee
from tutelage.theory.setting import TheorySetting
from tutelage.theory.ucb1 import ucb1_client


def learning_time_of_tal(
    gaps: Sequence[float],
    num_arms: int,
    horizon: int,
    weights: Sequence[float],
    explorations: Sequence[ExplorationBound],
) -> int:
    """T_1 = max_m eta-low_m^{-1}(F(psi_max)): the round by which learning has ended, on the best arm.

    Shi et al., Lemma tal_learning_general; failure probability 1/T (:func:`good_event_failure`) plus those of
    the explorations.  It may exceed T: then T rounds are too few for the lemma.

    ``gaps`` are those of the arms other than the best, ``explorations`` [M] those of the clients.
    Raises ``InputError`` where :func:`tutelage.theory.epochs.last_epoch` and ``epoch_end`` do.
    """
    explorations = arguments.one_each(
        "explorations", explorations, len(arguments.weights_of(weights)), ExplorationBound
    )
    last_end = epoch_end(last_epoch(gaps), num_arms, horizon, weights)
    return max(each.needed(last_end) for each in explorations)


def learning_phase_of_tal(
    setting: TheorySetting, gamma1: float, learning_time: int, explorations: Sequence[ExplorationBound]
) -> tuple[float, float]:
    """Regret and cost of the learning phase; failure probability as in :func:`learning_time_of_tal`.

    Shi et al., Lemma tal_learning_general: sum_m sum_k Delta_k eta-high_m(T_1), and with
    delta_(k, m)(gamma1) for Delta_k over all arms.  It also holds where T is below T_1, as T rounds of
    exploring have fewer pulls of each arm than T_1 have.

    Raises ``InputError`` for a gamma1 outside [0, 1], a round below 0, or not one exploration a client.
    """
    arguments.instance_of(TheorySetting, "setting", setting)
    learning_time = arguments.rounds("learning time", learning_time, 0)
    explorations = arguments.one_each("explorations", explorations, setting.num_clients, ExplorationBound)
    adjustments = setting.adjustments(gamma1)
    regret = cost = 0.0
    for client, exploration in enumerate(explorations):
        most = exploration.most(learning_time)
        regret += most * sum(setting.other_gaps)
        cost += most * float(adjustments[client].sum())
    return regret, cost


def teaching_phase_of_tal(
    setting: TheorySetting, gamma2: float, learning_time: int, clients: Sequence[ClientBound]
) -> tuple[float, float]:
    """Regret and cost of the teaching phase, if learning has ended by T_1 on the best arm.

    Shi et al., Lemma tal_teaching_general: sum_m max over histories of sum_k Delta_k iota_k, and with
    delta_(k, m)(gamma2) for Delta_k.

    Departs from the paper: its histories have between eta-low(T_1) and eta-high(T_1) pulls of each arm, but
    learning may end in an epoch before psi_max, and then they are shorter.  A ``ClientBound`` therefore holds
    for all histories of at most eta-high(T_1) pulls (test_learning_may_end_before_its_latest_round).

    Raises ``InputError`` for a gamma2 outside [0, 1], a round below 0, or not one bound for each client.
    """
    arguments.instance_of(TheorySetting, "setting", setting)
    learning_time = arguments.rounds("learning time", learning_time, 0)
    clients = arguments.one_each("clients", clients, setting.num_clients, ClientBound)
    adjustments = setting.adjustments(gamma2)[:, list(setting.others)]
    regret = cost = 0.0
    for client, each in enumerate(clients):
        pulls = each.warm_start(each.exploration.most(learning_time))
        regret += pulls.weighed(setting.other_gaps)
        cost += pulls.weighed(adjustments[client].tolist())
    return regret, cost


def performance_of_tal(
    setting: TheorySetting,
    gamma1: float,
    gamma2: float,
    clients: Callable[[int], Sequence[ClientBound]],
    theorem: str = "thm:tal_general",
) -> Guarantee:
    """Regret and cost of TAL with any clients that explore enough and can be led.

    Shi et al., Theorem tal_general: both phases and O(M).  ``clients(T)`` are the M clients with horizon T.

    The O(M): a client's T pulls times the chance 1/T that an interval fails, plus the same for each
    exploration that may fail (which delays all clients) and each warm start that may (which concerns its own
    client); a pull costs Delta_max of regret and 1 of adjustment at most.  The paper has the first of these
    three, and with epsilon-greedy clients needs all.

    Raises ``InputError`` for gammas outside [0, 1], and where ``clients(T)`` is not one bound for each.
    """
    arguments.instance_of(TheorySetting, "setting", setting)
    arguments.function("clients", clients)
    horizon, num_clients = setting.horizon, setting.num_clients

    def checked(rounds: int) -> tuple[ClientBound, ...]:
        return arguments.one_each("clients", clients(rounds), num_clients, ClientBound)

    present = checked(horizon)

    def learning_time(rounds: int) -> int:
        explorations = [each.exploration for each in checked(rounds)]
        return learning_time_of_tal(setting.other_gaps, setting.num_arms, rounds, setting.weights, explorations)

    decides_by = learning_time(horizon)
    learning = learning_phase_of_tal(setting, gamma1, decides_by, [each.exploration for each in present])
    teaching = teaching_phase_of_tal(setting, gamma2, decides_by, present)
    lost = horizon * num_clients * good_event_failure(horizon)
    for each in present:
        lost += horizon * num_clients * each.exploration.failure
        lost += horizon * each.warm_start(each.exploration.most(decides_by)).failure
    return Guarantee(
        theorem=theorem,
        regret=Bound(learning[0], teaching[0], lost * max(setting.other_gaps)),
        cost=Bound(learning[1], teaching[1], lost),
        horizon=horizon,
        last_epoch=last_epoch(setting.other_gaps),
        learning_time=decides_by,
        decides_by=decides_by,
        needed_horizon=horizon_needed(learning_time),
        most_regret=setting.most_regret,
        most_cost=setting.most_cost(gamma1, gamma2),
    )


def performance_of_tal_with_ucb1(setting: TheorySetting, gamma1: float = 1.0, gamma2: float = 0.0) -> Guarantee:
    """Regret and cost of TAL with UCB1 clients.

    Shi et al., Theorem tal_UCB, where gamma1 = 1 and gamma2 = 0.  Here also any gamma1 > gamma2, and both 0
    (:func:`tutelage.theory.ucb1.target_lead`).

    Raises ``InputError`` for other gammas and where mu_(dagger, m) <= gamma2 for a client.
    """

    def clients(horizon: int) -> list[ClientBound]:
        return [ucb1_client(mean, gamma1, gamma2, setting.num_arms, horizon) for mean in setting.best_means]

    return performance_of_tal(setting, gamma1, gamma2, clients, "thm:tal_UCB")


def performance_of_tal_with_eps_greedy(setting: TheorySetting, c: float = 1.0, d: float = 1.0) -> Guarantee:
    """Regret and cost of TAL(0, 0), and of TWL(0, 0), with epsilon-greedy clients.

    Until TWL decides, no later than TAL, both reveal the same; the bounds hold for any round of the decision
    up to T_1 (docs/theory.md).

    Shi et al., Theorem tal_epsilon, and the remark after Theorem twl_UCB.  In the teaching phase each pull
    counts as one of the arm that is worst for it, Delta_max or max_k mu_(k, m) (the paper's mu_(*, m) may
    also be that of the best arm, which costs nothing then).

    Raises ``InputError`` where mu_(dagger, m) = 0 for a client, and unless c >= 0 and 0 < d <= 1.
    """

    def clients(horizon: int) -> list[ClientBound]:
        return [
            eps_greedy_client(mean, setting.num_arms, horizon, setting.num_clients, c, d) for mean in setting.best_means
        ]

    return performance_of_tal(setting, 0.0, 0.0, clients, "thm:tal_epsilon")
