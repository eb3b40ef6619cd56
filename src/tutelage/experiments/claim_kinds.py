"""The kinds of claims that can be made about a panel, key by key (docs/experiments.md)."""

from typing import Annotated, Literal

from pydantic.dataclasses import dataclass

from tutelage.experiments.strict import STRICT, Factor, Quantity, Share, Some, TeacherSpec, in_one_sentence


@in_one_sentence
@dataclass(frozen=True, config=STRICT)
class Below:
    """The mean over runs of a quantity at T is at most ``factor`` times that of each teacher in ``than``."""

    kind: Literal["below"]
    text: str
    section: str
    teachers: Annotated[tuple[TeacherSpec, ...], Some]
    than: Annotated[tuple[TeacherSpec, ...], Some]
    quantity: Quantity | None = None
    factor: Factor = 1.0


@in_one_sentence
@dataclass(frozen=True, config=STRICT)
class MostlyBelow:
    """The same run by run (all teachers play the same ones): it holds in at least ``share`` of them."""

    kind: Literal["mostly-below"]
    text: str
    section: str
    teachers: Annotated[tuple[TeacherSpec, ...], Some]
    than: Annotated[tuple[TeacherSpec, ...], Some]
    quantity: Quantity | None = None
    factor: Factor = 1.0
    share: Share = 0.9


@in_one_sentence
@dataclass(frozen=True, config=STRICT)
class Growth:
    """How the mean of a quantity grows: what the second half of time adds to it.

    Half of it is a straight line, log 2 / log T of it a logarithm.  ``linear`` holds from 40 % on,
    ``logarithmic`` up to 25 %: a learning phase at the beginning, linear by its nature, must be over.
    """

    kind: Literal["growth"]
    text: str
    section: str
    teachers: Annotated[tuple[TeacherSpec, ...], Some]
    shape: Literal["linear", "logarithmic"]
    quantity: Quantity | None = None


@in_one_sentence
@dataclass(frozen=True, config=STRICT)
class Balance:
    """Regret and cost at T are closer to each other than under each teacher in ``than``.

    Compared is the median over runs of abs(log(cost / regret)), the distance from the diagonal of a log-log
    plot.
    """

    kind: Literal["balance"]
    text: str
    section: str
    teachers: Annotated[tuple[TeacherSpec, ...], Some]
    than: Annotated[tuple[TeacherSpec, ...], Some]


@in_one_sentence
@dataclass(frozen=True, config=STRICT)
class Spread:
    """The band of 80 % of runs is, measured in means, at least ``factor`` times as wide as under ``than``."""

    kind: Literal["spread"]
    text: str
    section: str
    teachers: Annotated[tuple[TeacherSpec, ...], Some]
    than: Annotated[tuple[TeacherSpec, ...], Some]
    quantity: Quantity | None = None
    factor: Factor = 1.0


@in_one_sentence
@dataclass(frozen=True, config=STRICT)
class Reaches:
    """At the horizon the teacher's target is a best arm, in at least ``share`` of the runs."""

    kind: Literal["reaches"]
    text: str
    section: str
    teachers: Annotated[tuple[TeacherSpec, ...], Some]
    share: Share = 0.9


Claim = Below | MostlyBelow | Growth | Balance | Spread | Reaches
KINDS: dict[str, type] = {
    "below": Below,
    "mostly-below": MostlyBelow,
    "growth": Growth,
    "balance": Balance,
    "spread": Spread,
    "reaches": Reaches,
}
