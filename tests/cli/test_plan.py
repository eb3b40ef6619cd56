"""``tutelage plan`` as people and scripts meet it."""

import json
import re

import pytest

from tests import paper_epochs
from tests.cli.commands import run_on_terminal
from tutelage import load_instance, planning
from tutelage.cli.app import execute
from tutelage.teachers.base import describe_assumptions

SMALL = ["--horizon", "1500", "--runs", "2", "--teacher", "twl", "--teacher", "blt"]
GUESS = ["plan", "--num-clients", "3", "--num-arms", "3", "--gap", "0.3"]


def guess(option, value):
    """Return GUESS with another value of one of its options."""
    arguments = GUESS.copy()
    arguments[arguments.index(option) + 1] = value
    return arguments


def test_json_is_the_only_thing_on_standard_output(capsys):
    """One document, that of the library's plan."""
    assert execute(["plan", "paper", *SMALL, "--cost-weight", "0.5", "--seed", "3", "--json"]) == 0
    printed = capsys.readouterr()
    case = planning.KnownInstance(load_instance("paper"))
    request = planning.make_request(case, ["twl", "blt"], "ucb1", horizon=1500, runs=2, seed=3, cost_weight=0.5)
    assert json.loads(printed.out) == json.loads(json.dumps(planning.make_plan(request).summary()))
    assert printed.out.endswith("}\n")
    assert not printed.err


def test_a_plan_from_assumptions(capsys):
    """M, K, a gap and a range of means in place of an instance."""
    options = ["--means", "0.2;0.8", "--rewards", "beta(5)", "--weights", "0.2;0.3;0.5", "--activity", "0.5"]
    assert execute([*GUESS, *options, "--delay", "1", *SMALL, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)["instance"]
    assert (document["num_clients"], document["num_arms"], document["min_gap"]) == (3, 3, 0.3)
    assert document["rewards"] == "beta(concentration=5)"
    assert document["weights"] == [0.2, 0.3, 0.5]
    assert document["activity"] == [0.5] * 3
    assert document["delays"] == [1] * 3


def test_page_in_a_pipe_is_plain_and_narrow(capsys):
    """No colour, no box, at most 80 columns, no spaces at line ends."""
    assert execute([*GUESS, "--horizon", "900", "--runs", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert all(line.isascii() and line.isprintable() and line == line.rstrip() for line in lines)


def test_large_numbers_fit(capsys):
    """Rounds, regret and cost of six digits in 80 columns, none cut off."""
    case = ["plan", "planted:clients=9,arms=9,gap=0.02,seed=1", "--horizon", "150000", "--runs", "3"]
    assert execute([*case, "--teacher", "twl", "--clients", "eps-greedy"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"\d{3},\d{3}-\n", out)  # its upper end is in the next line
    assert not re.search(r"\dk", out)
    assert out.isascii()  # rich ends what it cuts off with one character that is not


def test_page_says_what_it_shows(capsys):
    """What is asked, the epochs, teachers and columns, smaller gaps, what would do, the choice and why."""
    assert execute(["plan", "paper", *SMALL, "--teacher", "ng", "--cost-weight", "2"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "instance paper:rewards=bernoulli" in text
    assert "2 runs with each teacher, seed 0" in text
    assert "twl may decide in epoch 3, round" in text
    assert "blt has no epochs; the table below shows when it decided." in text
    for column in ("decided", "round", "regret", "cost", "sum"):
        assert f" {column} " in text
    assert "regret + 2 x cost (--cost-weight)" in text
    assert "known is given the best arm; " in text
    assert "ng does not learn its target" in text
    assert "With a gap of 0.05, the best teacher of each kind:" in text
    assert "twl decides too late or never. A horizon of" in text
    assert "Recommendation blt" in text


def test_page_says_in_which_epoch_learning_ended(capsys):
    """TAL on the paper's instance at T = 50,000, as measured; the rounds K F(psi) are the appendix's."""
    assert execute(["plan", "paper", "--teacher", "tal", "--runs", "2"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    likely, sure = 5 * paper_epochs.last_round(3), paper_epochs.learning_time()
    assert (
        f"is likely to decide in epoch 3, round {likely:,}, in time, and with high probability by epoch 4, "
        f"round {sure:,}, too" in text
    )
    assert f"as in tutelage bound. {describe_assumptions()}" in text
    assert "tal decided in epoch 3 in 2 runs." in text


def test_page_where_nothing_can_be_chosen(capsys):
    """It says so, and what would do."""
    case = ["plan", "planted:clients=3,arms=3,gap=0.3,seed=1", "--teacher", "twl", "--horizon", "300"]
    assert execute([*case, "--runs", "2"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "Recommendation no teacher" in text
    assert "is enough: it then decided in 100 % of 5 simulated runs" in text
    assert "No gap was found that is large enough for this horizon." in text
    assert "The shortest horizon found to be enough is" in text


def test_page_without_epochs(capsys):
    """Without TAL and TWL among the candidates no epochs are shown, nor arms called tied that are not."""
    assert execute(["plan", "paper", "--horizon", "1500", "--runs", "2", "--teacher", "blt"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "When the teachers decide blt has no epochs; the table below shows when it decided." in text
    assert "tied" not in text
    assert "no other teacher" not in text


def test_page_of_tied_arms(capsys):
    """Neither an epoch nor a horizon separates them."""
    case = ["plan", "planted:clients=2,arms=2,gap=0,seed=1", "--teacher", "twl", "--horizon", "900"]
    assert execute([*case, "--runs", "1"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "The best arms are tied, and no epoch separates them." in text
    assert "No horizon is long enough: the best arms are tied." in text


def test_progress_is_for_terminals():
    """A bar while it plays, colours in the page."""
    shown, _ = run_on_terminal("plan", "paper", "--horizon", "30000", "--runs", "4", "--teacher", "twl")
    assert "simulating" in shown
    assert "runs, remaining" in shown
    assert re.search(r"\x1b\[1;3[23]mtwl", shown)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["plan"], "Missing INSTANCE: name one, as in tutelage plan paper, or give --num-clients"),
        (["plan", "--num-clients", "3"], "Missing --num-arms and --gap: give all of"),
        (["plan", "papr"], "'papr' (did you mean 'paper'?)"),
        (["plan", "paper", "--gap", "0.1"], "--gap 0.1 and INSTANCE exclude each other"),
        (["plan", "paper", "--means", "0;1"], "--means 0;1 and INSTANCE exclude each other"),
        (["plan", "paper", "--teacher", "twll"], "'twll' (did you mean 'twl'?)"),
        (["plan", "paper", "--teacher", "twl", "--teacher", "twl"], "is named twice"),
        (["plan", "paper", "--cost-weight", "-1"], "cost weight -1"),
        (["plan", "paper", "--cost-weight", "1e308"], "weight 1e+308: use a number in [0, 1000000000]"),
        (["plan", "paper", "--cost-weight", "inf"], "cost weight inf"),
        (["plan", "paper", "--cost-weight", "nan"], "cost weight nan"),
        (["plan", "paper", "--activity", "1e-320"], "rounds for a pull, more than 1e+09"),
        (["plan", "paper", "--cost-weight", "dear"], "'dear' is not a number"),
        (["plan", "paper", "--min-decided", "2"], "share of decided runs 2.0: use a number in (0, 1]"),
        (["plan", "paper", "--runs", "0"], "Invalid number of runs 0"),
        (["plan", "paper", "--activity", "0"], "activity 0 of client 0"),
        (["plan", "paper", "--workers", "0"], "Invalid number of workers 0"),
        (["plan", "uniform:arms=1"], "has one arm"),
        (guess("--gap", "0"), "Invalid gap 0: use 1e-06 to "),
        (guess("--gap", "x"), "'x' is not a number"),
        ([*GUESS, "--means", "0.2"], "Invalid --means '0.2': use LOW;HIGH"),
        ([*GUESS, "--means", "0.8;0.2"], "The means 0.8;0.2 are not a range"),
        (guess("--num-arms", "1"), "number of arms 1: use a whole number of at least 2"),
        (guess("--num-clients", "0"), "number of clients 0: use a whole number of at least 1"),
        ([*GUESS, "--rewards", "empirical"], "empirical"),
        ([*GUESS, "--weights", "0.5;0.5"], "2 weights for 3 clients"),
        ([*GUESS, "--weights", "1e308;1e308;1"], "up to 1e+308, are too large to be summed"),
        ([*GUESS, "--seed", "-1"], "seed"),
    ],
    ids=lambda value: " ".join(value)[:50] if isinstance(value, list) else None,
)
def test_bad_input(arguments, said, capsys):
    """One sentence on standard error with the offending value, status 2, nothing on standard output."""
    assert execute(arguments) == 2
    printed = capsys.readouterr()
    assert not printed.out
    assert said in printed.err
    assert printed.err.count("\n") == 1


def test_help_imports_no_numba(python):
    """Help and a mistyped name compile nothing."""
    code = """if True:
        import sys
        from tutelage.cli.app import execute
        execute(["plan", "--help"])
        execute(["plan", "papr"])
        assert not {"numba", "xarray", "polars", "matplotlib"} & set(sys.modules)
    """
    python("-c", code)
