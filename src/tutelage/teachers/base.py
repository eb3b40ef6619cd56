"""The contract between a teacher and its runner, which is the simulator or the live server.

A teacher never sees a stream of rewards.  It is a few pure functions on small frozen values::

    segments(problem) -> cuts            # increasing pull counts at which every (client, arm) sum is cut
    begin(problem, generator) -> state
    directive(state) -> Directive        # the rules from now on, and when to consult the teacher again
    advance(state, evidence) -> state    # called when the quota is met
    exclude(state, client) -> state      # continue as if this client had never been evidence
    report(state) -> Report              # for people

In each round the runner observes all pulls, consults the teacher (``advance``, then ``directive``) at most
once if the quota is met, and only then reveals the rewards of that round under the new directive.  A quota
that is already met when it is published is met in the next round.  A decision uses whole segments that every
client that is not excluded has completed, so it never depends on which client is ahead.
"""

import dataclasses
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Protocol

import msgspec
import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tutelage.client_groups import ANY
from tutelage.errors import InputError
from tutelage.registry import check_parameters, parameter, parameters_of
from tutelage.rules import Rule
from tutelage.teachers import TEACHERS
from tutelage.teachers.dependence import INDEPENDENT
from tutelage.teachers.separation import Separation
from tutelage.text import format_name, format_value, shorten


@dataclass(frozen=True)
class Problem:
    """What a teacher knows at the start: M clients, K arms, horizon T, the weights of the global model.

    ``best_arm`` is known only to a teacher that ``needs_best_arm``.  A target may be wrong with probability
    1 / (T ``risk_divisor``); a teacher that starts another one several times divides the risk among the starts.
    ``sub_gaussian`` is the constant of rewards beyond [0, 1]; None: rewards lie in [0, 1], whose constant is 1/2.
    ``risk`` is set by a teacher that does not know the horizon: the probability of a wrong target is then at most
    ``risk`` / ``risk_divisor``, and T only limits the pulls that are evidence.
    """

    num_clients: int
    num_arms: int
    horizon: int
    weights: tuple[float, ...]
    best_arm: int | None = None
    risk_divisor: int = 1
    sub_gaussian: float | None = None
    risk: float | None = None


QuotaMode = Literal["all", "any"]


@dataclass(frozen=True)
class Quota:
    """When to consult the teacher again: once every client has ``counts[k]`` pulls of the listed arms k.

    An arm with count 0 is not listed.  ``mode`` says whether that must hold for ``all`` listed arms or for
    ``any`` one of them.
    """

    counts: tuple[int, ...]
    mode: QuotaMode = "all"


@dataclass(frozen=True)
class Directive:
    """One rule per arm, and the quota for the next consultation (None: no further consultation).

    When ``restarts`` grows, the runner discards all evidence: sums, quotas and what rules remember count from
    the pulls of this round on.

    When ``windows`` grows, the runner begins a window: sums, segments and quotas count from each client's second
    pull after this round on, and what rules remember stays.  A client's first pull may have been made, though not
    reported, before the consultation; with it left out, whatever a teacher computes in the consultation is fixed
    before the pulls of the window.
    """

    rules: tuple[Rule, ...]
    quota: Quota | None
    active_arms: tuple[int, ...]
    leading_arm: int | None = None
    target: int | None = None
    restarts: int = 0
    windows: int = 0


@dataclass(frozen=True, eq=False)
class Evidence:
    """The segments that all clients have completed since the last consultation.

    ``sums[k]`` is float64 [new segments of arm k, M]: the sums of observed rewards, oldest segment first.
    The column of an excluded client is 0.
    """

    sums: tuple[NDArray[np.float64], ...]


@dataclass(frozen=True, eq=False)
class Routine:
    """A teacher's routine consultations as a plain function on arrays, which the simulator compiles.

    A consultation is routine if it leaves all of the directive as it was but the counts of the quota and the leading
    arm.  ``consult(arrays, segment_sums, first, end, quota)`` adds the segments ``first`` [K] to ``end`` [K] of
    ``segment_sums`` [M, K, cuts + 1] to the state in ``arrays``, a NamedTuple, and writes the counts of the next
    quota; it returns the leading arm, -1 for none.  Where the consultation is not routine it leaves the state as it
    was and returns less: ``restore()`` is that state then, from which ``advance`` continues.
    """

    consult: Callable[..., int]
    arrays: Any
    restore: Callable[[], Any]


@dataclass(frozen=True)
class Report:
    """The progress of a teacher, for people: results, dashboard, ledger.

    ``consultations`` counts the consultations so far whose evidence is in use.
    ``lower`` and ``upper`` [K] are the latest confidence bounds of the arms, None for an arm without bounds.
    ``reachable`` says whether the next decision fits into the horizon.
    ``evidence`` [K] of a teacher that bets is log W divided by the log of its threshold, for the bet against
    that arm which is nearest to its threshold: 1 rules the arm out.  It is empty for other teachers and
    before the first bet.  ``is_undecidable`` says that no decision will be made before the horizon, and that
    clients are led to the directive's leading arm.
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
    side_by_side: ClassVar[tuple[Mapping[str, float], ...]] = ()  # variants compared by default: arguments
    needs_bounded_rewards: ClassVar[bool] = True  # whether it refuses rewards beyond [0, 1]
    likely_caveat: ClassVar[str] = ""  # ends a sentence about the round of likely_decision(); empty: none

    def __post_init__(self) -> None:
        """Check every parameter against its bounds."""
        check_parameters(self)
        if self.dependence == INDEPENDENT:
            object.__setattr__(self, "dependence", None)

    @property
    def needs_best_arm(self) -> bool:
        """Whether it needs ``Problem.best_arm``; such a teacher cannot run on the live server."""
        return False

    @property
    def simulation_only(self) -> bool:
        """Whether it uses what only a simulation can see, so that it cannot run on the live server."""
        return False

    @property
    def dependence(self) -> str | None:
        """Which clients may depend on each other without harm to its guarantee; None: no clients."""
        return None

    @property
    def risk(self) -> float | None:
        """The risk of a wrong target for an unknown horizon; None: 1/T, or no guarantee."""
        return None

    @property
    def decides(self) -> bool:
        """Whether it can ever name a target."""
        return True

    @property
    def style(self) -> Style | None:
        """How it is drawn; None leaves the choice to :func:`tutelage.plots.teacher_styles`."""
        return None

    def error_bound(self, problem: Problem) -> str:
        """A sentence that bounds the probability of a wrong target; empty where no bound is proved."""
        return ""

    def likely_decision(self, separation: Separation) -> tuple[int, int] | None:
        """The epoch by which at least half of all runs decide, and a client's pulls until then; None without a formula.

        The client explores the active arms evenly.
        """
        return None

    def routine(self, state: Any) -> Routine | None:
        """Its routine consultations from this state on; None: none, or too few to be worth compiling."""
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


def number_arms(teacher: Teacher, arms: Sequence[str], num_arms: int) -> Teacher:
    """The teacher with numbers of arms where its parameters have names.

    A whole number below ``num_arms`` is the number of an arm, also where an arm is called so.  Raises
    ``InputError`` for a name that no arm has.
    """
    found = {}
    for item in parameters_of(type(teacher)):
        value = getattr(teacher, item.name)
        if not item.names_arm or value is None:
            continue
        if str(value) in arms and (isinstance(value, str) or value >= num_arms):
            found[item.name] = tuple(arms).index(str(value))
        elif isinstance(value, str):
            called = shorten(", ".join(map(format_name, arms)), 200) if arms else f"0 to {num_arms - 1}, without names"
            name = TEACHERS.spec(teacher).partition("(")[0]
            raise InputError(f"The teacher {name} has {item.name}={format_value(value)}, but the arms are {called}.")
    return replace(teacher, **found) if found else teacher  # type: ignore[type-var]


def add_excluded(excluded: tuple[int, ...], client: int, problem: Problem) -> tuple[int, ...]:
    """Return the excluded clients and this one, ascending.

    Raises ``InputError`` if the client does not exist, is excluded already, or is the last one.
    """
    if not 0 <= client < problem.num_clients or client in excluded:
        raise InputError(f"Cannot exclude client {client}: it does not exist or is excluded already.")
    if len(excluded) == problem.num_clients - 1:
        raise InputError(f"Cannot exclude client {client}: it is the last one.")
    return tuple(sorted((*excluded, client)))


def describe_assumptions(dependence: str | None = None) -> str:
    """Return the sentence on what a guarantee with this ``dependence`` assumes (docs/theory.md, "Assumptions")."""
    others = "that means are constant, and that exclusion does not depend on rewards."
    if dependence is None:
        return f"This assumes that the rewards of different clients are independent, {others}"
    chosen = f"that the choice of an arm does not depend on what the rewards of its round share, {others}"
    if dependence == ANY:
        return f"The rewards of a round may depend on each other. This assumes {chosen}"
    return (
        "The rewards of a round may depend on each other within a group of clients. This assumes that different "
        f"groups are independent, {chosen}"
    )


def bound_error(problem: Problem, error: str = "Wrong", dependence: str | None = None) -> str:
    """Return the sentences that this error has a probability of at most 1/T, with two digits, and what it assumes."""
    if problem.risk is not None:
        return f"{error} with probability at most {problem.risk:g}, at any horizon. {describe_assumptions(dependence)}"
    risk = np.format_float_positional(1 / problem.horizon, precision=2, fractional=False, trim="-")
    return f"{error} with probability at most 1/T = {risk}. {describe_assumptions(dependence)}"


def risk_parameter() -> Any:
    """Return the field ``risk`` of a teacher."""
    return parameter(
        None, help="probability of a wrong target at any time, for an unknown horizon; 1/T by default", above=0, below=1
    )


def add_risk(problem: Problem, risk: float | None) -> Problem:
    """Return the problem of a teacher with this ``risk``."""
    return problem if risk is None else replace(problem, risk=risk)


def encode_state(state: Any) -> str:
    """Return a teacher's state as JSON; :func:`decode_state` restores it exactly, every float bit for bit."""
    return msgspec.json.encode(state, enc_hook=_array_to_list).decode()


def decode_state(teacher: Teacher, text: str) -> Any:
    """Return the state that :func:`encode_state` wrote; ``InputError`` if it is not this teacher's."""
    try:
        state: Any = msgspec.json.decode(text, type=teacher.state_type, dec_hook=_list_to_array)
    except msgspec.ValidationError as error:
        raise InputError(f"This is not a state of {type(teacher).__name__}: {error}.") from error
    except msgspec.DecodeError as error:
        raise InputError(f"This state is not JSON: {error}.") from error
    fields = {field.name for field in dataclasses.fields(teacher.state_type)}
    for name in msgspec.json.decode(text).keys() - fields:  # TWL's state has all that TAL's has, and more
        raise InputError(f"This is not a state of {type(teacher).__name__}: unknown field {name!r}.")
    return state


def _array_to_list(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return {"shape": list(value.shape), "values": value.ravel().tolist()}
    raise TypeError(f"A state cannot contain a {type(value).__name__}.")


def _list_to_array(wanted: Any, value: Any) -> Any:
    if not isinstance(value, dict) or value.keys() != {"shape", "values"}:
        raise ValueError("Expected an array as {shape, values}")
    array = np.array(value["values"], dtype=np.float64).reshape(value["shape"])
    if not np.isfinite(array).all():
        raise ValueError("Expected an array of numbers")
    return array
