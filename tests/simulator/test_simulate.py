"""Simulations as people call them."""

from tutelage import simulator


def test_teachers_play_the_same_runs():
    """A teacher's runs do not depend on the other teachers: differences between teachers are paired."""
    together = simulator.simulate("paper", ["none", "twl", "ng"], "3*ucb1,2*ts", horizon=400, runs=3, seed=11)
    single = simulator.simulate("paper", "twl", "3*ucb1,2*ts", horizon=400, runs=3, seed=11)
    same = together.sel(teacher="twl")
    assert same.pulls.equals(single.pulls.isel(teacher=0))
    assert same.cost.equals(single.cost.isel(teacher=0))


def test_more_runs_begin_with_the_same_runs():
    """Run r of 4 is run r of 2."""
    few = simulator.simulate("paper", "twl", horizon=200, runs=2)
    many = simulator.simulate("paper", "twl", horizon=200, runs=4)
    assert many.isel(run=slice(2)).pulls.equals(few.pulls)


def test_exclusions_are_events_and_in_the_request():
    """An exclusion is an event in its round and is part of the saved request."""
    dataset = simulator.simulate("paper", "twl", horizon=500, runs=1, exclude={2: 100})
    assert 100 in dataset.event_round.values
    assert '"exclude": {"2": 100}' in dataset.attrs["request"]


def test_horizon_shorter_than_the_arms():
    """Two rounds on five arms decide nothing and raise nothing."""
    dataset = simulator.simulate("paper", horizon=2, runs=2)
    assert dataset.checkpoint.values.tolist() == [1, 2]
    assert (dataset.pulls.isel(checkpoint=-1).sum("arm") == 2).all()
