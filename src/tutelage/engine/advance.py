"""The compiled loop: one client after the other through many rounds under one directive.

:func:`advance` is written as plain Python on plain arrays; :func:`kernel_for` compiles it with a policy
and a reward distribution inside (docs/decisions/0004).
"""

import functools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tutelage.distributions.base import RewardArrays
from tutelage.draws import random
from tutelage.engine.kernels import compiled_main
from tutelage.engine.memory import NOT_YET, Memory, Shown, add_to_segment, show
from tutelage.policies.base import Learner, no_learning
from tutelage.rules import ALIGN_KIND, RuleArrays, RuleMemory, cost, reveal
from tutelage.seeding import ACTIVITY, POLICY, REWARDS

STOP_AT_LAST, STOP_AT_ALL, STOP_AT_ANY = range(3)  # the last round, or before it where the quota is met


class Record(NamedTuple):
    """What is kept of a run: the state after each checkpoint's round."""

    checkpoints: NDArray[np.int64]  # [C] rounds, increasing
    pulls: NDArray[np.integer[Any]]  # [M, C, K]
    costs: NDArray[np.float64]  # [M, C]


class Trace(NamedTuple):
    """Every pull of a run in order, for those who ask; without a trace the arrays have no rounds.

    In a round in which a client does not act its arm is -1.
    """

    arms: NDArray[np.int64]  # [M, T]
    observed: NDArray[np.float64]  # [M, T]
    revealed: NDArray[np.float64]  # [M, T]


class Acting(NamedTuple):
    """When clients act (``instances/conditions.py``)."""

    activity: NDArray[np.float64]  # [M] probability in a round
    delays: NDArray[np.int64]  # [M] rounds that a pull takes to arrive
    last_rounds: NDArray[np.int64]  # [M] the last round in which a client acts


def advance(
    memory: Memory,
    record: Record,
    trace: Trace,
    distribution: RewardArrays,
    acting: Acting,
    rule_arrays: RuleArrays,
    cuts: NDArray[np.int64],
    quota: NDArray[np.int64],
    evident: NDArray[np.bool_],
    clients: NDArray[np.int64],
    parameters: NDArray[np.float64],
    last_round: int,
    stop: int,
) -> None:
    """Take these clients through ``last_round``, or through the round that meets their quota.

    The pull of that round, of a client that acts in it, is left pending.  A pull that is pending at the
    start is revealed first.  With STOP_AT_ALL each client stops in the first round from now on in which it
    has ``quota[k]`` pulls of each arm k with ``quota[k]`` > 0.  With STOP_AT_ANY, which needs all clients,
    they stop together in the round in which every evident one has so many pulls of any one arm.  No arm can
    get there before each client has made the pulls that it still misses: for so many rounds all are taken
    on, and again, until few are left and then none.
    ``choose`` and ``learn`` are those of the clients' policy, ``draw`` that of the instance's reward
    distribution; ``parameters`` has a row for each client of
    the run.
    """
    while True:
        end = last_round
        if stop == STOP_AT_ANY:
            sure = max(1, least_missing(memory.counted, quota, evident))
            end = min(last_round, memory.rounds[clients[0]] + sure)
        for client in clients:
            pulls, observed, revealed = memory.pulls[client], memory.observed[client], memory.revealed[client]
            counted = memory.counted[client]
            rule_memory = RuleMemory(counted, observed, revealed, memory.kept[client])
            shown = Shown(
                memory.counts[client],
                memory.means[client],
                memory.constants[client],
                memory.constant_counts[client],
                memory.rests[client],
            )
            learner = Learner(shown.counts, shown.means, memory.states[client])
            segments, sums, reached = (
                memory.segments[client],
                memory.segment_sums[client],
                memory.reached[client],
            )
            rewards, policy_stream = memory.streams[client, REWARDS], memory.streams[client, POLICY]
            settings = parameters[client]
            missing = 0
            for arm in range(quota.size):
                if counted[arm] < quota[arm]:
                    missing += 1
            activity, delay, stops_after = (
                acting.activity[client],
                acting.delays[client],
                acting.last_rounds[client],
            )
            steady = activity == 1.0 and delay == 0 and end <= stops_after
            round, turn, wait = memory.rounds[client], memory.turns[client], memory.waits[client]
            spent = memory.costs[client]
            checkpoint = memory.next_checkpoints[client]
            arm, reward = memory.pending_arm[client], memory.pending_reward[client]
            pending = arm >= 0
            while True:
                if pending:
                    aligned = 0.0
                    if rule_arrays.kinds[arm] == ALIGN_KIND:
                        aligned = 1.0 if random(rewards) < distribution.global_means[arm] else 0.0
                    value = reveal(rule_arrays, rule_memory, arm, reward, aligned)
                    spent += cost(reward, value)
                    revealed[arm] += value
                    show(shown, arm, value)
                    learn(arm, value, learner, settings, policy_stream)
                    if round <= trace.arms.shape[1]:
                        trace.arms[client, round - 1] = arm
                        trace.observed[client, round - 1] = reward
                        trace.revealed[client, round - 1] = value
                    pending = False
                if checkpoint < record.checkpoints.size and round == record.checkpoints[checkpoint]:
                    for each in range(pulls.size):
                        record.pulls[client, checkpoint, each] = pulls[each]
                    record.costs[client, checkpoint] = spent
                    checkpoint += 1
                if round >= end:
                    break
                round += 1
                if not steady:
                    if acts(round, wait, activity, stops_after, memory.streams[client, ACTIVITY]):
                        wait = delay
                    else:
                        wait -= 1
                        if stop == STOP_AT_ALL and missing == 0:
                            break
                        continue
                turn += 1
                arm = choose(turn, learner, settings, policy_stream)
                if not 0 <= arm < pulls.size:
                    raise IndexError
                reward = draw(distribution, client, arm, rewards)
                pulls[arm] += 1
                counted[arm] += 1
                observed[arm] += reward
                add_to_segment(arm, counted[arm], reward, segments, sums, cuts)
                if counted[arm] == quota[arm]:
                    reached[arm] = round
                    missing -= 1
                pending = True
                if round == end or (stop == STOP_AT_ALL and missing == 0):
                    break
            memory.rounds[client], memory.turns[client], memory.waits[client] = round, turn, wait
            memory.costs[client] = spent
            memory.next_checkpoints[client] = checkpoint
            memory.pending_arm[client] = arm if pending else -1
            memory.pending_reward[client] = reward
        if end == last_round or first_met(memory.reached, quota, evident) <= end:
            break


def acts(round: int, wait: int, activity: float, stops_after: int, stream: Any) -> bool:
    """Whether a client acts in a round, with ``wait`` more rounds to go for the pull on its way."""
    if round > stops_after or wait > 0:
        return False
    return activity == 1.0 or random(stream) < activity


def least_missing(counted: NDArray[np.int64], quota: NDArray[np.int64], evident: NDArray[np.bool_]) -> int:
    """The fewest pulls that any listed arm misses, its own being the most that an evident client misses."""
    least = NOT_YET
    for arm in range(quota.size):
        if quota[arm] > 0:
            missing = 0
            for client in range(evident.size):
                if evident[client]:
                    missing = max(missing, quota[arm] - counted[client, arm])
            least = min(least, missing)
    return least


def first_met(reached: NDArray[np.int64], quota: NDArray[np.int64], evident: NDArray[np.bool_]) -> int:
    """The round in which the first of the listed arms has been reached by every evident client."""
    first = NOT_YET
    for arm in range(quota.size):
        if quota[arm] > 0:
            last = 0
            for client in range(evident.size):
                if evident[client]:
                    last = max(last, reached[client, arm])
            first = min(first, last)
    return first


def choose(round: int, learner: Learner, parameters: NDArray[np.float64], stream: Any) -> int:
    """Stands for the policy's ``choose``, which a kernel is compiled with."""
    raise AssertionError


learn = no_learning


def draw(rewards: RewardArrays, client: int, arm: int, stream: Any) -> float:
    """Stands for the reward distribution's ``draw``, which a kernel is compiled with."""
    raise AssertionError


@functools.cache
def kernel_for(choose_function: Any, learn_function: Any, draw_function: Any) -> Any:
    """:func:`advance` compiled with a policy's two functions and a reward distribution's one."""
    names = [each.__module__.rpartition(".")[2] for each in (choose_function, draw_function)]
    bound = {"choose": choose_function, "learn": learn_function, "draw": draw_function}
    return compiled_main(advance, f"advance_{'_'.join(names)}", **bound)


@functools.cache
def quota_kernels() -> tuple[Any, Any]:
    """:func:`least_missing` and :func:`first_met`, compiled."""
    return compiled_main(least_missing, "least_missing"), compiled_main(first_met, "first_met")
