"""Means that change: one instance up to a round, another afterwards."""

import numpy as np

from tutelage.instances import load


def test_a_shift_joins_two_instances(refuses):
    """The second instance's means hold after the given round; its name makes the same again."""
    instance = load('shift:paper,then="planted:clients=5,arms=5,seed=3",at=20')
    then = load("planted:clients=5,arms=5,seed=3")
    assert [phase.after for phase in instance.phases] == [0, 20]
    assert np.array_equal(instance.phases[1].local_means, then.local_means)
    assert np.array_equal(load(instance.name).phases[1].local_means, then.local_means)
    refuses('shift:paper,then="uniform:clients=4,arms=5",at=20', "differ in size")
    refuses("shift:paper,then=paper,at=0", "at=0")
