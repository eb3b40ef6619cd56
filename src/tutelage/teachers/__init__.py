"""Teachers, which decide how the server adjusts rewards: an open set, one file and one line per teacher."""

from typing import TYPE_CHECKING

from tutelage.registry import Table

if TYPE_CHECKING:
    from tutelage.teachers.base import Teacher

TEACHERS: "Table[Teacher]" = Table(
    kind="teacher",
    plural="teachers",
    entries={
        "tal": "tutelage.teachers.tal:TAL",
        "twl": "tutelage.teachers.twl:TWL",
        "blt": "tutelage.teachers.blt.teacher:BLT",
        "ng": "tutelage.teachers.naive:NaivelyGuess",
        "na": "tutelage.teachers.naive:NaivelyAlign",
        "known": "tutelage.teachers.baselines:KnownTarget",
        "jun": "tutelage.teachers.jun:Jun",
        "ace": "tutelage.teachers.ace:ACE",
        "none": "tutelage.teachers.baselines:NoTeaching",
        "change-detector": "tutelage.teachers.change_detector:ChangeDetector",
    },
    needs=(
        "state_type",
        "needs_best_arm",
        "simulation_only",
        "decides",
        "segments",
        "begin",
        "directive",
        "advance",
        "exclude",
        "report",
    ),
)


def side_by_side() -> "tuple[Teacher, ...]":
    """Return the teachers that are compared where nobody names one, in the order of the table."""
    classes = [TEACHERS.cls(name) for name in TEACHERS]
    return tuple(cls(**arguments) for cls in classes for arguments in cls.side_by_side)  # type: ignore[attr-defined]
