"""BLT: its directives, its states on hand-made evidence, and its settings."""

import math
import re
from pathlib import Path

import numpy as np
import pytest

from tutelage.errors import InputError
from tutelage.instances.base import Instance
from tutelage.request import make_problem
from tutelage.rules import KEEP, FreeLevel, Level, Lift, Set
from tutelage.teachers import TEACHERS
from tutelage.teachers.base import Directive, Evidence, Problem, Quota, decode_state, encode_state
from tutelage.teachers.blt.teacher import BLT, lift_of
from tutelage.teachers.blt.thresholds import log_threshold

FREE = FreeLevel(3.0, 3.0, 1.0, 6.0, 0.05, 1.0, 5.0, 8.0)
LEVELLED = {"leading_arm": "levelled", "rho": 2, "offset": 2.5, "slack": 5.0, "slack_share": 0.1, "push": 2.0}
BLT_PAGE = Path(__file__).parents[3] / "docs/blt.md"
TWO = Problem(2, 2, 1000, (0.5, 0.5))
THREE = Problem(3, 3, 1000, (0.5, 0.3, 0.2))


def evidence(teacher, problem, *means):
    """Of each arm's ``(number of segments, the clients' means)`` the sums of segments from the first on."""
    lengths = np.diff((0, *teacher.segments(problem)))
    return Evidence(tuple(lengths[:count, None] * np.array(row, dtype=float) for count, row in means))


def begin(problem, **settings):
    """A BLT and its state at the start."""
    teacher = BLT(**settings)
    return teacher, teacher.begin(problem, None)


def test_segments_are_the_grid_and_rho_times_the_grid():
    """1 to 20 one by one, then 5 % more a step, and all of that times rho = 3."""
    cuts = BLT().segments(Problem(1, 2, 100, (1.0,)))
    grid = [*range(1, 41), 42, 44, 46, 48, 50, 52, 54, 56, 58, 60]
    grid += [63, 66, 69, 72, 75, 78, 81, 85, 89, 93, 97]
    assert cuts == tuple(sorted({*grid, *(3 * n for n in grid if 3 * n <= 100)}))
    assert BLT(rho=2, growth=10.0).segments(Problem(1, 2, 500, (1.0,))) == (1, 2, 11, 22, 121, 242)
    assert BLT(growth=10.0).segments(Problem(1, 3, 400, (1.0,))) == (1, 8, 11, 41, 121, 371)


def test_no_head_start_where_there_is_nothing_to_share():
    """With two arms, or with a tolerance, rivals are not chosen, and all pulls are bet on."""
    two, three = Problem(2, 2, 300, (0.5, 0.5)), Problem(2, 3, 300, (0.5, 0.5))
    for teacher, problem in ((BLT(), two), (BLT(tolerance=0.1), three)):
        plain = BLT(head_start=0, tolerance=teacher.tolerance)
        assert teacher.segments(problem) == plain.segments(problem)
        assert teacher.directive(teacher.begin(problem, None)) == plain.directive(plain.begin(problem, None))
    assert BLT().segments(three) != BLT(head_start=0).segments(three)


def test_begins_level_without_a_leader():
    """At first all arms are levelled, and any arm's first pulls lead to a consultation."""
    for settings, rule in (({}, FREE), (LEVELLED, Level(2.0, 2.5, 1.0, 5.0, 0.1, 2.0, 5.0, 0.9, 8.0))):
        teacher, state = begin(THREE, **settings)
        assert teacher.directive(state) == Directive((rule,) * 3, Quota((1, 1, 1), "any"), (0, 1, 2))


def test_without_levelling_every_reward_is_revealed_as_zero():
    """Until the decision; the target is then lifted as ever."""
    teacher, state = begin(THREE, level=False)
    assert teacher.directive(state).rules == (Set(0.0),) * 3


@pytest.mark.parametrize(("num_clients", "head_start"), [(1, 8), (5, 8), (6, 7), (10, 4), (13, 3), (100, 3)])
def test_many_clients_have_a_shorter_head_start(num_clients, head_start):
    """About 40 pulls of all together where the leading arm is free; never more than asked for."""
    problem = Problem(num_clients, 3, 1000, (1 / num_clients,) * num_clients)
    for settings, expected in (({}, head_start), ({"head_start": 2}, 2), (LEVELLED, 8)):
        teacher, state = begin(problem, **settings)
        assert teacher.directive(state).rules[0].head_start == expected


def test_asks_for_what_the_next_bets_need():
    """An arm that is as far as the others let it bet is not waited for."""
    teacher, state = begin(TWO, rho=2)
    state = teacher.advance(state, evidence(teacher, TWO, (1, (1, 0)), (0, (0, 0))))
    assert teacher.directive(state).quota == Quota((2, 1), "any")  # 2 of arm 0 to bet on it, 1 of 1 against
    state = teacher.advance(state, Evidence((np.zeros((1, 2)), np.zeros((0, 2)))))
    assert teacher.directive(state).quota == Quota((0, 1), "any")
    assert state.steps == ((0, 0), (0, 0))
    state = teacher.advance(state, Evidence((np.zeros((0, 2)), np.ones((1, 2)))))
    assert state.steps == ((0, 1), (0, 0))
    assert teacher.directive(state).quota == Quota((4, 2), "any")


def test_gives_up_what_cannot_be_decided():
    """With hope, near ties end with an arm that is not a target; without it, levelling continues."""
    problem = Problem(2, 2, 10_000, (0.5, 0.5))
    teacher = BLT(hope=2.0)
    enough = sum(cut <= 1500 for cut in teacher.segments(problem))
    seen = evidence(teacher, problem, (enough, (0.5, 0.5)), (enough, (0.5, 0.5)))
    given_up = teacher.advance(teacher.begin(problem, None), seen)
    assert (given_up.provisional, given_up.active_arms) == (0, (0, 1))
    assert teacher.directive(given_up) == Directive((KEEP, Set(0.0)), None, (0, 1), leading_arm=0)
    report = teacher.report(given_up)
    assert (report.target, report.reachable, report.is_undecidable) == (None, False, True)
    assert report.sentence == "undecidable before the horizon: leading clients to arm 0, unproved"
    teacher = BLT(hope=math.inf)
    hopeful = teacher.advance(teacher.begin(problem, None), seen)
    assert hopeful.provisional is None
    assert not teacher.report(hopeful).is_undecidable
    assert teacher.directive(hopeful).quota is not None


def test_gives_up_nothing_that_is_clear():
    """A gap that will be decided is waited for, and nothing is given up in a fiftieth of the horizon."""
    problem = Problem(2, 2, 10_000, (0.5, 0.5))
    for most, means in ((1500, ((0.55, 0.5), (0.5, 0.5))), (60, ((0.5, 0.5), (0.5, 0.5)))):
        teacher = BLT(hope=0.0 if most == 60 else 2.0)
        enough = sum(cut <= most for cut in teacher.segments(problem))
        seen = evidence(teacher, problem, *((enough, arm) for arm in means))
        assert teacher.advance(teacher.begin(problem, None), seen).provisional is None


def test_leader_is_the_best_mean_by_weight():
    """The highest mean over whole segments, by weight; the first of equals; none before every arm has one."""
    teacher, state = begin(THREE)
    assert leader_after(teacher, state, (1, (1, 0, 0)), (1, (0, 1, 1)), (0, (0, 0, 0))) is None
    assert leader_after(teacher, state, (1, (1, 0, 0)), (2, (0, 1, 1)), (1, (0, 0, 0))) == 0
    assert leader_after(teacher, state, (1, (0, 1, 0)), (2, (0, 1, 0)), (4, (0, 0, 1))) == 0
    assert leader_after(teacher, state, (1, (0, 0, 0)), (2, (0, 0, 0)), (4, (0, 0, 1))) == 2


def leader_after(teacher, state, *means):
    """The leader once this has been seen."""
    return teacher.directive(teacher.advance(state, evidence(teacher, THREE, *means))).leading_arm


def test_rules_out_and_decides():
    """An arm ruled out is shown as 0; the last one is lifted, or has KEEP where lifting is turned off."""
    problem = Problem(3, 3, 100_000, (0.5, 0.3, 0.2))
    teacher, state = begin(problem, rho=2)
    seen = evidence(teacher, problem, (30, (0, 0, 0)), (30, (1, 1, 1)), (30, (1, 0.9, 1)))
    directive = teacher.directive(teacher.advance(state, seen))
    assert directive.active_arms == (1, 2)
    assert directive.rules[0] == Set(0.0)
    assert directive.rules[1] == directive.rules[2] == teacher.directive(state).rules[1]
    assert (directive.leading_arm, directive.target) == (1, None)
    seen = evidence(teacher, problem, (40, (0, 0, 0)), (40, (0, 1, 0)), (40, (1, 0.9, 1)))
    decided = teacher.advance(state, seen)
    rules = (Set(0.0), Set(0.0), Lift(lift_of(problem.num_arms, problem.horizon)))
    assert teacher.directive(decided) == Directive(rules, None, (2,), target=2)
    assert BLT(lift=False, rho=2).directive(decided).rules == (Set(0.0), Set(0.0), KEEP)
    assert teacher.report(decided).sentence == "decided on arm 2 after 1 consultations"


def test_removal_counts_at_once():
    """Two arms that each would rule the other out: the pair (0, 1) comes first, and one arm is left."""
    problem = Problem(1, 2, 1000, (1.0,))
    teacher, state = begin(problem, rho=2)
    cuts = np.array((0, *teacher.segments(problem)))
    lengths = np.diff(cuts[cuts <= 500])[:, None].astype(float)
    early = np.where(np.arange(len(lengths))[:, None] < 30, lengths, 0.0)
    for sums in ((early, lengths - early), (lengths - early, early)):
        after = teacher.advance(state, Evidence(sums))
        assert after.active_arms == (0,)
        pieces = [teacher.advance(state, Evidence(tuple(arm[:30] for arm in sums)))]
        assert pieces[0].active_arms == ((0,) if sums[0] is early else (1,))  # what came first in time


def test_lift():
    """L = min(1, (2 (K - 1) log T / T)^(1/3))."""
    assert lift_of(5, 50_000) == pytest.approx((8 * math.log(50_000) / 50_000) ** (1 / 3), rel=1e-15)
    assert lift_of(5, 10) == 1.0
    assert lift_of(1, 10) == 0.0


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"leading_arm": "tied"}, "leading_arm='tied'"),
        ({"rho": 0}, "rho=0"),
        ({"growth": 0.0}, "growth=0"),
        ({"growth": math.nan}, "growth=nan"),
        ({"growth": math.inf}, "growth=inf"),
        ({"tolerance": -0.1}, "tolerance=-0.1"),
        ({"tolerance": 1.0}, "tolerance=1"),
        ({"tolerance": math.nan}, "tolerance=nan"),
        ({"stakes": -1}, "stakes=-1"),
        ({"head_start": -1}, "head_start=-1"),
        ({"hope": -1.0}, "hope=-1"),
        ({"offset": math.nan}, "offset=nan"),
        ({"band": -1.0}, "band=-1"),
        ({"slack": -1.0}, "slack=-1"),
        ({"slack_share": math.inf}, "slack_share=inf"),
        ({"push": -2.0}, "push=-2"),
        ({"freeze_pulls": 0.0}, "freeze_pulls=0"),
        ({"freeze_share": -0.5}, "freeze_share=-0.5"),
    ],
)
def test_settings_out_of_range(settings, said):
    """Each says which setting, and the value."""
    with pytest.raises(InputError, match=re.escape(said)):
        BLT(**settings)


def test_defaults():
    """Every constant stands where docs/blt.md has it."""
    assert BLT() == BLT(
        leading_arm="free",
        level=True,
        rho=3,
        growth=0.05,
        tolerance=0.0,
        lift=True,
        stakes=0,
        head_start=8,
        hope=2.0,
        offset=3.0,
        band=1.0,
        slack=6.0,
        slack_share=0.05,
        push=1.0,
        freeze_pulls=5.0,
        freeze_share=0.9,
    )


def test_levelled_leading_arm_stands_in_full_where_it_is_described():
    """The SPEC of BLT with a levelled leading arm, in docs/blt.md."""
    spec = "blt(leading_arm=levelled,rho=2,offset=2.5,slack=5,slack_share=0.1,push=2)"
    assert TEACHERS.parse(spec) == BLT(**LEVELLED)
    assert f"`{spec}`" in BLT_PAGE.read_text(encoding="utf-8")


# --------------------------------------------------------------------------------------------- the state


def test_evidence_may_come_in_any_pieces():
    """All at once, or segment after segment in any order of arms: the same sums and bets, bit for bit."""
    rng = np.random.default_rng(0)
    problem = Problem(12, 3, 3000, tuple(np.full(12, 1 / 12)))
    teacher, start = begin(problem)
    lengths = np.diff((0, *teacher.segments(problem)))[:60, None]
    sums = [rng.beta(2, 2, (60, 12)) * lengths for _ in range(3)]
    whole = teacher.advance(start, Evidence(tuple(sums)))
    for _ in range(3):
        state, given = start, [0, 0, 0]
        while min(given) < 60:
            more = [min(60, done + int(rng.integers(0, 4))) for done in given]
            pieces = tuple(arm[done:end] for arm, done, end in zip(sums, given, more, strict=True))
            state, given = teacher.advance(state, Evidence(pieces)), more
        assert all(map(np.array_equal, state.totals, whole.totals))
        assert state.active_arms == whole.active_arms
        left = np.ix_(state.active_arms, state.active_arms)
        assert np.array_equal(state.log_wealth[left], whole.log_wealth[left])


def test_excluded_client_was_never_evidence():
    """The state is as from only the other clients' sums, except for the threshold, which rises by a factor of M."""
    rng = np.random.default_rng(1)
    problem = Problem(4, 3, 2000, (0.4, 0.3, 0.2, 0.1))
    others = Problem(3, 3, 2000, tuple(np.array([0.4, 0.2, 0.1]) / math.fsum([0.4, 0.2, 0.1])))
    teacher, state = begin(problem, stakes=5)
    lengths = np.diff((0, *teacher.segments(problem)))[:40, None]
    sums = [rng.binomial(lengths, np.array([[0.4, 0.5, 0.4, 0.5]]), (40, 4)).astype(float) for _ in range(3)]
    excluded = teacher.exclude(teacher.advance(state, Evidence(tuple(sums))), 1)
    fewer = tuple(np.delete(arm, 1, axis=1) for arm in sums)
    without = teacher.advance(teacher.begin(others, None), Evidence(fewer))
    assert excluded.steps == without.steps
    assert np.array_equal(excluded.log_wealth, without.log_wealth)
    for total, fewer_total in zip(excluded.totals, without.totals, strict=True):
        assert np.array_equal(np.delete(total, 1, axis=1), fewer_total)
    assert teacher.directive(excluded).leading_arm == teacher.directive(without).leading_arm
    assert teacher.directive(excluded).quota == teacher.directive(without).quota
    gap = log_threshold(problem, 1, 0.0) - log_threshold(others, 0, 0.0)
    assert gap == pytest.approx(math.log(4), rel=1e-12)


def test_excluded_column_does_not_matter():
    """The excluded client's evidence, before and after, changes nothing."""
    teacher, start = begin(THREE)
    outcomes = []
    for value in (0.0, 0.3, 1.0):
        seen = evidence(teacher, THREE, (9, (1, value, 0)), (9, (0, value, 1)), (9, (0, value, 0)))
        state = teacher.exclude(teacher.advance(start, seen), 1)
        later = evidence(teacher, THREE, (9, (1, 0, 0)), (9, (0, 0, 0)), (9, (0, 0, 0)))
        state = teacher.advance(state, later)
        outcomes.append((teacher.directive(state), state.log_wealth.tolist(), state.steps))
    assert outcomes[0] == outcomes[1] == outcomes[2]


def test_order_of_excluding_does_not_matter():
    """Clients 0 then 2, or 2 then 0: the same state."""
    teacher, state = begin(THREE)
    state = teacher.advance(state, evidence(teacher, THREE, (5, (1, 0, 1)), (5, (0, 1, 1)), (5, (0, 0, 1))))
    one = teacher.exclude(teacher.exclude(state, 0), 2)
    other = teacher.exclude(teacher.exclude(state, 2), 0)
    assert encode_state(one) == encode_state(other)


def test_arms_return_when_their_evidence_goes():
    """A decision that rested on the excluded client is withdrawn, and learning goes on with all arms."""
    problem = Problem(3, 2, 1000, (0.5, 0.3, 0.2))
    teacher, state = begin(problem, rho=2)
    state = teacher.advance(state, evidence(teacher, problem, (30, (1, 0.5, 0.5)), (30, (0, 0.5, 0.5))))
    assert teacher.directive(state).target == 0
    state = teacher.exclude(state, 0)
    assert state.active_arms == (0, 1)
    assert teacher.directive(state).quota is not None
    assert teacher.report(state).sentence == "betting, 2 arms active"


def test_risk_after_excluding_asks_for_more():
    """The same evidence decides at a threshold that it no longer reaches after a exclusion."""
    problem, single = Problem(2, 2, 1000, (0.5, 0.5)), Problem(1, 2, 1000, (1.0,))
    teacher, both = begin(problem)
    for count in range(2, 40):
        one = teacher.advance(teacher.begin(single, None), evidence(teacher, single, (count, [1]), (count, [0])))
        two = teacher.advance(both, evidence(teacher, problem, (count, (1, 0)), (count, (0, 0))))
        if len(one.active_arms) == 1:
            assert len(teacher.exclude(two, 1).active_arms) == 2
            break
    else:
        pytest.fail("it never decides")


def test_state_to_json_and_back():
    """In the midst of a game with weights, a excluded client and an arm ruled out, bit for bit."""
    teacher, start = begin(THREE)
    for state in states_of_a_game(teacher, start):
        text = encode_state(state)
        again = decode_state(teacher, text)
        assert encode_state(again) == text
        assert teacher.directive(again) == teacher.directive(state)
        for name in ("steps", "log_wealth"):
            assert np.array_equal(getattr(again, name), getattr(state, name))


def states_of_a_game(teacher, state):
    """The states of twenty consultations, a client excluded halfway."""
    rng = np.random.default_rng(5)
    lengths, done = np.diff((0, *teacher.segments(THREE))), 0
    for consultation in range(20):
        length = lengths[done : done + 2, None]
        sums = tuple(rng.binomial(length, mean, (2, 3)) * np.array([1.0, 1, 1]) for mean in (0.1, 0.6, 0.7))
        done += 2
        state = teacher.advance(state, Evidence(sums))
        if consultation == 10:
            state = teacher.exclude(state, 0)
        yield state


def test_whom_one_cannot_exclude():
    """A client that is not there or is gone, and the last one."""
    teacher, state = begin(TWO)
    for stranger in (2, -1):
        with pytest.raises(InputError, match=f"client {stranger}"):
            teacher.exclude(state, stranger)
    state = teacher.exclude(state, 0)
    with pytest.raises(InputError, match="client 0"):
        teacher.exclude(state, 0)
    with pytest.raises(InputError, match="last"):
        teacher.exclude(state, 1)


def test_bets_use_the_weights_as_they_are():
    """What is bet uses M w_m of the problem, not of equal clients."""
    instance = Instance("weights", np.full((2, 2), 0.5), np.array([0.75, 0.25]))
    teacher = BLT()
    problem = make_problem(instance, 1000, teacher)
    seen = evidence(teacher, problem, (10, (1, 0)), (10, (0, 1)))
    state = teacher.advance(teacher.begin(problem, None), seen)
    assert state.log_wealth[0, 1].max() > 0 > state.log_wealth[1, 0].max()
