"""The numbers that pictures show."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tutelage.errors import InputError
from tutelage.metrics import summarize_runs
from tutelage.plots import samples


def test_a_sample_is_a_run(result):
    """Totals add the clients of a run, and the band is that of the command line's table."""
    regret = samples.totals(result, "regret")
    assert regret.shape == (5, 4, 20)
    assert regret[2, 3, 7] == pytest.approx(float(result.regret[2, 3, :, 7].sum()))
    over, summary = samples.compute_band(regret), summarize_runs(regret[1, :, -1])
    assert (over.low[1, -1], over.high[1, -1]) == (summary.q10, summary.q90)
    assert over.mean[1, -1] == pytest.approx(summary.mean)
    assert samples.band_name(result) == "80 % of runs"


def test_a_sample_of_a_set_is_an_instance(instances):
    """Its runs are averaged."""
    cost = samples.totals(instances, "cost")
    assert cost.shape == (2, 3, 1)
    assert cost[0, 2, 0] == pytest.approx(float(instances.cost[2, 0, :, :, 0].sum("client").mean("run")))
    assert samples.band_name(instances) == "80 % of 3 instances"  # its request is that of the first


def test_quantities_are_two(result):
    """An unknown quantity is refused with the allowed ones."""
    with pytest.raises(InputError, match=r"'regrets'.*regret or cost"):
        samples.totals(result, "regrets")


def test_pull_shares(result):
    """Each client's shares add up to 1, and without teaching a client mostly pulls its own best arm."""
    shares = samples.compute_pull_shares(result, "none")
    assert shares.sum(axis=1) == pytest.approx(np.ones(5))
    assert shares[2].argmax() == result.local_means[2].to_numpy().argmax()
    with pytest.raises(InputError, match="Unknown teacher 'na'"):
        samples.compute_pull_shares(result, "na")


def test_pull_shares_of_a_client_that_never_acted(result):
    """Its shares are NaN."""
    silent = result.copy(deep=True)
    silent.pulls[:, :, 1] = 0
    assert np.isnan(samples.compute_pull_shares(silent, "none")[1]).all()


def test_a_set_of_instances_has_no_map_of_pulls(instances):
    """Arm 0 of one instance is unrelated to arm 0 of another."""
    with pytest.raises(InputError, match="different arms"):
        samples.compute_pull_shares(instances, "none")


@pytest.mark.parametrize("most", [1, 2, 7, 19, 20, 500])
def test_thinning_keeps_the_horizon(result, most):
    """The requested number of checkpoints remains, with the last among them."""
    thin = samples.thin(result, most)
    assert thin.sizes["checkpoint"] == min(most, 20)
    assert samples.horizon(thin) == 400


@pytest.mark.parametrize("most", [2, 5, 20])
def test_thinning_by_the_logarithm_of_time(result, most):
    """The first and the last stay, and early ones are kept more densely."""
    rounds = samples.thin(result, most, logarithmic=True).checkpoint.values
    assert (rounds[0], rounds[-1]) == (20, 400)
    assert rounds.size <= most
    assert (np.diff(rounds) > 0).all()
    if most == 5:
        assert np.diff(rounds)[0] < np.diff(rounds)[-1]


@example(np.array([2.00000001e8]))
@given(arrays.arrays(np.float64, st.integers(1, 30), elements=st.one_of(st.just(0.0), st.floats(1e-3, 1e9))))
def test_a_log_scale_contains_every_value(values):
    """Every value lies on the axis, zero at a tick labelled 0 below all others, with 2 to 10 ticks."""
    scale = samples.make_log_scale(values)
    placed = scale.place(values)
    assert (placed > scale.low).all()
    assert (placed < scale.high).all()
    positions = [position for position, _ in scale.ticks]
    assert all(scale.low <= position <= scale.high for position in positions)
    assert positions == sorted(positions)
    assert 2 <= len(positions) <= 10
    assert len({label for _, label in scale.ticks}) == len(positions)
    if (values == 0).any():
        assert scale.ticks[0] == (scale.floor, "0")
        assert (placed[values == 0] == scale.floor).all()
        assert (placed[values > 0] > scale.floor).all()
    else:
        assert scale.floor is None
