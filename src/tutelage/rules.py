"""The rules by which a server adjusts one reward, and the cost of an adjustment.

A rule depends only on the memory of the client that pulled: N pulls, Q sum of observed and S sum of revealed
rewards of each arm, and the numbers that LEVEL, FREE LEVEL and LIFT store.  :func:`reveal` is plain Python: the
engine compiles this function, and the server calls it as it is.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tutelage.draws import uniform_at
from tutelage.errors import InputError
from tutelage.levelling import reveal_free_level, reveal_level, update_wander
from tutelage.rule_memory import OFF_TARGET, RuleArrays, RuleMemory, clip
from tutelage.validation import Bounds, is_number

KEEP_KIND, SET_KIND, ALIGN_KIND, LEVEL_KIND, LIFT_KIND, SINK_KIND, SHIFT_KIND, FREE_LEVEL_KIND = range(8)
NUM_NUMBERS = 9  # the most that a rule carries

OFF_TARGET_WINDOW = 200.0
_PI_SQUARED = math.pi * math.pi
_SMALLEST, _LARGEST = 1e-300, 1e300  # "above 0" and "finite"
_LEVEL_LIMITS = {
    **dict.fromkeys(("leading_share", "freeze_pulls"), (1.0, _LARGEST)),
    **dict.fromkeys(("offset", "band", "slack", "slack_share", "push", "head_start"), (0.0, _LARGEST)),
}


def _check(rule: object, name: str, least: float, most: float) -> None:
    """Raise ``InputError`` unless a number of a rule lies within bounds."""
    value = getattr(rule, name)
    if not is_number(value) or not least <= value <= most:
        allowed = Bounds(least, most if most < _LARGEST else None).describe_allowed("a number")
        raise InputError(f"Invalid {name}={value} of the rule {type(rule).__name__}: use {allowed}.")


class _Rule:
    """A rule is its kind and its fields, which are numbers within ``limits``."""

    kind: ClassVar[int]
    limits: ClassVar[Mapping[str, tuple[float, float]]] = {}

    def __post_init__(self) -> None:
        for name, (least, most) in self.limits.items():
            _check(self, name, least, most)

    def numbers(self) -> tuple[float, ...]:
        """Return the fields in their order."""
        return tuple(float(value) for value in vars(self).values())


@dataclass(frozen=True)
class Keep(_Rule):
    """KEEP: reveal the observed reward."""

    kind: ClassVar[int] = KEEP_KIND


@dataclass(frozen=True)
class Set(_Rule):
    """SET(gamma): reveal gamma, in [0, 1], whatever the observed reward is."""

    gamma: float

    kind: ClassVar[int] = SET_KIND
    limits: ClassVar[Mapping[str, tuple[float, float]]] = {"gamma": (0.0, 1.0)}


@dataclass(frozen=True)
class Align(_Rule):
    """ALIGN: reveal a reward of the global model, which only a simulation can see."""

    kind: ClassVar[int] = ALIGN_KIND


@dataclass(frozen=True)
class Level(_Rule):
    """LEVEL: keep the arm's revealed sum S near a line that all active arms of the client share.

    The line of an arm after n pulls is ``level`` n + ``offset`` r, with r = ``leading_share`` for the leading
    arm and 1 for the others.  An observed reward that keeps S within ``band`` of it is revealed as it is; any
    other becomes the nearest that does.  Pulls are compared over r.  An arm that is ahead of the arm with the
    fewest pulls by more than ``slack`` + ``slack_share`` of these is pushed down by ``push`` per pull.  The
    level is 1/2 until the client has ``freeze_pulls`` pulls of each active arm, and then constant:
    ``freeze_share`` of the mean of its own averages, at least .05.  ``head_start`` pulls of the leading arm
    do not count where arms are compared.
    """

    leading_share: float = 2.0
    offset: float = 2.5
    band: float = 1.0
    slack: float = 5.0
    slack_share: float = 0.1
    push: float = 2.0
    freeze_pulls: float = 5.0
    freeze_share: float = 0.9
    head_start: float = 0.0

    kind: ClassVar[int] = LEVEL_KIND
    limits: ClassVar[Mapping[str, tuple[float, float]]] = _LEVEL_LIMITS | {"freeze_share": (0.0, _LARGEST)}


@dataclass(frozen=True)
class FreeLevel(_Rule):
    """FREE LEVEL: LEVEL with a level that moves, and a leading arm that is free at clients that explore.

    The client's level follows its own means, or, at a client that explores, the revealed mean of the leading
    arm, which is then revealed nearly as it is (docs/blt.md has the formulas, ``levelling.py`` the code).
    An arm that is ahead by more than ``slack`` (other slacks apply to the leading arm and at clients that
    explore) + ``slack_share`` of the fewest pulls is pushed below the arms that are behind it, ``push`` further
    at each pull.
    """

    leading_share: float = 3.0
    offset: float = 3.0
    band: float = 1.0
    slack: float = 6.0
    slack_share: float = 0.05
    push: float = 1.0
    freeze_pulls: float = 5.0
    head_start: float = 0.0

    kind: ClassVar[int] = FREE_LEVEL_KIND
    limits: ClassVar[Mapping[str, tuple[float, float]]] = _LEVEL_LIMITS


@dataclass(frozen=True)
class Lift(_Rule):
    """LIFT(lift), for the target: raise its revealed mean to ``lift`` at a client whose own mean is lower.

    It acts while z / 2 > lift - Q / N, z the moving share of the client's pulls off the target.
    """

    lift: float

    kind: ClassVar[int] = LIFT_KIND
    limits: ClassVar[Mapping[str, tuple[float, float]]] = {"lift": (0.0, 1.0)}


@dataclass(frozen=True)
class Sink(_Rule):
    """SINK(margin, delta): hold the arm's revealed mean below the lower confidence bound of the target's.

    Jun et al. 2018, the attacks on eps-greedy (``margin`` 0) and on UCB (``margin`` their Delta_0).  While
    the arm's revealed mean would exceed S / N - 2 beta(N) - ``margin`` of the target, beta as in
    :func:`half_width`, the reward is lowered, to 0 at the least.
    """

    margin: float
    delta: float

    kind: ClassVar[int] = SINK_KIND
    limits: ClassVar[Mapping[str, tuple[float, float]]] = {"margin": (0.0, _LARGEST), "delta": (_SMALLEST, 1.0)}


@dataclass(frozen=True)
class Shift(_Rule):
    """SHIFT(delta, scaled): lower every reward by how much the arm's mean may exceed the target's.

    Liu and Shroff 2019, the adaptive attack by constant estimation.  The shift is alpha = Q / N + beta(N) of
    the arm, less Q / N - beta(N) of the target, if that is above 0.  It is subtracted from the reward,
    down to 0; ``scaled`` multiplies the reward by 1 - alpha N / Q instead, which lowers rewards within
    [0, 1] by alpha on average.
    """

    delta: float
    scaled: bool

    kind: ClassVar[int] = SHIFT_KIND
    limits: ClassVar[Mapping[str, tuple[float, float]]] = {"delta": (_SMALLEST, 1.0)}


Rule = Keep | Set | Align | Level | FreeLevel | Lift | Sink | Shift
KEEP, ALIGN = Keep(), Align()
NO_ROUNDING: NDArray[np.uint64] = np.zeros(0, dtype=np.uint64)


def make_rule_arrays(
    rules: tuple[Rule, ...],
    active_arms: tuple[int, ...],
    leading_arm: int | None,
    target: int | None,
    rounding_key: NDArray[np.uint64] = NO_ROUNDING,
) -> RuleArrays:
    """Return the arrays of a directive; binary reveals need a key of their rounding."""
    num_arms = len(rules)
    numbers = np.zeros((num_arms, NUM_NUMBERS))
    for arm, rule in enumerate(rules):
        values = rule.numbers()
        numbers[arm, : len(values)] = values
    active = np.zeros(num_arms, dtype=np.bool_)
    active[list(active_arms)] = True
    return RuleArrays(
        kinds=np.array([rule.kind for rule in rules], dtype=np.int64),
        numbers=numbers,
        active=active,
        num_active=len(active_arms),
        leading_arm=-1 if leading_arm is None else leading_arm,
        target=-1 if target is None else target,
        watches_wander=any(rule.kind == FREE_LEVEL_KIND for rule in rules),
        rounding_key=rounding_key,
    )


def cost(reward: float, revealed: float) -> float:
    """Return the cost of an adjustment, abs(sigma): the distance between revealed and observed reward."""
    return abs(revealed - reward)


def reveal(rule_arrays: RuleArrays, memory: RuleMemory, arm: int, reward: float, aligned: float) -> float:
    """Return the reward to reveal for a pull of ``arm`` with the observed ``reward``.

    N and Q of the memory count this pull, S does not yet.  ``aligned`` is Y, the reward of the global
    model, which only ALIGN uses.  The numbers that rules store are updated here, under every rule.
    """
    state = memory.state
    if rule_arrays.target < 0:
        state[OFF_TARGET] = 0.0
    else:
        off = 0.0 if arm == rule_arrays.target else 1.0
        state[OFF_TARGET] += (off - state[OFF_TARGET]) / OFF_TARGET_WINDOW
    if rule_arrays.watches_wander:
        update_wander(memory, arm)
    kind = rule_arrays.kinds[arm]
    if kind == SET_KIND:
        return rule_arrays.numbers[arm, 0]  # type: ignore[no-any-return]
    if kind == ALIGN_KIND:
        return aligned
    if kind == LEVEL_KIND:
        return reveal_level(rule_arrays, memory, arm, reward)
    if kind == FREE_LEVEL_KIND:
        return reveal_free_level(rule_arrays, memory, arm, reward)
    if kind == LIFT_KIND:
        lift = rule_arrays.numbers[arm, 0]
        pulls = memory.pulls[arm]
        if state[OFF_TARGET] / 2.0 > lift - memory.observed[arm] / pulls:
            return max(reward, clip(lift * pulls - memory.revealed[arm]))
    if kind == SINK_KIND:
        reward = _sink(rule_arrays, memory, arm, reward)
    elif kind == SHIFT_KIND:
        reward = _shift(rule_arrays, memory, arm, reward)
    return reward


def round_reveal(value: float, key: NDArray[np.uint64], client: int, number: int) -> float:
    """Return 1 with the probability ``value``, clipped to [0, 1], else 0: the binary reveal of a client's pull.

    ``number`` counts the client's pulls from 1.  The draw depends on the key, client and number only, so a ledger
    that is replayed has the same one, and no choice that was made before knows it.  The mean of what is revealed
    stays ``value``.
    """
    return 1.0 if uniform_at(key, number, client) < clip(value) else 0.0


def half_width(pulls: float, num_arms: int, delta: float) -> float:
    """beta(N) = sqrt(2 sigma^2 / N log(pi^2 K N^2 / (3 delta))) with sigma = 1/2; N is at least 1.

    Jun et al. 2018, Lemma 1: with probability 1 - ``delta`` the means of all K arms stay within it for ever.
    Rewards in [0, 1] are sub-Gaussian with 1/2, whatever their distribution.
    """
    return math.sqrt(math.log(_PI_SQUARED * num_arms * pulls * pulls / (3.0 * delta)) / (2.0 * pulls))


def _sink(rules: RuleArrays, memory: RuleMemory, arm: int, reward: float) -> float:
    target = rules.target
    if target < 0 or arm == target:
        return reward
    target_pulls = float(memory.pulls[target])
    if target_pulls == 0.0:  # beta is infinite
        return 0.0
    margin, delta = rules.numbers[arm, 0], rules.numbers[arm, 1]
    mean = memory.revealed[target] / target_pulls
    line = mean - 2.0 * half_width(target_pulls, len(rules.kinds), delta) - margin
    return min(reward, clip(line * memory.pulls[arm] - memory.revealed[arm]))


def _shift(rules: RuleArrays, memory: RuleMemory, arm: int, reward: float) -> float:
    target = rules.target
    if target < 0 or arm == target:
        return reward
    pulls, target_pulls = float(memory.pulls[arm]), float(memory.pulls[target])
    if target_pulls == 0.0:
        return 0.0
    delta, scaled = rules.numbers[arm, 0], rules.numbers[arm, 1]
    mean, target_mean = memory.observed[arm] / pulls, memory.observed[target] / target_pulls
    widths = half_width(pulls, len(rules.kinds), delta) + half_width(target_pulls, len(rules.kinds), delta)
    shift = max(0.0, mean - target_mean + widths)
    if scaled == 0.0:
        return clip(reward - shift)
    return reward * (max(0.0, mean - shift) / mean) if mean > 0.0 else reward
