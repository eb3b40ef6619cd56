"""Find the theorem for a teacher and its clients, and compute its bounds."""

from collections import Counter
from collections.abc import Sequence

from tutelage.errors import InputError
from tutelage.instances.base import Instance
from tutelage.policies import POLICIES
from tutelage.policies.base import Policy
from tutelage.policies.epsilon_greedy import EpsilonGreedy
from tutelage.policies.ucb1 import UCB1
from tutelage.teachers import TEACHERS
from tutelage.teachers.base import Teacher
from tutelage.teachers.baselines import KnownTarget
from tutelage.teachers.blt.teacher import BLT
from tutelage.teachers.tal import TAL
from tutelage.teachers.twl import TWL
from tutelage.theory import arguments
from tutelage.theory.blt import performance_of_blt
from tutelage.theory.client_bounds import ClientBound, ExplorationBound
from tutelage.theory.eps_greedy import eps_greedy_client, exploration_of_eps_greedy
from tutelage.theory.guarantees import Guarantee
from tutelage.theory.setting import TheorySetting, setting_of
from tutelage.theory.tal import (
    learning_time_of_tal,
    performance_of_tal,
    performance_of_tal_with_eps_greedy,
    performance_of_tal_with_ucb1,
)
from tutelage.theory.twl import learning_time_of_twl, performance_of_twl_with_ucb1
from tutelage.theory.ucb1 import exploration_of_ucb1, performance_of_known_target_with_ucb1, ucb1_client

_EXISTING = (
    "tal and twl have one with ucb1 clients where gamma1 is above gamma2, as in 'twl(gamma1=1,gamma2=0)', "
    "and with ucb1 and eps-greedy clients, also mixed, where both are 0, as in 'tal(gamma1=0,gamma2=0)'; known has one "
    "with ucb1 clients, and blt one with ucb1 and eps-greedy clients, also mixed"
)


def guarantee(instance: Instance, teacher: Teacher, policies: Sequence[Policy], horizon: int) -> Guarantee:
    """Compute the bounds on regret and cost up to the horizon; ``policies`` are [M].

    thm:tal_UCB and thm:twl_UCB where all clients are UCB1 and gamma1 > gamma2; thm:tal_epsilon where all are
    epsilon-greedy and gamma1 = gamma2 = 0; thm:tal_general, client by client, for UCB1 clients and mixes of
    both with gamma1 = gamma2 = 0, for TAL and for TWL, which then
    reveals what TAL reveals until it decides, no later than TAL.

    ``known`` with UCB1 clients and BLT have theorems of their own (docs/floors.md).

    Raises ``InputError``, with the existing theorems, for other teachers and clients.
    """
    arguments.instance_of(Instance, "instance", instance)
    policies = arguments.one_each("policies", policies, instance.num_clients)
    known = {type(policy) for policy in policies} <= {UCB1, EpsilonGreedy}
    optimistic = all(isinstance(policy, UCB1) for policy in policies)
    if not known or not isinstance(teacher, TAL | TWL | BLT | KnownTarget) or _has_other_guarantee(teacher):
        raise _no_theorem(teacher, policies)
    setting = setting_of(instance, horizon)
    if isinstance(teacher, BLT):
        return performance_of_blt(setting, teacher, policies)
    if isinstance(teacher, KnownTarget):
        if not optimistic or teacher.target not in {None, setting.best_arm}:
            raise _no_theorem(teacher, policies)
        return performance_of_known_target_with_ucb1(setting)
    if teacher.gamma1 == teacher.gamma2 == 0.0:
        return _of_equal_arms(setting, policies)
    if teacher.gamma1 <= teacher.gamma2 or not optimistic:
        raise _no_theorem(teacher, policies)
    if isinstance(teacher, TWL):
        return performance_of_twl_with_ucb1(setting, teacher.gamma1, teacher.gamma2)
    return performance_of_tal_with_ucb1(setting, teacher.gamma1, teacher.gamma2)


def learning_end(setting: TheorySetting, teacher: Teacher, policies: Sequence[Policy]) -> int | None:
    """The round by which learning has ended on the best arm; None if none is proved.  ``policies`` are [M].

    Equals ``decides_by`` of :func:`guarantee` wherever that has a theorem, with the same failure probability,
    except for ``known``, which does not learn, and BLT, whose theorem needs clients that keep their pulls
    balanced, as none is proved to do.
    It requires less: rewards revealed after learning do not matter, so TAL may have any gammas (Lemma
    tal_learning_general), and so may TWL with both equal, which reveals the same until one arm is left.
    With gamma1 > gamma2 TWL has a round only for UCB1 clients.

    Raises ``InputError`` unless there is one policy for each client.
    """
    arguments.instance_of(TheorySetting, "setting", setting)
    policies = arguments.one_each("policies", policies, setting.num_clients)
    weights, horizon, gaps = setting.weights, setting.horizon, setting.other_gaps
    if not isinstance(teacher, TAL | TWL) or _has_other_guarantee(teacher):
        return None
    if isinstance(teacher, TAL) or teacher.gamma1 == teacher.gamma2:
        explorations = [_exploration(policy, setting) for policy in policies]
        known = [each for each in explorations if each is not None]
        if len(known) < len(explorations):
            return None
        return learning_time_of_tal(gaps, setting.num_arms, horizon, weights, known)
    if teacher.gamma1 < teacher.gamma2 or not all(isinstance(policy, UCB1) for policy in policies):
        return None
    return learning_time_of_twl(gaps, horizon, weights, teacher.gamma1, teacher.gamma2)


def _has_other_guarantee(teacher: Teacher) -> bool:
    """Whether the target is right with another probability or under other assumptions than those of the theorems."""
    return teacher.dependence is not None or teacher.risk is not None


def _exploration(policy: Policy, setting: TheorySetting) -> ExplorationBound | None:
    """The lemma on how this policy explores arms that are all revealed as the same constant."""
    if isinstance(policy, UCB1):
        return exploration_of_ucb1(setting.num_arms)
    if isinstance(policy, EpsilonGreedy):
        return exploration_of_eps_greedy(setting.num_arms, setting.horizon, setting.num_clients)
    return None


def _of_equal_arms(setting: TheorySetting, policies: Sequence[Policy]) -> Guarantee:
    """Both gammas are 0: the general theorem, client by client."""
    first = policies[0]
    if isinstance(first, EpsilonGreedy) and all(policy == first for policy in policies):
        return performance_of_tal_with_eps_greedy(setting, first.c, first.d)

    def clients(horizon: int) -> list[ClientBound]:
        return [
            _client(policy, mean, setting, horizon) for policy, mean in zip(policies, setting.best_means, strict=True)
        ]

    alike = all(isinstance(policy, EpsilonGreedy) for policy in policies)
    return performance_of_tal(setting, 0.0, 0.0, clients, "thm:tal_epsilon" if alike else "thm:tal_general")


def _client(policy: Policy, best_mean: float, setting: TheorySetting, horizon: int) -> ClientBound:
    if isinstance(policy, EpsilonGreedy):
        return eps_greedy_client(best_mean, setting.num_arms, horizon, setting.num_clients, policy.c, policy.d)
    return ucb1_client(best_mean, 0.0, 0.0, setting.num_arms, horizon)


def _no_theorem(teacher: Teacher, policies: Sequence[Policy]) -> InputError:
    clients = " and ".join(Counter(POLICIES.label(policy) for policy in policies))
    return InputError(f"There is no theorem on {TEACHERS.label(teacher)} with {clients} clients: {_EXISTING}.")
