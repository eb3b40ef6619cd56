"""The compiled loop: clients, one after the other, through many rounds under one directive.

:func:`advance` is plain Python on plain arrays; :func:`kernel_for` compiles it with a policy
and a reward distribution inlined (docs/decisions/0004).
"""

import functools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tutelage.distributions.base import RewardArrays, in_round
from tutelage.draws import random
from tutelage.engine.kernels import compiled_main
from tutelage.engine.leaping import LONGEST_PAUSE, never_leap, play_stretch
from tutelage.engine.memory import NOT_REACHED, Memory, add_to_segment
from tutelage.engine.repeating import no_lead, repeat_pulls
from tutelage.noticing import Noticing, compare_halves
from tutelage.policies.base import Learner, Prospect, Stretch, no_learning
from tutelage.read_only_arrays import read_only
from tutelage.revealed_rewards import RevealedRewards, add_revealed_reward
from tutelage.rule_memory import RuleArrays, RuleMemory, clip
from tutelage.rules import ALIGN_KIND, KEEP_KIND, LIFT_KIND, SET_KIND, cost, reveal, round_reveal
from tutelage.run_outcome import PullTrace
from tutelage.seeding import ACTIVITY, POLICY, REWARDS

# When `advance` stops: in the last round, or before it, where the quota is met, or after the last round.
STOP_AT_LAST, STOP_AT_ALL, STOP_AT_ANY, STOP_AFTER_LAST = range(4)


class RoundRecord(NamedTuple):
    """Cumulative pulls and costs after certain rounds, of the clients and checkpoints from the first ones here on."""

    rounds: NDArray[np.int64]  # [C], increasing
    pulls: NDArray[np.integer[Any]]  # [M, C, K], or fewer clients and checkpoints
    costs: NDArray[np.float64]  # [M, C]
    first_client: int
    first_checkpoint: int


class ActivityArrays(NamedTuple):
    """When clients act (``conditions.py``)."""

    activity: NDArray[np.float64]  # [M] probability of acting in a round
    delays: NDArray[np.int64]  # [M] rounds that a pull takes to arrive
    last_rounds: NDArray[np.int64]  # [M] the last round in which a client acts


def advance(  # noqa: C901, PLR0912, PLR0915 - one loop, so that its variables stay in registers
    memory: Memory,
    record: RoundRecord,
    trace: PullTrace,
    prospect: Prospect,
    stretch: Stretch,
    reward_arrays: RewardArrays,
    acting: ActivityArrays,
    rule_arrays: RuleArrays,
    cuts: NDArray[np.int64],
    quota: NDArray[np.int64],
    is_evidence: NDArray[np.bool_],
    clients: NDArray[np.int64],
    parameters: NDArray[np.float64],
    last_round: int,
    stop: int,
) -> None:
    """Take these clients through ``last_round``, or through the round that meets their quota.

    A client that acts in that round is left with its pull pending, except with STOP_AFTER_LAST.  A pull that is
    pending at the start is revealed first.

    With STOP_AT_ALL each client stops in the first round from now on in which it has ``quota[k]`` pulls of
    every arm k with ``quota[k]`` > 0.  With STOP_AT_ANY, for which ``clients`` must be all clients, they stop
    together in the round in which every client that is evidence has that many pulls of any one arm.  No arm
    can reach its count before each client has made the pulls it still misses; so all clients advance by that
    many rounds, again and again, until some arm has reached its count.

    ``choose``, ``learn``, ``leap`` and ``bound_lead`` are those of the clients' policy, ``draw`` is that of the
    instance's reward distribution.  ``parameters`` has a row for each client of the run; ``prospect`` and ``stretch``
    are for intermediate results.

    With REPEATS, a client that acts in every round may pull a leading arm many times without asking its policy, up to
    where a leap would end; these are the same pulls.

    An arm whose lead is bounded is pulled without asking the policy; a leap that the bound shows to be in vain
    (``Lead.least_leap``) is an attempt without a leap.

    With LEAPS, a client that has no pull pending and acts in every round may leap over many rounds, at most to
    the one before ``end``; the leap may pass checkpoints.  After an attempt without a leap it steps 1, 2, 4 rounds
    and so on; after a leap these numbers begin again at a fourth.  With REPEATS, which makes single rounds cheap except
    where arms are tied, it also attempts to leap after a pull of an arm whose revealed reward is constant, and again
    after each of these leaps.  When to attempt depends on the past only, so it does not change the distribution of what
    follows.
    """
    while True:
        end = last_round
        if stop == STOP_AT_ANY:
            safe_rounds = max(1, least_missing(memory.evidence_pulls, quota, is_evidence))
            end = min(last_round, memory.rounds[clients[0]] + safe_rounds)
        for client in clients:
            all_pulls, pulls = memory.pulls[client], memory.pulls_since_restart[client]
            observed, revealed = memory.observed_sums[client], memory.revealed_sums[client]
            rule_memory = RuleMemory(pulls, observed, revealed, memory.rule_states[client])
            revealed_rewards = RevealedRewards(
                memory.revealed_pulls[client],
                memory.revealed_means[client],
                memory.first_rewards[client],
                memory.first_reward_counts[client],
                memory.later_sums[client],
            )
            noticing = Noticing(memory.first_half_means[client], memory.noticed_in[client])
            learner = Learner(
                read_only(revealed_rewards.pulls), read_only(revealed_rewards.means), memory.policy_states[client]
            )
            evidence_pulls, segments, sums, quota_rounds = (
                memory.evidence_pulls[client],
                memory.completed_segments[client],
                memory.segment_sums[client],
                memory.quota_rounds[client],
            )
            reward_stream, policy_stream = memory.streams[client, REWARDS], memory.streams[client, POLICY]
            policy_parameters = parameters[client]
            missing = count_missing(evidence_pulls, quota)
            activity, delay, stops_after = (acting.activity[client], acting.delays[client], acting.last_rounds[client])
            acts_always = activity == 1.0 and delay == 0 and end <= stops_after
            round, number, wait = (memory.rounds[client], memory.num_pulls[client], memory.remaining_delays[client])
            total_cost, is_first_left_out = memory.costs[client], memory.is_first_left_out[client]
            checkpoint = memory.next_checkpoints[client]
            may_leap = LEAPS and activity == 1.0 and delay == 0 and trace.arms.shape[1] == 0
            may_leap = may_leap and rule_arrays.rounding_key.size == 0
            next_attempt, pause, has_constant = 0, 1, False
            may_repeat = REPEATS and acts_always and trace.arms.shape[1] == 0 and not rule_arrays.watches_wander
            may_repeat = may_repeat and rule_arrays.rounding_key.size == 0
            remembers_other_arms = not LEAPS  # in leaps LIFT alone needs it
            for kind in rule_arrays.kinds:
                remembers_other_arms = remembers_other_arms or kind == LIFT_KIND
            lead, lead_number = no_lead(0, learner, policy_parameters), 0
            arm, reward, pending = (
                memory.pending_arm[client],
                memory.pending_reward[client],
                memory.pending_arm[client] >= 0,
            )
            while True:
                if pending:
                    aligns = rule_arrays.kinds[arm] == ALIGN_KIND
                    aligned = 1.0 if aligns and random(reward_stream) < reward_arrays.global_means[arm] else 0.0
                    value = reveal(rule_arrays, rule_memory, arm, reward, aligned)
                    if rule_arrays.rounding_key.size > 0:
                        value = round_reveal(value, rule_arrays.rounding_key, client, number)
                    total_cost += cost(reward, value)
                    revealed[arm] += value
                    seen = clip(value)  # of rewards beyond [0, 1]
                    add_revealed_reward(revealed_rewards, arm, seen)
                    compare_halves(arm, round, revealed_rewards, noticing)
                    learn(arm, seen, learner, policy_parameters, policy_stream)
                    if round <= trace.arms.shape[1]:
                        trace.arms[client, round - 1] = arm
                        trace.observed[client, round - 1] = reward
                        trace.revealed[client, round - 1] = value
                    pending = False
                if checkpoint < record.rounds.size and round == record.rounds[checkpoint]:
                    row, place = client - record.first_client, checkpoint - record.first_checkpoint
                    for each in range(all_pulls.size):
                        record.pulls[row, place, each] = all_pulls[each]
                    record.costs[row, place] = total_cost
                    checkpoint += 1
                if round >= end:
                    break
                attempts = repeats = is_short = False
                if LEAPS:  # numba compiles neither branch where its constant is False
                    attempts = may_leap and (has_constant or round >= next_attempt)
                if REPEATS:
                    repeats = may_repeat and arm >= 0 and rule_arrays.kinds[arm] == KEEP_KIND
                    if (attempts or repeats) and lead_number <= number:
                        lead, lead_number = bound_lead(number + 1, learner, policy_parameters), number + 1
                    if attempts and 0 < lead.pulls < lead.least_leap:
                        is_short = not REWARDS_ARE_CONSTANT and is_random(
                            rule_arrays.kinds, reward_arrays.local_means[client], lead.arm
                        )
                if LEAPS:  # noqa: SIM102
                    if attempts:
                        played, added, met = play_stretch(
                            leap,
                            learner,
                            policy_parameters,
                            policy_stream,
                            prospect,
                            stretch,
                            number,
                            round,
                            0 if is_first_left_out or is_short else min(end - 1, stops_after) - round,
                            record.rounds,
                            checkpoint,
                            missing if stop == STOP_AT_ALL else NOT_REACHED,
                            rule_arrays,
                            rule_memory,
                            reward_arrays.local_means[client],
                            reward_arrays.global_means,
                            REWARDS_ARE_CONSTANT,
                            revealed_rewards,
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
                        if stretch.noted[0] > 0:
                            checkpoint = record_noted(record, stretch, client, checkpoint, total_cost)
                        round, number, total_cost, missing = (
                            round + played,
                            number + played,
                            total_cost + added,
                            missing - met,
                        )
                        memory.leapt_rounds[client] += played
                        if has_constant:
                            has_constant = played > 0
                        else:
                            pause = max(1, pause // 4) if played > 0 else min(LONGEST_PAUSE, 2 * pause)
                            next_attempt = round if played > 0 else round + pause // 2
                        continue
                if REPEATS:  # noqa: SIM102
                    if repeats:
                        latest = record.rounds[checkpoint] if checkpoint < record.rounds.size else end
                        repeated, met = repeat_pulls(
                            lead,
                            draw,
                            client,
                            round,
                            min(end - 1, latest, round + LONGEST_PAUSE if may_leap else end) - round,
                            missing if stop == STOP_AT_ALL else NOT_REACHED,
                            rule_arrays,
                            rule_memory,
                            remembers_other_arms,
                            reward_arrays,
                            revealed_rewards,
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
                        round, number, missing = round + repeated, number + repeated, missing - met
                        if repeated > 0:
                            arm = lead.arm
                            continue
                round += 1
                if not acts_always:
                    if acts(round, wait, activity, stops_after, memory.streams[client, ACTIVITY]):
                        wait = delay
                    else:
                        wait -= 1
                        if stop == STOP_AT_ALL and missing == 0:
                            break
                        continue
                number += 1
                if REPEATS and lead_number == number and lead.pulls > 0 and lead.least < 0.0:
                    arm = lead.arm
                else:
                    arm = choose(number, learner, policy_parameters, policy_stream)
                if not 0 <= arm < all_pulls.size:
                    raise IndexError
                if LEAPS:  # noqa: SIM102
                    if REPEATS:
                        has_constant = rule_arrays.kinds[arm] == SET_KIND
                reward = draw(in_round(reward_arrays, round), client, arm, reward_stream)
                all_pulls[arm] += 1
                pulls[arm] += 1
                observed[arm] += reward
                if is_first_left_out:
                    is_first_left_out = 0
                else:
                    add_to_segment(arm, reward, evidence_pulls, segments, sums, cuts)
                    if evidence_pulls[arm] == quota[arm]:
                        quota_rounds[arm] = round
                        missing -= 1
                pending = True
                if (round == end and stop != STOP_AFTER_LAST) or (stop == STOP_AT_ALL and missing == 0):
                    break
            memory.rounds[client], memory.num_pulls[client] = round, number
            memory.remaining_delays[client] = wait
            memory.is_first_left_out[client] = is_first_left_out
            memory.costs[client] = total_cost
            memory.next_checkpoints[client] = checkpoint
            memory.pending_arm[client] = arm if pending else -1
            memory.pending_reward[client] = reward
        if end == last_round or first_round_met(memory.quota_rounds, quota, is_evidence) <= end:
            break


def record_noted(record: RoundRecord, stretch: Stretch, client: int, checkpoint: int, total_cost: float) -> int:
    """Record the checkpoints noted in a stretch, before which the client had this cost; return the next one.

    The notes are deleted.
    """
    row, place = client - record.first_client, checkpoint - record.first_checkpoint
    for noted in range(stretch.noted[0]):
        for arm in range(stretch.pulls.size):
            record.pulls[row, place + noted, arm] = stretch.noted_pulls[noted, arm]
        total_cost += stretch.noted_costs[noted]
        record.costs[row, place + noted] = total_cost
        stretch.noted_costs[noted] = 0.0
    checkpoint += stretch.noted[0]
    stretch.noted[0] = 0
    return checkpoint


def acts(round: int, wait: int, activity: float, stops_after: int, stream: Any) -> bool:
    """Return whether a client acts in a round; its pull under way needs ``wait`` more rounds to arrive."""
    if round > stops_after or wait > 0:
        return False
    return activity == 1.0 or random(stream) < activity


def is_random(kinds: NDArray[np.int64], local_means: NDArray[np.float64], arm: int) -> bool:
    """Return whether an arm's rewards of 0 and 1 are revealed as they are and are not certain."""
    is_kept = kinds[arm] in (KEEP_KIND, LIFT_KIND)
    return is_kept and 0.0 < local_means[arm] < 1.0


def count_missing(pulls: NDArray[np.int64], quota: NDArray[np.int64]) -> int:
    """Return of how many arms a client, with ``pulls`` [K], lacks pulls for the quota."""
    missing = 0
    for arm in range(quota.size):
        if pulls[arm] < quota[arm]:
            missing += 1
    return missing


def least_missing(pulls: NDArray[np.int64], quota: NDArray[np.int64], is_evidence: NDArray[np.bool_]) -> int:
    """Return the fewest pulls that any listed arm misses.

    An arm misses as many pulls as the client that misses most of it, among the clients that are evidence.
    """
    least = NOT_REACHED
    for arm in range(quota.size):
        if quota[arm] > 0:
            missing = 0
            for client in range(is_evidence.size):
                if is_evidence[client]:
                    missing = max(missing, quota[arm] - pulls[client, arm])
            least = min(least, missing)
    return least


def first_round_met(quota_rounds: NDArray[np.int64], quota: NDArray[np.int64], is_evidence: NDArray[np.bool_]) -> int:
    """Return the first round in which all clients that are evidence have the pulls of some listed arm."""
    first = NOT_REACHED
    for arm in range(quota.size):
        if quota[arm] > 0:
            last = 0
            for client in range(is_evidence.size):
                if is_evidence[client]:
                    last = max(last, quota_rounds[client, arm])
            first = min(first, last)
    return first


def choose(round: int, learner: Learner, parameters: NDArray[np.float64], stream: Any) -> int:
    """Stand in for the policy's ``choose``, with which a kernel is compiled."""
    raise AssertionError


learn = no_learning
leap = never_leap
bound_lead = no_lead
LEAPS = REPEATS = REWARDS_ARE_CONSTANT = False


def draw(rewards: RewardArrays, client: int, arm: int, stream: Any) -> float:
    """Stand in for the reward distribution's ``draw``, with which a kernel is compiled."""
    raise AssertionError


@functools.cache
def kernel_for(
    choose_function: Any,
    learn_function: Any,
    leap_function: Any,
    draw_function: Any,
    leaps_as: str,
    bound_lead_function: Any = None,
) -> Any:
    """Return :func:`advance` compiled with the functions of a policy and of a reward distribution.

    It steps if ``leap_function`` or ``leaps_as``, which is that of the distribution, is empty.
    """
    names = [each.__module__.rpartition(".")[2] for each in (choose_function, draw_function)]
    bound = {"choose": choose_function, "learn": learn_function, "draw": draw_function}
    if bound_lead_function:
        bound |= {"bound_lead": bound_lead_function, "REPEATS": True}
    if not leap_function or not leaps_as:
        return compiled_main(advance, f"advance_{'_'.join(names)}", **bound)
    bound |= {"leap": leap_function, "LEAPS": True, "REWARDS_ARE_CONSTANT": leaps_as == "constant"}
    return compiled_main(advance, f"leap_{'_'.join(names)}", **bound)


@functools.cache
def quota_kernels() -> tuple[Any, Any]:
    """Return :func:`least_missing` and :func:`first_round_met`, compiled."""
    return compiled_main(least_missing, "least_missing"), compiled_main(first_round_met, "first_round_met")
