"""UCB-tuned against its transcription and its paper."""

import math

from tests.policies import reference_policies as plain

from tutelage.policies.ucb_tuned import ucb_tuned_index


def test_engine_equals_transcription():
    """The compiled policy plays exactly what its formula prescribes."""
    plain.assert_plays_like("ucb-tuned", plain.UCBTuned)


def test_index_by_hand():
    """V = 1/4 is capped at 1/4; with V = .01 and n = 1000 the factor is .01 + sqrt(2 log(1000) / 1000)."""
    log = math.log(1000)
    assert math.isclose(ucb_tuned_index(0.5, 0.25, 100, log), 0.6314131, abs_tol=1e-6)
    assert math.isclose(ucb_tuned_index(0.5, 0.01, 1000, log), 0.5296818, abs_tol=1e-6)


def test_better_than_ucb1_on_the_papers_distributions():
    """Auer et al. 2002, section 4: on distributions 1, 3 and 14 its regret is far below UCB1's."""
    for means in ([0.9, 0.6], [0.55, 0.45], [0.55] + [0.45] * 9):
        ours, error = plain.mean_regret("ucb-tuned", means, T=10_000, players=50)
        ucb1, other_error = plain.mean_regret("ucb1", means, T=10_000, players=50)
        assert ours + 5 * error < 0.75 * (ucb1 - 5 * other_error)
