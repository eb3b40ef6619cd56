"""Small results of every shape that can be drawn."""

import numpy as np
import pytest
import xarray as xr

import tutelage

TEACHERS = ("tal", "twl", "blt", "ng", "none")


@pytest.fixture(scope="session")
def result():
    """Five teachers, four runs, twenty checkpoints."""
    clients = "2*ucb1,2*eps-greedy,1*ts"
    return tutelage.simulate("paper", TEACHERS, clients, horizon=400, runs=4, seed=1, checkpoints=20)


@pytest.fixture(scope="session")
def one_run():
    """One run, with the horizon as its only checkpoint."""
    return tutelage.simulate("paper", ["blt", "none"], horizon=300, runs=1, checkpoints=1)


@pytest.fixture(scope="session")
def instances():
    """A set of three instances with two runs each, as an experiment stores it."""
    each = [
        tutelage.simulate(f"uniform:clients=3,arms=4,seed={seed}", ["twl", "none"], horizon=200, runs=2, checkpoints=1)
        for seed in range(3)
    ]
    names = ("pulls", "regret", "cost", "target", "decided_in", "gap")
    joined = {name: (("instance", *each[0][name].dims), np.stack([one[name].values for one in each])) for name in names}
    return xr.Dataset(joined, coords=each[0].coords, attrs=each[0].attrs)
