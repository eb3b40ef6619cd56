"""What is known beforehand about whole runs: by calculation, in the paper's words, or from others' figures.

Every comparison of means asks for a distance of five standard errors where ten or more are expected: with
other seeds than these each would fail less than once in a million times.
"""

import functools

import numpy as np
import pytest
from scipy import stats

from tests import paper_epochs
from tests.simulated_run import simulate_once
from tutelage.distributions.constant import Constant
from tutelage.instances import load
from tutelage.instances.base import Instance, equal_weights
from tutelage.policies import POLICIES
from tutelage.teachers import TEACHERS

T = 50_000
QUARTERS = (T // 4, T // 2, 3 * T // 4, T)
CLIENTS = {
    "ucb1": ("ucb1",) * 5,
    "eps-greedy": ("eps-greedy",) * 5,
    "ts": ("ts",) * 5,
    "mixed": ("ucb1", "ucb1", "eps-greedy", "eps-greedy", "ts"),
}
TAL_0, TAL_1 = "tal(gamma1=0,gamma2=0)", "tal(gamma1=1,gamma2=0)"
TWL_0, TWL_1 = "twl(gamma1=0,gamma2=0)", "twl(gamma1=1,gamma2=0)"
RUNS = 30


@functools.cache
def load_once(spec):
    """An instance."""
    return load(spec)


def play(spec, clients, *, instance="paper", run=0, horizon=T, checkpoints=QUARTERS, seed=1):
    """One run."""
    return simulate_once(
        load_once(instance),
        [POLICIES.parse(client) for client in CLIENTS[clients]],
        TEACHERS.parse(spec),
        horizon=horizon,
        seed=seed,
        run=run,
        checkpoints=np.array(checkpoints),
    )


class Runs:
    """Runs of one teacher: regret and cost [runs, checkpoints], rounds of decision, targets."""

    def __init__(self, outcomes, gaps):
        self.outcomes, self.gaps = outcomes, gaps
        self.regret = np.array([(run.pulls * gap).sum(axis=(0, 2)) for run, gap in zip(outcomes, gaps, strict=True)])
        self.cost = np.array([run.costs.sum(axis=0) for run in outcomes])
        self.decided = [run.decided_in for run in outcomes if run.target is not None]
        self.targets = {run.target for run in outcomes} - {None}


@functools.cache
def on_paper(spec, clients, runs=RUNS, horizon=T, checkpoints=QUARTERS):
    """Runs on the paper's instance; every teacher plays the same children of one seed."""
    outcomes = [play(spec, clients, run=run, horizon=horizon, checkpoints=checkpoints) for run in range(runs)]
    return Runs(outcomes, [load_once("paper").gaps] * runs)


@functools.cache
def on_random(spec, clients, instances=40):
    """A run on each of so many uniform random instances."""
    names = [f"uniform:clients=5,arms=5,seed={seed}" for seed in range(instances)]
    outcomes = [play(spec, clients, instance=name) for name in names]
    return Runs(outcomes, [load_once(name).gaps for name in names])


def assert_below(low, high):
    """Paired run by run, the mean of the one lies five standard errors below that of the other."""
    difference = np.asarray(high) - np.asarray(low)
    assert difference.mean() > 5 * difference.std(ddof=1) / np.sqrt(difference.size)


# ------------------------------------------------------------------------------- when learning can end


@pytest.mark.parametrize("spec", [TAL_0, TAL_1])
def test_learning_of_tal_with_ucb1_ends_in_two_rounds_only(spec):
    """UCB1 shares constant rewards equally, so epochs end in round K F(psi): the third, seldom the second."""
    runs = on_paper(spec, "ucb1", 200)
    assert len(runs.decided) == 200
    second, third = (5 * paper_epochs.last_round(epoch, T) for epoch in (2, 3))
    assert set(runs.decided) <= {second, third}
    assert runs.decided.count(second) <= stats.binom.isf(1e-7, 200, 0.03)
    assert runs.targets == {4}


def test_no_decision_takes_a_fourth_epoch():
    """Psi = 4 needs more than T: UCB1 clients under TAL are consulted about in rounds K F(psi) only."""
    ends = [5 * paper_epochs.last_round(epoch, T) for epoch in (1, 2, 3)]
    assert ends[-1] <= T < paper_epochs.learning_time(T)
    for outcome in on_paper(TAL_0, "ucb1", 200).outcomes:
        assert {event.round for event in outcome.events} <= set(ends)
    tied = Instance("tied", np.full((5, 5), 0.5), equal_weights(5), Constant())
    outcome = simulate_once(
        tied, [POLICIES.parse("ucb1")] * 5, TEACHERS.parse(TAL_1), horizon=T, seed=0, run=0, checkpoints=np.array([T])
    )
    assert [(event.round, event.target) for event in outcome.events] == [(end, None) for end in ends]
    assert outcome.report.consultations == len(ends) == 3
    assert not outcome.report.reachable  # five times F(4) pulls do not fit into T


@pytest.mark.parametrize("num_arms", [1, 2, 3, 5, 7])
@pytest.mark.parametrize("gamma", [0.0, 0.1, 1.0])
def test_ucb1_shares_constant_rewards_equally(num_arms, gamma):
    """Lemma tal_learning_UCB: after tau pulls each of I arms has floor or ceil of tau / I, for every tau."""
    instance = Instance("tied", np.full((3, num_arms), gamma), equal_weights(3), Constant())
    outcome = simulate_once(
        instance,
        [POLICIES.parse("ucb1")] * 3,
        TEACHERS.parse("none"),
        horizon=5000,
        seed=2,
        run=0,
        checkpoints=np.arange(1, 5001),
    )
    tau = np.arange(1, 5001)[None, :, None]
    assert (outcome.pulls >= tau // num_arms).all()
    assert (outcome.pulls <= -(-tau // num_arms)).all()


# --------------------------------------------------------------------------------------------- growth


@pytest.mark.parametrize("clients", CLIENTS)
def test_regret_of_a_wrong_guess_grows_linearly(clients):
    """Section IV on NG: taught a wrong arm, clients lose its gap .4 nearly every round."""
    regret = on_paper("known(target=0)", clients, 5).regret
    gained = np.diff(regret, axis=1) / (T / 4 * 5 * 0.4)
    assert ((gained > 0.97) & (gained <= 1.0)).all()


@pytest.mark.parametrize("clients", CLIENTS)
def test_cost_of_naively_aligning_grows_linearly(clients):
    """Section IV on NA: a share of all rewards is adjusted for ever."""
    gained = np.diff(on_paper("na", clients).cost, axis=1).mean(axis=0)
    assert (gained > 0.3 * T / 4 * 5).all()
    assert gained.max() < 1.05 * gained.min()


@pytest.mark.parametrize("clients", ["ucb1", "eps-greedy"])
@pytest.mark.parametrize("spec", ["known", TAL_0, TAL_1, TWL_1])
def test_growth_after_learning_is_logarithmic(spec, clients):
    """Long after learning has ended, doubling the horizon adds no more than the doubling before.

    A logarithm adds the same each time; linear growth would add twice as much, a root 1.4 times.
    """
    eighths = (50_000, 100_000, 200_000, 400_000)
    runs = on_paper(spec, clients, 10, 400_000, eighths)
    assert runs.targets == {4}
    assert max(runs.decided) < 50_000
    for measured in (runs.regret, runs.cost):
        first, second, third = np.diff(measured.mean(axis=0))
        assert second <= 1.2 * first + 2
        assert third <= 1.2 * second + 2
        assert third < 0.1 * measured[:, -1].mean() + 2


# ------------------------------------------------------------------------ section VIII, in its own words


def test_words_on_ucb1_clients():
    """UCB1: "the superiority of TWL over TAL is verified" in regret and in cost; both converge."""
    tal, twl = on_paper(TAL_1, "ucb1"), on_paper(TWL_1, "ucb1")
    assert_below(twl.regret[:, -1], tal.regret[:, -1])
    assert_below(twl.cost[:, -1], tal.cost[:, -1])
    assert len(tal.decided) == len(twl.decided) == RUNS
    assert tal.targets == twl.targets == {4}


@pytest.mark.parametrize("clients", ["ucb1", "mixed"])
def test_words_on_the_baselines(clients):
    """NG is linear in regret "although performing well w.r.t. cost", NA the other way round."""
    guess, align, twl = (on_paper(spec, clients) for spec in ("ng", "na", TWL_1))
    assert_below(guess.cost[:, -1], twl.cost[:, -1])
    assert_below(twl.cost[:, -1], align.cost[:, -1])
    assert_below(align.regret[:, -1], twl.regret[:, -1])
    wrong = [row for run, row in zip(guess.outcomes, guess.regret, strict=True) if run.target != 4]
    assert len(wrong) >= 10
    assert_below(twl.regret[: len(wrong), -1], np.array(wrong)[:, -1])
    halves = np.array([row[3] / row[1] for row in wrong])
    assert ((halves > 1.9) & (halves < 2.1)).all()
    assert 1.9 < align.cost[:, 3].mean() / align.cost[:, 1].mean() < 2.1


def test_words_on_epsilon_greedy_clients():
    """TWL(1,0) has "a better performance even over the theoretically sound TAL(0,0)"."""
    tal, twl = on_paper(TAL_0, "eps-greedy"), on_paper(TWL_1, "eps-greedy")
    assert_below(twl.regret[:, -1], tal.regret[:, -1])
    assert_below(twl.cost[:, -1], tal.cost[:, -1])
    assert len(tal.decided) == len(twl.decided) == RUNS
    assert tal.targets == twl.targets == {4}


@pytest.mark.parametrize("unstable", [TAL_1, TWL_1])
def test_words_on_thompson_clients(unstable):
    """TAL(1,0) and TWL(1,0) are "highly unstable", TAL(0,0) has "stable and competitive behaviors"."""
    steady, wild = on_paper(TAL_0, "ts"), on_paper(unstable, "ts")
    assert len(steady.decided) == RUNS
    assert steady.targets == {4}
    assert RUNS - len(wild.decided) >= 5
    for name in ("regret", "cost"):
        one, other = getattr(steady, name)[:, -1], getattr(wild, name)[:, -1]
        assert 10 * one.std(ddof=1) < other.std(ddof=1)
        assert_below(one, other)


@pytest.mark.parametrize("spec", [TAL_0, TWL_0])
def test_words_on_mixed_clients(spec):
    """The designs guide mixed clients "to the global optimal arm": it gets nearly every pull at the end."""
    runs = on_paper(spec, "mixed")
    assert len(runs.decided) == RUNS
    assert runs.targets == {4}
    last_quarter = np.array([run.pulls[:, 3] - run.pulls[:, 2] for run in runs.outcomes])
    assert (last_quarter[:, :, 4] > 0.99 * T / 4).all()


def test_mixed_clients_converge_once_twl_has_decided():
    """TWL(1,0) too, in those runs in which the Thompson client lets learning end before half time."""
    early = [run for run in on_paper(TWL_1, "mixed").outcomes if run.target is not None and run.decided_in < T / 2]
    assert len(early) >= RUNS / 3
    for run in early:
        assert run.target == 4
        assert (run.pulls[:, 3] - run.pulls[:, 2])[:, 4].sum() > 0.7 * 5 * T / 4


@pytest.mark.parametrize(
    ("clients", "spec"),
    [
        ("ucb1", TAL_1),
        ("ucb1", TWL_1),
        ("eps-greedy", TAL_0),
        ("eps-greedy", TWL_1),
        ("ts", TAL_0),
        ("mixed", TAL_0),
        ("mixed", TWL_0),
    ],
)
def test_teachers_lie_between_the_baselines(clients, spec):
    """On random instances NA has less regret and more cost, NG less cost and more regret on average.

    Of the instances on which learning ends: a teacher that never decides adjusts every reward, as NA does.
    NG's regret is taken as T M times the mean gap, which its runs come close to (see the test above).
    """
    runs, align, guess = on_random(spec, clients), on_random("na", clients), on_random("ng", clients)
    ended = [run.target is not None and run.decided_in < T / 2 for run in runs.outcomes]
    assert sum(ended) >= 10
    guesses = [5 * T * run_gaps.mean() for run_gaps in runs.gaps]
    if clients != "eps-greedy":  # which now and then stays with a wrong arm under NA: it explores too little
        assert_below(align.regret[ended, -1], runs.regret[ended, -1])
    assert_below(runs.regret[ended, -1], np.array(guesses)[ended])
    assert_below(guess.cost[ended, -1], runs.cost[ended, -1])
    assert_below(runs.cost[ended, -1], align.cost[ended, -1])


# ---------------------------------------------------------------------------------------- never wrong


@pytest.mark.parametrize(("spec", "clients"), [(TAL_0, "mixed"), (TWL_0, "mixed"), (TWL_1, "ucb1")])
def test_learning_never_ends_on_a_wrong_arm(spec, clients):
    """In 400 runs on as many random instances no decision is wrong (each may be, with chance 1/T)."""
    decided = 0
    for seed in range(400):
        name = f"uniform:clients=5,arms=5,seed={seed}"
        outcome = play(spec, clients, instance=name, horizon=20_000, checkpoints=(20_000,))
        if outcome.target is not None:
            decided += 1
            assert load_once(name).gaps[outcome.target] == 0.0
    assert decided > 80


# ------------------------------------------------------------------------------------ others' figures


@pytest.mark.parametrize(
    ("clients", "regret", "cost"), [("ucb1", 271, 549), ("eps-greedy", 52, 94), ("ts", 47, 95), ("mixed", 117, 222)]
)
def test_known_target_gives_the_figures_of_another_program(clients, regret, cost):
    """Means of an independent C program over 200 runs, rounded: equal within five standard errors."""
    runs = on_paper("known", clients, 50)
    for measured, wanted in ((runs.regret[:, -1], regret), (runs.cost[:, -1], cost)):
        error = measured.std(ddof=1) * np.sqrt(1 / 50 + 1 / 200)
        assert abs(measured.mean() - wanted) < 5 * error + 0.5
