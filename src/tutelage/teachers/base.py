"""The contract between a teacher and whoever runs it, the lab or the live server.

A teacher never sees a reward stream.  It is a few pure functions on small frozen values::

    segments(problem) -> cuts            # increasing pull counts at which every (client, arm) ledger is cut
    begin(problem, generator) -> state
    directive(state) -> Directive        # what holds from now on, and when to ask again
    advance(state, evidence) -> state    # the answer to a met quota
    exclude(state, client) -> state       # go on as if this client had never been evidence
    report(state) -> Report              # for people

The runner's side of it: observe all pulls of a round, consult (``advance``, then ``directive``) if the
quota is met, at most once a round, and only then reveal that same round under the new directive.  A quota
that is already met when it is published is met in the next round.  A decision uses whole segments that
every client that is not excluded has completed, so it never depends on who ran ahead.
"""

import dataclasses
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

import msgspec
import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tutelage.errors import InputError
from tutelage.registry import parameters_of, write_value
from tutelage.rules import Rule
from tutelage.teachers import TEACHERS


@dataclass(frozen=True)
class Problem:
    """What a teacher knows at the start: M clients, K arms, horizon T, the weights of the global model.

    ``best_arm`` is told only to a teacher that ``needs_best_arm``.
    """

    num_clients: int
    num_arms: int
    horizon: int
    weights: tuple[float, ...]
    best_arm: int | None = None


@dataclass(frozen=True)
class Quota:
    """Ask again once every client has pulled listed arm k at least ``counts[k]`` times.

    An arm with count 0 is not listed.  ``mode`` says whether that must hold for ``all`` listed arms or for
    ``any`` one of them.
    """

    counts: tuple[int, ...]
    mode: Literal["all", "any"] = "all"


@dataclass(frozen=True)
class Directive:
    """What a teacher has published: one rule per arm, and when it wants to be asked again (None: never).

    When ``restarts`` grows, evidence begins anew: ledgers, quotas and what rules remember count from the
    pulls of this round on.
    """

    rules: tuple[Rule, ...]
    quota: Quota | None
    active_arms: tuple[int, ...]
    leading_arm: int | None = None
    target: int | None = None
    restarts: int = 0


@dataclass(frozen=True, eq=False)
class Evidence:
    """The segments that all clients have completed since the last consultation.

    ``sums[k]`` is float64 [new segments of arm k, M]: the sums of observed rewards, oldest segment first.
    The column of a excluded client is 0.
    """

    sums: tuple[NDArray[np.float64], ...]


@dataclass(frozen=True)
class Report:
    """Where a teacher stands, for people: results, dashboard, ledger.

    ``lower`` and ``upper`` [K] are the arms' latest confidence bounds (None before the first, and where a
    teacher has none).  ``reachable`` says whether the next decision fits into the horizon.
    ``evidence`` [K], of a teacher that bets, is log W over the log of its threshold, W being the bet against
    that arm which is nearest to it: 1 rules the arm out.  Empty for other teachers and before the first bet.
    ``is_undecidable`` says that no decision will come, and that clients are led to the directive's leading_arm.
    """

    consultations: int
    active_arms: tuple[int, ...]
    target: int | None
    lower: tuple[float | None, ...]
    upper: tuple[float | None, ...]
    reachable: bool
    sentence: str
    evidence: tuple[float | None, ...] = ()
    is_undecidable: bool = False


@dataclass(frozen=True)
class Style:
    """How a teacher is drawn.

    ``colour`` is #rrggbb, ``marker`` a key of ``tutelage.plots.MARKERS``, ``dash`` the lengths of strokes and
    spaces in points, empty for a solid line.
    """

    colour: str
    marker: str
    dash: tuple[float, ...] = ()


class Teacher(Protocol):
    """An entry of the table of teachers: a frozen dataclass of SPEC parameters that derives from this class.

    A teacher defines ``state_type``, the frozen dataclass of its states, and the abstract functions.  All
    else has a default, which a teacher overrides by a class attribute or a property of the same name.
    """

    state_type: ClassVar[type]
    title: ClassVar[str] = ""  # the name in legends and tables; empty: the name in the table
    side_by_side: ClassVar[tuple[Mapping[str, float], ...]] = ()  # variants compared by default: arguments
    likely_caveat: ClassVar[str] = ""  # what must be known about likely_pulls(); empty: nothing

    @property
    def needs_best_arm(self) -> bool:
        """Whether it must be told ``Problem.best_arm``; such a teacher cannot run on the live server."""
        return False

    @property
    def lab_only(self) -> bool:
        """Whether it uses what only a simulation can see, so that it cannot run on the live server."""
        return False

    @property
    def decides(self) -> bool:
        """Whether it can ever name a target."""
        return True

    @property
    def label(self) -> str:
        """Name in legends and tables: the title, and the parameters that differ from their defaults."""
        title = self.title or TEACHERS.spec(self).partition("(")[0]
        values = [(item, getattr(self, item.name)) for item in parameters_of(type(self))]
        changed = [f"{item.name}={write_value(value)}" for item, value in values if value != item.default]
        return f"{title}({', '.join(changed)})" if changed else title

    @property
    def style(self) -> Style | None:
        """How it is drawn; None leaves the choice to :func:`tutelage.plots.teacher_styles`."""
        return None

    def error_bound(self, problem: Problem) -> str:
        """A sentence that bounds the probability of a wrong target; empty where no bound is proved."""
        return ""

    def likely_pulls(self, epochs: Sequence[int], pulls: Callable[[int], int]) -> int | None:
        """Pulls after which a client that explores evenly has what a decision is likely to need.

        ``epochs`` are the epochs that separate each arm except the best one from it, and ``pulls(epoch)`` is
        F(psi).  None where no formula is known.
        """
        return None

    @abstractmethod
    def segments(self, problem: Problem) -> tuple[int, ...]: ...
    @abstractmethod
    def begin(self, problem: Problem, generator: Generator) -> Any: ...
    @abstractmethod
    def directive(self, state: Any) -> Directive: ...
    @abstractmethod
    def advance(self, state: Any, evidence: Evidence) -> Any: ...
    @abstractmethod
    def exclude(self, state: Any, client: int) -> Any: ...
    @abstractmethod
    def report(self, state: Any) -> Report: ...


def error_probability(problem: Problem) -> str:
    """1/T as people read it, with two digits and no exponent: ``1/T = 0.00002``."""
    return f"1/T = {np.format_float_positional(1 / problem.horizon, precision=2, fractional=False, trim='-')}"


def encode_state(state: Any) -> str:
    """A teacher's state as JSON; :func:`decode_state` reads it back equal, every float bit for bit."""
    return msgspec.json.encode(state, enc_hook=_array_to_list).decode()


def decode_state(teacher: Teacher, text: str) -> Any:
    """The state that :func:`encode_state` wrote.  Raises ``InputError`` if it is not one of this teacher."""
    try:
        state: Any = msgspec.json.decode(text, type=teacher.state_type, dec_hook=_list_to_array)
    except msgspec.ValidationError as error:
        raise InputError(f"This is not a state of {type(teacher).__name__}: {error}.") from error
    except msgspec.DecodeError as error:
        raise InputError(f"This state is not JSON: {error}.") from error
    known = {field.name for field in dataclasses.fields(teacher.state_type)}
    for name in msgspec.json.decode(text).keys() - known:  # TWL's state has all that TAL's has, and more
        raise InputError(f"This is not a state of {type(teacher).__name__}: it has no {name!r}.")
    return state


def _array_to_list(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return {"shape": list(value.shape), "values": value.ravel().tolist()}
    raise TypeError(f"A state may not hold a {type(value).__name__}.")


def _list_to_array(wanted: Any, value: Any) -> Any:
    if not isinstance(value, dict) or value.keys() != {"shape", "values"}:
        raise ValueError("Expected an array as {shape, values}")
    array = np.array(value["values"], dtype=np.float64).reshape(value["shape"])
    if not np.isfinite(array).all():
        raise ValueError("Expected an array of numbers")
    return array


def check_gamma(name: str, value: float) -> None:
    """Raise ``InputError`` unless a constant reward lies in [0, 1]."""
    if not 0 <= value <= 1:
        raise InputError(f"{name}={value:g} lies outside [0, 1], where every revealed reward must lie.")
