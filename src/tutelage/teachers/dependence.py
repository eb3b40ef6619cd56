"""Which clients' rewards may depend on each other within a round: the parameter ``dependence`` of TAL, TWL and BLT.

With ``independent`` (None) no two clients may, with ``any`` all may, and with ``a;a;b``, the name of each client's
group, those of one group may.  Rewards of different groups are independent, given the past.
"""

import functools
import math
from typing import Any

from tutelage.client_groups import ANY, number_groups
from tutelage.registry import parameter

__all__ = ["ANY", "INDEPENDENT", "dependence_parameter", "group_weights", "groups_of"]

INDEPENDENT = "independent"


def dependence_parameter() -> Any:
    """Return the field ``dependence`` of a teacher; None is ``independent``."""
    return parameter(
        None,
        help="clients whose rewards of a round may depend on each other: independent, any, or the name of each "
        "client's group as in a;a;b; independent by default",
    )


@functools.lru_cache(maxsize=64)
def groups_of(dependence: str | None, num_clients: int) -> tuple[int, ...]:
    """Return the number of each client's group, [M].

    Raises ``InputError`` unless there is one name, not empty, for each client.
    """
    if dependence is None:
        return tuple(range(num_clients))
    return number_groups(dependence, num_clients, f"{INDEPENDENT}, {ANY}")


def group_weights(weights: tuple[float, ...], groups: tuple[int, ...]) -> tuple[float, ...]:
    """Return W_g, the sum of the weights, of each group that has a client of a weight above 0."""
    if groups == tuple(range(len(groups))):
        alone = tuple(weight for weight in weights if weight > 0.0)
        return alone if len(alone) > 1 else (1.0,)
    members: dict[int, list[float]] = {}
    for weight, group in zip(weights, groups, strict=True):
        if weight > 0.0:
            members.setdefault(group, []).append(weight)
    if len(members) == 1:
        return (1.0,)
    return tuple(map(math.fsum, members.values()))
