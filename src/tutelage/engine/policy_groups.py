"""The clients of a run grouped by the kernel that plays them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from tutelage.distributions.base import RewardDistribution
from tutelage.engine.compiled_loop import kernel_for
from tutelage.errors import InputError
from tutelage.policies import POLICIES
from tutelage.policies.base import Policy


@dataclass(frozen=True, eq=False)
class PolicyGroups:
    """Kernels with their clients, and the arrays that all of them share.

    ``parameters`` is [M, P] with P the most parameters of any policy, ``state_size`` the most numbers that a
    policy keeps for a client.
    """

    groups: tuple[tuple[Any, NDArray[np.int64]], ...]
    parameters: NDArray[np.float64]
    state_size: int


def group_clients(policies: Sequence[Policy], rewards: RewardDistribution, num_arms: int) -> PolicyGroups:
    """Group clients whose policies have the same functions.  ``policies`` has one entry per client."""
    members: dict[Any, list[int]] = {}
    for client, policy in enumerate(policies):
        members.setdefault((policy.choose, policy.learn), []).append(client)
    groups, values, sizes = [], [], []
    try:
        for clients in members.values():
            policy = policies[clients[0]]
            groups.append((kernel_for(policy.choose, policy.learn, rewards.draw), np.array(clients)))
        for policy in policies:
            values.append(policy.parameters())
            sizes.append(policy.state_size(num_arms))
    except Exception as error:  # noqa: BLE001
        raise_policy_error(policy, error)
    for policy, size in zip(policies, sizes, strict=True):
        if size < 0:
            raise InputError(f"The policy {POLICIES.spec(policy)} has state_size() {size}: give 0 or more.")
    parameters = np.zeros((len(policies), max(1, *map(len, values))))
    for client, numbers in enumerate(values):
        parameters[client, : len(numbers)] = numbers
    return PolicyGroups(tuple(groups), parameters, max(sizes))


def raise_policy_error(policy: Policy, error: Exception) -> NoReturn:
    """Raise what a policy's code raised; of a policy from another package as ``InputError`` with its name."""
    spec = POLICIES.spec(policy)
    if ":" not in spec or isinstance(error, InputError | OSError | MemoryError):
        raise error
    compiling = type(error).__module__.startswith("numba")
    what = "cannot be compiled by numba" if compiling else "failed"
    raise InputError(f"The policy {spec} {what}: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    """Return the first line of numba's message that says what is wrong, as the end of a sentence."""
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line).strip() for line in str(error).splitlines()]
    lines = [line for line in lines if line and not line.startswith("Failed in")]
    if len(lines) > 1 and lines[0].endswith(":"):  # the signature that it means comes in the next line
        lines[0] += lines[1].lstrip(">")
    reason = lines[0] if lines else "no reason given"
    return f"{type(error).__name__}: {reason.rstrip('.')}."
