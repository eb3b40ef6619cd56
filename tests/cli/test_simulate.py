"""``tutelage simulate`` as people and scripts meet it."""

import json
import logging

import pytest

import tutelage
from tutelage import simulator
from tutelage.cli import app, simulate_output
from tutelage.cli.app import execute
from tutelage.engine import kernels
from tutelage.inference import select_differences
from tutelage.instances import INSTANCES
from tutelage.policies import POLICIES
from tutelage.results import encode_json
from tutelage.teachers import TEACHERS
from tutelage.text import format_table_number

SMALL = ["--horizon", "400", "--runs", "3", "--clients", "2*ucb1,2*eps-greedy,1*ts", "--seed", "4"]


def test_json_is_the_only_thing_on_standard_output(capsys):
    """One document, that of the library's summary."""
    teachers = ["--teacher", "twl", "--teacher", "known"]
    assert execute(["simulate", "paper", *teachers, *SMALL, "--json"]) == 0
    printed = capsys.readouterr()
    request = simulator.make_request("paper", ["twl", "known"], "2*ucb1,2*eps-greedy,1*ts", horizon=400, runs=3, seed=4)
    assert printed.out == encode_json(simulator.simulate_request(request).summary()) + "\n"
    assert printed.out.endswith("}\n")
    assert not printed.err


@pytest.mark.parametrize("form", ["--json", "--workers=1"])
def test_a_first_run_says_that_it_compiles(form, capsys, monkeypatch):
    """One line on standard error names for what, how long it takes and that it does not come again."""
    monkeypatch.setattr(app, "LOG_LEVEL", logging.INFO)
    command = ["simulate", "paper", "--teacher", "none", "--horizon", "400", "--runs", "3", form]
    outputs = []
    for is_cached in (False, True):
        monkeypatch.setattr(kernels.Kernel, "is_cached", is_cached)
        assert execute(command) == 0
        outputs.append(capsys.readouterr())
    assert outputs[0].err == "Compiling the simulator for ucb1 takes about 10 s; later runs find it in the cache.\n"
    assert not outputs[1].err
    assert outputs[0].out == outputs[1].out


def test_same_request_same_bytes(capsys):
    """The document does not depend on workers or executor, to the last character."""
    documents = set()
    for spread in (["--workers", "1"], ["--workers", "3"], ["--workers", "2", "--executor", "processes"]):
        assert execute(["simulate", "paper", "--teacher", "twl", *SMALL, "--json", *spread]) == 0
        documents.add(capsys.readouterr().out)
    assert len(documents) == 1


def test_out_saves_what_the_library_returns(tmp_path, capsys):
    """``--out`` holds the dataset of tutelage.simulate, and the table says where it is."""
    path = tmp_path / "r.nc"
    assert execute(["simulate", "paper", "--teacher", "twl", *SMALL, "--out", str(path)]) == 0
    assert f"Everyrunissavedin{path}." in "".join(capsys.readouterr().out.split())  # the path may be folded
    returned = tutelage.simulate("paper", "twl", "2*ucb1,2*eps-greedy,1*ts", horizon=400, runs=3, seed=4)
    assert tutelage.load(path).identical(returned)


def test_an_existing_result_is_replaced_only_by_force(tmp_path, capsys):
    """The sentence names --force, and nothing is simulated or changed without it."""
    path = tmp_path / "r.nc"
    path.write_bytes(b"precious")
    command = ["simulate", "paper", "--teacher", "none", *SMALL, "--out", str(path)]
    assert execute(command) == 2
    printed = capsys.readouterr()
    assert printed.err == f"{str(path)!r} exists already: add --force to replace it, or use another --out.\n"
    assert not printed.out
    assert path.read_bytes() == b"precious"
    assert execute([*command, "--force"]) == 0
    assert tutelage.load(path).sizes["run"] == 3


def test_teachers_are_selected_by_their_labels():
    """A label is the SPEC without defaults; tables, documents and datasets have the same labels."""
    request = simulator.make_request("paper", ["blt", "tal(gamma1=0,gamma2=0)", "twl(gamma1=1)"], horizon=50, runs=1)
    result = simulator.simulate_request(request)
    data = result.to_dataset()
    labels = ["blt", "tal(gamma1=0)", "twl"]
    assert data.teacher.values.tolist() == labels
    assert [each.teacher for each in result.summary().teachers] == labels
    assert data.spec.values.tolist() == [each.spec for each in result.summary().teachers]
    assert str(data.spec.sel(teacher="blt").values).startswith("blt(leading_arm=free,rho=3,growth=0.05,")
    assert data.regret.sel(teacher="tal(gamma1=0)").equals(data.regret.isel(teacher=1))
    assert data.decides.values.all()


def test_table_in_a_pipe_is_plain_and_narrow(capsys):
    """No colour, no box, at most 80 columns, no spaces at line ends."""
    assert execute(["simulate", "paper", *SMALL]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert all(line.isascii() and line.isprintable() and line == line.rstrip() for line in lines)


def test_table_says_what_it_shows(capsys):
    """Instance, notes, clients, every teacher, every column's meaning, and what was learned."""
    assert execute(["simulate", "uniform:seed=3", *SMALL]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "instance uniform:clients=5,arms=5,seed=3,rewards=bernoulli" in text
    assert "seed 3" in text
    assert "2 x ucb1, 2 x eps-greedy, 1 x ts" in text
    assert "3 runs of 400 rounds with each teacher, seed 4, engine step" in text
    for column in ("regret", "cost", "decided", "wrong", "best arm, last 10 %"):
        assert f" {column} " in text
    assert "range of 80 % of the runs (10th to 90th percentile)" in text
    assert "All teachers were simulated with the same random numbers." in text
    assert "A band of 80 % of 3 runs says little" in text
    assert "twl decided in none of the 3 runs (" in text
    assert "known taught the best arm in all 3 runs, from the start." in text
    assert "na and none decide on no arm." in text


def test_a_horizon_too_short_to_learn_says_so(capsys):
    """The sentence of the teacher's report: no epoch fits."""
    assert execute(["simulate", "paper", "--teacher", "tal", "--horizon", "3", "--runs", "1"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "was undecided at the horizon in its only run (epoch 1 needs more pulls" in text


def test_table_of_one_run_has_no_range(capsys):
    """One run has a value, no range of runs."""
    assert execute(["simulate", "paper", "--teacher", "known", "--horizon", "50", "--runs", "1"]) == 0
    out = capsys.readouterr().out
    assert "percentile" not in out
    assert "+-" not in out
    assert "1 run of 50 rounds" in out


def test_sentences_about_decisions():
    """Decided on the best arm, on a wrong one, and not at all."""
    request = simulator.make_request("paper", ["ng", "known(target=0)", "none"], horizon=20, runs=30)
    outcome = simulator.simulate_request(request)
    right = int((outcome.target[0] == 4).sum())
    guesses = f"the best arm in {right} of 30 runs and a wrong arm in {30 - right} of 30 runs"
    assert list(simulate_output.describe_decisions(outcome)) == [
        f"ng taught {guesses}, from the start.",
        "known(target=0) taught a wrong arm in all 30 runs, from the start.",
        "none decides on no arm.",
    ]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0"),
        (0.012345, "0.0123"),
        (1.234, "1.23"),
        (12.34, "12.3"),
        (123.4, "123"),
        (123456.7, "123,457"),
        (1.5e6, "1.500M"),
        (123.4e6, "123.4M"),
        (999_999.4, "999,999"),
        (999_999.7, "1.000M"),
        (9.9996e6, "10.00M"),
        (3.565e9, "3.565G"),
        (999.96e9, "1.000T"),
        (-12.34e12, "-12.34T"),
        (5e15, "5.000e+15"),
    ],
)
def test_sensible_digits(value, shown):
    """Enough to compare, no more."""
    assert format_table_number(value) == shown


@pytest.mark.parametrize("name", [*TEACHERS, *POLICIES, *INSTANCES, "beta", "empirical"])
def test_list_names_everything(name, capsys):
    """Every entry of every table, in a pipe of at most 80 columns."""
    assert execute(["simulate", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert f"  {name}" in lines
    assert max(map(len, lines)) <= 80


def test_list_shows_parameters(capsys):
    """Type, default and help of a parameter; one that must be given is called required."""
    assert execute(["simulate", "--list"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "gamma1 number, default 1 reward revealed for every arm while learning" in text
    assert "path word, required" in text
    assert "target whole number or name, optional" in text


def test_list_as_json(capsys):
    """``--list --json`` is a document too."""
    assert execute(["simulate", "--list", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert list(document) == ["instances", "policies", "teachers", "reward distributions"]
    twl = next(entry for entry in document["teachers"] if entry["name"] == "twl")
    assert [item["name"] for item in twl["parameters"]] == ["gamma1", "gamma2", "dependence", "risk"]
    assert twl["parameters"][0] | {"help": ""} == {
        "name": "gamma1",
        "type": "float",
        "required": False,
        "default": 1.0,
        "help": "",
    }


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], [], ["simulate", "--help"]])
def test_help(arguments, capsys):
    """Plain text without boxes."""
    assert execute(arguments) == 0
    out = capsys.readouterr().out
    assert out.startswith("Usage: tutelage")
    assert out.isascii()


def test_version(capsys):
    """The name and the version."""
    assert execute(["--version"]) == 0
    assert capsys.readouterr().out.startswith("tutelage")


@pytest.mark.parametrize("arguments", ['["--help"]', '["simulate", "--list"]', '["simulate", "papr"]'])
def test_quick_commands_import_no_numba(python, arguments):
    """Help, the list and a mistyped name compile nothing and load no xarray."""
    code = f"""if True:
        import sys
        from tutelage.cli.app import execute
        execute({arguments})
        assert not {{"numba", "xarray", "polars", "pandas", "h5py"}} & set(sys.modules)
    """
    python("-c", code)


def test_a_simulation_imports_only_what_it_uses(python):
    """Around the engine, which is left out here: a table with confidence intervals, in a pipe."""
    heavy = {
        "importlib.metadata", "numba", "numpy.polynomial", "polars", "pydantic", "rich._emoji_codes", "rich.progress",
        "scipy", "xarray",
    }  # fmt: skip
    code = f"""if True:
        import sys
        from tutelage import simulator
        from tutelage.cli.app import execute
        from tutelage.results import Collector
        simulator.simulate_request = lambda request, **_: Collector(request).finish()
        assert execute(["simulate", "paper", "--teacher", "twl", "--teacher", "blt", "--runs", "3"]) == 0
        print(sorted({heavy} & set(sys.modules)))
    """
    lines = python("-c", code).stdout.splitlines()
    assert any(line.startswith("what must be paid") for line in lines)
    assert lines[-1] == "[]"


def test_a_warm_run_imports_no_numba(python):
    """With its kernels in the cache a process simulates without numba: from the command line and in Python."""
    small = ["paper", "--horizon", "400", "--runs", "2"]
    assert execute(["simulate", *small, "--teacher", "twl"]) == 0  # compiled now
    code = f"""if True:
        import sys
        import tutelage
        from tutelage.cli.app import execute
        assert execute(["simulate", *{small}, "--teacher", "twl"]) == 0
        tutelage.simulate("paper", "twl", horizon=400, runs=2)
        assert "tutelage.engine.kernels" in sys.modules
        assert "numba" not in sys.modules
    """
    python("-c", code)


def test_the_library_in_a_few_lines(python):
    """What is promised of ``python -c "import tutelage"``."""
    code = 'import tutelage; print(tutelage.simulate("paper", "known", horizon=20, runs=2).sizes["run"])'
    ended = python("-c", code)
    assert ended.stdout == "2\n"


def test_what_must_be_paid(capsys):
    """The largest floor of regret and of cost for each teacher, with the ratio; none for attacks and guesses."""
    teachers = ["known", "ng", "jun"]
    arguments = [part for teacher in teachers for part in ("--teacher", teacher)]
    command = ["simulate", "paper", *arguments, "--clients", "4*ucb1,1*ts", "--horizon", "5000", "--runs", "2"]
    assert execute(command) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert execute([*command, "--json"]) == 0
    known, *others = json.loads(capsys.readouterr().out)["teachers"]
    assert [each["floors"] for each in others] == [[], []]
    assert {floor["quantity"] for floor in known["floors"]} == {"regret", "cost"}
    for floor in known["floors"]:
        assert floor["ratio"] == known[floor["quantity"]]["mean"] / floor["value"]
        assert 0.9 < floor["ratio"] < 1.2
        assert f"known {floor['quantity']} {floor['value']:.0f} {known[floor['quantity']]['mean']:.0f} " in text
    assert "UCB1 clients the client pulls the target in round T" in text
    assert "No floor is known for ng and jun." in text
    assert "No floor of teaching is known for ts clients." in text


def test_no_floor_where_clients_do_not_always_act(capsys):
    """Theorems and floors are about clients that act in every round: nothing is said."""
    command = ["simulate", "paper", "--teacher", "known", "--activity", "0.5", "--horizon", "100", "--runs", "1"]
    assert execute(command) == 0
    assert "must be paid" not in capsys.readouterr().out
    assert execute([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["teachers"][0]["floors"] == []


def test_teachers_are_compared_with_the_lowest_regret(capsys):
    """Of those that learn; every other teacher has a row with its differences and corrected p-values."""
    assert execute(["simulate", "paper", "--teacher", "none", "--teacher", "twl", "--teacher", "known", *SMALL]) == 0
    lines = capsys.readouterr().out.splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith("more than twl"))
    assert lines[start].split() == ["more", "than", "twl", "regret", "p", "cost", "p"]
    request = simulator.make_request("paper", ["none", "twl", "known"], SMALL[5], horizon=400, runs=3, seed=4)
    differences = simulator.simulate_request(request).differences()
    found = {(each.teacher, each.quantity): each for each in select_differences(differences, "twl")}
    for row, label in enumerate(("none", "known")):
        regret, cost = (found[label, quantity] for quantity in ("regret", "cost"))
        words = lines[start + 1 + 2 * row].replace("< ", "<").split()
        written = [
            format_table_number(regret.mean),
            _write_p(regret.p),
            format_table_number(cost.mean),
            _write_p(cost.p),
        ]
        assert words == [label, *written]


def _write_p(p):
    return "<0.001" if p < 0.001 else f"{p:.3f}"
