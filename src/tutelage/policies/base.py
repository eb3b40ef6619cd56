"""The contract of policies: how a client picks its next arm from its revealed rewards.

A policy is a frozen dataclass of SPEC parameters with two plain functions that the engine compiles:

``choose(round, learner, parameters, stream) -> arm``
    The client's next arm.  ``round`` is the number of the client's current pull, counted from 1.
``learn(arm, reward, learner, parameters, stream)``
    Called after the reward of a pull has been revealed; ``learner`` already includes it.

Both may draw from ``stream`` through ``tutelage.draws`` and write ``learner.state``.  They change nothing
else.

A policy may also have a third plain function, with which the engine plays many rounds at once:

``leap(round, learner, prospect, stretch, parameters, stream) -> rounds``
    Play a stretch of rounds whose outcome has the same distribution as with ``choose`` and ``learn``.  ``round`` is
    the number of the first of these pulls.  Write how many pulls each arm gets, and how many ones are revealed;
    return the number of rounds, or 0 where nothing is to be gained: the engine then steps.  Counts and means are
    updated by the engine; ``learn`` is not called, so a leap also does to ``learner.state`` what ``learn`` would.
    A stretch ends where :class:`Prospect` says, at the next checkpoint unless the leap notes those it passes.  What
    was drawn about later rounds is forgotten, which is right only if the stretch would have ended there whatever these
    draws were.

One that learns nothing beyond counts and means may have another one, so that ``choose`` is called less often:

``bound_lead(round, learner, parameters) -> Lead``
    The arm that ``choose`` certainly returns, without drawing, and for how long.  ``round`` is the number of the
    coming pull.  The engine plays the same pulls with the same draws as with ``choose``.  It may be called at any time
    and not be called, so what it writes in ``learner.state`` must not change what ``choose`` returns or draws.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tutelage.draws import index
from tutelage.registry import check_parameters


class Learner(NamedTuple):
    """What a policy knows: counts and means of revealed rewards, and its own state."""

    counts: NDArray[np.int64]  # [K] pulls whose reward has been revealed
    means: NDArray[np.float64]  # [K] their mean: exactly the constant while all were equal; 0 before the first
    state: NDArray[np.float64]  # the policy's own, `state_size` numbers, all 0 at the start


_NO_CHECKPOINTS = np.zeros(0, dtype=np.int64)
_NOTHING_NOTED = np.zeros(1, dtype=np.int64)
_NO_COUNTS = np.zeros((0, 0), dtype=np.int64)
NEVER = 1 << 60  # rounds


class Prospect(NamedTuple):
    """What will be revealed to a client for its next pulls, and how long a stretch of them may be.

    A stretch ends right after the pull with which an arm reaches its ``room``, and with its last round.  This is that
    of the next checkpoint, or one up to ``later`` rounds after it if the leap calls :func:`note_checkpoint` at each
    checkpoint that it passes (:func:`rounds_to_checkpoint`).
    """

    means: NDArray[np.float64]  # [K] the constant, or the probability that 1 is revealed, else 0
    is_constant: NDArray[np.bool_]  # [K] whether each revealed reward is exactly the mean
    is_settled: NDArray[np.bool_]  # [K] whether so was each one before, of at least one: the mean stays as it is
    room: NDArray[np.int64]  # [K] most pulls of each arm, at least 1
    rounds: int  # most rounds, at least 1
    one_arm: bool  # whether all pulls of the stretch must be of one arm
    later: int = 0
    round: int = 0  # rounds before the stretch
    checkpoints: NDArray[np.int64] = _NO_CHECKPOINTS  # [C] rounds, increasing
    next_checkpoint: int = 0  # the first of them that is to be noted
    notes_ones: bool = True  # whether ones are noted, too: else they need not be drawn up to a checkpoint


class Stretch(NamedTuple):
    """What a leap writes; all zeros before."""

    pulls: NDArray[np.int64]  # [K]
    ones: NDArray[np.int64]  # [K] revealed ones, of the arms that are not constant
    noted: NDArray[np.int64] = _NOTHING_NOTED  # [1] checkpoints that are noted, at most N
    noted_pulls: NDArray[np.int64] = _NO_COUNTS  # [N, K] the pulls up to each of them
    noted_ones: NDArray[np.int64] = _NO_COUNTS  # [N, K] the ones up to each of them, where they are asked for
    noted_costs: NDArray[np.float64] = np.zeros(0)  # [N] the engine's, of the rounds since the one before


class Lead(NamedTuple):
    """An arm that is certainly pulled, and for how long.

    The pull j, counted from 0, is one of this arm for all j < ``pulls`` if for each i from 0 to j the i pulls before
    it have revealed rewards that sum to more than ``least`` + i ``slope``.

    Where ``pulls`` is above 0 but below ``least_leap`` and the arm's revealed rewards are random, the policy's ``leap``
    would return 0 without drawing, so the engine does not call it.
    """

    arm: int
    pulls: int  # 0: nothing is known
    least: float
    slope: float
    least_leap: int = 0


Choose = Callable[[int, Learner, NDArray[np.float64], Any], int]
Learn = Callable[[int, float, Learner, NDArray[np.float64], Any], None]
Leap = Callable[[int, Learner, Prospect, Stretch, NDArray[np.float64], Any], int]
BoundLead = Callable[[int, Learner, NDArray[np.float64]], Lead]


class Policy(Protocol):
    """An entry of the table of policies."""

    @property
    def choose(self) -> Choose:
        """The function that picks an arm (a static method: plain, compilable)."""
        ...

    @property
    def learn(self) -> Learn:
        """The function that learns from a revealed reward (a static method: plain, compilable)."""
        ...

    def state_size(self, num_arms: int) -> int:
        """The number of values that the policy stores for one client."""
        ...

    def parameters(self) -> tuple[float, ...]:
        """The parameters as ``choose`` and ``learn`` see them."""
        ...


def rounds_to_checkpoint(prospect: Prospect, stretch: Stretch) -> int:
    """Return the round of the stretch, counted from 1, of the first checkpoint that is not noted; NEVER if none is."""
    place = prospect.next_checkpoint + stretch.noted[0]
    return prospect.checkpoints[place] - prospect.round if place < prospect.checkpoints.size else NEVER


def note_checkpoint(stretch: Stretch) -> None:
    """Note pulls and ones up to a checkpoint: those that are in the stretch."""
    place = stretch.noted[0]
    for arm in range(stretch.pulls.size):
        stretch.noted_pulls[place, arm] = stretch.pulls[arm]
        stretch.noted_ones[place, arm] = stretch.ones[arm]
    stretch.noted[0] = place + 1


def note_pulls(arm: int, rounds: int, pulls: int, prospect: Prospect, stretch: Stretch) -> None:
    """Add pulls of one arm to a stretch, which had this many rounds, and note the checkpoints that they reach."""
    before = stretch.pulls[arm]
    checkpoint = rounds_to_checkpoint(prospect, stretch)
    while checkpoint <= rounds + pulls:
        stretch.pulls[arm] = before + checkpoint - rounds
        note_checkpoint(stretch)
        checkpoint = rounds_to_checkpoint(prospect, stretch)
    stretch.pulls[arm] = before + pulls


def note_reached(prospect: Prospect, stretch: Stretch, rounds: int) -> None:
    """Note pulls and ones if the stretch, which has this many rounds, has just reached a checkpoint."""
    if rounds == rounds_to_checkpoint(prospect, stretch):
        note_checkpoint(stretch)


def can_leap(policy: Policy, rewards: Any) -> bool:
    """Return whether a policy leaps with rewards of this distribution, which says so by ``leaps_as``."""
    return getattr(policy, "leap", None) is not None and bool(getattr(rewards, "leaps_as", ""))


def no_learning(arm: int, reward: float, learner: Learner, parameters: NDArray[np.float64], stream: Any) -> None:
    """``learn`` of a policy that needs only counts and means."""


class PolicyBase:
    """What most policies share; a policy overrides what differs.

    Its parameters are numbers, in the order of its fields; it stores none of its own, learns nothing
    beyond counts and means, and does not leap.
    """

    learn = staticmethod(no_learning)
    leap: Any = None  # or a Leap, a static method
    bound_lead: Any = None  # or a BoundLead, a static method

    def __post_init__(self) -> None:
        check_parameters(self)

    def state_size(self, num_arms: int) -> int:
        return 0

    def parameters(self) -> tuple[float, ...]:
        return tuple(float(getattr(self, field.name)) for field in dataclasses.fields(self))  # type: ignore[arg-type]


def first_pulls(counts: NDArray[np.int64], stream: Any) -> int:
    """An arm never pulled, uniformly at random among those; -1 if every arm has been pulled."""
    unpulled = 0
    for arm in range(counts.size):
        if counts[arm] == 0:
            unpulled += 1
    if unpulled == 0:
        return -1
    left = index(stream, unpulled)
    for arm in range(counts.size):
        if counts[arm] == 0:
            if left == 0:
                return arm
            left -= 1
    return -1


def argmax(values: NDArray[np.float64], stream: Any) -> int:
    """The arm with the largest value, uniformly at random among *exactly* equal ones.

    Draws from the stream only where there is a tie.
    """
    best, ties = 0, 1
    for arm in range(1, values.size):
        if values[arm] > values[best]:
            best, ties = arm, 1
        elif values[arm] == values[best]:
            ties += 1
    if ties == 1:
        return best
    left = index(stream, ties)
    for arm in range(best, values.size):
        if values[arm] == values[best]:
            if left == 0:
                return arm
            left -= 1
    return best
