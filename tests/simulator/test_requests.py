"""Arguments resolved to a request, and invalid arguments."""

import json
from typing import get_args

import numpy as np
import pandas
import pytest

import tutelage
from tutelage import simulator
from tutelage.cli import options
from tutelage.errors import InputError
from tutelage.policies import POLICIES
from tutelage.policies.thompson import ThompsonSampling
from tutelage.policies.ucb1 import UCB1
from tutelage.request import LEAPS_FROM
from tutelage.results import Collector
from tutelage.simulator import requests
from tutelage.teachers import side_by_side
from tutelage.teachers.twl import TWL

HORIZON = LEAPS_FROM // 5  # of the paper's five clients, from which on `auto` leaps


def test_objects_and_specs_mean_the_same():
    """An instance, a teacher and policies give the same result as their SPECs, but for the command."""
    by_spec = simulator.simulate("paper", "twl(gamma1=0.5)", "3*ucb1,2*ts", horizon=300, runs=2, seed=3)
    by_object = simulator.simulate(
        tutelage.load_instance("paper"),
        TWL(gamma1=0.5),
        [UCB1(), "ucb1", UCB1(), ThompsonSampling(), "ts"],
        horizon=300,
        runs=2,
        seed=np.int64(3),
    )
    assert by_spec.attrs.pop("command")
    assert by_object.attrs.pop("command") == ""  # an object may differ from what its name makes
    assert by_spec.identical(by_object)


@pytest.mark.parametrize(
    ("engine", "changed"),
    [
        ("leap", {}),
        ("leap", {"clients": "4*kl-ucb,1*ts"}),
        ("leap", {"instance": "uniform:clients=500,arms=2", "horizon": LEAPS_FROM // 500}),
        ("leap", {"horizon": 10, "engine": "leap"}),
        ("leap", {"horizon": HORIZON, "runs": 1}),
        ("step", {"horizon": HORIZON - 1, "runs": 1000}),
        ("step", {"instance": "uniform:clients=500,arms=2", "horizon": LEAPS_FROM // 500 - 1}),
        ("step", {"instance": "uniform:clients=1,arms=2", "horizon": LEAPS_FROM - 1}),
        ("step", {"engine": "step"}),
        ("step", {"clients": "kl-ucb"}),
        ("step", {"instance": "paper:rewards=beta(10)"}),
        ("step", {"binary_reveals": True}),
    ],
)
def test_the_engine_follows_from_the_request(engine, changed):
    """By default small runs step and large ones leap, if a client can; the command names it where that is not so."""
    arguments = {"instance": "paper", "teachers": "none", "horizon": HORIZON, "checkpoints": 1, **changed}
    request = simulator.make_request(**arguments)
    assert request.engine == engine
    assert ("--engine" in request.command) == ("engine" in changed)


@pytest.mark.parametrize(("saved", "restored"), [("step", "step"), ("leap", "leap"), ("auto", "leap"), (None, "step")])
def test_a_saved_engine_is_used_again(saved, restored):
    """Also for results without one, and for those of builds in which auto leaped at any horizon."""
    result = simulator.simulate("paper", "none", horizon=10, runs=1)
    document = json.loads(result.attrs["request"])
    assert document.pop("engine") == "step"
    result.attrs["request"] = json.dumps(document if saved is None else document | {"engine": saved})
    assert simulator.restore_request(result).engine == restored


def test_helps_name_the_client_rounds_from_which_clients_leap():
    """The number that the code has, in every help of --engine and in the docstring."""
    helps = [get_args(each)[1].help for each in (options.Engine, options.OwnEngine)]
    assert all(
        f"{LEAPS_FROM:,} client-rounds" in text for text in (*helps, " ".join(simulator.simulate.__doc__.split()))
    )


def test_one_policy_object_is_for_all_clients():
    """One policy object is the policy of every client, as one SPEC is."""
    assert simulator.make_request("paper", clients=UCB1()).client_specs == ("ucb1",) * 5


def test_defaults():
    """By default the teachers compared side by side, TAL with both of the paper's settings, and UCB1 clients."""
    request = simulator.make_request("paper")
    assert request.teachers == side_by_side()
    assert {"tal(gamma1=1,gamma2=0)", "tal(gamma1=0,gamma2=0)"} <= set(request.teacher_specs)
    assert request.client_specs == ("ucb1",) * 5
    assert (request.horizon, request.runs, request.seed) == (50_000, 20, 0)
    assert request.checkpoints.tolist() == list(range(250, 50_001, 250))


def test_clients_in_order():
    """Clients are in the order written; an entry without a number is one client; arguments may have commas."""
    policies = simulator.parse_clients("2*ucb1, eps-greedy(c=2,d=.5), 2 * ts(update=fractional)", 5)
    assert [POLICIES.spec(policy) for policy in policies] == [
        "ucb1",
        "ucb1",
        "eps-greedy(c=2,d=0.5)",
        "ts(update=fractional)",
        "ts(update=fractional)",
    ]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"horizon": 0}, "Invalid horizon 0: use a whole number in "),
        ({"horizon": 2**53 + 1}, "Invalid horizon 9007199254740993"),
        ({"horizon": 1.5}, "Invalid horizon 1.5: use a whole number"),
        ({"horizon": True}, "Invalid horizon True: use a whole number"),
        ({"runs": 0}, "Invalid number of runs 0"),
        ({"seed": -1}, "Invalid seed -1"),
        ({"seed": 2**64}, "Invalid seed 18446744073709551616"),
        ({"teachers": "twil"}, "did you mean 'twl'"),
        ({"teachers": []}, "list of teachers is empty"),
        ({"teachers": ["twl", TWL()]}, r"twl\(gamma1=1,gamma2=0\) is named twice"),
        ({"teachers": "known(target=5)"}, "Invalid target=5 of the teacher known: the arms are 0 to 4"),
        ({"teachers": [3]}, "Invalid teacher 3: use a SPEC, as in 'tal'"),
        ({"clients": "2*ucb1,2*ts"}, "add up to 4, but the instance has 5"),
        ({"clients": "5000000000*ucb1"}, "add up to 5000000000"),
        ({"clients": "0*ucb1,5*ts"}, "Invalid number 0"),
        ({"clients": ["ucb1"]}, "for 1 clients, but the instance has 5"),
        ({"clients": 3}, "Invalid policy 3: use a SPEC"),
        ({"clients": ""}, "Invalid policy"),
        ({"checkpoints": "quadratic"}, "Invalid checkpoints 'quadratic'"),
        ({"checkpoints": "linear(count=0)"}, "count=0"),
        ({"checkpoints": "linear(count=x)"}, "count=x"),
        ({"checkpoints": "linear(number=3)"}, "only argument is count"),
        ({"checkpoints": "linear(count=3,count=4)"}, "only argument is count"),
        ({"checkpoints": 0}, "Invalid number of checkpoints 0"),
        ({"checkpoints": "\u00b2"}, "Invalid choice of checkpoints"),
        ({"checkpoints": "linear(count=\u00b2)"}, "count=\u00b2"),
        ({"checkpoints": "9" * 5000}, r"^Invalid count=9{57}\.\.\. in the checkpoints 'linear.count=9{44}\.\.\."),
        ({"checkpoints": "99999999999", "horizon": 2**53}, "99999999999 checkpoints are too many"),
        ({"checkpoints": 10**5000}, "Invalid number of checkpoints "),
        ({"checkpoints": None}, "Invalid checkpoints None"),
        ({"checkpoints": 2.5}, "Invalid checkpoints 2.5"),
        ({"checkpoints": b"5"}, "Invalid checkpoints b'5'"),
        ({"checkpoints": True}, "Invalid number of checkpoints True"),
        ({"checkpoints": [2.5]}, "Invalid checkpoint 2.5"),
        ({"checkpoints": [[1], [2, 3]]}, r"Invalid checkpoint \[1\]"),
        ({"horizon": 10**5000}, "Invalid horizon "),
        ({"clients": "9" * 5000 + "*ucb1"}, "9999999999... with 5000 digits"),
        ({"clients": None}, "Invalid policy None: use a SPEC"),
        ({"clients": UCB1}, "UCB1 is a class, not a policy"),
        ({"teachers": [TWL]}, "TWL is a class, not a teacher"),
        ({"exclude": [0]}, r"Invalid exclude=\[0\]"),
        ({"exclude": 5}, "Invalid exclude=5"),
        ({"checkpoints": [0, 5]}, "Invalid checkpoint 0"),
        ({"checkpoints": [10**9]}, "Invalid checkpoint 1000000000"),
        ({"exclude": {5: 10}}, "Invalid excluded client 5"),
        ({"exclude": {0: 0}}, "Invalid round after which client 0 is excluded 0"),
        ({"exclude_after": 0.5}, "exclude_after .* 0.5: use a number of at least 1"),
        ({"exclude": dict.fromkeys(range(5), 10)}, "leave at least one"),
    ],
)
def test_invalid_arguments(wrong, message):
    """The error names the invalid value."""
    with pytest.raises(InputError, match=message):
        simulator.make_request("paper", **wrong)


@pytest.mark.parametrize("wrong", [None, 5, b"paper", ["paper"]])
def test_invalid_instances(wrong):
    """The error says what an instance may be."""
    with pytest.raises(InputError, match=r"Invalid instance .*: use a text such as 'paper'"):
        simulator.make_request(wrong)


def test_means_are_no_instance():
    """For a DataFrame the error names the function that makes an instance, and does not print the table."""
    with pytest.raises(InputError, match=r"tutelage\.instance\(means\) makes one") as error:
        simulator.make_request(pandas.DataFrame([[0.1, 0.2]] * 30))
    assert len(str(error.value)) < 250
    assert "\n" not in str(error.value)


def test_a_path_is_a_table(tmp_path):
    """A pathlib.Path is a table of means, whatever characters it contains."""
    path = tmp_path / "a,b=c.csv"
    path.write_text("0.2,0.9\n0.4,0.1\n")
    assert simulator.make_request(path).instance.local_means.tolist() == [[0.2, 0.9], [0.4, 0.1]]
    with pytest.raises(InputError, match="no file or folder"):
        simulator.make_request(tmp_path / "nowhere.csv")


def test_results_larger_than_memory(monkeypatch):
    """Refused before anything is played; the size is that of the arrays."""
    request = simulator.make_request("paper", ["twl", "none"], horizon=1000, runs=3)
    collector = Collector(request)
    size = collector.pulls.nbytes + collector.regret.nbytes + collector.cost.nbytes
    monkeypatch.setattr(requests, "_memory_size", lambda: size)
    simulator.make_request("paper", ["twl", "none"], horizon=1000, runs=3)
    monkeypatch.setattr(requests, "_memory_size", lambda: size - 1)
    with pytest.raises(InputError, match=r"3 runs of 2 teachers with 200 checkpoints .*--checkpoints.*--runs"):
        simulator.make_request("paper", ["twl", "none"], horizon=1000, runs=3)
    monkeypatch.setattr(requests, "_memory_size", lambda: None)
    simulator.make_request("paper", runs=2**31 - 1)


def test_memory_size_is_known_or_none(monkeypatch):
    """None where the operating system has no sysconf."""
    size = requests._memory_size()
    assert size is None or size > 2**26
    monkeypatch.delattr(requests.os, "sysconf", raising=False)
    assert requests._memory_size() is None
