"""What section IV of the paper says of the naive teachers and of the least cost, where it needs a condition."""

from pathlib import Path

import pytest

from tutelage import load_instance, simulate

PAPER = load_instance("paper")
PAGE = (Path(__file__).parents[2] / "docs" / "theory.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("horizon", "written"), [(50_000, "5e4"), (500_000, "5e5")])
def test_aligned_eps_greedy_clients_have_no_logarithmic_regret(horizon, written):
    """Departs from the paper: R^NA = O(M log T) fails for epsilon-greedy with c = d = 1; the page has the figures."""
    data = simulate(PAPER, "na", "eps-greedy", horizon=horizon, runs=20, seed=1)
    regret = float(data.regret.isel(checkpoint=-1).sum("client").mean())
    assert f"{regret:,.0f} with `--horizon {written}`" in PAGE
    assert regret > 0.05 * horizon


def test_clients_that_prefer_the_target_need_no_adjustment():
    """Departs from the paper: C_F = Omega(M log T) counts three clients of five, the others go there untaught."""
    prefer = PAPER.local_means.argmax(axis=1) == PAPER.best_arm
    assert prefer.sum() == 2
    data = simulate(PAPER, "none", "ucb1", horizon=20_000, runs=5)
    final = data.isel(checkpoint=-1)
    assert float(final.cost.sum()) == 0.0
    share = final.pulls.isel(arm=PAPER.best_arm).mean("run").values.ravel() / 20_000
    assert (share[prefer] > 0.9).all()
    assert (share[~prefer] < 0.5).all()
