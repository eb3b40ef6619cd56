"""A small experiment that all tests here share."""

import pytest

SMALL = """
name = "small"
title = "A small experiment"
runs = 2
seed = 7
horizons = [300]
checkpoints = 6
teachers = ["twl", "known", "none"]

[[instances]]
label = "fixed"
spec = "paper"

[[instances]]
label = "random"
spec = "uniform:clients=3,arms=2"
seeds = "4..6"
runs = 2

[[clients]]
label = "all"
spec = "ucb1"

[[panels]]
name = "curves"
quantity = "regret"
instance = "fixed"
clients = "all"

[[panels.claims]]
kind = "below"
text = "Knowing is better than not teaching."
section = "I"
teachers = ["known"]
than = ["none"]

[[panels]]
name = "costs"
quantity = "cost"
instance = "fixed"
clients = "all"

[[panels]]
name = "dots"
quantity = "regret-cost"
instance = "random"
clients = "all"
"""


@pytest.fixture(scope="session")
def small():
    """The text of a small experiment: one instance, a set of three instances, three teachers."""
    return SMALL
