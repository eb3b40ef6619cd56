"""TAL and TWL with clients whose rewards depend on each other (docs/theory.md, "Dependent clients")."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats
from tests.teachers.evidence import UNEVEN

from tutelage.epoch_schedule import confidence_radius, epoch_pulls
from tutelage.errors import InputError
from tutelage.instances import load
from tutelage.planning.decision_times import likely_round
from tutelage.policies.ucb1 import UCB1
from tutelage.teachers import TEACHERS
from tutelage.teachers.base import Evidence, Problem, describe_assumptions
from tutelage.teachers.dependence import group_weights, groups_of
from tutelage.teachers.families.intervals import SegmentSums, compute_intervals, schedule_of
from tutelage.teachers.tal import TAL
from tutelage.theory import guarantee
from tutelage.theory.setting import setting_of
from tutelage.theory.theorems import learning_end

SIXTEEN = Problem(16, 2, 1000, (1 / 16,) * 16)


@pytest.mark.parametrize(
    ("dependence", "weights"),
    [("any", [1.0]), ("a;b;a", [0.7, 0.3]), ("a;b;c", [0.5, 0.3, 0.2]), (None, [0.5, 0.3, 0.2])],
)
def test_groups_add_up_before_they_are_squared(dependence, weights):
    """f and CB have sum_g W_g^2 in the place of sum_m w_m^2."""
    squared, log = sum(weight**2 for weight in weights), math.log(2 * 3 * UNEVEN.horizon**2)
    schedule = schedule_of(UNEVEN, dependence)
    assert schedule.pulls(1) == math.ceil(32 * log * squared)
    sums = SegmentSums((np.full((1, 3), 0.5 * schedule.pulls(1)),) * 3)
    intervals = compute_intervals(UNEVEN, sums, 1, (0,), dependence)
    radius = math.sqrt(log * squared / (2 * schedule.pulls(1)))
    assert intervals.upper[0] == pytest.approx(0.5 + radius, rel=1e-12)
    assert intervals.lower[0] == pytest.approx(0.5 - radius, rel=1e-12)


def test_an_excluded_client_leaves_its_group():
    """The radius after an exclusion is that of the remaining members of each group."""
    remaining = (0.0, 0.6, 0.4)
    assert group_weights(remaining, groups_of("a;a;b", 3)) == (0.6, 0.4)
    assert group_weights(remaining, groups_of("a;b;b", 3)) == (1.0,)
    schedule = schedule_of(UNEVEN, "a;a;b")
    sums = SegmentSums((np.full((1, 3), 0.5 * schedule.pulls(1)),) * 3, excluded=(0,))
    upper = compute_intervals(UNEVEN, sums, 1, (0,), "a;a;b").upper[0]
    assert upper == pytest.approx(0.5 + confidence_radius(schedule, 1, 0.6**2 + 0.4**2, math.log(3)), rel=1e-12)


def failure(schedule, weights):
    """P(|estimate - 1/2| > CB(1)): clients of a group see the same fair coins, so the estimate has one term each."""
    pulls, radius = schedule.pulls(1), confidence_radius(schedule, 1)
    counts = np.arange(pulls + 1)
    terms = [(weight * counts / pulls, stats.binom.pmf(counts, pulls, 0.5)) for weight in weights]
    values, chances = terms[0]
    for more, other in terms[1:]:
        values, chances = np.add.outer(values, more).ravel(), np.multiply.outer(chances, other).ravel()
    return float(chances[np.abs(values - 0.5) > radius].sum())


@pytest.mark.parametrize(("dependence", "weights"), [("any", [1.0]), (";".join("ab" * 8), [0.5, 0.5])])
def test_intervals_hold_under_the_worst_shock(dependence, weights):
    """Exactly: with all clients of a group in step they fail within the claim, and without the option beyond it."""
    claimed = 1 / (SIXTEEN.num_arms * SIXTEEN.horizon**2)
    assert failure(schedule_of(SIXTEEN, dependence), weights) <= claimed
    assert failure(schedule_of(SIXTEEN), weights) > 1000 * claimed


@pytest.mark.parametrize("name", ["tal", "twl"])
def test_targets_under_shocks_by_round(name):
    """Arm 1 is a hair better and rewards of a round rise and fall together: arm 0 is chosen in at most 1/T of games.

    False alarms: once in a million.  As if clients were independent it is chosen far more often.
    """
    games, rng = 1000, np.random.default_rng(3)
    wrong = {}
    for dependence in (None, "any"):
        teacher = TEACHERS.cls(name)(1.0, 0.0, dependence)
        pulls = schedule_of(SIXTEEN, dependence).pulls(1)
        wrong[dependence] = 0
        for _ in range(games):
            rewards = rng.random((2, pulls, 1)) < np.array([0.5, 0.5 + 1e-9])[:, None, None]
            sums = np.repeat(rewards.sum(axis=1)[:, None], SIXTEEN.num_clients, axis=2).astype(float)
            state = teacher.advance(teacher.begin(SIXTEEN, None), Evidence(tuple(sums)))
            wrong[dependence] += teacher.directive(state).target == 0
    assert wrong["any"] <= stats.binom.isf(1e-6, games, 1 / SIXTEEN.horizon)
    assert wrong[None] > stats.binom.isf(1e-6, games, 1 / SIXTEEN.horizon)


def test_independent_is_the_default():
    """Written out or not, and SPECs and labels do not change."""
    assert TEACHERS.parse("tal(dependence=independent)") == TAL()
    assert TEACHERS.spec(TEACHERS.parse("twl(dependence=independent)")) == "twl(gamma1=1,gamma2=0)"
    assert TEACHERS.label(TEACHERS.parse("tal(dependence=a;a;b)")) == "tal(dependence=a;a;b)"


@pytest.mark.parametrize("dependence", ["a;b", "a;b;c;d", "a;;b", "some"])
def test_groups_that_do_not_fit_the_clients(dependence):
    """One name is needed for each client; the message has the value and what is allowed."""
    with pytest.raises(InputError, match=f"^Invalid dependence={dependence} for 3 clients: use independent, any"):
        TAL(dependence=dependence).segments(UNEVEN)


def test_what_is_assumed_follows_the_option():
    """Independence is named where, and only where, it is needed."""
    independent, groups, everyone = map(describe_assumptions, (None, "a;a;b", "any"))
    assert "different clients are independent" in independent
    assert "different groups are independent" in groups
    assert "are independent" not in everyone
    for sentence in (groups, everyone):
        assert "choice of an arm does not depend" in sentence
    for dependence, sentence in itertools.product(("any", "a;a;b"), ("means are constant", "exclusion does not")):
        assert sentence in TAL(dependence=dependence).error_bound(UNEVEN)
    assert TAL(dependence="any").error_bound(UNEVEN).endswith(everyone)


def test_a_longer_epoch_is_likely_to_decide():
    """The round of a likely decision is that of the longer epochs."""
    paper = load("paper")
    rounds = [likely_round(TAL(dependence=each), paper, 10**6) for each in (None, "a;a;b;b;b", "any")]
    pulls = [epoch_pulls(1, 1.0, squared) for squared in (0.2, 0.52, 1.0)]
    assert rounds == sorted(rounds)
    assert rounds[2] > pulls[1] / pulls[0] * rounds[0]


def test_what_assumes_independent_clients_refuses():
    """The theorems on regret and cost, and the change detector's own test."""
    paper, policies = load("paper"), (UCB1(),) * 5
    with pytest.raises(InputError, match=r"no theorem on tal\(dependence=any\)"):
        guarantee(paper, TAL(dependence="any"), policies, 50_000)
    assert learning_end(setting_of(paper, 50_000), TAL(dependence="any"), policies) is None
    with pytest.raises(InputError, match="its own test assumes independent clients"):
        TEACHERS.parse('change-detector(teacher="tal(dependence=any)")')
