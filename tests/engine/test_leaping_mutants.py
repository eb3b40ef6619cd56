"""Mutants of the leaps of UCB1 and epsilon-greedy and of the sums after a stretch: each must be caught.

Thompson sampling's are in ``tests/policies/test_thompson_leaping.py``.
"""

import functools
import itertools
from collections import Counter
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from scipy import stats
from tests.leap_comparison import unlikely

from tutelage import revealed_rewards
from tutelage.engine import leaping
from tutelage.engine.leaping import new_scratch
from tutelage.noticing import Noticing
from tutelage.policies import epsilon_greedy, ucb1
from tutelage.policies.base import Lead, Learner, Prospect, Stretch
from tutelage.revealed_rewards import RevealedRewards
from tutelage.rule_memory import OFF_TARGET, RuleMemory
from tutelage.rules import KEEP, Align, Lift, Set, make_rule_arrays, reveal

CASES = ((2, 30, 0.5), (5, 40, 1.5))  # first round, most rounds, weight of exploration


def greedy_rounds():
    """Whether the rounds before the first that explores differ from prod (1 - weight / t)."""
    found = False
    for round, longest, weight in CASES:
        stream, chances, left = np.random.default_rng(1), {}, 1.0
        for passed in range(longest):
            explores = weight / (round + passed)
            chances[passed], left = left * explores, left * (1.0 - explores)
        drawn = Counter(epsilon_greedy._count_greedy_rounds(round, longest, weight, stream) for _ in range(20_000))
        found = found or bool(unlikely(drawn, chances | {longest: left}))
    return found


def wrong_notes():
    """Whether pulls or ones at a checkpoint are not those of a stretch that ends there, or none is passed.

    epsilon-greedy explores two settled arms, in the last round before the checkpoint, too; UCB1 has one leading arm.
    """
    stream, flags, rounds = np.random.default_rng(9), np.array([False, True, True]), 40
    for policy, parameters in ((epsilon_greedy, (360.0, 1.0)), (ucb1, ())):
        counts, means = np.array([9000, 900, 900]), np.array([0.8, 0.0, 0.0])
        learner, longest = Learner(counts, means, np.zeros(10)), 400
        checkpoints, totals = 7 + np.array([rounds, 2 * rounds, 3 * rounds]), [Counter() for _ in range(3)]
        for _ in range(500):
            stretch = new_scratch(3)[1]
            prospect = Prospect(
                means, flags, flags, np.full(3, 999), rounds, False, longest - rounds, 7, checkpoints, 0
            )
            played = policy.leap(int(counts.sum()) + 1, learner, prospect, stretch, np.array(parameters), stream)
            if played != longest or stretch.noted[0] != 3:
                return True
            before = np.zeros((2, 3), dtype=np.int64)
            for place in range(3):
                after = np.array([stretch.noted_pulls[place], stretch.noted_ones[place]])
                (pulls, ones), before = after - before, after
                if pulls.sum() != rounds or ones[1:].any():
                    return True
                totals[place][rounds - int(pulls[0]), int(ones[0])] += 1
            if stretch.ones[0] < before[1, 0] or stretch.pulls.sum() != longest:
                return True
        for place, found in enumerate(totals):
            middle = counts.sum() + (place + 0.5) * rounds  # the round whose share of exploration is about their mean
            share = 2.0 / 3.0 * 1080.0 / middle if policy is epsilon_greedy else 0.0
            numbers = np.arange(rounds + 1)
            table = stats.binom.pmf(numbers, rounds - numbers[:, np.newaxis], 0.8)
            table *= stats.binom.pmf(numbers, rounds, share)[:, np.newaxis]
            chances = {pair: float(table[pair]) for pair in np.ndindex(*table.shape) if sum(pair) <= rounds}
            off = sum(pair[0] * count for pair, count in found.items()) / 500
            if unlikely(found, chances) or abs(off - rounds * share) > 7.0 * (rounds * share / 500) ** 0.5:
                return True
    return False


def wrong_costs():
    """Whether the cost up to a checkpoint, of rewards that are replaced, is not what the observed rewards say."""
    rules, stream = make_rule_arrays((KEEP, Set(0.0), Align()), (), None, None), np.random.default_rng(10)
    means, found, total = np.array([0.3, 0.4, 0.2]), np.zeros((2, 2)), 0.0
    for _ in range(2000):
        stretch, prospect, memory = new_scratch(3)[1], new_scratch(3)[0], np.zeros((9, 3))
        prospect.means[...], prospect.is_constant[...] = (0.3, 0.0, 0.6), (False, True, False)
        stretch.pulls[...], stretch.ones[...], stretch.noted[...] = (30, 50, 60), (9, 0, 40), 1
        stretch.noted_pulls[0], stretch.noted_ones[0] = (20, 10, 30), (5, 0, 30)
        counts = np.zeros((8, 3), dtype=np.int64)
        counts[0] = 100, 200, 300
        added, _ = leaping.record_stretch(
            stretch,
            prospect,
            9,
            rules,
            RuleMemory(counts[1], memory[0], memory[1], np.zeros(6)),
            means,
            False,
            RevealedRewards(counts[2], memory[2], memory[3], counts[3], memory[4]),
            Noticing(memory[5], np.ones(1, dtype=np.int64)),
            counts[0],
            counts[4],
            counts[5],
            np.zeros((3, 1)),
            np.zeros(0, dtype=np.int64),
            np.full(3, -1),
            counts[6],
            stream,
        )
        if stretch.noted_pulls[0].tolist() != [120, 210, 330] or counts[0].tolist() != [130, 250, 360]:
            return True
        found += np.array([[stretch.noted_costs[0], added], [stretch.noted_costs[0] ** 2, added**2]])
        total += memory[0, 1]
    costs, squares = found / 2000
    expected = np.array([10 * 0.4 + 30 * 0.8, 50 * 0.4 + 40 * 0.8 + 20 * 0.2])
    variance = np.array([10 * 0.24 + 30 * 0.16, 50 * 0.24 + 60 * 0.16])
    is_off = np.abs(costs - expected) > 6.0 * np.sqrt(variance / 2000)
    return bool(is_off.any() or abs(total / 2000 - 20.0) > 6.0 * (12.0 / 2000) ** 0.5 or (squares < costs**2).any())


def sums_of_ones():
    """Whether ones at once give another sum than one by one, where powers of 2 are passed."""
    starts = np.random.default_rng(1).random(1000).tolist()
    looped = [functools.reduce(lambda total, _: total + 1.0, range(40), start) for start in starts]
    return [revealed_rewards.add_one_by_one(start, 40) for start in starts] != looped


def means_of_ones():
    """Whether ones and zeros at once give another mean than one by one, after rewards whose sum is rounded."""
    rng, found = np.random.default_rng(2), False
    for _ in range(200):
        single, at_once = (revealed_rewards.new_revealed_rewards(1) for _ in range(2))
        for reward in rng.random(3).tolist():
            revealed_rewards.add_revealed_reward(single, 0, reward)
            revealed_rewards.add_revealed_reward(at_once, 0, reward)
        rewards = rng.random(60) < 0.7
        for reward in rewards.tolist():
            revealed_rewards.add_revealed_reward(single, 0, float(reward))
        revealed_rewards.add_ones(at_once, 0, int(rewards.sum()), rewards.size)
        found = found or any((one != other).any() for one, other in zip(single, at_once, strict=True))
    return found


def uncertain_leads():
    """Whether UCB1 leaps over a pull that is not the leading arm's if its zeros come first, or hardly leaps at all.

    One leap may consist of several binomial numbers of pulls: of each, the zeros come first, unless their order is
    drawn.
    """
    rng, leaps, several = np.random.default_rng(3), 0, 0
    flags, names = np.zeros(3, dtype=np.bool_), ucb1.leap.__globals__
    draws, binomial, find_loss = [], names["binomial"], names["_find_loss"]

    def record(stream, trials, chance):
        draws.append((trials, int(stream.binomial(trials, chance)), False))
        return draws[-1][1]

    def record_loss(*arguments):
        draws[-1] = (*find_loss(*arguments), True)
        return draws[-1][:2]

    names["binomial"], names["_find_loss"] = record, record_loss
    for _ in range(300):
        counts = np.array([*rng.integers(20, 200, size=2), rng.integers(2000, 9000)])
        means, stretch = rng.random(3), Stretch(*np.zeros((2, 3), dtype=np.int64))
        prospect = Prospect(means, flags, flags, np.full(3, 4000), 4000, False)
        draws.clear()
        rounds = ucb1.leap(int(counts.sum()) + 1, Learner(counts, means, np.zeros(10)), prospect, stretch, means, rng)
        leader, passed, ones = stretch.pulls.argmax(), 0, 0
        for trials, found, has_order in draws:
            for zeros in () if has_order else range(trials - found + 1):
                more = (passed + zeros) * (np.arange(3) == leader)
                log = np.log(counts.sum() + 1 + passed + zeros)
                indices = (counts * means + ones * (more > 0)) / (counts + more) + np.sqrt(2 * log / (counts + more))
                if zeros < trials and indices.argmax() != leader:
                    return True
            passed, ones = passed + trials, ones + found
        if (passed, ones) != (rounds, stretch.ones.sum()):
            return True
        leaps, several = leaps + (rounds > 0), several + (len(draws) > 1)
    names["binomial"], names["_find_loss"] = binomial, find_loss
    return leaps < 30 or several < 10


LONGEST, FEWEST = 40, 4  # pulls of a lead, and of a part of it
LINES = (  # spare reward, slope, mean, whether it is a constant, first checkpoint
    (6.01, 0.83, 0.7, False, 99),
    (5.01, 1.07, 0.9, False, 99),
    (2.5, 0.41, 0.5, False, 9),
    (7.3, 0.8, 0.5, True, 99),
)


def wrong_losses():
    """Whether pulls and ones of UCB1's lead are not those of single pulls down to a line, where few are a part.

    A lead ends after the pull with which its line is reached, and before a part that would be too short; how long
    parts are is the formula's choice, but rewards that are constant must not reach the line.
    """
    names, stream, num_lost = ucb1.leap.__globals__, np.random.default_rng(6), 0
    before = {name: names[name] for name in ("_LEAST_LEAD", "_DEVIATIONS")}
    names |= {"_LEAST_LEAD": FEWEST, "_DEVIATIONS": 0.3}
    try:
        for spare, slope, mean, is_constant, checkpoint in LINES:
            chances, lost = lead_chances(spare, slope, mean, is_constant, checkpoint, names["_count_safe_pulls"])
            num_lost += lost
            found, means, flags = Counter(), np.full(1, mean), np.zeros(1, dtype=np.bool_)
            for _ in range(4000):
                stretch, room, constant = new_scratch(1)[1], np.full(1, 999), np.full(1, is_constant)
                checkpoints = np.array([checkpoint])
                prospect = Prospect(means, constant, flags, room, LONGEST, False, 0, 0, checkpoints, 0)
                pulls = names["_lead"](Lead(0, 999, -spare, slope), prospect, stretch, stream)
                if stretch.pulls[0] != pulls:
                    return True
                found[pulls, 0 if is_constant else int(stretch.ones[0])] += 1
            if (is_constant and lost > 0.0) or unlikely(found, chances):
                return True
    finally:
        names |= before
    return num_lost < 0.3


def lead_chances(spare, slope, mean, is_constant, checkpoint, count_safe_pulls):
    """The probabilities of pulls and ones of a lead, from those of single rewards, and that of reaching the line."""
    chances, pending, lost = Counter(), {(0, 0): 1.0}, 0.0
    while pending:
        (pulls, ones), chance = pending.popitem()
        left = spare + (pulls * mean if is_constant else ones) - pulls * slope
        part = min(LONGEST - pulls, count_safe_pulls(left, slope, mean, is_constant))
        if pulls == LONGEST or part < min(LONGEST - pulls, FEWEST):
            chances[pulls, ones] += chance
            continue
        paths = {(pulls, ones): chance}
        for _ in range(min(part, checkpoint - pulls) if pulls < checkpoint else part):
            after = Counter()
            for ((pulls, ones), share), one in itertools.product(paths.items(), (0, 1)):
                now = pulls + 1, 0 if is_constant else ones + one
                chance = share * (0.5 if is_constant else mean if one else 1.0 - mean)
                if spare + (now[0] * mean if is_constant else now[1]) - now[0] * slope > 0.0:
                    after[now] += chance
                else:
                    chances[now] += chance
                    lost += chance
            paths = after
        for state, share in paths.items():
            pending[state] = pending.get(state, 0.0) + share
    return chances, lost


def uneven_turns():
    """Whether UCB1's whole turns of settled arms are other pulls than one by one, or hardly ever any."""
    rng, leaps = np.random.default_rng(4), 0
    settled, numbers = np.array([True, True, True, False]), np.full(4, 0.5)
    for _ in range(400):
        means = np.array([0.75, 0.75, 0.75, rng.random() * 0.7])
        counts = np.array([*(rng.integers(20, 300) + rng.integers(0, 3, size=3)), rng.integers(3, 60)])
        first, stretch = int(counts.sum()) + 1, Stretch(*np.zeros((2, 4), dtype=np.int64))
        prospect = Prospect(means, settled, settled, rng.integers(5, 200, size=4), int(rng.integers(10, 300)), False)
        rounds = ucb1.leap(first, Learner(counts, means, np.zeros(10)), prospect, stretch, numbers, rng)
        if rounds == 0 or stretch.pulls[3] > 0:  # the last arm leads
            continue
        stepped = counts.copy()
        for passed in range(rounds):
            stepped[(means + np.sqrt(2.0 * np.log(first + passed) / stepped)).argmax()] += 1
        if (stepped != counts + stretch.pulls).any() or rounds > prospect.rounds:
            return True
        if (stretch.pulls >= prospect.room).any():  # an arm would reach its room before the turn ends
            return True
        leaps += rounds > 20
    return leaps < 30


def uneven_ties():
    """Whether pulls of tied arms are not multinomial, or arms are shared that may not stay tied."""
    means, greedy = np.array([0.4, 0.7, 0.7, 0.7]), np.array([0.0, 1.0])  # no exploration
    settled, room, stream = means == 0.7, np.full(4, 99), np.random.default_rng(5)
    learner = Learner(np.full(4, 20), means, np.zeros(1))
    for flags in (settled, settled & (np.arange(4) != 2)):
        prospect, found = Prospect(means, flags, flags, room, 9, False), Counter()
        for _ in range(4000):
            stretch = Stretch(*np.zeros((2, 4), dtype=np.int64))
            epsilon_greedy.leap(100, learner, prospect, stretch, greedy, stream)
            found[tuple(stretch.pulls[1:].tolist()) if stretch.pulls[0] == 0 else None] += 1
        shares = [(one, other, 9 - one - other) for one in range(10) for other in range(10 - one)]
        chances = {share: float(stats.multinomial.pmf(share, 9, [1 / 3] * 3)) for share in shares}
        if unlikely(found, chances if flags is settled else {(0, 0, 0): 1.0}):
            return True
    return False


EXPLORED = (  # rooms of the arms, which are settled, whether all pulls must be of one arm
    ((99, 99, 99), (False, True, True), False),
    ((99, 1, 2), (False, True, True), False),
    ((99, 99, 99), (False, False, True), False),
    ((99, 99, 99), (False, True, True), True),
)


def wrong_explorations():
    """Whether the pulls of a stretch with explorations are not those of single rounds, or it ends elsewhere."""
    means, weight, rounds, stream = np.array([0.6, 0.2, 0.2]), 4.8, 9, np.random.default_rng(8)
    for room, settled, one_arm in EXPLORED:
        chances, paths = Counter(), {((0, 0, 0), 0): 1.0}  # of the pulls, and whether the next round explores
        for round in range(40, 40 + rounds):
            following = Counter()
            for (pulls, _), chance in paths.items():
                explores = weight / round
                if one_arm:
                    chances[pulls, 1] += chance * explores
                for arm in range(3):
                    share = (0.0 if one_arm else explores / 3) + (1.0 - explores if arm == 0 else 0.0)
                    after = tuple(count + (each == arm) for each, count in enumerate(pulls))
                    ends = arm > 0 and (not settled[arm] or after[arm] == room[arm])
                    (chances if ends else following)[after, 0] += chance * share
            paths = following
        chances.update(paths)
        prospect = Prospect(means, np.array(settled), np.array(settled), np.array(room), rounds, one_arm)
        learner, found = Learner(np.full(3, 99), means, np.zeros(1)), Counter()
        for _ in range(4000):
            stretch = Stretch(*np.zeros((2, 3), dtype=np.int64))
            learner.state[0] = 0.0
            played = epsilon_greedy.leap(40, learner, prospect, stretch, np.array([weight / 3, 1.0]), stream)
            pulls, ones = tuple(stretch.pulls.tolist()), stretch.ones
            if played != sum(pulls) or (ones > stretch.pulls).any() or ones[np.array(settled)].any():
                return True
            found[pulls, int(learner.state[0])] += 1
        if unlikely(found, chances):
            return True
    return False


def uncertain_best():
    """Whether epsilon-greedy leaps over a pull of an arm that is not the best if every reward is 0, or hardly leaps."""
    rng, leaps, flags = np.random.default_rng(6), 0, np.zeros(4, dtype=np.bool_)
    for _ in range(500):
        counts, means = rng.integers(20, 400, size=4), rng.random(4)
        stretch = Stretch(*np.zeros((2, 4), dtype=np.int64))
        prospect = Prospect(np.full(4, 0.5), flags, flags, rng.integers(20, 200, size=4), 300, False)
        learner = Learner(counts, means, np.zeros(1))
        rounds = epsilon_greedy.leap(int(counts.sum()) + 1, learner, prospect, stretch, np.array([0.0, 1.0]), rng)
        arm, sums = int(means.argmax()), counts * means
        if rounds != stretch.pulls[arm] or rounds > prospect.room[arm]:
            return True
        lowest = sums[arm] / (counts[arm] + max(0, rounds - 1))
        if rounds > 0 and lowest <= np.delete(means, arm).max():
            return True
        leaps += rounds > 0
    return leaps < 100


def wrong_rooms():
    """Whether a stretch may pass what ends it, or ends before, or LIFT changes a reward of it, or it is never long."""
    rng, longest = np.random.default_rng(7), 0
    for _ in range(400):
        cuts, lift = np.sort(rng.choice(np.arange(5, 120), size=3, replace=False)), 0.1 + 0.6 * rng.random()
        rules = make_rule_arrays((KEEP, Set(0.25), Lift(lift)), (0, 2), None, 2)
        pulls, evidence = rng.integers(1, 90, size=(2, 3))
        segments = np.searchsorted(cuts, evidence, side="right")
        quota, reserved = rng.integers(0, 130, size=3), int(rng.integers(0, 2))
        firsts = np.where(rng.random(3) < 0.5, 0.25, 1.0)
        revealed = RevealedRewards(pulls, rng.random(3), firsts, pulls - rng.integers(0, 2, size=3), np.zeros(3))
        memory = RuleMemory(pulls.copy(), rng.random(3) * pulls, rng.random(3) * pulls, np.zeros(6))
        memory.revealed[2] *= rng.choice([0.1, 1.0])
        memory.state[OFF_TARGET] = 0.3 * rng.random()
        prospect = new_scratch(3)[0]
        means, has_noticed = np.array([0.6, 0.5, 0.4]), bool(rng.integers(0, 2))
        may_leap = leaping.find_prospect(
            prospect, 60, rules, memory, means, means, False, revealed, has_noticed,
            evidence, segments, cuts, quota, reserved,
        )  # fmt: skip
        rooms = []
        for arm in range(3):
            settled = arm == 1 and firsts[1] == 0.25 and revealed.first_reward_counts[1] == pulls[1]
            halves = not settled and not has_noticed
            for room in range(61):
                at_cut = segments[arm] < 3 and evidence[arm] + room == cuts[segments[arm]]
                at_quota = evidence[arm] < quota[arm] == evidence[arm] + room + reserved
                is_power = halves and (pulls[arm] + room) & (pulls[arm] + room - 1) == 0
                if (room > 0 and (at_cut or is_power)) or at_quota or room == 60:
                    break
            rooms.append(room)
        if not may_leap:
            if min(rooms[:2]) > 0 and min(rooms[2], leaping.count_pulls_without_lift(rules, memory, 2)) > 0:
                return True
            continue
        if prospect.room[:2].tolist() != rooms[:2] or prospect.room[2] > rooms[2]:
            return True
        if prospect.means.tolist() != [0.6, 0.25, 0.4] or prospect.is_settled[1] != (
            firsts[1] == 0.25 and revealed.first_reward_counts[1] == pulls[1]
        ):
            return True
        longest = max(longest, prospect.room[2])
        rewards = rng.random(prospect.room[2]) < rng.choice([0.0, 0.5, 1.0])
        rewards[-1] = False  # of a 1 LIFT would change nothing
        for reward in rewards.tolist():
            memory.pulls[2] += 1
            memory.observed[2] += reward
            if reveal(rules, memory, 2, float(reward), 0.0) != reward:
                return True
            memory.revealed[2] += reward
    return longest < 20


ADDED = "rewards.later_sums[arm], ones), count)"
MUTANTS = [
    (ucb1, "(more - ones) * lead.slope", "ones * lead.slope", wrong_losses),
    (ucb1, "revealed - lead.least", "revealed + lead.least", uncertain_leads),
    (ucb1, "- pulls * lead.slope", "- 0.5 * pulls * lead.slope", uncertain_leads),
    (ucb1, "revealed += ones", "revealed += more", uncertain_leads),
    (ucb1, "        pulls += more", "        pulls += more + 1", uncertain_leads),
    (ucb1, "least = count * (others - mean)", "least = count * (mean - others)", uncertain_leads),
    (ucb1, "root * math.sqrt(count)\n    gained", "2.0 * root * math.sqrt(count)\n    gained", uncertain_leads),
    (ucb1, "last * (others + window * growth)", "last * (others - window * growth - 1.0)", uncertain_leads),
    (ucb1, "spare / (slope - mean)", "2.0 * spare / (slope - mean)", wrong_losses),
    (ucb1, "+ min(0.0, ones * (1.0 - lead.slope)) > 0.0", "> 0.0", wrong_losses),
    (ucb1, "* (pulls - played) <", "* (pulls - played + 1) <", wrong_losses),
    (ucb1, "ones - found:", "ones:", wrong_losses),
    (ucb1, "found - played * slope", "found - (played + 1) * slope", wrong_losses),
    (ucb1, "return played, found", "return played - 1, found", wrong_losses),
    (ucb1, "while played < pulls and", "while played < pulls - 1 and", wrong_losses),
    (epsilon_greedy, "< weight / (round + passed)", "< weight / (round + passed + 1)", greedy_rounds),
    (epsilon_greedy, "< weight / (round + passed)", "< weight / (round + passed - 1)", greedy_rounds),
    (epsilon_greedy, "< weight / (round + passed)", ">= weight / (round + passed)", greedy_rounds),
    (epsilon_greedy, "passed += int(gap)", "passed += int(gap) + 1", greedy_rounds),
    (epsilon_greedy, "bound, end = weight / first", "bound, end = weight / (first + 1)", greedy_rounds),
    (epsilon_greedy, "math.log1p(-bound)", "math.log(bound)", greedy_rounds),
    (epsilon_greedy, "passed = end", "passed = end + 1", greedy_rounds),
    (
        ucb1,
        "max(0, counts[best] + turns - counts[arm])",
        "max(0, counts[best] + turns + 1 - counts[arm])",
        uneven_turns,
    ),
    (ucb1, "max(0, level - counts[arm])", "max(0, level - counts[arm] - 1)", uneven_turns),
    (ucb1, "1.0 / math.sqrt(level - 1)", "1.0 / math.sqrt(level - 9)", uneven_turns),
    (ucb1, "- 1.0 / math.sqrt(level", "+ 1.0 / math.sqrt(level", uneven_turns),
    (ucb1, ">= means[best] - means[arm] - _MARGIN", ">= means[best] + means[arm] - _MARGIN", uneven_turns),
    (ucb1, "room and pulls < prospect.room[arm]", "room and pulls <= prospect.room[arm]", uneven_turns),
    (ucb1, "or rounds > prospect.rounds or", "or rounds > prospect.rounds + 1 or", uneven_turns),
    (epsilon_greedy, "left, 1.0 / ties)", "left, 1.0 / (ties + 1))", uneven_ties),
    (epsilon_greedy, "left -= share", "left += share", uneven_ties),
    (epsilon_greedy, "            ties -= 1", "            ties -= 0", uneven_ties),
    (epsilon_greedy, "ties + 1, settled and prospect.is_settled[arm]", "ties + 1, True", uneven_ties),
    (epsilon_greedy, "second = max(second, means[arm])", "second = min(second, means[arm])", uncertain_best),
    (epsilon_greedy, "second = means[best] if ties > 0 else -1.0", "second = -1.0", uncertain_best),
    (
        epsilon_greedy,
        "(means[best] - second) / (second - lowest)",
        "(means[best] - second) / (0.5 * second - lowest)",
        uncertain_best,
    ),
    (epsilon_greedy, "* (means[best] - second) /", "* (means[best] + second) /", uncertain_best),
    (
        epsilon_greedy,
        "index(stream, counts.size), played + 1",
        "index(stream, counts.size), played",
        wrong_explorations,
    ),
    (
        epsilon_greedy,
        "index(stream, counts.size), played",
        "1 + index(stream, counts.size - 1), played",
        wrong_explorations,
    ),
    (epsilon_greedy, "(round + played, longest", "(round + 99 * played, longest", wrong_explorations),
    (epsilon_greedy, "not prospect.is_settled[arm] or stretch", "stretch", wrong_explorations),
    (
        epsilon_greedy,
        "if not prospect.is_settled[arm] or stretch.pulls[arm] == prospect.room[arm]",
        "if not prospect.is_settled[arm]",
        wrong_explorations,
    ),
    (
        epsilon_greedy,
        "_MUST_EXPLORE] = 1.0\n            break",
        "_MUST_EXPLORE] = 0.0\n            break",
        wrong_explorations,
    ),
    (epsilon_greedy, "played + greedy, left + greedy", "played + greedy, greedy", wrong_explorations),
    (epsilon_greedy, "before = checkpoint - played\n", "before = checkpoint - played - 1\n", wrong_notes),
    (epsilon_greedy, "checkpoint, greedy - before, 0", "checkpoint, greedy, 0", wrong_notes),
    (epsilon_greedy, "stretch.pulls[best] - last", "stretch.pulls[best]", wrong_notes),
    (epsilon_greedy, "left + before, means", "before, means", wrong_notes),
    (ucb1, "note_pulls(leader, pulls, more", "note_pulls(leader, pulls + 1, more", wrong_notes),
    (ucb1, "if prospect.notes_ones", "if not prospect.notes_ones", wrong_notes),
    (leaping, "pulls - pulls_before", "pulls", wrong_costs),
    (leaping, "else ones - ones_before", "else ones", wrong_costs),
    (leaping, "noted_costs[place] += added", "noted_costs[place] += total_cost", wrong_costs),
    (leaping, "noted_pulls[place, arm] += all_pulls[arm]", "noted_pulls[place, arm] += 0", wrong_costs),
    (leaping, "value, number = 1.0 - part, ones", "value, number = 0.0 + part, ones", wrong_costs),
    (leaping, "- evidence_pulls[arm] - reserved", "- evidence_pulls[arm]", wrong_rooms),
    (
        leaping,
        "cuts[next_segments[arm]] - evidence_pulls[arm]",
        "cuts[next_segments[arm]] - evidence_pulls[arm] + 1",
        wrong_rooms,
    ),
    (leaping, "(1 << math.frexp(pulls)[1]) - pulls", "(1 << math.frexp(pulls)[1]) - pulls + 1", wrong_rooms),
    (leaping, "not is_settled and not has_noticed", "not is_settled and has_noticed", wrong_rooms),
    (leaping, "and revealed.first_rewards[arm] == mean", "and revealed.first_rewards[arm] != mean", wrong_rooms),
    (leaping, "lift - share / 2.0", "lift + share / 2.0", wrong_rooms),
    (leaping, "(1.0 - _MARGIN)) / lift - pulls", "(1.0 - _MARGIN)) / lift + pulls", wrong_rooms),
    (leaping, "highest * pulls - observed", "highest * pulls + observed", wrong_rooms),
    (leaping, "/ (1.0 - highest)", "/ (1.0 - highest) ** 2", wrong_rooms),
    (revealed_rewards, "total += exact", "total += ones", sums_of_ones),
    (revealed_rewards, "total += 1.0", "total -= 1.0", sums_of_ones),
    (revealed_rewards, ADDED, "rewards.later_sums[arm], count - ones), count)", means_of_ones),
    (revealed_rewards, ADDED, "rewards.later_sums[arm], ones), ones)", means_of_ones),
    (revealed_rewards, ADDED, "rewards.later_sums[arm], ones + 1), count)", means_of_ones),
    (revealed_rewards, "(first_part + later) /", "(first_part - later) /", means_of_ones),
]


@pytest.mark.parametrize(
    "check",
    [
        uncertain_leads,
        wrong_losses,
        greedy_rounds,
        uneven_turns,
        uneven_ties,
        wrong_explorations,
        uncertain_best,
        wrong_notes,
        wrong_costs,
        wrong_rooms,
        sums_of_ones,
        means_of_ones,
    ],
)
def test_nothing_is_found_in_the_formulas_as_they_are(check):
    """The checks that find the mutants find nothing without one, at least a million times to one."""
    assert not check()


@pytest.mark.parametrize(("module", "old", "new", "check"), MUTANTS)
def test_mutants_are_caught(module, old, new, check, monkeypatch):
    """A wrong sign, factor or number makes the check of its formula find a difference."""
    source = Path(module.__file__).read_text()
    assert source.count(old) == 1
    changed = ModuleType(module.__name__)
    exec(compile(source.replace(old, new), "mutant", "exec"), vars(changed))  # noqa: S102
    for name in (
        "leap",
        "_count_greedy_rounds",
        "find_prospect",
        "record_stretch",
        "count_pulls_without_lift",
        "add_one_by_one",
        "add_ones",
    ):
        if hasattr(module, name):
            monkeypatch.setattr(module, name, getattr(changed, name))
    assert check()
