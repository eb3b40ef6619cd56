"""The kinds of claims about a panel, key by key (docs/experiments.md)."""

from typing import Annotated, Literal, get_args

from msgspec import Meta

from tutelage.experiments.section import Section, TeacherSpecs, label_teachers

Factor = Annotated[float, Meta(gt=0, le=1.7976931348623157e308, description="a finite number greater than 0")]
Share = Annotated[float, Meta(ge=0, le=1)]
Quantity = Literal["regret", "cost"]


class ClaimSection(Section, frozen=True, kw_only=True, tag_field="kind"):
    """What every claim has: its text, where it is made, and the teachers that it must hold for."""

    text: str
    section: str
    teachers: TeacherSpecs

    @property
    def kind(self) -> str:
        """The claim's ``kind`` in an experiment file."""
        return str(self.__struct_config__.tag)

    def check(self) -> None:
        label_teachers(self, "teachers")


class Comparison(ClaimSection, frozen=True, kw_only=True):
    """A claim that compares each of the ``teachers`` with each of the teachers in ``than``."""

    than: TeacherSpecs

    def check(self) -> None:
        label_teachers(self, "teachers")
        label_teachers(self, "than")


class Below(Comparison, frozen=True, kw_only=True, tag="below"):
    """The mean over runs of a quantity at T is at most ``factor`` times that of each teacher in ``than``."""

    quantity: Quantity | None = None
    factor: Factor = 1.0


class MostlyBelow(Comparison, frozen=True, kw_only=True, tag="mostly-below"):
    """Run by run the quantity is at most ``factor`` times the other's, in at least ``share`` of the runs.

    All teachers play the same runs, so runs can be compared in pairs.
    """

    quantity: Quantity | None = None
    factor: Factor = 1.0
    share: Share = 0.9


class Growth(ClaimSection, frozen=True, kw_only=True, tag="growth"):
    """How the mean of a quantity grows: the share of it that the second half of the rounds adds.

    A straight line adds 1/2, a logarithm log 2 / log T.  ``linear`` holds from 40 % on, ``logarithmic`` up
    to 25 %: a learning phase at the beginning, which is linear, must then be over.
    """

    shape: Literal["linear", "logarithmic"]
    quantity: Quantity | None = None


class Balance(Comparison, frozen=True, kw_only=True, tag="balance"):
    """Regret and cost at T are closer to each other than under each teacher in ``than``.

    The measure is the median over runs of abs(log(cost / regret)), the distance from the diagonal of a
    log-log plot.
    """


class Spread(Comparison, frozen=True, kw_only=True, tag="spread"):
    """The band of 80 % of the runs, relative to the mean, is at least ``factor`` times as wide."""

    quantity: Quantity | None = None
    factor: Factor = 1.0


class Reaches(ClaimSection, frozen=True, kw_only=True, tag="reaches"):
    """At the horizon the teacher's target is a best arm, in at least ``share`` of the runs."""

    share: Share = 0.9


Claim = Below | MostlyBelow | Growth | Balance | Spread | Reaches
CLAIM_KINDS: dict[str, type[ClaimSection]] = {str(cls.__struct_config__.tag): cls for cls in get_args(Claim)}
