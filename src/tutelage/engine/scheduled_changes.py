"""What changes between two rounds of a run: means shift, or a client is excluded."""

import functools
from dataclasses import dataclass
from typing import Any

from tutelage.engine.compiled_loop import acts
from tutelage.engine.kernels import compiled_main
from tutelage.instances.base import Instance
from tutelage.request import SimulationRequest
from tutelage.seeding import ACTIVITY, client_streams


@dataclass(frozen=True)
class ScheduledChange:
    """What happens after a round: a phase of the instance begins, with new means, or else a client is excluded."""

    round: int
    phase: int | None = None
    client: int = -1


def schedule_changes(request: SimulationRequest, run: int) -> list[ScheduledChange]:
    """List all changes before the horizon, by round; in one round new means come first, then clients."""
    exclude = dict(request.exclude)
    if request.exclude_after is not None:
        silent = find_silent_clients(request.instance, request.seed, run, request.horizon, request.exclude_after)
        for client, round in silent.items():
            exclude[client] = min(round, exclude.get(client, round))
    changes = [
        ScheduledChange(phase.after, number) for number, phase in enumerate(request.instance.phases) if number > 0
    ]
    changes += [ScheduledChange(round, client=client) for client, round in sorted(exclude.items())]
    return sorted((change for change in changes if change.round < request.horizon), key=lambda change: change.round)


def find_silent_clients(instance: Instance, seed: int, run: int, horizon: int, exclude_after: float) -> dict[int, int]:
    """Return the clients that fall silent, each with its :func:`first_silent_round`.

    When a client acts depends only on its own stream, so this is known before the run.
    """
    streams = client_streams(seed, run, instance.num_clients)
    activity, delays, last_rounds = instance.conditions.arrays(instance.num_clients)
    find = _silence_kernel()
    rounds = {
        client: int(
            find(
                horizon,
                float(exclude_after),
                activity[client],
                delays[client],
                last_rounds[client],
                streams[client, ACTIVITY],
            )
        )
        for client in range(instance.num_clients)
    }
    return {client: round for client, round in rounds.items() if round > 0}


@functools.cache
def _silence_kernel() -> Any:
    return compiled_main(first_silent_round, "first_silent_round")


def first_silent_round(
    horizon: int, exclude_after: float, activity: float, delay: int, stops_after: int, stream: Any
) -> int:
    """Return the first round in which a client's silence exceeds ``exclude_after`` usual intervals.

    0 if it is beyond the horizon.  The usual interval is the number of rounds up to the client's
    latest pull divided by its pulls; a client with fewer than two pulls has none.
    """
    wait, pulls, latest = delay, 0, 0
    for round in range(1, horizon + 1):
        if acts(round, wait, activity, stops_after, stream):
            wait, pulls, latest = delay, pulls + 1, round
        else:
            wait -= 1
            if pulls > 1 and (round - latest) * pulls > exclude_after * latest:
                return round
    return 0
