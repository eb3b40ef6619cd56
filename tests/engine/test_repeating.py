"""Pulls of a leading arm without asking the policy are the same pulls, draws and numbers."""

from dataclasses import replace

import pytest
from tests.engine.test_leaping import CASES, LED
from tests.leap_comparison import Case, play

from tutelage.policies.ucb1 import UCB1
from tutelage.rules import KEEP, Set

MORE_CASES = {
    "quota": Case("", (0.8, 0.4, 0.3), history=LED, quota=(60, 3, 0), cuts=(20, 40, 60)),
    "beta": Case("", (0.8, 0.4, 0.7), history=LED, rewards="beta(10)"),
    "other target": Case("", (0.8, 0.4, 0.3), (KEEP, KEEP, Set(0.1)), LED, target=1),
    "fractions": Case("", (0.8, 0.4), history=(((0.3, 90), (0.9, 9)), ((0.1, 40),))),
}


@pytest.mark.parametrize("name", [*CASES, *MORE_CASES])
def test_same_memory_as_asking_each_time(name):
    """Counts, sums, costs, segments, quotas and streams are equal, bit for bit."""
    case = replace((CASES | MORE_CASES)[name], policy="ucb1")
    repeated, asked = (play(case, 4, "step", 6, plain=True, asks_each_time=each) for each in (False, True))
    differing = [
        field
        for field, one, other in zip(repeated.memory._fields, repeated.memory, asked.memory, strict=True)
        if field not in ("policy_states", "block") and not (one == other).all()
    ]
    assert differing == []


def test_the_policy_is_asked_less_often(monkeypatch):
    """Many pulls of a leading arm are made after one question."""
    asked, choose, counts = [], UCB1.choose, []
    monkeypatch.setattr(UCB1, "choose", staticmethod(lambda *given: (asked.append(given[0]), choose(*given))[1]))
    for each in (False, True):
        asked.clear()
        play(replace(CASES["leading arm"], policy="ucb1"), 4, "step", 6, plain=True, asks_each_time=each)
        counts.append(len(asked))
    assert 0 < 4 * counts[0] < counts[1]
