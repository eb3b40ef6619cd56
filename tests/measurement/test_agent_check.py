"""What a check of an agent finds: known truths about agents that can and cannot be taught."""

import json

import numpy as np
import pytest

from tutelage.agents import PolicyMaker
from tutelage.cli.app import execute
from tutelage.errors import InputError
from tutelage.measurement.agent_check import check_agent

FEW = {"arms": 3, "rounds": 120, "runs": 16}


class Greedy:
    """An agent with a constant epsilon that pulls the first of the arms with the largest mean."""

    epsilon = 0.1

    def __init__(self, num_arms, seed):
        self.generator = np.random.default_rng(seed)
        self.sums, self.pulls = [0.0] * num_arms, [1e-9] * num_arms

    def select(self):
        if self.generator.random() < self.epsilon:
            return int(self.generator.integers(len(self.pulls)))
        means = [total / pulls for total, pulls in zip(self.sums, self.pulls, strict=True)]
        return means.index(max(means))

    def update(self, arm, reward):
        self.sums[arm] += reward
        self.pulls[arm] += 1


class ThompsonOfSuccesses(Greedy):
    """Thompson sampling that counts any reward above 0 as a success."""

    def select(self):
        pairs = zip(self.sums, self.pulls, strict=True)
        draws = [self.generator.beta(1 + total, 1 + pulls - total) for total, pulls in pairs]
        return draws.index(max(draws))

    def update(self, arm, reward):
        super().update(arm, float(reward > 0))


class OnlyZeroAndOne(Greedy):
    """An agent that refuses fractions, as MABWiser's Thompson sampling does."""

    def update(self, arm, reward):
        if reward not in {0.0, 1.0}:
            raise ValueError("Rewards must be binary.")
        super().update(arm, reward)


class Stubborn(Greedy):
    """An agent that gives an arm without pulls no chance, as MABWiser's UCB1 started cold."""

    epsilon = 0.0


def answers(found):
    """The answer for each teacher, by its short name."""
    names = [each.teacher.partition(",")[0].replace("tal(gamma1=", "") for each in found.verdicts]
    return dict(zip(names, [each.answer for each in found.verdicts], strict=True))


def test_ucb1_is_taught_by_every_teacher():
    """It shares pulls evenly, whatever constant it sees, as the paper's lemma says."""
    found = check_agent("ucb1", **FEW)
    assert answers(found) == {"0": "yes", "0.5": "yes", "1": "yes", "blt": "yes"}
    assert [(each.untried, each.share, each.ties) for each in found.measures.sharings] == [(0, 1.0, "at random")] * 3
    assert (found.measures.reading, found.measures.repeats) == ("as it is", True)
    assert all(each.measured() == ((1.0, 1.0, 1.0), (1.0, 1.0, 1.0)) for each in found.measures.sharings)
    for history in found.measures.histories:
        assert history.curves[:, -1].max() == pytest.approx(history.together.max() * history.length)
    assert "with the measured balance, kappa = 1 and" in found.verdicts[-1].reason
    bounds = [each.decides_by for each in found.verdicts]
    assert all(0 < bound <= 50_000 for bound in bounds)
    assert check_agent("ucb1", **FEW, horizon=100).verdicts[0].answer == "no"


def test_first_ties_are_told_from_random_ones():
    """Both UCB1 share evenly; the one that takes the first of tied arms has the same order in every run."""
    assert {each.ties for each in check_agent("first-tie", **FEW).measures.sharings} == {"by index"}


def test_a_constant_epsilon_with_first_ties_cannot_be_taught_by_constants():
    """It pulls the first arm most of the time; BLT, which levels arms, is not refused."""
    found = check_agent(Greedy, **FEW)
    assert answers(found) == {"0": "no", "0.5": "no", "1": "no", "blt": "yes"}
    assert all("ties by index" in each.reason for each in found.verdicts[:3])
    assert "the bound assumes that it pulls levelled arms evenly" in found.verdicts[-1].reason
    (least, low, high), (most, *_) = found.measures.sharings[0].measured()
    assert 0.0 < low < least < high < 0.5  # an epsilon of 0.1, a third of it for each arm
    assert most > 2.0


def test_thompson_sampling_locks_on_under_ones():
    """It is taught by TAL(0, 0), which the paper uses for it, not with a constant 1."""
    found = check_agent(PolicyMaker("ts"), **FEW)
    assert answers(found)["0"] == "yes"
    assert answers(found)["1"] == "no"


def test_an_agent_that_reads_fractions_as_successes_is_misled_by_them():
    """Its verdict with a constant 0.5 is no, and BLT is unclear."""
    found = check_agent(ThompsonOfSuccesses, **FEW)
    assert found.measures.reading == "as 1"
    assert answers(found)["blt"] == "unclear"
    assert {name: answers(found)[name] for name in ("0", "0.5", "1")} == {"0": "yes", "0.5": "no", "1": "no"}
    assert found.verdicts[-1].teacher == "blt, binary reveals"


def test_an_agent_that_takes_zeros_and_ones_only_is_told_so():
    """It is not shown a fraction where it cannot take one, and BLT, which shows them, is refused."""
    found = check_agent(OnlyZeroAndOne, **FEW)
    assert found.measures.reading == "refused: Rewards must be binary."
    assert [each.teacher.partition("(")[0] for each in found.verdicts] == ["tal", "tal", "blt", "blt, binary reveals"]
    assert [each.answer for each in found.verdicts[2:]] == ["no", "unclear"]


def test_an_agent_that_never_tries_an_arm_cannot_be_taught():
    """No run tries every arm."""
    found = check_agent(Stubborn, **FEW)
    assert set(answers(found).values()) == {"no"}
    assert all(each.untried == FEW["runs"] for each in found.measures.sharings)


def test_the_command_prints_a_verdict_a_table_and_a_picture(tmp_path, capsys):
    """As text and as JSON; the status is 1 if no teacher can teach the agent."""
    options = ["--arms", "3", "--rounds", "60", "--runs", "4"]
    picture = tmp_path / "curves.png"
    assert execute(["agent", "check", "ucb1", *options, "--plot", str(picture)]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "yes, because it shares its pulls under constant 0 and leaves arms that show 0 afterwards" in printed
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert execute(["agent", "check", f"{__name__}:Stubborn", *options, "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert {each["answer"] for each in document["teachers"]} == {"no"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"arms": 1}, "number of arms"),
        ({"rounds": 10}, "number of rounds"),
        ({"gamma": 1.5}, "gamma"),
        ({"gap": 0.9}, "mean of the best arm"),
    ],
)
def test_arguments_out_of_range_are_refused(arguments, message):
    """With the value and what is allowed."""
    with pytest.raises(InputError, match=message):
        check_agent("ucb1", **arguments)
