"""What each rule reveals and costs, by example and by property."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import reference
from tests.reference_levelling import FreeLevelClient
from tutelage.engine.kernel_compiler import compiled
from tutelage.rule_memory import LEVEL, OFF_TARGET, PRESSURES, WANDER, RuleMemory
from tutelage.rules import (
    ALIGN,
    KEEP,
    NUM_NUMBERS,
    FreeLevel,
    Keep,
    Level,
    Lift,
    Set,
    Shift,
    Sink,
    make_rule_arrays,
    reveal,
)
from tutelage.teachers.base import Directive

UNIT = st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 1))
COUNTS = st.integers(1, 200)
SHARED = {
    "leading_share": st.sampled_from([1.0, 2.0, 3.0]),
    "offset": st.floats(0, 5),
    "band": st.floats(0, 3),
    "slack": st.floats(0, 10),
    "slack_share": st.floats(0, 1),
    "push": st.floats(0, 4),
    "freeze_pulls": st.sampled_from([1.0, 5.0, 50.0]),
    "head_start": st.sampled_from([0.0, 8.0, 40.0]),
}
LEVELS = st.builds(Level, freeze_share=UNIT, **SHARED)
RULES = st.one_of(st.just(KEEP), st.builds(Set, UNIT), LEVELS, st.builds(FreeLevel, **SHARED), st.builds(Lift, UNIT))


def a_memory(pulls, observed=None, revealed=None, level=0.0, off_target=0.0, wander=0.0, pressures=None):
    """What rules see of a client; by default every pull was worth and shown as 1/2."""
    half = np.array(pulls) / 2
    return RuleMemory(
        np.array(pulls, dtype=np.int64),
        half if observed is None else np.array(observed, dtype=float),
        half.copy() if revealed is None else np.array(revealed, dtype=float),
        np.array([level, off_target, wander, *(pressures or [0.0] * len(pulls))]),
    )


def rule_arrays_of(*rules, active=None, leading_arm=None, target=None):
    """The rule arrays of a directive, all arms active by default."""
    return make_rule_arrays(rules, tuple(range(len(rules))) if active is None else active, leading_arm, target)


@st.composite
def situations(draw):
    """A directive and a client's memory that can come about: N >= 1 of the arm pulled, sums within [0, N]."""
    K = draw(st.integers(1, 4))
    rules = tuple(draw(st.lists(RULES, min_size=K, max_size=K)))
    target = draw(st.sampled_from([None, *range(K)]))
    active = draw(st.sets(st.integers(0, K - 1), min_size=1)) if target is None else {target}
    leading_arm = draw(st.sampled_from([None, *sorted(active)]))
    rules = tuple(
        KEEP if isinstance(rule, Level | FreeLevel) and arm not in active else rule for arm, rule in enumerate(rules)
    )
    pulls = draw(st.lists(COUNTS, min_size=K, max_size=K))
    observed = [draw(UNIT) * n for n in pulls]
    revealed = [draw(UNIT) * (n - 1) for n in pulls]
    level, off = draw(st.sampled_from([0.0, 0.05, 0.45])), draw(UNIT)
    wander, pressures = draw(UNIT), draw(st.lists(st.sampled_from([0.0, 1.0, 7.0]), min_size=K, max_size=K))
    directive = Directive(rules, None, tuple(sorted(active)), leading_arm, target)
    arm = draw(st.integers(0, K - 1))
    return directive, lambda: a_memory(pulls, observed, revealed, level, off, wander, pressures), arm, draw(UNIT)


def rule_arrays_for(directive):
    """A directive as numbers."""
    return make_rule_arrays(directive.rules, directive.active_arms, directive.leading_arm, directive.target)


# ------------------------------------------------------------------------------------------ all rules


@given(situations(), UNIT)
def test_revealed_stays_within_the_unit(situation, aligned):
    """Whatever the rule and the memory, what is revealed lies in [0, 1], so a pull costs 1 at most."""
    directive, memory_of, arm, reward = situation
    shown = reveal(rule_arrays_for(directive), memory_of(), arm, reward, aligned)
    assert 0.0 <= shown <= 1.0


@given(situations())
def test_equals_the_reference(situation):
    """Each rule reveals what its plain description in the reference says, and keeps the same."""
    directive, memory_of, arm, reward = situation
    memory = memory_of()
    level, off_target, wander, *pressures = memory.state.tolist()
    pupil = reference.RuleClient(len(directive.rules), off_target)
    pupil.free = FreeLevelClient(len(directive.rules), level or None, wander, pressures)
    pupil.N, pupil.Q, pupil.S = memory.pulls.tolist(), memory.observed.tolist(), memory.revealed.tolist()
    assert reveal(rule_arrays_for(directive), memory, arm, reward, 0.0) == pupil.reveal(directive, arm, reward)
    client = pupil.free
    assert memory.state.tolist() == [client.level or 0.0, pupil.z, client.wander, *client.pressure]


@given(situations(), UNIT)
def test_compiled_equals_plain(situation, aligned):
    """The compiled rules reveal and keep the same numbers, bit for bit."""
    directive, memory_of, arm, reward = situation
    rule_arrays, plain, fast = rule_arrays_for(directive), memory_of(), memory_of()
    shown = reveal(rule_arrays, plain, arm, reward, aligned)
    assert compiled(reveal)(rule_arrays, fast, arm, reward, aligned) == shown
    assert fast.state.tolist() == plain.state.tolist()


@given(situations(), UNIT)
def test_looks_without_touching(situation, aligned):
    """Nothing but what the rules keep is written."""
    directive, memory_of, arm, reward = situation
    memory = memory_of()
    for array in (memory.pulls, memory.observed, memory.revealed):
        array.flags.writeable = False
    reveal(rule_arrays_for(directive), memory, arm, reward, aligned)


@given(RULES)
def test_numbers_fit(rule):
    """No rule carries more numbers than an order has room for."""
    assert len(rule.numbers()) <= NUM_NUMBERS


def test_kinds_differ():
    """Eight rules, eight kinds."""
    rules: list[Any] = [Keep(), Set(0.5), ALIGN, Level(), Lift(0.5), Sink(0, 1), Shift(1, True), FreeLevel()]
    assert sorted(rule.kind for rule in rules) == list(range(8))


def test_orders_by_example():
    """A directive's rules become rows of numbers; no leading arm and no target are -1."""
    rule_arrays = rule_arrays_of(Set(0.25), KEEP, Lift(0.3), active=(0, 2))
    assert rule_arrays.kinds.tolist() == [1, 0, 4]
    assert rule_arrays.numbers[:, 0].tolist() == [0.25, 0.0, 0.3]
    assert rule_arrays.active.tolist() == [True, False, True]
    assert (rule_arrays.num_active, rule_arrays.leading_arm, rule_arrays.target) == (2, -1, -1)
    assert rule_arrays_of(KEEP, KEEP, leading_arm=0, target=1)[-4:-2] == (0, 1)


# -------------------------------------------------------------------------------- KEEP, SET and ALIGN


@given(UNIT, UNIT)
def test_keep_costs_nothing(reward, aligned):
    """KEEP reveals what was observed."""
    assert reveal(rule_arrays_of(KEEP), a_memory([3]), 0, reward, aligned) == reward


@given(UNIT, UNIT)
def test_set_reveals_gamma(gamma, reward):
    """SET reveals gamma whatever was observed; its cost is their distance."""
    assert reveal(rule_arrays_of(KEEP, Set(gamma)), a_memory([3, 4]), 1, reward, 0.0) == gamma


@given(UNIT, st.sampled_from([0.0, 1.0]))
def test_align_reveals_the_global_models(reward, aligned):
    """ALIGN reveals Y; its cost is the distance of X and Y."""
    assert reveal(rule_arrays_of(ALIGN), a_memory([3]), 0, reward, aligned) == aligned


# ---------------------------------------------------------------------------------------------- LEVEL
# With the defaults the line of an arm after its n-th pull is .5 n + 2.5, the band 1 either side.


@pytest.mark.parametrize(
    ("revealed", "reward", "shown"),
    [
        (7.0, 0.0, 0.0),  # line 7.5: S within [6.5, 8.5] either way
        (7.0, 1.0, 1.0),
        (6.5, 0.0, 0.0),  # the lower edge exactly
        (6.25, 0.0, 0.25),  # raised to the edge
        (5.0, 0.0, 1.0),  # as far as a reward can
        (5.0, 1.0, 1.0),
        (7.5, 1.0, 1.0),  # the upper edge exactly
        (8.0, 1.0, 0.5),  # lowered to the edge
        (9.0, 0.5, 0.0),
    ],
)
def test_level_keeps_the_sum_near_its_line(revealed, reward, shown):
    """X is shown while S stays within the band, else the nearest that keeps it there."""
    memory = a_memory([10, 10], revealed=[revealed, 5.0])
    assert reveal(rule_arrays_of(Level(freeze_pulls=99), Level()), memory, 0, reward, 0.0) == shown


@given(st.integers(1, 300), UNIT, UNIT)
def test_level_is_free_inside_the_band(pulls, reward, place):
    """While the sum with X lies within the band and no arm is ahead, X is revealed unchanged."""
    line = 0.5 * pulls + 2.5
    total = line + (2 * place - 1) * 0.999
    memory = a_memory([pulls, pulls], revealed=[total - reward, 0.0])
    assert reveal(rule_arrays_of(Level(freeze_pulls=999), Level()), memory, 0, reward, 0.0) == reward


@given(st.lists(UNIT, min_size=30, max_size=200))
def test_level_keeps_a_stream_on_the_line(rewards):
    """Pulled in turn, both arms' revealed sums stay within the band from the first few pulls on."""
    rule_arrays, memory = rule_arrays_of(Level(freeze_pulls=999), Level(freeze_pulls=999)), a_memory([1, 1])
    memory.pulls[:], memory.observed[:], memory.revealed[:] = 0, 0, 0
    for step, reward in enumerate(rewards):
        arm = step % 2
        memory.pulls[arm] += 1
        memory.revealed[arm] += reveal(rule_arrays, memory, arm, reward, 0.0)
        line = 0.5 * memory.pulls[arm] + 2.5
        if memory.pulls[arm] >= 4:
            assert line - 1 - 1e-9 <= memory.revealed[arm] <= line + 1 + 1e-9


def test_level_freezes_when_every_active_arm_has_its_pulls():
    """Until each active arm has n_f pulls the level is 1/2, then .9 of the mean of the averages, permanently."""
    rule_arrays = rule_arrays_of(Level(), Level(), Set(0.0), active=(0, 1))
    memory = a_memory([5, 4, 0], observed=[4.0, 1.0, 0.0])
    reveal(rule_arrays, memory, 0, 1.0, 0.0)
    assert memory.state[LEVEL] == 0.0
    memory.pulls[1], memory.observed[1] = 5, 2.0
    reveal(rule_arrays, memory, 1, 1.0, 0.0)
    frozen = memory.state[LEVEL]
    assert frozen == 0.9 * ((4.0 / 5 + 2.0 / 5) / 2)
    memory.observed[:] = 0.0
    reveal(rule_arrays, memory, 0, 1.0, 0.0)
    assert memory.state[LEVEL] == frozen


def test_level_is_never_frozen_below_a_twentieth():
    """A client whose rewards are all 0 gets the level .05."""
    memory = a_memory([5, 5], observed=[0.0, 0.0])
    reveal(rule_arrays_of(Level(), Level()), memory, 0, 0.0, 0.0)
    assert memory.state[LEVEL] == 0.05


def test_other_rules_do_not_freeze():
    """Only an active arm's own LEVEL looks at it."""
    memory = a_memory([9, 9])
    reveal(rule_arrays_of(Set(0.0), Level()), memory, 0, 1.0, 0.0)
    assert memory.state[LEVEL] == 0.0


def test_frozen_level_moves_the_line():
    """With level .2 the line after 10 pulls is 4.5, and a sum of 4 can take no more than 1.5."""
    memory = a_memory([10, 10], revealed=[5.25, 0.0], level=0.2)
    assert reveal(rule_arrays_of(Level(), Level()), memory, 0, 1.0, 0.0) == 0.25


def test_leader_has_a_higher_line():
    """The leader's offset counts its share: 2.5 x 2."""
    memory = a_memory([10, 10], revealed=[10.5, 10.5])
    rule_arrays = rule_arrays_of(Level(freeze_pulls=99), Level(freeze_pulls=99), leading_arm=0)
    assert reveal(rule_arrays, memory, 0, 1.0, 0.0) == 0.5  # up to 5 + 5 + 1
    assert reveal(rule_arrays, memory, 1, 1.0, 0.0) == 0.0  # up to 5 + 2.5 + 1


def test_an_arm_ahead_is_pressed_down():
    """With 20 pulls to 10 the arm is 20 - 10 - 5 - 1 = 4 ahead: its sum may reach 12.5 - 1 - 2 x 4."""
    rule_arrays = rule_arrays_of(Level(freeze_pulls=99), Level(freeze_pulls=99))
    assert reveal(rule_arrays, a_memory([20, 10], revealed=[3.0, 5.0]), 0, 1.0, 0.0) == 0.5
    assert reveal(rule_arrays, a_memory([20, 10], revealed=[9.0, 5.0]), 0, 1.0, 0.0) == 0.0
    assert reveal(rule_arrays, a_memory([20, 10], revealed=[0.0, 5.0]), 0, 0.0, 0.0) == 0.0  # never raised


def test_the_leader_may_be_twice_ahead():
    """Its pulls count half: 20 to 10 is not ahead; an inactive arm does not hold it back."""
    rules = (Level(freeze_pulls=99), Level(freeze_pulls=99), Set(0.0))
    memory = a_memory([20, 10, 0], revealed=[14.0, 5.0, 0.0])
    assert reveal(rule_arrays_of(*rules, active=(0, 1), leading_arm=0), memory, 0, 1.0, 0.0) == 1.0
    assert reveal(rule_arrays_of(*rules, active=(0, 1)), memory, 0, 1.0, 0.0) == 0.0


def test_an_unpulled_arm_holds_all_back():
    """One active arm without a pull: more than 5 pulls of another are ahead."""
    rule_arrays = rule_arrays_of(Level(), Level())
    assert reveal(rule_arrays, a_memory([5, 0], revealed=[3.0, 0.0]), 0, 1.0, 0.0) == 1.0
    assert reveal(rule_arrays, a_memory([7, 0], revealed=[3.0, 0.0]), 0, 1.0, 0.0) == 0.0


# ----------------------------------------------------------------------------------------- FREE LEVEL
# With the defaults and a frozen level L the line of an arm after its n-th pull is L n + 3, the band 1 either side.

FREE = FreeLevel()


def shown_freely(memory, arm, reward, leading_arm=None, num_arms=2):
    """What FREE LEVEL reveals where all arms are active."""
    return reveal(rule_arrays_of(*[FREE] * num_arms, leading_arm=leading_arm), memory, arm, reward, 0.0)


@pytest.mark.parametrize("reward", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("wander", [0.0, 1.0])
def test_the_first_reveal_of_an_arm_is_one(reward, wander):
    """So every revealed sum is at least 1, and no arm can become worthless for a greedy client."""
    memory = a_memory([1, 3, 3], revealed=[0.0, 3.0, 3.0], wander=wander)
    assert shown_freely(memory, 0, reward, leading_arm=1, num_arms=3) == 1.0


def test_only_pulls_against_the_revealed_means_make_wander():
    """z goes a 30th of the way to 1 for an arm with a lower mean, and to 0 for the best or a tied one."""
    memory = a_memory([3, 3, 4], revealed=[1.0, 1.0, 3.0])  # before this pull: 1 / 2, 1 / 3, 3 / 4
    shown_freely(memory, 0, 1.0, num_arms=3)
    assert memory.state[WANDER] == 1 / 30
    memory = a_memory([3, 3, 4], revealed=[1.5, 1.0, 3.0], wander=0.3)  # tied with arm 2
    shown_freely(memory, 0, 1.0, num_arms=3)
    assert memory.state[WANDER] == pytest.approx(0.3 - 0.3 / 30)


@pytest.mark.parametrize("pulls", [[1, 3], [2, 0]])
def test_wander_waits_for_every_arm(pulls):
    """A client that has not pulled every arm before has no choice between means."""
    memory = a_memory(pulls, revealed=[0.0, 0.0], wander=0.5)
    shown_freely(memory, 0, 1.0)
    assert memory.state[WANDER] == 0.5


def test_wander_counts_ruled_out_arms_too():
    """A ruled-out arm's pull, which SET reveals, says as much about the client."""
    memory = a_memory([3, 3, 3], revealed=[0.0, 2.0, 2.0])
    reveal(rule_arrays_of(Set(0.0), FREE, FREE, active=(1, 2)), memory, 0, 1.0, 0.0)
    assert memory.state[WANDER] == 1 / 30


def test_a_leading_arm_is_free_at_a_client_that_explores():
    """Its reward passes far from the line; at another client, or on another arm, it does not."""
    for wander, reward in ((0.5, 0.0), (0.5, 1.0)):
        memory = a_memory([38, 10], revealed=[30.0, 8.0], level=0.5, wander=wander)
        assert shown_freely(memory, 0, reward, leading_arm=0) == reward
    memory = a_memory([38, 10], revealed=[30.0, 8.0], level=0.5)
    assert shown_freely(memory, 0, 1.0, leading_arm=0) == 0.0


def test_the_level_of_a_client_that_explores_follows_the_leading_arm():
    """L = (S - a r) / n of the leading arm, r its pulls over its progress."""
    memory = a_memory([30, 10], revealed=[24.0, 6.0], level=0.5, wander=0.5)
    shown_freely(memory, 1, 1.0, leading_arm=0)
    assert memory.state[LEVEL] == (24.0 - 3.0 * 3.0) / 30


def test_the_level_of_a_greedy_client_moves_slowly():
    """Towards its own mean, by a / mn^2 over the arms' shares: a quarter of it upwards, twice it downwards."""
    unit = 3.0 / 10.0**2 / (2 - 1 + 3)
    for observed, moved in ((1.0, unit / 4), (0.0, -2 * unit)):
        memory = a_memory([30, 10], observed=[30 * observed, 10 * observed], level=0.5)
        shown_freely(memory, 1, 1.0, leading_arm=0)
        assert memory.state[LEVEL] == pytest.approx(0.5 + moved, rel=1e-12)


def test_the_level_is_frozen_at_the_clients_mean():
    """The leading arm weighs 1, others a fifth, with half a reward in one more pull."""
    memory = a_memory([5, 4], observed=[4.0, 1.0])
    shown_freely(memory, 0, 1.0, leading_arm=0)
    assert memory.state[LEVEL] == 0.0
    memory = a_memory([5, 5], observed=[4.0, 1.0])
    shown_freely(memory, 0, 1.0, leading_arm=0)
    assert memory.state[LEVEL] == pytest.approx((4.5 / 6 + 0.2 * 1.5 / 6) / 1.2, rel=1e-12)


def test_pressure_grows_until_the_arm_is_no_longer_ahead():
    """Each further pull pushes the arm one lower below the mean of the arm that is behind."""
    memory = a_memory([20, 10], revealed=[5.0, 4.0], level=0.4)  # ahead by 20 - 10 - 6 - .5
    assert shown_freely(memory, 0, 1.0) == 1.0  # up to 20 x .4 - 1 - 5
    assert shown_freely(memory, 0, 1.0) == 1.0  # up to 20 x .4 - 2 - 5
    assert shown_freely(memory, 0, 1.0) == 0.0
    assert memory.state[PRESSURES:].tolist() == [3.0, 0.0]
    memory.pulls[1] = 20
    shown_freely(memory, 0, 1.0)
    assert memory.state[PRESSURES] == 0.0


def test_the_slack_is_the_clients():
    """A client that explores has a smaller one on the other arms, and the leading arm has a larger one."""
    for wander, pulls, ahead in ((0.0, 16, False), (0.5, 16, True), (0.0, 17, True)):
        memory = a_memory([60, pulls, 10], revealed=[30.0, 5.0, 4.0], level=0.4, wander=wander)
        shown_freely(memory, 1, 0.0, leading_arm=0, num_arms=3)
        assert bool(memory.state[PRESSURES + 1]) is ahead
    for pulls, ahead in ((61, False), (62, True)):  # a third of it is more than 10 + 10 + a twentieth of 10
        memory = a_memory([pulls, 10], revealed=[30.0, 4.0], level=0.4)
        shown_freely(memory, 0, 0.0, leading_arm=0)
        assert bool(memory.state[PRESSURES]) is ahead


def test_nothing_is_raised_that_nobody_needs():
    """A client that explores gets an arm raised only while the arm is not ahead by half of its slack."""
    for pulls, shown in ((12, 1.0), (13, 0.0)):
        memory = a_memory([30, pulls, 10], revealed=[24.0, 5.0, 4.0], level=0.5, wander=0.5)
        assert shown_freely(memory, 1, 0.0, leading_arm=0, num_arms=3) == shown


def test_a_free_leading_arm_that_lags_is_raised():
    """Of a target worth little to the client the sum is brought to .4 n once it is behind by more than 3."""
    for others, shown in ((13, 0.0), (15, 1.0)):
        memory = a_memory([30, others], revealed=[5.0, 5.0], level=0.05, wander=0.5)
        assert shown_freely(memory, 0, 0.0, leading_arm=0) == shown


# ----------------------------------------------------------------------------------------------- LIFT


@pytest.mark.parametrize(
    ("off_target", "observed", "revealed", "reward", "shown"),
    [
        (1.0, 1.0, 1.0, 0.0, 1.0),  # z/2 = .4975 > .3 - .1: up to 3 - 1
        (1.0, 1.0, 2.5, 0.0, 0.5),  # only as far as the line
        (1.0, 1.0, 3.5, 0.0, 0.0),  # the sum is there already
        (1.0, 1.0, 2.5, 0.75, 0.75),  # never lowered
        (0.2, 1.0, 1.0, 0.0, 0.0),  # z/2 = .0995 < .2: the client obeys well enough
        (0.0, 5.0, 1.0, 0.0, 1.0),  # worth .5 by itself: z/2 > .3 - .5 holds
    ],
)
def test_lift_by_example(off_target, observed, revealed, reward, shown):
    """LIFT(.3) after 10 pulls of the target acts while z/2 > .3 - Q/N, and then reveals max(X, 3 - S)."""
    memory = a_memory([4, 10], observed=[2.0, observed], revealed=[0.0, revealed], off_target=off_target)
    assert reveal(rule_arrays_of(Set(0.0), Lift(0.3), active=(1,), target=1), memory, 1, reward, 0.0) == shown


@given(situations())
def test_lift_never_lowers(situation):
    """Whatever came before, LIFT reveals at least what was observed."""
    _, memory_of, arm, reward = situation
    memory = memory_of()
    rules = [Set(0.0)] * memory.pulls.size
    rules[arm] = Lift(0.3)
    assert reveal(rule_arrays_of(*rules, active=(arm,), target=arm), memory, arm, reward, 0.0) >= reward


def test_share_off_the_target_moves():
    """z goes 1/200 of the way to 1 at a pull off the target, to 0 at a pull on it, before it is used."""
    rule_arrays, memory = rule_arrays_of(Set(0.0), KEEP, active=(1,), target=1), a_memory([3, 3])
    reveal(rule_arrays, memory, 0, 1.0, 0.0)
    assert memory.state[OFF_TARGET] == 1 / 200
    reveal(rule_arrays, memory, 1, 1.0, 0.0)
    assert math.isclose(memory.state[OFF_TARGET], 199 / 200 / 200)


@pytest.mark.parametrize("rule", [KEEP, Set(0.0), ALIGN, Level(), FreeLevel(), Lift(0.5)])
def test_share_off_the_target_is_reset_without_one(rule):
    """Under any rule: without a target z is 0, so a withdrawn decision starts it from 0."""
    memory = a_memory([3, 3], off_target=0.7)
    reveal(rule_arrays_of(rule, KEEP), memory, 0, 1.0, 0.0)
    assert memory.state[OFF_TARGET] == 0.0


@pytest.mark.parametrize("rule", [KEEP, Set(0.0), Lift(0.5)])
def test_share_off_the_target_moves_under_any_rule(rule):
    """With a target it moves whatever rule reveals the reward."""
    memory = a_memory([3, 3], off_target=0.5)
    reveal(rule_arrays_of(rule, KEEP, active=(1,), target=1), memory, 0, 1.0, 0.0)
    assert memory.state[OFF_TARGET] == 0.5 + 0.5 / 200
