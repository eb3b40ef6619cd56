"""epsilon-first against its transcription and its two phases."""

import pytest
from scipy import stats
from tests.policies import reference_policies as plain


@pytest.mark.parametrize("pulls", [100, 0])
def test_engine_equals_transcription(pulls):
    """The compiled policy plays exactly what its formula prescribes."""
    plain.assert_plays_like(f"eps-first(pulls={pulls})", lambda K: plain.EpsilonFirst(K, pulls))


def test_two_phases():
    """With constant rewards inferior arms are pulled while it explores, uniformly, and never again."""
    means, K, players = [0.9, 0.1, 0.2, 0.3], 4, 5
    options = {"players": players, "rewards": "constant"}
    explored = plain.play_alone("eps-first(pulls=1000)", means, T=1000, **options)
    later = plain.play_alone("eps-first(pulls=1000)", means, T=5000, **options)
    assert (later - explored).tolist() == [[4000, 0, 0, 0]] * players
    low, high = stats.binom.interval(1 - 2e-7, players * (1000 - K), 1 / K)
    for total in explored.sum(axis=0):
        assert low <= total - players <= high
