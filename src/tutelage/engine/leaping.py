"""Stretches of rounds that a client leaps over (docs/speed.md).

:func:`find_prospect` says what will be revealed to a client and where the stretch must end at the latest; the
policy draws how the stretch goes; :func:`record_stretch` draws the rewards that the client does not see, and
writes pulls, sums, cost and quotas.  Plain Python on one client's arrays; ``compiled_loop.py`` compiles it.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tutelage.binomial import binomial
from tutelage.noticing import Noticing, compare_halves
from tutelage.policies.base import Leap, Learner, Prospect, Stretch
from tutelage.read_only_arrays import read_only
from tutelage.revealed_rewards import RevealedRewards, add_equal_rewards, add_one_by_one, add_ones
from tutelage.rule_memory import OFF_TARGET, RuleArrays, RuleMemory, clip
from tutelage.rules import ALIGN_KIND, KEEP_KIND, LIFT_KIND, OFF_TARGET_WINDOW, SET_KIND, cost

MOST_NOTED = 64  # checkpoints inside a stretch
LONGEST_PAUSE = 256  # rounds that are stepped before a policy that did not leap is asked again
_CACHE_LINES = 128  # bytes: two lines, which processors fetch together
_MARGIN = 1e-9  # far above the rounding of a mean


def never_leap(
    round: int, learner: Learner, prospect: Prospect, stretch: Stretch, parameters: NDArray[np.float64], stream: Any
) -> int:
    """Stand in for the ``leap`` of a policy that has none."""
    return 0


def new_scratch(num_arms: int) -> tuple[Prospect, Stretch]:
    """Return arrays to write a prospect and a stretch in.

    No other arrays share their cache lines: threads would wait for each other wherever one writes.
    """
    counts, numbers, flags = (np.int64, (num_arms,)), (np.float64, (num_arms,)), (np.bool_, (num_arms,))
    many = np.int64, (MOST_NOTED, num_arms)
    means, room, pulls, ones, noted, noted_pulls, noted_ones, noted_costs, is_constant, is_settled = _lay_out(
        numbers, counts, counts, counts, (np.int64, (1,)), many, many, (np.float64, (MOST_NOTED,)), flags, flags
    )
    prospect = Prospect(means, is_constant, is_settled, room, 0, False, 0, 0, np.zeros(0, dtype=np.int64), 0, False)
    return prospect, Stretch(pulls, ones, noted, noted_pulls, noted_ones, noted_costs)


def _lay_out(*arrays: tuple[type, tuple[int, ...]]) -> list[NDArray[Any]]:
    """Return arrays of zeros of these types and shapes, one after the other, far from all others."""
    sizes = [np.dtype(kind).itemsize * math.prod(shape) for kind, shape in arrays]
    block = np.zeros(2 * _CACHE_LINES + sum(sizes), dtype=np.uint8)
    ends = np.cumsum([_CACHE_LINES, *sizes]).tolist()
    return [
        block[start:end].view(kind).reshape(shape)
        for (kind, shape), start, end in zip(arrays, ends[:-1], ends[1:], strict=True)
    ]


def play_stretch(
    leap: Leap,
    learner: Learner,
    parameters: NDArray[np.float64],
    policy_stream: Any,
    prospect: Prospect,
    stretch: Stretch,
    number: int,
    round: int,
    rounds: int,
    checkpoints: NDArray[np.int64],
    next_checkpoint: int,
    missing: int,
    rule_arrays: RuleArrays,
    rule_memory: RuleMemory,
    local_means: NDArray[np.float64],
    global_means: NDArray[np.float64],
    rewards_are_constant: bool,
    revealed: RevealedRewards,
    noticing: Noticing,
    all_pulls: NDArray[np.int64],
    evidence_pulls: NDArray[np.int64],
    segments: NDArray[np.int64],
    sums: NDArray[np.float64],
    cuts: NDArray[np.int64],
    quota: NDArray[np.int64],
    quota_rounds: NDArray[np.int64],
    reward_stream: Any,
) -> tuple[int, float, int]:
    """Leap over up to ``rounds`` rounds; return how many these were, their cost and how many counts they met.

    The client has made ``number`` pulls in ``round`` rounds.  It stops where none of its counts is ``missing`` any
    more, with its pull pending.  ``stretch`` then holds the client's pulls at each checkpoint that it noted, and the
    cost of the rounds before it and after the one before.
    """
    last = next_checkpoint + MOST_NOTED - 1  # the last one that may be noted, at which a stretch then ends
    if last < checkpoints.size:
        rounds = min(rounds, checkpoints[last] - round)
    if rounds < 2 or missing == 0:
        return 0, 0.0, 0
    if not find_prospect(
        prospect,
        rounds,
        rule_arrays,
        rule_memory,
        local_means,
        global_means,
        rewards_are_constant,
        revealed,
        noticing.noticed_in[0] > 0,
        evidence_pulls,
        segments,
        cuts,
        quota,
        1 if missing == 1 else 0,
    ):
        return 0, 0.0, 0
    one_arm = notes_ones = False
    for kind in rule_arrays.kinds:
        one_arm = one_arm or kind == LIFT_KIND
        notes_ones = notes_ones or kind == ALIGN_KIND  # its cost depends on them
    near = min(rounds, checkpoints[next_checkpoint] - round) if next_checkpoint < checkpoints.size else rounds
    coming = Prospect(
        read_only(prospect.means),
        read_only(prospect.is_constant),
        read_only(prospect.is_settled),
        read_only(prospect.room),
        near,
        one_arm,
        rounds - near,
        round,
        read_only(checkpoints),
        next_checkpoint,
        notes_ones,
    )
    played = leap(number + 1, learner, coming, stretch, parameters, policy_stream)
    if played == 0:
        return 0, 0.0, 0
    total_cost, met = record_stretch(
        stretch,
        coming,
        round + played,
        rule_arrays,
        rule_memory,
        local_means,
        rewards_are_constant,
        revealed,
        noticing,
        all_pulls,
        evidence_pulls,
        segments,
        sums,
        cuts,
        quota,
        quota_rounds,
        reward_stream,
    )
    return played, total_cost, met


def find_prospect(
    prospect: Prospect,
    rounds: int,
    rule_arrays: RuleArrays,
    rule_memory: RuleMemory,
    local_means: NDArray[np.float64],
    global_means: NDArray[np.float64],
    rewards_are_constant: bool,
    revealed: RevealedRewards,
    has_noticed: bool,
    evidence_pulls: NDArray[np.int64],
    next_segments: NDArray[np.int64],
    cuts: NDArray[np.int64],
    quota: NDArray[np.int64],
    reserved: int,
) -> bool:
    """Write the prospect of a client for up to ``rounds`` rounds; return whether it may leap at all.

    A stretch ends with the pull that completes a segment, that meets the quota's count of an arm (``reserved`` = 1:
    before it, since that pull must stay pending), or after which the client compares halves (noticing.py): their
    rounds count.  Under a rule that depends on the single rewards a client steps, except under LIFT while it
    cannot act.  ALIGN reveals ones with the global mean as probability, whatever the observed reward.
    """
    for arm in range(local_means.size):
        kind, room = rule_arrays.kinds[arm], rounds
        mean, is_constant = rule_arrays.numbers[arm, 0], kind == SET_KIND
        if kind == ALIGN_KIND:
            mean = clip(global_means[arm])
            is_constant = mean in (0.0, 1.0)
        elif not is_constant:
            mean = clip(local_means[arm])
            is_constant = rewards_are_constant or mean in (0.0, 1.0)
            if kind == LIFT_KIND and arm == rule_arrays.target:
                room = min(room, count_pulls_without_lift(rule_arrays, rule_memory, arm))
            elif kind != KEEP_KIND:
                return False
        pulls = revealed.pulls[arm]
        is_settled = (
            is_constant
            and pulls > 0
            and revealed.first_reward_counts[arm] == pulls
            and revealed.first_rewards[arm] == mean
        )
        if next_segments[arm] < cuts.size:
            room = min(room, cuts[next_segments[arm]] - evidence_pulls[arm])
        if evidence_pulls[arm] < quota[arm]:
            room = min(room, quota[arm] - evidence_pulls[arm] - reserved)
        if not is_settled and not has_noticed:
            room = min(room, (1 << math.frexp(pulls)[1]) - pulls)  # up to the next power of 2
        if room < 1:
            return False
        prospect.means[arm] = mean
        prospect.is_constant[arm] = is_constant
        prospect.is_settled[arm] = is_settled
        prospect.room[arm] = room
    return True


def count_pulls_without_lift(rule_arrays: RuleArrays, memory: RuleMemory, target: int) -> int:
    """Return for how many more pulls of the target, and of no other arm, LIFT cannot change a reward.

    It changes none of the next j if S >= lift (N + j): the revealed sum S never falls, so what it wants to
    reveal is at most 0.  It does not act if z / 2 <= lift - (Q + j) / (N + j): the share z of pulls off the
    target falls, and the observed mean is at most that with j more rewards of 1.
    """
    lift, share = float(rule_arrays.numbers[target, 0]), memory.state[OFF_TARGET]
    pulls, observed, revealed = float(memory.pulls[target]), memory.observed[target], float(memory.revealed[target])
    longest = float(1 << 52)
    least = (revealed * (1.0 - _MARGIN)) / lift - pulls if lift > 0.0 else longest
    highest = lift - share / 2.0 - _MARGIN  # mean below which LIFT does not act
    if highest < 1.0:
        least = max(least, (highest * pulls - observed) / (1.0 - highest))
    return int(min(longest, max(0.0, least)))


def draw_observed(
    kind: int, count: int, ones: int, mean: float, local_mean: float, rewards_are_constant: bool, stream: Any
) -> tuple[float, float]:
    """Draw the sum of the rewards that are observed in ``count`` pulls of an arm; return it and the cost.

    ALIGN reveals ``ones`` ones and otherwise zeros, SET the constant ``mean``.
    """
    total, added, left = 0.0, 0.0, count
    for part in range(2):  # of ALIGN the ones, then the zeros
        value, number = mean, left
        if kind == ALIGN_KIND:
            value, number = 1.0 - part, ones if part == 0 else left
        left -= number
        if rewards_are_constant:
            total += number * local_mean
            added += number * cost(local_mean, value)
        else:
            observed = binomial(stream, number, local_mean)
            total += observed
            added += observed * cost(1.0, value) + (number - observed) * cost(0.0, value)
    return total, added


def record_stretch(
    stretch: Stretch,
    prospect: Prospect,
    round: int,
    rule_arrays: RuleArrays,
    rule_memory: RuleMemory,
    local_means: NDArray[np.float64],
    rewards_are_constant: bool,
    revealed: RevealedRewards,
    noticing: Noticing,
    all_pulls: NDArray[np.int64],
    evidence_pulls: NDArray[np.int64],
    segments: NDArray[np.int64],
    sums: NDArray[np.float64],
    cuts: NDArray[np.int64],
    quota: NDArray[np.int64],
    quota_rounds: NDArray[np.int64],
    reward_stream: Any,
) -> tuple[float, int]:
    """Add a stretch that ended in ``round`` to a client's memory; return its cost and how many counts it met.

    The pulls noted at a checkpoint become those since the client's first round.

    Where an arm's revealed reward does not depend on the observed one, neither does the policy; so the observed
    rewards are independent of the stretch.  Their sum is Binomial, both over the pulls that revealed 1 and over the
    others: under ALIGN the two are drawn, since the cost depends on how often observed and revealed reward differ.
    The parts between two noted checkpoints are drawn one by one, as their sums are independent.
    """
    total_cost, met, noted = 0.0, 0, stretch.noted[0]
    for arm in range(local_means.size):
        for place in range(noted):
            stretch.noted_pulls[place, arm] += all_pulls[arm]
        count = stretch.pulls[arm]
        if count == 0:
            continue
        mean = prospect.means[arm]
        shown = count * mean if prospect.is_constant[arm] else float(stretch.ones[arm])
        observed = shown
        if rule_arrays.kinds[arm] != KEEP_KIND and rule_arrays.kinds[arm] != LIFT_KIND:
            observed, pulls_before, ones_before = 0.0, all_pulls[arm], 0
            for place in range(noted + 1):
                is_last = place == noted
                pulls = all_pulls[arm] + count if is_last else stretch.noted_pulls[place, arm]
                ones = stretch.ones[arm] if is_last else stretch.noted_ones[place, arm]
                part = pulls - pulls_before
                if part == 0:
                    continue
                part_sum, added = draw_observed(
                    rule_arrays.kinds[arm],
                    part,
                    int(part * mean) if prospect.is_constant[arm] else ones - ones_before,
                    mean,
                    local_means[arm],
                    rewards_are_constant,
                    reward_stream,
                )
                observed += part_sum
                total_cost += added
                if not is_last:
                    stretch.noted_costs[place] += added
                pulls_before, ones_before = pulls, ones
        if prospect.is_constant[arm]:
            add_equal_rewards(revealed, arm, mean, count)
        else:
            add_ones(revealed, arm, stretch.ones[arm], count)
        compare_halves(arm, round, revealed, noticing)
        all_pulls[arm] += count
        rule_memory.pulls[arm] += count
        rule_memory.observed[arm] += observed
        if prospect.is_constant[arm]:
            rule_memory.revealed[arm] += shown
        else:
            rule_memory.revealed[arm] = add_one_by_one(rule_memory.revealed[arm], stretch.ones[arm])
        if prospect.one_arm:
            off = 0.0 if arm == rule_arrays.target else 1.0
            share = rule_memory.state[OFF_TARGET]
            rule_memory.state[OFF_TARGET] = off + (share - off) * (1.0 - 1.0 / OFF_TARGET_WINDOW) ** float(count)
        evidence_pulls[arm] += count
        segment = segments[arm]
        if segment < cuts.size:
            sums[arm, segment] += observed
            if evidence_pulls[arm] == cuts[segment]:
                segments[arm] = segment + 1
        if evidence_pulls[arm] == quota[arm]:
            quota_rounds[arm] = round
            met += 1
        stretch.pulls[arm] = 0
        stretch.ones[arm] = 0
    return total_cost, met
