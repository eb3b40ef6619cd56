"""The command line on real data, from the folder that TUTELAGE_DATA names."""

import json
import re

import pytest

TEACHERS = ["--teacher", "twl(gamma1=1,gamma2=0)", "--teacher", "known"]
CLIENTS = ["--clients", "5*ucb1,5*eps-greedy,5*ts", "--horizon", "50000", "--runs", "10", "--seed", "1"]


@pytest.mark.parametrize("instance", ["movielens:{data}/ml-latest-small", "radio:{data}/grenoble-k7/grenoble.k7.gz"])
def test_ends_with_a_true_statement(instance, data, python):
    """What the table says was and was not learned is what the runs, printed as JSON, give."""
    command = ["-m", "tutelage", "simulate", instance.format(data=data), *TEACHERS, *CLIENTS]
    text = " ".join(python(*command).stdout.split())
    twl, known = json.loads(python(*command, "--json").stdout)["teachers"]
    decided_runs, wrong = twl["learning"]["decided"], twl["target"]["wrong"]
    sentence = text[re.search("twl (decided|was undecided)", text).start() :]
    assert wrong == 0
    assert known["target"]["wrong"] == 0
    assert known["regret"]["mean"] < twl["regret"]["mean"]
    if decided_runs == 0:
        assert "decided in none of the 10 runs" in sentence
    elif decided_runs < 10:
        assert f"was undecided at the horizon in {10 - decided_runs} of 10 runs" in sentence
    if decided_runs:
        decided = "all 10 runs" if decided_runs == 10 else f"{decided_runs} of 10 runs"
        assert f"decided on the best arm in {decided}" in sentence
    assert "known taught the best arm in all 10 runs, from the start." in sentence
