"""The two baselines of every comparison: a target known from the start, and no teaching."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from tutelage.rules import Rule, Set
from tutelage.teachers.base import Style
from tutelage.teachers.families.fixed_teacher import FixedTarget, FixedTeacher


@dataclass(frozen=True)
class KnownTarget(FixedTarget):
    """Known target: reveals every other arm as 0 from the start (Rangi et al. 2021)."""

    sentence: ClassVar[str] = "teaching the known target, arm {target}"
    rule: ClassVar[Rule] = Set(0.0)
    side_by_side: ClassVar[tuple[Mapping[str, float], ...]] = ({},)

    @property
    def style(self) -> Style | None:
        return Style("#000000", "x", (1.0, 1.5)) if self.target is None else None


@dataclass(frozen=True)
class NoTeaching(FixedTeacher):
    """No teaching: reveals every reward as it is."""

    sentence: ClassVar[str] = "not teaching"
    side_by_side: ClassVar[tuple[Mapping[str, float], ...]] = ({},)
    style: ClassVar[Style | None] = Style("#7f7f7f", "hex", (8.0, 2.0))
    decides: ClassVar[bool] = False
