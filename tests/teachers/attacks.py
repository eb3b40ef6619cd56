"""What the tests of SINK and SHIFT and of their teachers share."""

import math

import numpy as np
from hypothesis import strategies as st
from tests.simulated_run import simulate_once

from tutelage.instances.base import Instance
from tutelage.policies import POLICIES
from tutelage.rule_memory import RuleMemory, state_size
from tutelage.rules import make_rule_arrays
from tutelage.teachers import TEACHERS
from tutelage.teachers.base import Directive

UNIT = st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 1))
DELTAS = st.sampled_from([1e-9, 0.05, 0.9])

# With two arms beta(50) = sqrt(16 / 100) = .4 for this delta.
DELTA = math.pi**2 * 2 * 50**2 / (3 * math.exp(16))

# Arm 4 is the poorest; 10^4, 10^5 and 10^6 rounds are looked at.
MEANS, TARGET = (0.9, 0.6, 0.5, 0.4, 0.3), 4
ROUNDS = np.array([10**4, 10**5, 10**6])


def a_memory(pulls, observed, revealed):
    """What rules see of a client."""
    return RuleMemory(
        np.array(pulls, dtype=np.int64),
        np.array(observed, dtype=float),
        np.array(revealed, dtype=float),
        np.zeros(state_size(len(pulls))),
    )


def rule_arrays_for(directive):
    """A directive as numbers."""
    return make_rule_arrays(directive.rules, directive.active_arms, directive.leading_arm, directive.target)


def towards(rule, target=1, num_arms=2):
    """The rule arrays of a directive with this rule on every arm."""
    return rule_arrays_for(Directive((rule,) * num_arms, None, (target,), target=target))


@st.composite
def moments(draw, rules):
    """A rule on every arm, a client's memory that can come about, the arm pulled and what it gave.

    The arm has at least this pull, any other arm perhaps none, the target included; Q of the arm counts the
    reward, S does not.
    """
    K, rule, reward = draw(st.integers(1, 4)), draw(rules), draw(UNIT)
    arm, target = draw(st.integers(0, K - 1)), draw(st.sampled_from([None, *range(K)]))
    before = draw(st.lists(st.one_of(st.integers(0, 3), st.integers(0, 10**6)), min_size=K, max_size=K))
    observed = [draw(UNIT) * n for n in before]
    revealed = [total if k == target else total * draw(UNIT) for k, total in enumerate(observed)]
    pulls = [n + (k == arm) for k, n in enumerate(before)]
    observed[arm] += reward
    active = tuple(range(K)) if target is None else (target,)
    directive = Directive((rule,) * K, None, active, target=target)
    return directive, lambda: a_memory(pulls, observed, revealed), arm, reward


def play(teacher, policy, num_clients, *, means=MEANS, seed=0, rounds=ROUNDS):
    """Costs and pulls off the target of this many like clients, each [M, C]; arm 4 is meant."""
    instance = Instance("poor target", np.tile(means, (num_clients, 1)), np.full(num_clients, 1 / num_clients))
    outcome = simulate_once(
        instance,
        [POLICIES.parse(policy)] * num_clients,
        TEACHERS.parse(teacher),
        horizon=int(rounds[-1]),
        seed=seed,
        run=0,
        checkpoints=rounds,
    )
    return outcome.costs, rounds - outcome.pulls[:, :, TARGET]


def growth(values):
    """How much more the last tenfold of the rounds adds than the one before: log 1, root 3.2, linear 10."""
    first, second = np.diff(values.sum(axis=0))
    return second / first
