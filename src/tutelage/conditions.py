"""Real conditions: clients that do not act in every round, respond late or stop, and means that change."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tutelage.errors import InputError
from tutelage.text import format_value
from tutelage.validation import is_number, is_whole

_LAST_ROUND = 2**53
ConditionArrays = tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True, eq=False)
class MeanShift:
    """New local means, float64 [M, K] in [0, 1], from round ``after`` + 1 on."""

    after: int
    local_means: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Conditions:
    """When clients act and when their means change.  The defaults are the conditions of the paper.

    ``activity`` [M]: the probability that a client acts in a round, in (0, 1].
    ``delays`` [M]: by how many rounds its pulls arrive late.  The client waits for the reward, so it acts at
    most once in 1 + delay rounds; its choices are the same as if it chose when the pull arrives.
    ``stops``: pairs of a client and the last round in which it acts.
    ``shifts``: the rounds after which the local means change (piecewise stationary).
    """

    activity: tuple[float, ...] = ()
    delays: tuple[int, ...] = ()
    stops: tuple[tuple[int, int], ...] = ()
    shifts: tuple[MeanShift, ...] = ()

    def check(self, num_clients: int, num_arms: int) -> None:
        """Raise ``InputError`` unless the conditions fit M clients and K arms."""
        self._check_types()
        for name, values in (("activities", self.activity), ("delays", self.delays)):
            if len(values) not in (0, num_clients):
                raise InputError(f"There are {len(values)} {name} for {num_clients} clients: give one for each client.")
        for client, share in enumerate(self.activity):
            if not 0 < share <= 1:
                raise InputError(f"Invalid activity {share:g} of client {client}: use a number in (0, 1].")
        for client, delay in enumerate(self.delays):
            if not 0 <= delay <= _LAST_ROUND:
                raise InputError(f"Invalid delay {format_value(delay)} of client {client}: use 0 to 2^53 rounds.")
        for client, round in self.stops:
            if not 0 <= client < num_clients:
                raise InputError(f"Invalid client {format_value(client)} in stops: clients are 0 to {num_clients - 1}.")
            if not 0 <= round <= _LAST_ROUND:
                raise InputError(
                    f"Client {client} cannot stop after round {format_value(round)}: use a round from 0 to 2^53."
                )
        for shift in self.shifts:
            if shift.local_means.shape != (num_clients, num_arms):
                raise InputError(
                    f"The means after round {shift.after} are not {num_clients} x {num_arms}: give one for each "
                    "client and arm."
                )
            if not np.all((shift.local_means >= 0.0) & (shift.local_means <= 1.0)):
                raise InputError(f"Invalid means after round {shift.after}: use numbers in [0, 1].")
            if not 1 <= shift.after <= _LAST_ROUND:
                raise InputError(
                    f"The means cannot shift after round {format_value(shift.after)}: use a round from 1 to 2^53."
                )

    def _check_types(self) -> None:
        """Raise ``InputError`` unless the fields are lists of what they are made of."""
        for name, kinds in _KINDS.items():
            values = getattr(self, name)
            is_allowed, example = kinds
            if not isinstance(values, Sequence) or not all(map(is_allowed, values)):
                raise InputError(f"Invalid {name}={format_value(values)} of Conditions: use {example}.")

    def arrays(self, num_clients: int) -> ConditionArrays:
        """Activity, delay and last round of every client, as compiled code reads them."""
        last = np.full(num_clients, np.iinfo(np.int64).max)
        for client, round in self.stops:
            last[client] = round
        activity = np.array(self.activity or (1.0,) * num_clients, dtype=np.float64)
        return activity, np.array(self.delays or (0,) * num_clients, dtype=np.int64), last


def _is_stop(pair: Any) -> bool:
    return isinstance(pair, Sequence) and len(pair) == 2 and all(map(is_whole, pair))


def _is_shift(shift: Any) -> bool:
    return isinstance(shift, MeanShift) and is_whole(shift.after) and isinstance(shift.local_means, np.ndarray)


_KINDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "activity": (is_number, "one number for each client, as in (1, 0.5)"),
    "delays": (is_whole, "one whole number for each client, as in (0, 5)"),
    "stops": (_is_stop, "pairs of a client and its last round, as in ((0, 1000),)"),
    "shifts": (_is_shift, "objects of the class MeanShift, with a round and an array of means"),
}


def with_options(
    real: Conditions, num_clients: int, activity: str | None, delay: str | None, stops: Mapping[int, int]
) -> Conditions:
    """Return the conditions with those replaced that the options of a command give.  Raises ``InputError``."""
    if activity is not None:
        real = replace(real, activity=read_per_client("activity", activity, num_clients))
    if delay is not None:
        delays = read_per_client("delay", delay, num_clients)
        for each in delays:
            if each != int(each):
                raise InputError(f"Invalid delay {each:g}: use a whole number of rounds.")
        real = replace(real, delays=tuple(int(each) for each in delays))
    return replace(real, stops=tuple(sorted(stops.items()))) if stops else real


def read_per_client(name: str, text: str, num_clients: int) -> tuple[float, ...]:
    """Read ``"0.5"``, one number for all clients, or ``"1;1;0.1"``, one for each.  Raises ``InputError``."""
    parts = text.strip().split(";")
    try:
        values = [float(part) for part in parts]
    except ValueError:
        raise InputError(f"Invalid {name} {text!r}: use one number, or one for each client as in 1;0.5;0.1.") from None
    if not all(math.isfinite(value) for value in values):
        raise InputError(f"Invalid {name} {text!r}: use finite numbers.")
    if len(values) == 1:
        values *= num_clients
    if len(values) != num_clients:
        raise InputError(
            f"Invalid {name} {text!r}: it has {len(values)} numbers for {num_clients} clients. "
            "Use one number, or one for each client."
        )
    return tuple(values)
