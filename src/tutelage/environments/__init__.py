"""Environments of PettingZoo and Gymnasium whose agents are taught (docs/environments.md).

The classes are loaded when they are first used; a package that is missing raises ``InputError`` with the command
that installs it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tutelage.errors import InputError

if TYPE_CHECKING:
    from tutelage.environments.federated_bandit import FederatedBandit
    from tutelage.environments.reward_teaching import RewardTeaching
    from tutelage.environments.taught_reward import TaughtReward

__all__ = ["FederatedBandit", "RewardTeaching", "TaughtReward"]

# The module and the extra of each class; an extra is called like the package that it brings.
_HOMES = {
    "FederatedBandit": ("federated_bandit", "pettingzoo"),
    "RewardTeaching": ("reward_teaching", "pettingzoo"),
    "TaughtReward": ("taught_reward", "gymnasium"),
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tutelage.environments' has no attribute {name!r}")
    module, extra = _HOMES[name]
    try:
        value = getattr(import_module(f"tutelage.environments.{module}"), name)
    except ModuleNotFoundError as error:
        if error.name not in {"pettingzoo", "gymnasium"}:
            raise
        raise InputError(
            f"{name} needs the package {error.name}: install it with pip install 'tutelage[{extra}]'."
        ) from None
    globals()[name] = value
    return value
