"""The clients of a run grouped by the kernel that plays them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from tutelage.code_errors import describe_code_error, is_foreign, locate_error, locate_function
from tutelage.distributions import DISTRIBUTIONS
from tutelage.distributions.base import RewardDistribution
from tutelage.engine.compiled_loop import kernel_for
from tutelage.errors import InputError
from tutelage.policies import POLICIES
from tutelage.policies.base import Learner, Policy, can_leap
from tutelage.read_only_arrays import read_only
from tutelage.revealed_rewards import add_revealed_reward, new_revealed_rewards
from tutelage.text import format_value
from tutelage.validation import is_whole

_PLAIN_ROUNDS = 2000  # in which a policy is expected to fail again


@dataclass(frozen=True, eq=False)
class PolicyGroups:
    """Kernels with their clients, and the arrays that all of them share.

    ``parameters`` is [M, P] with P the most parameters of any policy, ``state_size`` the most numbers that a
    policy keeps for a client.
    """

    groups: tuple[tuple[Any, NDArray[np.int64]], ...]
    parameters: NDArray[np.float64]
    state_size: int

    def select(self, own: slice) -> "PolicyGroups":
        """Return the groups of some clients, numbered from the first of them."""
        if own.start == 0 and own.stop == len(self.parameters):
            return self
        chosen = [(kernel, clients[(clients >= own.start) & (clients < own.stop)]) for kernel, clients in self.groups]
        groups = tuple((kernel, clients - own.start) for kernel, clients in chosen if clients.size)
        return PolicyGroups(groups, self.parameters[own], self.state_size)


def group_clients(policies: Sequence[Policy], rewards: RewardDistribution, num_arms: int, engine: str) -> PolicyGroups:
    """Group clients whose policies have the same functions.  ``policies`` has one entry per client."""
    ids = list(map(id, policies))
    distinct = list(dict(zip(ids, policies, strict=True)).values())
    numbers = {id(policy): number for number, policy in enumerate(distinct)}
    kinds = np.array(list(map(numbers.__getitem__, ids)))
    members: dict[Any, list[int]] = {}
    for number, policy in enumerate(distinct):
        members.setdefault(functions_of(policy, rewards, engine), []).append(number)
    groups = []
    for functions, chosen in members.items():
        try:
            groups.append((kernel_for(*functions), np.flatnonzero(np.isin(kinds, chosen))))
        except Exception as error:  # noqa: BLE001
            raise_code_error(distinct[chosen[0]], rewards, error)
    given = [_numbers_of(policy) for policy in distinct]
    parameters = np.zeros((len(distinct), max(1, *(each.size for each in given))))
    for row, each in zip(parameters, given, strict=True):
        row[: each.size] = each
    sizes = [_size_of(policy, num_arms) for policy in distinct]
    return PolicyGroups(tuple(groups), read_only(parameters[kinds]), max(sizes))


def functions_of(policy: Policy, rewards: RewardDistribution, engine: str) -> tuple[Any, ...]:
    """Return what a kernel for a policy and a reward distribution is compiled with."""
    leaps: tuple[Any, str] = (None, "")
    if engine == "leap" and can_leap(policy, rewards):
        leaps = policy.leap, rewards.leaps_as  # type: ignore[attr-defined]
    return policy.choose, policy.learn, leaps[0], rewards.draw, leaps[1], getattr(policy, "bound_lead", None)


def _numbers_of(policy: Policy) -> NDArray[np.float64]:
    """Return the parameters of a policy as an array [P]."""
    given = _ask(policy, "parameters")
    try:
        numbers = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.zeros(())
    if numbers.ndim != 1:
        fault = f"returned {format_value(given)} from parameters(): it must be a tuple of numbers"
        raise _fault(policy, f"{fault}{locate_function(policy.parameters)}")
    return numbers


def _size_of(policy: Policy, num_arms: int) -> int:
    """Return how many numbers a policy stores for a client."""
    size = _ask(policy, "state_size", num_arms)
    if not is_whole(size) or size < 0:
        place = locate_function(policy.state_size)
        raise _fault(policy, f"has state_size() {format_value(size)}: give 0 or more{place}")
    return int(size)


def _ask(policy: Policy, name: str, *arguments: Any) -> Any:
    """Call a function of a policy; what a policy of another package raises becomes ``InputError``."""
    try:
        return getattr(policy, name)(*arguments)
    except Exception as error:
        if not is_foreign(policy) or isinstance(error, InputError):
            raise
        raise _fault(policy, f"failed in {name}(): {describe_code_error(error, policy)}") from error


def raise_code_error(policy: Policy, rewards: RewardDistribution, error: Exception, num_arms: int = 2) -> NoReturn:
    """Raise what a kernel raised; of the code of another package as ``InputError`` that says whose it is and where."""
    if isinstance(error, InputError | MemoryError):
        raise error
    entries: list[tuple[str, Any]] = [
        (f"policy {POLICIES.spec(policy)}", policy.choose),
        (f"reward distribution {DISTRIBUTIONS.spec(rewards)}", rewards.draw),
    ]
    foreign = [(name, function) for name, function in entries if is_foreign(function)]
    located = [(name, place) for name, function in foreign if (place := locate_error(error, function))]
    if not foreign or (isinstance(error, OSError) and not located):
        raise error
    if isinstance(error, IndexError) and not located:  # numba does not say where
        located = [(name, _find_place(policy, num_arms)) for name, function in foreign if function is policy.choose]
    name, place = located[0] if located else (foreign[0][0], locate_function(foreign[0][1]))
    what = "cannot be compiled by numba" if type(error).__module__.startswith("numba") else "failed"
    what = "used an index outside an array" if isinstance(error, IndexError) else what
    raise InputError(f"The {name} {what}: {_reason(error)}{place}.") from error


def policy_chose_no_arm(policy: Policy, num_arms: int) -> InputError:
    """Return the error for an arm that does not exist."""
    place = locate_function(policy.choose)
    return _fault(policy, f"chose an arm outside 0 to {num_arms - 1}: choose() must return one of these{place}")


def _fault(policy: Policy, fault: str) -> InputError:
    return InputError(f"The policy {POLICIES.spec(policy)} {fault}.")


def _find_place(policy: Policy, num_arms: int) -> str:
    """Play a policy in plain Python until it fails, and return where it does; empty if it does not."""
    revealed, generator = new_revealed_rewards(num_arms), np.random.default_rng(0)
    state = np.zeros(_size_of(policy, num_arms))
    learner = Learner(read_only(revealed.pulls), read_only(revealed.means), state)
    parameters = read_only(_numbers_of(policy))
    try:
        for round in range(1, _PLAIN_ROUNDS + 1):
            arm = policy.choose(round, learner, parameters, generator)
            reward = float(generator.random() < 0.5)
            add_revealed_reward(revealed, arm, reward)
            policy.learn(arm, reward, learner, parameters, generator)
    except Exception as error:  # noqa: BLE001
        return locate_error(error, policy.choose)
    return ""


def _reason(error: Exception) -> str:
    """Return the first line of numba's message that says what is wrong, as the end of a sentence."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    if "Cannot modify readonly array" in text:
        return "it writes an array that it may only read"
    if "NRT required" in text:
        return "it creates an array or a list, which compiled functions cannot"
    if "<class 'method'>" in text:
        return "it has a function with self: write choose = staticmethod(choose), and learn likewise"
    lines = [line.strip() for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith("Failed in")]
    if len(lines) > 1 and lines[0].endswith(":"):  # the signature that it means comes in the next line
        lines[0] += lines[1].lstrip(">")
    reason = lines[0] if lines else "no reason given"
    return f"{type(error).__name__}: {reason.rstrip('.')}"
