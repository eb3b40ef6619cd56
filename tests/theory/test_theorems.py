"""Which teachers and clients have a theorem, and the error for the others."""

import pytest

from tutelage import simulator, theory
from tutelage.conditions import Conditions
from tutelage.errors import InputError
from tutelage.instances import load
from tutelage.instances.base import Instance, equal_weights
from tutelage.teachers import TEACHERS

PAPER = load("paper")


def guarantee(instance, teacher, clients, horizon=10**5):
    """What the theorems say, from SPECs."""
    policies = simulator.parse_clients(clients, instance.num_clients)
    return theory.guarantee(instance, TEACHERS.parse(teacher), policies, horizon)


@pytest.mark.parametrize(
    ("teacher", "clients", "theorem"),
    [
        ("tal", "ucb1", "thm:tal_UCB"),
        ("tal(gamma1=0.7,gamma2=0.2)", "ucb1", "thm:tal_UCB"),
        ("twl", "ucb1", "thm:twl_UCB"),
        ("tal(gamma1=0,gamma2=0)", "eps-greedy", "thm:tal_epsilon"),
        ("twl(gamma1=0,gamma2=0)", "eps-greedy(c=2)", "thm:tal_epsilon"),
        ("tal(gamma1=0,gamma2=0)", "ucb1", "thm:tal_general"),
        ("twl(gamma1=0,gamma2=0)", "2*ucb1,3*eps-greedy", "thm:tal_general"),
    ],
)
def test_what_has_a_theorem(teacher, clients, theorem):
    """The label of the theorem that is used."""
    found = guarantee(PAPER, teacher, clients)
    assert found.theorem == theorem
    assert found.regret.value > 0 < found.cost.value


@pytest.mark.parametrize(
    ("teacher", "clients", "message"),
    [
        ("ng", "ucb1", "ng with ucb1 clients"),
        ("blt", "ts", "blt with ts clients"),
        ("known", "eps-greedy", "known with eps-greedy"),
        ("twl", "ts", "twl.* with ts"),
        ("twl", "4*ucb1,1*ts", "ucb1 and ts.* clients"),
        ("twl", "eps-greedy", r"twl with eps-greedy"),
        ("tal(gamma1=0.5,gamma2=0.5)", "ucb1", "tal.* with ucb1"),
        ("tal(gamma1=0,gamma2=0.5)", "ucb1", "tal.* with ucb1"),
        ("tal(gamma1=0,gamma2=0)", "ucb", "with ucb"),
    ],
)
def test_what_has_none(teacher, clients, message):
    """One sentence that names what there is."""
    with pytest.raises(InputError, match=rf"There is no theorem on .*{message}") as caught:
        guarantee(PAPER, teacher, clients)
    for there in ("tal", "twl", "ucb1", "eps-greedy", "gamma1"):
        assert there in str(caught.value)


@pytest.mark.parametrize(
    ("instance", "message"),
    [
        (Instance("tied", [[0.5, 0.5]], equal_weights(1)), "tied"),
        (Instance("single", [[0.5]], equal_weights(1)), "one arm"),
        (Instance("seldom", [[0.5, 0.2]], equal_weights(1), conditions=Conditions(activity=(0.5,))), "always act"),
        (Instance("zero", [[0.0, 0.9], [0.9, 0.1]], [0.9, 0.1]), None),
        (Instance("never", [[1.0, 0.3], [0.0, 0.5]], [0.8, 0.2]), "mean of the best arm is 0"),
    ],
)
def test_settings_without_theorem(instance, message):
    """One best arm, several arms, clients that always act, a mean above gamma2 for every client."""
    if message is None:
        assert guarantee(instance, "tal", "ucb1").regret.value > 0
        return
    with pytest.raises(InputError, match=message):
        guarantee(instance, "tal", "ucb1")


def test_a_horizon_below_one():
    """A bound needs at least one round."""
    with pytest.raises(InputError, match="Invalid horizon 0"):
        theory.setting_of(PAPER, 0)
