"""What a comparison says in short is computed from its result, and a mean outside its range is explained."""

import numpy as np

from tutelage import simulator
from tutelage.cli.app import execute
from tutelage.cli.result_tables import explain_outlying_mean
from tutelage.cli.teacher_comparison import describe_comparison


def compare(*teachers, **options):
    """Simulate teachers on the paper's instance; return the result and its sentences."""
    request = simulator.make_request("paper", list(teachers), "ucb1", **({"runs": 2, "horizon": 6000} | options))
    result = simulator.simulate_request(request)
    return result, list(describe_comparison(result, request.teacher_labels))


def test_the_best_teacher_and_those_that_lose_more_than_no_teaching():
    """Figures and shares are those of the result."""
    result, (best, losers, reason) = compare("tal", "blt", "known", "none", "ng")
    tal, blt, known, none = (float(result.totals(n)[0].mean()) for n in range(4))
    assert (
        best
        == (
            f"blt has the lowest regret of the teachers that learn their target: {blt:,.0f}, which is "
            f"{100 * blt / tal:.3g} % of that of the next best, tal ({tal:,.0f}) and {100 * blt / none:.3g} % of that "
            f"without teaching ({none:,.0f}); known, which gets the target from the start, has {known:.1f}."
        )
        or known >= 100
    )
    assert losers == f"tal loses more than no teaching: {tal:,.0f}, against {none:,.0f}."
    pulls, untaught = result.pulls[0, :, :, -1].sum(axis=(0, 1)), result.pulls[3, :, :, -1].sum(axis=(0, 1))
    assert reason == (
        "100 % of this regret arises while it learns, up to the decision or the horizon: in that time "
        f"{100 * pulls[4] / pulls.sum():.0f} % of the clients' pulls are of the best arm, without teaching "
        f"{100 * untaught[4] / untaught.sum():.0f} %."
    )


def test_without_a_teacher_that_learns_nothing_is_said():
    """Baselines and guesses are not compared as if they had learned."""
    assert compare("known", "none", "ng", "na", horizon=300)[1] == []
    assert compare("twl", horizon=300)[1] == []


def test_no_loser_no_explanation():
    """One sentence where every teacher that learns has a lower regret than no teaching."""
    assert len(compare("blt", "none", horizon=20_000)[1]) == 1


def test_a_mean_outside_its_range_is_explained():
    """By the runs that pull it there; a mean within its range needs no word."""
    values = np.array([10.0] * 9 + [11.0] * 10 + [9000.0])
    (sentence,) = explain_outlying_mean("blt", "regret", values)
    assert sentence == (
        "The mean regret of blt lies above the range of 80 % of its runs, because 1 of 20 runs is far above "
        "the range: up to 9,000."
    )
    (sentence,) = explain_outlying_mean("blt", "cost", 10_000 - values)
    assert "lies below the range" in sentence
    assert list(explain_outlying_mean("blt", "regret", np.arange(20.0))) == []
    assert list(explain_outlying_mean("blt", "regret", np.full(20, 0.1))) == []
    assert list(explain_outlying_mean("blt", "regret", np.array([7.0]))) == []


def test_no_run_decided(capsys):
    """``none of the 2 runs``, not a negation with ``all``."""
    assert execute(["simulate", "paper", "--teacher", "tal", "--horizon", "60", "--runs", "2"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "tal decided in none of the 2 runs (" in text
    assert "in all 2 runs" not in text
