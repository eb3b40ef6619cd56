"""``tutelage bound`` as people and scripts meet it."""

import json
import re

import pytest

import tutelage
from tests import paper_epochs
from tutelage import theory
from tutelage.cli.app import execute
from tutelage.instances import load
from tutelage.policies import POLICIES
from tutelage.teachers import TEACHERS
from tutelage.teachers.base import describe_assumptions

SMALL = ["--runs", "2", "--seed", "4"]
PARTS = {"learning", "teaching", "remainder"}


def json_of(capsys, *arguments):
    """The JSON document of a command that succeeds and prints nothing else."""
    assert execute(["bound", *arguments, "--json"]) == 0
    printed = capsys.readouterr()
    assert not printed.err
    assert printed.out.endswith("}\n")
    return json.loads(printed.out)


def test_json_document(capsys):
    """Bound, parts, simulated and ratio of regret and cost, and what the bound rests on."""
    teacher = "twl(gamma1=1,gamma2=0)"
    found = json_of(capsys, "paper", "--teacher", teacher, "--clients", "ucb1", "--horizon", "50000", *SMALL)
    data = tutelage.simulate("paper", teacher, "ucb1", horizon=50_000, runs=2, seed=4)
    promised = theory.performance_of_twl_with_ucb1(theory.setting_of(load("paper"), 50_000))
    for name, bound in (("regret", promised.regret), ("cost", promised.cost)):
        total = found[name]
        mean = float(data[name].isel(checkpoint=-1).sum("client").mean())
        assert set(total) == {"bound", "parts", "most", "simulated", "ratio"}
        assert set(total["parts"]) == PARTS
        assert total["bound"] == bound.value == pytest.approx(sum(total["parts"].values()))
        assert total["simulated"] == pytest.approx(mean)
        assert total["ratio"] == total["bound"] / total["simulated"] > 1
    assert (found["psi_max"], found["T_1"]) == (4, paper_epochs.learning_time(50_000))
    assert found["decides_by"] == promised.decides_by
    assert found["needed_horizon"] == promised.needed_horizon
    assert found["vacuous"] is False
    assert found["assumptions"] == describe_assumptions()
    assert found["theorem"] == "thm:twl_UCB"
    assert (found["teacher"], found["spec"]) == ("twl", teacher)
    assert found["clients"] == ["ucb1"] * 5
    assert (found["horizon"], found["runs"], found["seed"]) == (50_000, 2, 4)
    assert found["learning"]["decided"] == 2
    assert found["target"]["wrong"] == 0
    assert found["instance"]["name"] == "paper:rewards=bernoulli"


def test_floors_stand_next_to_what_was_measured(capsys):
    """Each with its condition and the measured mean divided by it; without runs no ratio."""
    found = json_of(capsys, "paper", "--teacher", "blt", *SMALL)
    assert found["theorem"] == "blt"
    assert "evenly" in found["condition"]
    policies = [POLICIES.parse("ucb1")] * 5
    floors = theory.compute_floors(load("paper"), TEACHERS.parse("blt"), policies, 50_000)
    assert [floor["name"] for floor in found["floors"]] == [floor.name for floor in floors]
    for floor, expected in zip(found["floors"], floors, strict=True):
        assert floor["value"] == expected.value
        assert floor["ratio"] == found[floor["quantity"]]["simulated"] / expected.value > 1
    assert all(floor["ratio"] is None for floor in json_of(capsys, "paper", "--runs", "0")["floors"])


def test_page_of_blt_and_of_the_known_target(capsys):
    """The condition of the theorem, and each floor with its condition once."""
    assert execute(["bound", "paper", "--teacher", "blt", *SMALL]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    text = " ".join(" ".join(lines).split())
    assert "condition every client pulls the active arms evenly" in text
    assert "learning takes at most " in text
    assert re.search(r"what must be paid +at least measured ratio learning regret 75\.4 ", text)
    assert re.search(r"both, rho 3 regret 297 ", text)
    assert text.count("UCB1 clients the client pulls the target in round T") == 1
    assert execute(["bound", "paper", "--teacher", "known", "--runs", "0"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "The target is known from the start" in text
    assert "what must be paid at least UCB1 clients regret 268 UCB1 clients cost 544" in text


def test_vacuous_bound_as_json(capsys):
    """TAL at T = 50,000: T_1 exceeds it; the number still holds, and says from when it promises."""
    found = json_of(capsys, "paper", "--teacher", "tal", *SMALL)
    assert found["vacuous"] is True
    assert found["T_1"] == found["decides_by"] == paper_epochs.learning_time(50_000)
    least = found["needed_horizon"]
    assert paper_epochs.learning_time(least) <= least
    assert paper_epochs.learning_time(least - 1) > least - 1
    assert found["regret"]["bound"] > found["regret"]["most"] > found["regret"]["simulated"]


def test_without_runs_nothing_is_simulated(capsys):
    """``--runs 0``: only the bounds, immediately for any horizon."""
    found = json_of(capsys, "paper", "--runs", "0", "--horizon", "1_000_000_000_000")
    assert found["runs"] == 0
    assert found["learning"] is found["target"] is None
    for name in ("regret", "cost"):
        assert found[name]["simulated"] is found[name]["ratio"] is None
        assert found[name]["bound"] > 0
    assert execute(["bound", "paper", "--runs", "0"]) == 0
    assert "simulated" not in capsys.readouterr().out


def test_page(capsys):
    """What is asked, the numbers, what each column says; 80 plain columns in a pipe."""
    assert execute(["bound", "paper", "--teacher", "twl", *SMALL]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert all(line.isascii() and line.isprintable() and line == line.rstrip() for line in lines)
    text = " ".join(" ".join(lines).split())
    for part in (
        "5 x ucb1",
        "theorem TWL with UCB1 clients (labelled thm:twl_UCB in the paper)",
        "gamma1 1, the reward revealed for active arms while learning",
        "gamma2 0, the reward revealed for arms that are ruled out",
        "psi_max 4, the last epoch of learning: ",
        f"T_1 {paper_epochs.learning_time(50_000):,}, the round by which every client has pulled every arm",
        "2 runs, seed 4",
        "learning teaching remainder bound simulated ratio",
        "These bounds are not vacuous: learning ends by round ",
        describe_assumptions(),
        f"T_1, {paper_epochs.learning_time(50_000):,}, exceeds the horizon",
    ):
        assert part in text


@pytest.mark.parametrize(
    ("teacher", "clients", "words"),
    [
        ("tal", "ucb1", "TAL with UCB1 clients (labelled thm:tal_UCB"),
        ("tal(gamma1=0,gamma2=0)", "eps-greedy", "0 and epsilon-greedy clients (labelled thm:tal_eps"),
        ("twl(gamma1=0,gamma2=0)", "3*ucb1,2*eps-greedy", "with any clients that explore and can be led"),
    ],
)
def test_theorems_are_named_in_words(capsys, teacher, clients, words):
    """Each has a name, and gamma1 and gamma2 of every teacher are explained."""
    assert execute(["bound", "paper", "--runs", "0", "--teacher", teacher, "--clients", clients]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert words in text
    assert re.search(r"gamma1 [01], the reward revealed for", text)
    assert re.search(r"gamma2 [01], the reward revealed for", text)


def test_page_of_a_vacuous_bound(capsys):
    """It says that it is empty, from which horizon it is not, and where it exceeds all that can be."""
    arguments = ["--teacher", "tal", "--runs", "0", "--horizon", "50000"]
    assert execute(["bound", "paper", *arguments]) == 0
    text = " ".join(capsys.readouterr().out.split())
    late = f"{paper_epochs.learning_time(50_000):,}"
    assert f"These bounds are vacuous: learning may take until round {late}, and the horizon is 50,000." in text
    least = next(horizon for horizon in range(50_000, 100_000) if paper_epochs.learning_time(horizon) <= horizon)
    assert f"They are not vacuous from a horizon of {least:,} rounds." in text
    assert (
        "The bound on the regret exceeds the largest regret possible in 50,000 rounds, 100,000: it says nothing" in text
    )


def test_mixed_clients_and_weights(tmp_path, capsys):
    """A table of means with weights and both kinds of clients, by the general theorem."""
    path = tmp_path / "means.json"
    path.write_text(json.dumps({"local_means": [[0.1, 0.9], [0.6, 0.5], [0.3, 0.4]]}))
    instance = f"{path},weights=0.5;0.3;0.2"
    arguments = ["--teacher", "tal(gamma1=0,gamma2=0)", "--clients", "1*ucb1,2*eps-greedy"]
    found = json_of(capsys, instance, *arguments, "--horizon", "3000", *SMALL)
    assert found["theorem"] == "thm:tal_general"
    assert found["instance"]["weights"] == [0.5, 0.3, 0.2]
    assert found["regret"]["ratio"] > 1 < found["cost"]["ratio"]


def test_same_seed_same_document(capsys):
    """Whatever the number of workers."""
    documents = [json_of(capsys, "paper", "--horizon", "900", *SMALL, "--workers", workers) for workers in ("1", "2")]
    assert documents[0] == documents[1]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["paper", "--teacher", "ng"], "There is no theorem on ng"),
        (["paper", "--teacher", "blt", "--clients", "ts"], "There is no theorem on blt"),
        (["paper", "--clients", "ts"], "with ts clients: tal and twl have one"),
        (["paper", "--teacher", "tall"], "did you mean 'tal'"),
        (["paper", "--runs", "-1"], "Invalid number of runs -1"),
        (["paper", "--horizon", "0"], "Invalid horizon 0"),
        (["nowhere.csv"], "nowhere.csv"),
        (["uniform:clients=2,weights='1e308;1e308'"], "up to 1e+308, are too large to be summed"),
        (["uniform:clients=2,weights='0.5;inf'"], "'inf' in weights=0.5;inf is not a number"),
        ([], "INSTANCE"),
    ],
)
def test_errors_are_one_sentence(arguments, sentence, capsys):
    """Status 2, one line on standard error, nothing on standard output."""
    assert execute(["bound", *arguments, "--json"]) == 2
    printed = capsys.readouterr()
    assert not printed.out
    assert printed.err.count("\n") == 1
    assert sentence in printed.err
