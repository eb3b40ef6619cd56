"""The paper's fixed instance."""

import numpy as np

from tutelage.instances import load


def test_paper_facts():
    """Global means .3 .4 .5 .6 .7, the last arm best, gap .1 (Experimental Results, Synthetic Dataset)."""
    instance = load("paper")
    assert np.allclose(instance.global_means, [0.3, 0.4, 0.5, 0.6, 0.7], rtol=0, atol=1e-15)
    assert instance.best_arm == 4
    assert abs(instance.min_gap - 0.1) < 1e-15
    assert instance.local_means[0].tolist() == [0.2, 0.9, 0.1, 0.8, 0.6]


def test_paper_with_weights():
    """Weights change the global model."""
    instance = load("paper:weights=.6;.1;.1;.1;.1")
    assert instance.best_arm == 3
    assert load(instance.name).best_arm == 3
