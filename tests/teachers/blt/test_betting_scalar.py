"""The bets in plain numbers: the same as in arrays, bit for bit."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tutelage.teachers.blt.betting import GridStep, log_gain, make_bets
from tutelage.teachers.blt.betting_scalar import MOST_CLIENTS, PairStep, log_gain_of_few


@given(
    st.integers(1, MOST_CLIENTS),
    st.integers(1, 6),
    st.integers(1, 4),
    st.sampled_from([0, 8]),
    st.sampled_from([0.0, 0.01, 0.3, 0.999]),
    st.sampled_from(["equal", "uneven"]),
    st.sampled_from(["zeros and ones", "inside", "extreme"]),
    st.integers(0, 2**32 - 1),
)
def test_equal_to_arrays(M, P, rho, head_start, tolerance, weights, rewards, seed):
    """Random clients, pairs, weights, sums and tolerances; with extreme means predictions are clipped."""
    rng = np.random.default_rng(seed)
    units = rng.random(M) + 0.05 if weights == "uneven" else np.ones(M)
    units *= M / units.sum()
    bets = make_bets(units, 2.0 ** (-np.arange(11) / 2.0) / max(1.0, units.max()), float(rho))
    counts = rng.integers(0, 60, P)
    lengths = rng.integers(1, 5, P)
    pulls = np.stack((head_start + rho * counts, counts))[:, :, None]
    length = np.stack((rho * lengths, lengths))[:, :, None]
    means = rng.random((2, P, M))
    if rewards == "extreme":
        means = np.rint(means)
    scale = rng.random((2, P, M)) if rewards == "inside" else 1.0
    before = rng.binomial(pulls, means) * scale
    after = before + rng.binomial(length, means) * scale
    step = GridStep(before, after - before, pulls.astype(float), length.astype(float))
    few = [
        PairStep(
            *(sums[arm, pair].tolist() for sums in (before, after) for arm in (0, 1)),
            *(float(number[arm, pair, 0]) for number in (pulls, length) for arm in (0, 1)),
        )
        for pair in range(P)
    ]
    assert np.array_equal(log_gain_of_few(few, bets, tolerance), log_gain(step, bets, tolerance))
