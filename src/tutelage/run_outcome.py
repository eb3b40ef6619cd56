"""What one run under one teacher leads to.

Shapes: M clients, C recorded rounds, K arms, T rounds.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tutelage.teachers.base import Report


@dataclass(frozen=True)
class RunEvent:
    """A consultation of the teacher or the exclusion of a client.

    ``active_arms`` and ``target`` are those of the directive published in this round.
    """

    round: int
    active_arms: tuple[int, ...]
    target: int | None


class PullTrace(NamedTuple):
    """Every pull of a run in order.  The arrays have no rounds unless a trace was asked for.

    In a round in which a client does not act its arm is -1.
    """

    arms: NDArray[np.int64]  # [M, T]
    observed: NDArray[np.float64]  # [M, T]
    revealed: NDArray[np.float64]  # [M, T]


@dataclass(frozen=True, eq=False)
class RunOutcome:
    """The outcome of run ``run`` under teacher ``teacher`` of a request, both counted from 0.

    ``pulls`` [M, C, K] and ``costs`` [M, C] are cumulative up to each of the request's ``client_rounds``.  Of many
    clients these are few, and ``total_pulls`` [C, K] and ``total_costs`` [C], summed over clients, are cumulative up
    to each of its ``recorded_rounds``; of others both are None.
    ``target`` is the target at the horizon and ``decided_in`` the round in which it was decided, 0 if it was
    known from the start; both are None without a target.  ``noticed_in`` [M] are the rounds in which clients
    could first notice that they are taught (``noticing.py``), 0 for those that could not.  ``messages`` are those
    between the clients and a server that sends them the rules: see :func:`count_messages`.
    """

    teacher: int
    run: int
    pulls: NDArray[np.integer[Any]]
    costs: NDArray[np.float64]
    events: tuple[RunEvent, ...]
    target: int | None
    decided_in: int | None
    report: Report
    noticed_in: NDArray[np.int64]
    messages: int
    trace: PullTrace
    total_pulls: NDArray[np.int64] | None = None
    total_costs: NDArray[np.float64] | None = None


def count_messages(num_clients: int, num_directives: int, num_consultations: int) -> int:
    """Count the messages that teaching needs if clients apply the rules themselves.

    Each directive is sent to every client, the first one at the start; for each consultation every client sends its
    sums once its quota is met.  Directives that follow an exclusion or a restart count, pulls do not: the live
    server instead gets each pull and answers it, which makes 2 M T messages with every teacher.
    """
    return num_clients * (num_directives + num_consultations)
