"""How long a request takes at least, from the rate at which its clients are simulated."""

import contextlib
import logging
import threading
import time
from dataclasses import replace

from tutelage.engine.simulation import Cancelled, simulate_run
from tutelage.errors import InputError
from tutelage.request import SimulationRequest
from tutelage.teachers.baselines import NoTeaching
from tutelage.text import format_number, format_rough_duration

LOG = logging.getLogger("tutelage.simulator")

_DAY, _YEAR = 86_400.0, 365 * 86_400.0
# Rounds of one client.  Fewer end within a day at 100,000 a second, slower than any policy of the package.
_SMALL = 10**10
_MEASURED_SECONDS = 0.3


def check_duration(request: SimulationRequest, workers: int) -> None:
    """Refuse a request that would take years, and log a warning about one that would take days.

    Raises ``InputError`` above one year.  A request that is small by its number of rounds is not measured.
    """
    num_runs = request.runs * len(request.teachers)
    if request.horizon * request.instance.num_clients * num_runs <= _SMALL:
        return
    seconds = num_runs / min(workers, num_runs) * _measure_run(request)
    if seconds > _YEAR:
        raise InputError(
            f"At the measured rate, these runs would take at least {format_number(seconds / _YEAR)} years with "
            f"{workers} at a time: use a shorter horizon or fewer runs."
        )
    if seconds > _DAY:
        LOG.warning("At the measured rate, these runs take at least %s.", format_rough_duration(seconds))


def _measure_run(request: SimulationRequest) -> float:
    """Return the seconds of a run without teaching, from the second half of its first fraction of a second.

    A teacher is left out because it is consulted most often at the beginning.
    """
    seen = [(time.monotonic(), 0.0)]
    cancel = threading.Event()

    def note(share: float) -> None:
        seen.append((time.monotonic(), share))
        if seen[-1][0] - seen[0][0] > _MEASURED_SECONDS:
            cancel.set()

    with contextlib.suppress(Cancelled):
        simulate_run(replace(request, teachers=(NoTeaching(),)), 0, 0, cancel=cancel, progress=note)
        return time.monotonic() - seen[0][0]
    middle, end = seen[(len(seen) - 1) // 2], seen[-1]
    return (end[0] - middle[0]) / (end[1] - middle[1])
