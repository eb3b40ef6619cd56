"""How a server adjusts rewards: an open set.  A new teacher is one file here and one line below."""

from tutelage.registry import Table

TEACHERS = Table(
    kind="teacher",
    plural="teachers",
    entries={
        "tal": "tutelage.teachers.tal:TAL",
        "twl": "tutelage.teachers.twl:TWL",
        "blt": "tutelage.teachers.blt:BLT",
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
        "lab_only",
        "segments",
        "begin",
        "directive",
        "advance",
        "exclude",
        "report",
    ),
)

# Compared where nobody names a teacher: all but the attacks, and TAL with the paper's other constants.
SIDE_BY_SIDE = ("tal", "tal(gamma1=0,gamma2=0)", "twl", "blt", "ng", "na", "known", "none")
