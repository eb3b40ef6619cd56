"""The three sentences that a plan begins with."""

import pytest

from tutelage import AssumedInstance, plan
from tutelage.cli.app import execute


def test_enough(capsys):
    """A horizon that is enough: the round of the decision, the best arm, the teacher."""
    made = plan("paper", ["blt", "twl"], horizon=20_000, runs=3)
    answers, best = made.answers, made.choice.best
    horizon, arm, teacher = answers.sentences
    assert answers.is_horizon_enough
    assert answers.round == int(sorted(best.measurement.rounds)[1])
    assert horizon.startswith(f"The horizon of 20,000 rounds is enough: {answers.teacher} decides in round ")
    assert f" {answers.round:,} (median of 3 runs" in horizon
    assert answers.best_arms == (4,)
    assert arm.startswith("Arm 4 looks best: its mean over all clients is 0.7, 0.1 above the next; ")
    assert arm.endswith(" decided on it in all 3 runs.")
    assert teacher.startswith(f"Run {answers.teacher}")
    assert made.summary()["answers"]["sentences"] == list(answers.sentences)
    assert execute(["plan", "paper", "--teacher", "blt", "--teacher", "twl", "--horizon", "20000", "--runs", "3"]) == 0
    assert " ".join(capsys.readouterr().out.split()).startswith(" ".join(answers.sentences))


def test_not_enough():
    """The shortest horizon that was found to be enough stands in the sentence and in the document."""
    made = plan("planted:clients=3,arms=3,gap=0.3,seed=1", "twl", horizon=300, runs=2)
    answers = made.answers
    needed = int(made.remedies[0].horizon.value)
    assert not answers.is_horizon_enough
    assert answers.teacher is None
    assert answers.round == needed
    assert (
        "The horizon of 300 rounds is not enough: no teacher decided in at least 90 % of the runs"
        in (answers.sentences[0])
    )
    assert answers.sentences[0].endswith(f"; {needed:,} rounds are enough for twl.")
    assert answers.sentences[2].startswith("No teacher can be recommended; the regret + cost without teaching is ")


def test_nothing_learns():
    """Candidates that learn no target."""
    answers = plan("paper", "known", horizon=30, runs=1).answers
    assert answers.round is None
    assert answers.sentences[0].endswith("not enough for these teachers: none of them learns a target.")


def test_assumed_means_have_no_best_arm():
    """Each run draws its own means."""
    answers = plan(AssumedInstance(num_clients=2, num_arms=2, gap=0.4), "blt", horizon=3000, runs=2).answers
    assert answers.best_arms == ()
    assert answers.sentences[1].startswith("No arm looks best before the start")


@pytest.mark.parametrize("teacher", ["blt", "none"])
def test_a_gap_is_not_called_a_tie(teacher, capsys):
    """Without TAL and TWL no epoch is listed, but the best arms are not tied."""
    assert execute(["plan", "paper", "--teacher", teacher, "--horizon", "30", "--runs", "1"]) == 0
    assert "tied" not in capsys.readouterr().out


def test_tied_arms_are_named():
    """Both of them."""
    answers = plan("planted:clients=2,arms=2,gap=0,seed=1", "twl", horizon=30, runs=1).answers
    assert answers.best_arms == (0, 1)
    assert "they are tied" in answers.sentences[1]
