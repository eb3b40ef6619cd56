"""The states of BLT."""

from dataclasses import dataclass

from tutelage.teachers.base import Problem
from tutelage.teachers.blt.betting import Array


@dataclass(frozen=True, eq=False)
class BltState:
    """Sums of rewards, bets and active arms.

    ``totals[k]`` is float64 [segments of arm k + 1, M]: the sum of observed rewards up to each cut.
    ``steps[j][k]`` counts the grid steps that the ordered pair (j, k) has bet on, ``log_wealth`` [K, K, G] is
    log W_jk of each stake; neither changes any more for an arm that is ruled out.
    """

    problem: Problem
    totals: tuple[Array, ...]
    steps: tuple[tuple[int, ...], ...]
    log_wealth: Array
    active_arms: tuple[int, ...]
    consultations: int = 0
    excluded: tuple[int, ...] = ()
    provisional: int | None = None  # the arm that clients are led to if undecidable


@dataclass(frozen=True, eq=False)
class WindowState(BltState):
    """The state with dependent clients, whose evidence comes in windows (``windows.py``).

    ``totals[k]`` is float64 [windows + 1, M].  ``counts`` [windows][K] are the pulls of each client and arm in it,
    0 for an arm that the window did not wait for; ``leaders`` [windows] are the leading arms of the windows, None of
    the first.  ``steps`` are not counted.
    """

    counts: tuple[tuple[int, ...], ...] = ()
    leaders: tuple[int | None, ...] = ()
