"""A bound and its parts, and the guarantee that a theorem gives."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Bound:
    """An upper bound on an expected total over all clients, up to the horizon.

    ``learning`` is the part of rounds with gamma1, ``teaching`` the part of rounds with gamma2,
    ``remainder`` the O(M) for the runs in which an event fails on which the other parts rely.
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
    """Regret and cost of a teacher with its clients, by a theorem.

    ``theorem`` is the paper's label, or the teacher's name; ``condition`` is what it assumes beyond the
    paper's assumptions.  ``learning_time`` is T_1 of appendix A: the round in which every client has pulled
    every arm F(psi_max) times, ``last_epoch`` being psi_max, None for teachers without epochs.
    ``decides_by`` is the round by which learning has ended; it is T_1 for TAL, and earlier for TWL, which
    does not wait for arms that are ruled out.  For BLT both are pulls of active arms by each client.
    ``needed_horizon`` is the smallest horizon from which ``decides_by`` fits, None if it is not computed;
    ``most_regret`` and ``most_cost`` are the largest possible values in T rounds, with any teacher.
    """

    theorem: str
    regret: Bound
    cost: Bound
    horizon: int
    last_epoch: int | None
    learning_time: int
    decides_by: int
    needed_horizon: int | None
    most_regret: float
    most_cost: float
    condition: str = ""

    @property
    def is_vacuous(self) -> bool:
        """Whether T is too short for learning to end.  The bound then does not include teaching."""
        return self.decides_by > self.horizon
