"""A result with three teachers."""

import pytest

from tutelage import simulator


@pytest.fixture(scope="module")
def outcome():
    """Three teachers, one of which decides within the horizon."""
    request = simulator.make_request("paper", ["twl", "known", "none"], "3*ucb1,2*ts", horizon=4500, runs=3, seed=7)
    return simulator.simulate_request(request)


@pytest.fixture(scope="module")
def dataset(outcome):
    """The result as a dataset."""
    return outcome.to_dataset()
