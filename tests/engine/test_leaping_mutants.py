"""Mutants of the leaps of UCB1 and epsilon-greedy and of the sums after a stretch: each must be caught.

Thompson sampling's are in ``tests/policies/test_thompson_leaping.py``.
"""

import functools
from collections import Counter
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from tests.leap_comparison import unlikely

from tutelage import revealed_rewards
from tutelage.policies import epsilon_greedy, ucb1
from tutelage.policies.base import Learner, Prospect, Stretch

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
    """Whether UCB1 leaps over a pull that is not the leading arm's if every reward is 0, or hardly leaps at all."""
    rng, leaps = np.random.default_rng(3), 0
    flags, numbers = np.zeros(3, dtype=np.bool_), np.full(3, 0.5)
    for _ in range(300):
        counts = np.array([*rng.integers(20, 200, size=2), rng.integers(2000, 9000)])
        means, stretch = rng.random(3), Stretch(*np.zeros((2, 3), dtype=np.int64))
        prospect = Prospect(numbers, flags, flags, np.full(3, 400), 400, False)
        rounds = ucb1.leap(int(counts.sum()) + 1, Learner(counts, means, np.zeros(5)), prospect, stretch, numbers, rng)
        for passed in range(rounds):
            more = passed * (stretch.pulls > 0)
            indices = counts * means / (counts + more) + np.sqrt(
                2 * np.log(counts.sum() + 1 + passed) / (counts + more)
            )
            if indices.argmax() != stretch.pulls.argmax():
                return True
        leaps += rounds > 0
    return leaps < 30


ADDED = "rewards.later_sums[arm], ones), count)"
MUTANTS = [
    (ucb1, "int(-lead.least / (lead", "int(-2.0 * lead.least / (lead", uncertain_leads),
    (ucb1, "> -lead.least:", "> -9.0 * lead.least:", uncertain_leads),
    (ucb1, "least = count * (others - mean)", "least = count * (mean - others)", uncertain_leads),
    (ucb1, "root * math.sqrt(count)\n    gained", "2.0 * root * math.sqrt(count)\n    gained", uncertain_leads),
    (ucb1, "last * (others + window * growth)", "last * (others - window * growth - 1.0)", uncertain_leads),
    (epsilon_greedy, "< weight / (round + passed)", "< weight / (round + passed + 1)", greedy_rounds),
    (epsilon_greedy, "< weight / (round + passed)", "< weight / (round + passed - 1)", greedy_rounds),
    (epsilon_greedy, "< weight / (round + passed)", ">= weight / (round + passed)", greedy_rounds),
    (epsilon_greedy, "passed += int(gap)", "passed += int(gap) + 1", greedy_rounds),
    (epsilon_greedy, "bound, end = weight / first", "bound, end = weight / (first + 1)", greedy_rounds),
    (epsilon_greedy, "math.log1p(-bound)", "math.log(bound)", greedy_rounds),
    (epsilon_greedy, "passed = end", "passed = end + 1", greedy_rounds),
    (revealed_rewards, "total += exact", "total += ones", sums_of_ones),
    (revealed_rewards, "total += 1.0", "total -= 1.0", sums_of_ones),
    (revealed_rewards, ADDED, "rewards.later_sums[arm], count - ones), count)", means_of_ones),
    (revealed_rewards, ADDED, "rewards.later_sums[arm], ones), ones)", means_of_ones),
    (revealed_rewards, ADDED, "rewards.later_sums[arm], ones + 1), count)", means_of_ones),
    (revealed_rewards, "(first_part + later) /", "(first_part - later) /", means_of_ones),
]


@pytest.mark.parametrize("check", [uncertain_leads, greedy_rounds, sums_of_ones, means_of_ones])
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
    for name in ("leap", "_count_greedy_rounds", "add_one_by_one", "add_ones"):
        if hasattr(module, name):
            monkeypatch.setattr(module, name, getattr(changed, name))
    assert check()
