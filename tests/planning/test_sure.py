"""A round is called sure only where a theorem has it, and then it is the one of ``tutelage bound``."""

import dataclasses
import itertools

import pytest

from tutelage import load_instance, planning
from tutelage.cli.app import execute
from tutelage.conditions import Conditions
from tutelage.errors import InputError
from tutelage.planning.decision_times import compute_reachability, sure_horizon
from tutelage.simulator import parse_clients
from tutelage.teachers import TEACHERS
from tutelage.teachers.baselines import KnownTarget
from tutelage.teachers.blt.teacher import BLT
from tutelage.theory import guarantee, learning_end, setting_of

GAMMAS = [(1.0, 0.0), (1.0, 0.25), (0.5, 0.25), (0.3, 0.3), (0.0, 0.0), (0.2, 0.7)]
TEACHERS_ASKED = [
    *(f"{kind}(gamma1={a},gamma2={b})" for kind in ("tal", "twl") for a, b in GAMMAS),
    *("blt", "ng", "na", "known", "none"),
]
CLIENTS = ["ucb1", "eps-greedy", "eps-greedy(c=3,d=.5)", "ts", "2*ucb1,3*eps-greedy", "4*ucb1,1*ts", "ucb-tuned"]
INSTANCES = ["paper", "uniform:clients=5,arms=3,seed=4", "planted:clients=5,arms=6,gap=0.2,seed=1"]


@pytest.mark.parametrize("clients", CLIENTS)
def test_sure_rounds_are_those_of_the_theorems(clients):
    """Wherever ``guarantee`` has a theorem on any clients of the kind, it is its ``decides_by`` and least horizon."""
    policies, agreed = parse_clients(clients, 5), 0
    for spec, name in itertools.product(TEACHERS_ASKED, INSTANCES):
        teacher, instance = TEACHERS.parse(spec), load_instance(name)
        try:
            promised = guarantee(instance, teacher, policies, 20_000)
        except InputError:
            continue
        end = learning_end(setting_of(instance, 20_000), teacher, policies)
        if isinstance(teacher, BLT | KnownTarget):  # one needs balanced clients, one does not learn
            assert end is None
            assert sure_horizon(teacher, policies, instance) is None
            continue
        assert end == promised.decides_by
        assert sure_horizon(teacher, policies, instance) == promised.needed_horizon
        agreed += 1
    assert (agreed > 0) == (not {"ts", "ucb-tuned"} & set(clients.replace("*", ",").split(",")))


@pytest.mark.parametrize(
    ("teacher", "clients", "proved"),
    [
        ("tal(gamma1=0.2,gamma2=0.7)", "ucb1", True),  # what is shown later does not count
        ("tal(gamma1=1,gamma2=0)", "eps-greedy", True),
        ("twl(gamma1=0.3,gamma2=0.3)", "eps-greedy", True),
        ("twl(gamma1=1,gamma2=0)", "eps-greedy", False),
        ("twl(gamma1=0.2,gamma2=0.7)", "ucb1", False),
        ("tal(gamma1=1,gamma2=0)", "ts", False),
        ("tal(gamma1=0,gamma2=0)", "4*ucb1,1*ts", False),
        ("ng", "ucb1", False),
        ("na", "ucb1", False),
        ("blt", "ucb1", False),
    ],
)
def test_what_is_proved(teacher, clients, proved):
    """Of clients that explore by a lemma, for the phase in which they do."""
    setting = setting_of(load_instance("paper"), 50_000)
    end = learning_end(setting, TEACHERS.parse(teacher), parse_clients(clients, 5))
    assert (end is not None) == proved


def test_one_gamma_without_a_proof_makes_its_kind_unsure():
    """TWL(0, 0) has a round with eps-greedy clients, TWL(1, 0) none: nothing is called sure of TWL."""
    asked = [TEACHERS.parse(f"{kind}(gamma1={g},gamma2=0)") for kind in ("tal", "twl") for g in (0, 1)]
    reach = compute_reachability([load_instance("paper")], 50_000, asked, parse_clients("eps-greedy", 5))
    assert set(reach.sure) == {"tal"}
    assert reach.unproved == (asked[3],)


def test_clients_that_do_not_act_have_no_sure_horizon():
    """Not even in the mean where one stops; those with activity 1 always act."""
    paper, twl, policies = load_instance("paper"), TEACHERS.parse("twl"), parse_clients("ucb1", 5)
    seldom, stopped, steady = (
        dataclasses.replace(paper, conditions=each)
        for each in (
            Conditions(activity=(0.5,) * 5),
            Conditions(stops=((0, 100_000),)),
            Conditions(activity=(1.0,) * 5, delays=(0,) * 5),
        )
    )
    assert sure_horizon(twl, policies, seldom) is sure_horizon(twl, policies, stopped) is None
    assert sure_horizon(twl, policies, steady) == sure_horizon(twl, policies, paper) is not None
    assert compute_reachability([stopped], 50_000, [twl], policies).sure == {}


@pytest.mark.parametrize(
    ("clients", "said"),
    [
        ("ucb1", "and with high probability by epoch 4, round {:,}, in time."),
        ("ts", "No theorem says by which round twl decides with these clients"),
        ("eps-greedy", "No theorem says by which round twl decides with these clients"),
    ],
)
def test_page_agrees_with_bound(clients, said, capsys):
    """The page has the round of `tutelage bound`, and promises none where that refuses."""
    options = ["--clients", clients, "--horizon", "40000", "--teacher", "twl", "--runs", "1"]
    assert execute(["plan", "paper", *options]) == 0
    text = " ".join(capsys.readouterr().out.split())
    decides_by = guarantee(load_instance("paper"), TEACHERS.parse("twl"), parse_clients("ucb1", 5), 40_000).decides_by
    assert said.format(decides_by) in text
    assert ("with high probability" in text) == (clients == "ucb1")


def test_page_names_a_kind_where_no_gamma_is_proved(capsys):
    """If none of the requested variants is proved, only the name is listed; otherwise those without a proof."""
    teachers = [f"--teacher={kind}(gamma1={gamma},gamma2=0)" for kind in ("tal", "twl") for gamma in (0, 1)]
    for clients, named in (("ts", "tal or twl"), ("eps-greedy", "twl")):
        assert execute(["plan", "paper", "--horizon=900", "--runs=1", "--clients", clients, *teachers]) == 0
        assert f"by which round {named} decides" in " ".join(capsys.readouterr().out.split())


def test_a_proved_horizon_stands_in_for_any_means():
    """Of a guess too large to be simulated: TAL's round holds for TWL whatever the means."""
    guess = planning.AssumedInstance(num_clients=2, num_arms=3, gap=0.002)
    plan = planning.make_plan(planning.make_request(guess, ["twl"], horizon=300, runs=1))
    (twl,) = plan.remedies
    tal = TEACHERS.parse("tal")
    assert twl.horizon.decided is None
    assert twl.horizon.value == sure_horizon(tal, parse_clients("ucb1", 2), guess.instance(0.002, 9, 9))
