"""Which theorem speaks of a teacher and its clients, and what it says."""

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
from tutelage.teachers.tal import TAL
from tutelage.teachers.twl import TWL
from tutelage.theory.bounds import Guarantee
from tutelage.theory.clients import ClientBound
from tutelage.theory.eps_greedy import eps_greedy_client
from tutelage.theory.setting import Setting, setting_of
from tutelage.theory.tal import (
    performance_of_tal,
    performance_of_tal_with_eps_greedy,
    performance_of_tal_with_ucb1,
)
from tutelage.theory.twl import performance_of_twl_with_ucb1
from tutelage.theory.ucb1 import ucb1_client

_EXISTING = (
    "tal and twl have one with ucb1 clients where gamma1 is above gamma2, as in 'twl(gamma1=1,gamma2=0)', "
    "and with ucb1 and eps-greedy clients, also mixed, where both are 0, as in 'tal(gamma1=0,gamma2=0)'"
)


def guarantee(instance: Instance, teacher: Teacher, policies: Sequence[Policy], horizon: int) -> Guarantee:
    """What the paper's theorems promise of regret and cost up to the horizon, ``policies`` being [M].

    thm:tal_UCB and thm:twl_UCB where all clients are UCB1 and gamma1 > gamma2; thm:tal_epsilon where all are
    epsilon-greedy and gamma1 = gamma2 = 0; thm:tal_general, client by client, for UCB1 clients and mixes of
    both with gamma1 = gamma2 = 0, for TAL and for TWL, which then is TAL.

    Raises ``InputError`` where there is no theorem, naming those that there are.
    """
    known = {type(policy) for policy in policies} <= {UCB1, EpsilonGreedy}
    if not known or not isinstance(teacher, TAL | TWL):
        raise _no_theorem(teacher, policies)
    setting = setting_of(instance, horizon)
    if teacher.gamma1 == teacher.gamma2 == 0.0:
        return _of_equal_arms(setting, policies)
    if teacher.gamma1 <= teacher.gamma2 or any(isinstance(policy, EpsilonGreedy) for policy in policies):
        raise _no_theorem(teacher, policies)
    if isinstance(teacher, TWL):
        return performance_of_twl_with_ucb1(setting, teacher.gamma1, teacher.gamma2)
    return performance_of_tal_with_ucb1(setting, teacher.gamma1, teacher.gamma2)


def _of_equal_arms(setting: Setting, policies: Sequence[Policy]) -> Guarantee:
    """Both gammas are 0: the general theorem, client by client."""
    first = policies[0]
    if isinstance(first, EpsilonGreedy) and all(policy == first for policy in policies):
        return performance_of_tal_with_eps_greedy(setting, first.c, first.d)

    def clients(horizon: int) -> list[ClientBound]:
        return [
            _client(policy, mean, setting, horizon)
            for policy, mean in zip(policies, setting.best_means, strict=True)
        ]

    alike = all(isinstance(policy, EpsilonGreedy) for policy in policies)
    return performance_of_tal(setting, 0.0, 0.0, clients, "thm:tal_epsilon" if alike else "thm:tal_general")


def _client(policy: Policy, best_mean: float, setting: Setting, horizon: int) -> ClientBound:
    if isinstance(policy, EpsilonGreedy):
        return eps_greedy_client(
            best_mean, setting.num_arms, horizon, setting.num_clients, policy.c, policy.d
        )
    return ucb1_client(best_mean, 0.0, 0.0, setting.num_arms, horizon)


def _no_theorem(teacher: Teacher, policies: Sequence[Policy]) -> InputError:
    clients = " and ".join(Counter(POLICIES.brief(policy) for policy in policies))
    return InputError(
        f"There is no theorem on {TEACHERS.brief(teacher)} with {clients} clients: {_EXISTING}."
    )
