"""What a theorem says: a number and its parts, and whether it says anything."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Bound:
    """An upper bound on an expected total over all clients, up to the horizon.

    ``learning`` is what rounds with gamma1 add, ``teaching`` what rounds with gamma2 add, ``remainder`` the
    O(M) for the runs in which one of the events fails on which the rest relies.
    """

    learning: float
    teaching: float
    remainder: float

    @property
    def value(self) -> float:
        """The bound itself, the sum of its parts."""
        return self.learning + self.teaching + self.remainder


@dataclass(frozen=True)
class Guarantee:
    """Regret and cost of a teacher with its clients, by a theorem of the paper.

    ``theorem`` is the paper's label.  ``learning_time`` is T_1 of appendix A: the round in which every client
    has pulled every arm F(psi_max) times, ``last_epoch`` being psi_max.  ``ends_by`` is the round by which
    learning has ended; it is T_1 for TAL, and earlier for TWL, which does not wait for arms that are ruled
    out.  ``needed_horizon`` is the horizon from which on ``ends_by`` fits, ``most_regret`` and ``most_cost``
    what T rounds can bring at most, whatever the teacher does.
    """

    theorem: str
    regret: Bound
    cost: Bound
    horizon: int
    last_epoch: int
    learning_time: int
    ends_by: int
    needed_horizon: int
    most_regret: float
    most_cost: float

    @property
    def is_empty(self) -> bool:
        """Whether T is too short for learning to end.  The bound then holds, but promises no teaching."""
        return self.ends_by > self.horizon
