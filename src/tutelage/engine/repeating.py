"""Pulls of one arm, many in a row, of a client whose policy says for how long that arm leads.

The same pulls with the same draws as one by one (``policies/base.py``, ``bound_lead``), but without asking the policy
and without storing sums after each of them.  Plain Python on one client's arrays; ``compiled_loop.py`` compiles it.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tutelage.distributions.base import Draw, RewardArrays, in_round
from tutelage.draws import hold, release
from tutelage.noticing import Noticing, compare_halves
from tutelage.policies.base import Lead, Learner
from tutelage.revealed_rewards import RevealedRewards, set_later_sum
from tutelage.rule_memory import OFF_TARGET, RuleArrays, RuleMemory, clip
from tutelage.rules import KEEP_KIND, OFF_TARGET_WINDOW


def no_lead(round: int, learner: Learner, parameters: NDArray[np.float64]) -> Lead:
    """Stand in for the ``bound_lead`` of a policy that has none."""
    return Lead(0, 0, 0.0, 0.0, 0)


def repeat_pulls(
    lead: Lead,
    draw: Draw,
    client: int,
    round: int,
    rounds: int,
    missing: int,
    rule_arrays: RuleArrays,
    rule_memory: RuleMemory,
    remembers_other_arms: bool,
    reward_arrays: RewardArrays,
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
) -> tuple[int, int]:
    """Pull the leading arm up to ``rounds`` times; return how often, and how many counts that met.

    The client has played ``round`` rounds.  The arm's rewards must be revealed as they are, and not all equal so far.
    The client stops where none of its counts is ``missing`` any more, with its pull pending.
    """
    arm = lead.arm
    pulls, segment, most = revealed.pulls[arm], segments[arm], min(rounds, lead.pulls)
    if rule_arrays.kinds[arm] != KEEP_KIND or revealed.first_reward_counts[arm] == pulls or missing == 0:
        return 0, 0
    most = min(most, next_power(pulls) - pulls)
    if segment < cuts.size:
        most = min(most, cuts[segment] - evidence_pulls[arm])
    if evidence_pulls[arm] < quota[arm]:
        most = min(most, quota[arm] - evidence_pulls[arm] - (1 if missing == 1 else 0))
    in_segment = sums[arm, min(segment, cuts.size)]
    observed_sum, revealed_sum, later_sum = (
        rule_memory.observed[arm],
        rule_memory.revealed[arm],
        revealed.later_sums[arm],
    )
    count, total, held = 0, 0.0, hold(reward_stream)
    while count < most and total > lead.least + count * lead.slope:
        count += 1
        reward = draw(in_round(reward_arrays, round + count), client, arm, held)
        seen = clip(reward)
        total += seen
        later_sum += seen
        observed_sum += reward
        revealed_sum += reward
        in_segment += reward
    if count == 0:
        return 0, 0
    release(reward_stream, held)
    rule_memory.observed[arm], rule_memory.revealed[arm] = observed_sum, revealed_sum
    set_later_sum(revealed, arm, later_sum, count)
    compare_halves(arm, round + count, revealed, noticing)
    all_pulls[arm] += count
    rule_memory.pulls[arm] += count
    evidence_pulls[arm] += count
    if remembers_other_arms:
        forget_other_arms(arm, count, rule_arrays, rule_memory)
    if segment < cuts.size:
        sums[arm, segment] = in_segment
        if evidence_pulls[arm] == cuts[segment]:
            segments[arm] = segment + 1
    if evidence_pulls[arm] == quota[arm]:
        quota_rounds[arm] = round + count
        return count, 1
    return count, 0


def forget_other_arms(arm: int, count: int, rule_arrays: RuleArrays, rule_memory: RuleMemory) -> None:
    """Update the moving share of pulls off the target as ``count`` calls of ``rules.reveal`` do."""
    share, off = 0.0, 0.0 if arm == rule_arrays.target else 1.0
    if rule_arrays.target >= 0:
        share = rule_memory.state[OFF_TARGET]
        for _ in range(count):
            if share == off:
                break
            share += (off - share) / OFF_TARGET_WINDOW
    rule_memory.state[OFF_TARGET] = share


def next_power(count: int) -> int:
    """Return the smallest power of 2 above ``count``, which is at least 1."""
    power = 1
    while power <= count:
        power <<= 1
    return power
