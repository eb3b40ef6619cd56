"""Clients that leap and clients that step, from the same past, and bounds on how far their results may differ.

If both have the same distribution, X and Y of two clients, one of each kind, can be exchanged.  So with
D = f(X) - f(Y), |sum D| / sqrt(sum D^2) exceeds x with probability at most 2 exp(-x^2 / 2), whatever the
distribution and the number of clients (Hoeffding's inequality given the absolute values).  The largest distance of
the two distribution functions exceeds sqrt(2 / n) x with probability at most 2 exp(-2 x^2) for n >= 458 (Wei and
Dudley 2012).  The tests of the whole suite make fewer than COMPARISONS comparisons and so fail by chance with a
probability of at most 1e-6.
"""

import itertools
import math
from collections import Counter
from dataclasses import dataclass, replace
from types import FunctionType

import numpy as np
from scipy import stats

from tutelage.engine import compiled_loop
from tutelage.engine.compiled_loop import STOP_AT_ALL, STOP_AT_LAST, ActivityArrays, kernel_for
from tutelage.engine.memory import Memory, new_memory
from tutelage.engine.policy_groups import functions_of
from tutelage.engine.run_clients import Player, RunClients
from tutelage.instances.base import Instance
from tutelage.noticing import Noticing, compare_halves
from tutelage.policies import POLICIES, ucb1
from tutelage.policies.base import Learner
from tutelage.read_only_arrays import read_only
from tutelage.request import SimulationRequest
from tutelage.revealed_rewards import RevealedRewards, add_revealed_reward
from tutelage.rules import KEEP, Rule, Set, make_rule_arrays
from tutelage.teachers.baselines import NoTeaching

COMPARISONS = 100_000
LOG_OF_LEVEL = math.log(2 * COMPARISONS / 1e-6)  # log(2 / level) of one comparison


@dataclass(frozen=True)
class Case:
    """A client's past and what comes.

    ``history`` has for each arm the rewards revealed so far, as (reward, how often) in order, arm after arm;
    ``means`` are those of the coming rewards.  ``quota`` stops the client, ``cuts`` end its segments.
    """

    policy: str
    means: tuple[float, ...]
    rules: tuple[Rule, ...] = ()
    history: tuple[tuple[tuple[float, int], ...], ...] = ()
    target: int | None = None
    rounds: int = 400
    quota: tuple[int, ...] = ()
    cuts: tuple[int, ...] = (10, 30, 70, 150)
    checkpoints: tuple[float, ...] = (0.15, 0.35)  # shares of the rounds
    rewards: str = "bernoulli"


@dataclass(frozen=True)
class Played:
    """What n clients did: the results to compare by name, each [n]; their memory, and the share of those that leapt."""

    values: dict[str, np.ndarray]
    memory: Memory
    leapt: float


def play(case, num_clients, engine, seed, *, leap=None, plain=False, asks_each_time=False):
    """Play the case with many clients, independent of each other.

    ``leap``, UCB1's, replaces the policy's own together with ``bound_lead``; ``plain`` plays the same loop in plain
    Python; ``asks_each_time`` asks a policy for each arm that it also could bound the lead of.
    """
    simulation, past = prepare(case, num_clients, engine, seed)
    memory, record = simulation.memory, simulation.record
    policy, rewards = simulation.request.policies[0], simulation.request.instance.rewards
    functions = functions_of(policy, rewards, engine)
    if leap is not None:
        functions = (*functions[:2], leap, *functions[3:5], leap.__globals__["bound_lead"])
    if asks_each_time:
        functions = (*functions[:5], None)
    if plain:
        simulation.memory = memory._replace(streams=generators_of(memory.streams))
    kernel = plain_kernel(*functions) if plain else kernel_for(*functions)
    stop = STOP_AT_ALL if case.quota else STOP_AT_LAST
    clients, scratch = np.arange(num_clients), (simulation.prospect, simulation.stretch)
    simulation._call(kernel, clients, past + case.rounds, stop, *scratch)
    if plain:
        memory.streams[...] = words_of(simulation.memory.streams)
    values = {}
    arms = range(len(case.means))
    for place, arm in itertools.product(range(record.rounds.size - 1), arms):
        values[f"pulls of {arm} after {record.rounds[place] - past}"] = record.pulls[:, place, arm]
        values[f"cost after {record.rounds[place] - past}"] = record.costs[:, place]
    for arm, segment in itertools.product(arms, range(len(case.cuts) + 1)):
        values[f"segment {segment} of {arm}"] = memory.segment_sums[:, arm, segment]
    for name in ("pulls", "revealed_means", "observed_sums", "completed_segments", "noticed_in", "rounds"):
        columns = getattr(memory, name).reshape(num_clients, -1).T
        values |= {f"{name} {place}": column for place, column in enumerate(columns)}
    for arm, count in enumerate(case.quota):
        if count:
            values[f"quota of {arm}"] = np.minimum(memory.quota_rounds[:, arm], past + 2 * case.rounds)
    values["costs"] = memory.costs
    values = {name: np.round(column, 6) for name, column in values.items()}  # sums of constants are rounded
    return Played(values, memory, float(np.mean(memory.leapt_rounds > 0)))


def eager_leap():
    """UCB1's leap that also leaps over few rounds, for which it does not pay."""
    names = {**vars(ucb1), "_LEAST_LEAD": 8, "_DEVIATIONS": 1.0}
    for name in ("_lead", "_count_safe_pulls", "bound_lead", "_bound_lead"):
        names[name] = FunctionType(getattr(ucb1, name).__code__, names)
    return FunctionType(ucb1.leap.__code__, names)


def prepare(case, num_clients, engine, seed):
    """The working state of a run of clients with the case's past, and the number of rounds that have passed."""
    num_arms, policy = len(case.means), POLICIES.parse(case.policy)
    past = sum(count for arm in case.history for _, count in arm)
    checkpoints = past + np.array([*(int(share * case.rounds) for share in case.checkpoints), case.rounds])
    instance = Instance("case", [case.means], [1.0], case.rewards)
    horizon = past + case.rounds
    request = SimulationRequest(instance, (NoTeaching(),), (policy,), horizon, 1, seed, checkpoints, engine=engine)
    simulation = RunClients(request, 0, 0, Player())
    words = np.random.default_rng(seed).integers(2**64, size=(num_clients, 3, 4), dtype=np.uint64)
    words[:, :, 3] = 1
    simulation.cuts = np.array(case.cuts, dtype=np.int64)
    simulation.memory = new_memory(num_arms, len(case.cuts), policy.state_size(num_arms), words)
    remember(case, policy, simulation.memory)
    means = np.tile(np.array(case.means), (num_clients, 1))
    simulation.reward_arrays = simulation.reward_arrays._replace(
        local_means=read_only(means), global_means=read_only(means[0, ::-1].copy())
    )
    simulation.acting = ActivityArrays(*instance.conditions.arrays(num_clients))
    shape = (num_clients, checkpoints.size)
    simulation.record.pulls = np.zeros((*shape, num_arms), dtype=request.count_type)
    simulation.record.costs = np.zeros(shape)
    simulation.record.whole = simulation.record.whole._replace(
        pulls=simulation.record.pulls, costs=simulation.record.costs
    )
    parameters = np.tile(simulation.policies.parameters, (num_clients, 1))
    simulation.policies = replace(simulation.policies, parameters=read_only(parameters))
    simulation.is_evidence = np.ones(num_clients, dtype=np.bool_)
    rules = case.rules or (KEEP,) * num_arms
    simulation.rule_arrays = make_rule_arrays(rules, tuple(range(num_arms)), None, case.target)
    simulation.quota = np.array(case.quota or (0,) * num_arms, dtype=np.int64)
    return simulation, past


def remember(case, policy, memory):
    """Give all clients the case's past, which one client lives through."""
    revealed = RevealedRewards(
        memory.revealed_pulls[0],
        memory.revealed_means[0],
        memory.first_rewards[0],
        memory.first_reward_counts[0],
        memory.later_sums[0],
    )
    noticing = Noticing(memory.first_half_means[0], np.ones(1, dtype=np.int64))
    learner = Learner(revealed.pulls, revealed.means, memory.policy_states[0])
    parameters, rng = np.array((*policy.parameters(), 0.0)), np.random.default_rng(0)
    for arm, rewards in enumerate(case.history):
        for reward in itertools.chain.from_iterable(itertools.repeat(*pair) for pair in rewards):
            add_revealed_reward(revealed, arm, reward)
            compare_halves(arm, 0, revealed, noticing)
            policy.learn(arm, reward, learner, parameters, rng)
            memory.revealed_sums[0, arm] += reward
            memory.observed_sums[0, arm] += reward
    memory.pulls_since_restart[0] = memory.revealed_pulls[0]
    memory.rounds[0] = memory.num_pulls[0] = memory.revealed_pulls[0].sum()
    streams = memory.streams.copy()
    for array in memory[:-1]:
        array[...] = array[:1]
    memory.streams[...] = streams


def generators_of(streams):
    """Generators that continue the rows of words [n, 3, 4]."""
    generators = np.empty(streams.shape[:2], dtype=object)
    for place in np.ndindex(*generators.shape):
        bits = np.random.SFC64()
        bits.state = bits.state | {"state": {"state": streams[place]}}
        generators[place] = np.random.Generator(bits)
    return generators


def words_of(generators):
    """The words of generators [n, 3], with the same shape and a last axis of 4."""
    words = [each.bit_generator.state["state"]["state"] for each in generators.ravel()]
    return np.array(words).reshape((*generators.shape, 4))


def plain_kernel(choose, learn, leap, draw, leaps_as, bound_lead):
    """The compiled loop in plain Python, with the functions that a kernel is compiled with."""
    bound = {"choose": choose, "learn": learn, "draw": draw}
    bound |= {"leap": leap, "LEAPS": True, "REWARDS_ARE_CONSTANT": leaps_as == "constant"} if leap else {}
    bound |= {"bound_lead": bound_lead, "REPEATS": True} if bound_lead else {}
    return FunctionType(compiled_loop.advance.__code__, {**vars(compiled_loop), **bound})


def differences(one, other):
    """The names of the results whose distribution differs between the two, with what differs."""
    found = []
    for name, left in one.values.items():
        x, y = np.asarray(left, dtype=float), np.asarray(other.values[name], dtype=float)
        centre = (x.mean() + y.mean()) / 2
        for what, gaps in (("mean", x - y), ("variance", (x - centre) ** 2 - (y - centre) ** 2)):
            total, squares = gaps.sum(), (gaps**2).sum()
            if total**2 > 2 * LOG_OF_LEVEL * squares * (1 + 1e-9):
                found.append(f"{what} of {name}: {x.mean():.6g} and {y.mean():.6g}")
        distance = stats.ks_2samp(x, y, method="asymp").statistic
        if distance**2 * x.size > LOG_OF_LEVEL:  # 2 exp(-2 (distance sqrt(n / 2))^2)
            found.append(f"distribution of {name}: distance {distance:.3g}")
    return found


def unlikely(counts, chances):
    """Outcomes whose number among all is too unlikely under the probabilities {outcome: probability}."""
    total, outcomes = sum(counts.values()), list(counts | chances)
    found = np.array([counts[outcome] for outcome in outcomes])
    expected = np.array([min(1.0, chances.get(outcome, 0.0)) for outcome in outcomes])
    tail = np.minimum(stats.binom.cdf(found, total, expected), stats.binom.sf(found - 1, total, expected))
    rare = np.flatnonzero(2 * tail < 2 * math.exp(-LOG_OF_LEVEL) / len(outcomes))
    return [(outcomes[place], found[place], total * expected[place]) for place in rare]


def count_outcomes(played):
    """How often clients have these pulls and means of all arms."""
    rows = zip(played.memory.pulls.tolist(), played.memory.revealed_means.tolist(), strict=True)
    return Counter((tuple(pulls), tuple(round(mean, 9) for mean in means)) for pulls, means in rows)


def enumerate_outcomes(case, choice):
    """The probabilities of :func:`count_outcomes`, by enumeration.

    ``choice(t, pulls, means)`` has the probability of each arm for the t-th pull.
    """
    past = [(sum(n for _, n in arm), sum(reward * n for reward, n in arm)) for arm in case.history]
    chances, arms = {(tuple(past), (0,) * len(past)): 1.0}, range(len(past))
    first = 1 + sum(n for n, _ in past)
    for t in range(first, first + case.rounds):
        after = Counter()
        for (state, pulls), chance in chances.items():
            for arm, share in zip(arms, choice(t, *moments(state)), strict=True):
                done = tuple(n + (each == arm) for each, n in enumerate(pulls))
                if share == 0.0:
                    continue
                if t == first + case.rounds - 1:  # this pull stays pending
                    after[done, tuple(round(mean, 9) for mean in moments(state)[1])] += chance * share
                    continue
                for reward, likely in rewards_of(case, arm):
                    n, total = state[arm]
                    after[(*state[:arm], (n + 1, total + reward), *state[arm + 1 :]), done] += chance * share * likely
        chances = after
    return chances


def moments(state):
    """The pulls and the means of all arms."""
    return [n for n, _ in state], [total / n for n, total in state]


def rewards_of(case, arm):
    """What is revealed for a pull of an arm: values with their probabilities."""
    rule = case.rules[arm] if case.rules else KEEP
    if isinstance(rule, Set):
        return [(rule.gamma, 1.0)]
    return [(1.0, case.means[arm]), (0.0, 1.0 - case.means[arm])]


def ucb1_choice(t, pulls, means):
    """UCB1: the largest mean + sqrt(2 log t / n), ties uniformly."""
    return uniform_among_best([mean + math.sqrt(2 * math.log(t) / n) for n, mean in zip(pulls, means, strict=True)])


def greedy_choice(t, pulls, means):
    """Epsilon-greedy with c = d = 1."""
    epsilon = min(1.0, len(means) / t)
    return [epsilon / len(means) + (1.0 - epsilon) * share for share in uniform_among_best(means)]


def uniform_among_best(values):
    """Equal probabilities for the largest values, which may differ by rounding."""
    best = [value > max(values) - 1e-12 for value in values]
    return [each / sum(best) for each in best]
