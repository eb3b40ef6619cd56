"""How long a request takes: an estimate from shorter runs, and a lower bound for requests too long to try."""

import contextlib
import logging
import math
import threading
import time
from dataclasses import replace

import numpy as np

from tutelage.engine.agent_group import Cancelled
from tutelage.engine.executors import default_workers
from tutelage.engine.simulation import simulate_run
from tutelage.errors import InputError
from tutelage.request import SimulationRequest
from tutelage.teachers.baselines import NoTeaching
from tutelage.text import format_number, format_rough_duration

LOG = logging.getLogger("tutelage.simulator")

_DAY, _YEAR = 86_400.0, 365 * 86_400.0
# Rounds of one client.  Fewer end within a day at 100,000 a second, slower than any policy of the package.
_SMALL = 10**10
_MEASURED_SECONDS = 0.3
_TRIAL_ROUNDS, _TRIAL_SECONDS = 500, 0.05  # of a run from which the time of all runs is estimated


def check_duration(request: SimulationRequest, workers: int) -> None:
    """Refuse a request that would take years, and log a warning about one that would take days.

    Raises ``InputError`` above one year.  A request that is small by its number of rounds is not measured.
    """
    num_runs = request.runs * len(request.teachers)
    if request.horizon * request.instance.num_clients * num_runs <= _SMALL:
        return
    untaught = _measure_run(replace(request, teachers=(NoTeaching(),)))
    seconds = num_runs / min(workers, num_runs) * untaught
    if request.engine == "leap" and seconds > _DAY:  # clients that step without a teacher may leap with one
        seconds = min(seconds, estimate_seconds(request, workers))
    if seconds > _YEAR:
        raise InputError(
            f"At the measured rate, these runs would take at least {format_number(seconds / _YEAR)} years with "
            f"{workers} at a time: use a shorter horizon or fewer runs."
        )
    if seconds > _DAY:
        LOG.warning("At the measured rate, these runs take at least %s.", format_rough_duration(seconds))


def _measure_run(request: SimulationRequest) -> float:
    """Return the seconds of a run of the first teacher, from the second half of its first fraction of a second.

    Where clients step, all rounds are taken to last as long as these.  Where they leap, later rounds take less time:
    the time is taken to grow with the power of the rounds with which it grew in that half, at most 1.
    """
    seen = [(time.monotonic(), 0.0)]
    cancel = threading.Event()

    def note(share: float) -> None:
        seen.append((time.monotonic(), share))
        if seen[-1][0] - seen[0][0] > _MEASURED_SECONDS:
            cancel.set()

    with contextlib.suppress(Cancelled):
        simulate_run(request, 0, 0, cancel=cancel, progress=note)
        return time.monotonic() - seen[0][0]
    middle, end = seen[(len(seen) - 1) // 2], seen[-1]
    if request.engine == "leap" and middle[1] > 0.0:
        before, elapsed = middle[0] - seen[0][0], end[0] - seen[0][0]
        power = min(1.0, math.log(elapsed / before) / math.log(end[1] / middle[1]))
        return float(elapsed * (1.0 / end[1]) ** power)
    return (end[0] - middle[0]) / (end[1] - middle[1])


def estimate_seconds(request: SimulationRequest, workers: int | None = None) -> float:
    """Estimate how long a request takes on this machine; infinite where its teachers refuse a short run."""
    num_runs = request.runs * len(request.teachers)
    try:
        seconds = sum(_estimate_run(request, teacher) for teacher in range(len(request.teachers)))
    except InputError:
        return math.inf
    return seconds * request.runs / min(workers or default_workers(), num_runs)


def _estimate_run(request: SimulationRequest, teacher: int) -> float:
    """Estimate the seconds of one run from two shorter ones; the first of all is not timed: it may compile.

    A run whose clients leap is not like a shorter one: its own beginning is measured.
    """
    if request.engine == "leap":
        return min(_measure_run(replace(request, teachers=(request.teachers[teacher],))) for _ in range(2))
    rounds = min(_TRIAL_ROUNDS, request.horizon)
    simulate_run(_shorten(request, rounds), teacher, 0)
    times = {0: 0.0}
    while True:
        started = time.perf_counter()
        simulate_run(_shorten(request, rounds), teacher, 0)
        times[rounds] = time.perf_counter() - started
        if rounds == request.horizon or (len(times) > 2 and times[rounds] > _TRIAL_SECONDS):
            break
        rounds = min(4 * rounds, request.horizon)
    (before, least), (_, most) = list(times.items())[-2:]
    return most + max(0.0, most - least) / (rounds - before) * (request.horizon - rounds)


def _shorten(request: SimulationRequest, horizon: int) -> SimulationRequest:
    return replace(request, horizon=horizon, checkpoints=np.array([horizon]), runs=1)
