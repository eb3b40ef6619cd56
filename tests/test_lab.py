"""What a request resolves to, and what is refused."""

import numpy as np
import pytest

import tutelage
from tutelage import lab
from tutelage.errors import InputError
from tutelage.instances import Instance
from tutelage.policies.thompson import ThompsonSampling
from tutelage.policies.ucb1 import UCB1
from tutelage.teachers import side_by_side
from tutelage.teachers.twl import TWL


def test_names_of_the_package():
    """Every public name loads, and an unknown one is an AttributeError."""
    for name in tutelage.__all__:
        assert getattr(tutelage, name) is not None
    assert set(tutelage.__all__) <= set(dir(tutelage))
    with pytest.raises(AttributeError, match="simulat"):
        tutelage.simulat  # noqa: B018


def test_import_compiles_nothing(python):
    """``import tutelage`` brings neither numba, xarray nor numpy in; a request brings no xarray."""
    code = """if True:
        import sys, tutelage
        assert not {"numba", "xarray", "numpy"} & set(sys.modules)
        tutelage.make_request("paper")
        assert "xarray" not in sys.modules
    """
    python("-c", code)


def test_objects_and_specs_mean_the_same():
    """An Instance, a Teacher and Policies give what their SPECs give."""
    words = lab.simulate("paper", "twl(gamma1=0.5)", "3*ucb1,2*ts", horizon=300, runs=2, seed=3)
    things = lab.simulate(
        tutelage.load_instance("paper"),
        TWL(gamma1=0.5),
        [UCB1(), "ucb1", UCB1(), ThompsonSampling(), "ts"],
        horizon=300,
        runs=2,
        seed=np.int64(3),
    )
    assert words.identical(things)


def test_one_policy_object_is_for_all_clients():
    """So is one SPEC."""
    assert lab.make_request("paper", clients=UCB1()).client_specs == ("ucb1",) * 5


def test_defaults():
    """Without teachers those put side by side play, TAL with both of the paper's settings; UCB1 clients."""
    request = lab.make_request("paper")
    assert request.teachers == side_by_side()
    assert {"tal(gamma1=1,gamma2=0)", "tal(gamma1=0,gamma2=0)"} <= set(request.teacher_specs)
    assert request.client_specs == ("ucb1",) * 5
    assert (request.horizon, request.runs, request.seed) == (50_000, 20, 0)
    assert request.checkpoints.tolist() == list(range(250, 50_001, 250))


def test_clients_in_order():
    """Counts give the clients in the order written; an entry without a count is one; commas may be inside."""
    policies = lab.parse_clients("2*ucb1, eps-greedy(c=2,d=.5), 2 * ts(update=fractional)", 5)
    assert [lab.POLICIES.spec(policy) for policy in policies] == [
        "ucb1",
        "ucb1",
        "eps-greedy(c=2,d=0.5)",
        "ts(update=fractional)",
        "ts(update=fractional)",
    ]


@pytest.mark.parametrize(
    ("spec", "horizon", "rounds"),
    [
        ("linear", 3, [1, 2, 3]),
        ("linear(count=4)", 10, [2, 5, 7, 10]),
        ("4", 10, [2, 5, 7, 10]),
        (4, 10, [2, 5, 7, 10]),
        (np.int64(4), 10, [2, 5, 7, 10]),
        ("0004", 10, [2, 5, 7, 10]),
        (np.array([5, 2]), 9, [2, 5, 9]),
        ({5, 2}, 9, [2, 5, 9]),
        ("linear(count=1)", 10, [10]),
        ("logarithmic(count=4)", 1000, [1, 10, 100, 1000]),
        ("logarithmic(count=1)", 7, [1, 7]),
        ("logarithmic", 1, [1]),
        ([5, 2, 2], 9, [2, 5, 9]),
        ([], 9, [9]),
    ],
)
def test_checkpoints(spec, horizon, rounds):
    """Increasing rounds within the horizon, which is always the last."""
    assert lab.checkpoint_rounds(spec, horizon).tolist() == rounds


@pytest.mark.parametrize("kind", ["linear", "logarithmic"])
@pytest.mark.parametrize("horizon", [1, 2, 199, 200, 201, 50_000, 10**9, 2**53])
def test_checkpoints_do_not_grow_with_the_horizon(kind, horizon):
    """At most 200, however long the horizon."""
    rounds = lab.checkpoint_rounds(kind, horizon)
    assert rounds[0] >= 1
    assert rounds[-1] == horizon
    assert (np.diff(rounds) > 0).all()
    assert rounds.size <= 200


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"horizon": 0}, "horizon 0 is below 1"),
        ({"horizon": 2**53 + 1}, "horizon 9007199254740993 is above"),
        ({"horizon": 1.5}, "horizon 1.5 is not a whole number"),
        ({"horizon": True}, "horizon True is not a whole number"),
        ({"runs": 0}, "number of runs 0 is below 1"),
        ({"seed": -1}, "seed -1 is below 0"),
        ({"seed": 2**64}, "seed 18446744073709551616 is above"),
        ({"teachers": "twil"}, "did you mean 'twl'"),
        ({"teachers": []}, "no teacher"),
        ({"teachers": ["twl", TWL()]}, r"twl\(gamma1=1,gamma2=0\) is given twice"),
        ({"teachers": "known(target=5)"}, "target=5 is not an arm"),
        ({"teachers": [3]}, "3 is not a teacher"),
        ({"clients": "2*ucb1,2*ts"}, "add up to 4, but the instance has 5"),
        ({"clients": "5000000000*ucb1"}, "add up to 5000000000"),
        ({"clients": "0*ucb1,5*ts"}, "counts none"),
        ({"clients": ["ucb1"]}, "for 1 clients, but the instance has 5"),
        ({"clients": 3}, "3 is not a policy"),
        ({"clients": ""}, "Invalid policy"),
        ({"checkpoints": "quadratic"}, "no checkpoints 'quadratic'"),
        ({"checkpoints": "linear(count=0)"}, "count=0"),
        ({"checkpoints": "linear(count=x)"}, "count=x"),
        ({"checkpoints": "linear(number=3)"}, "take one count"),
        ({"checkpoints": "linear(count=3,count=4)"}, "take one count"),
        ({"checkpoints": 0}, "number of checkpoints 0 is below 1"),
        ({"checkpoints": "\u00b2"}, "Invalid choice of checkpoints"),
        ({"checkpoints": "linear(count=\u00b2)"}, "count=\u00b2"),
        ({"checkpoints": "9" * 5000}, "9999999999... has 5000 digits"),
        ({"checkpoints": "99999999999", "horizon": 2**53}, "99999999999 checkpoints are too many"),
        ({"checkpoints": 10**5000}, "number of checkpoints of 16610 bits is above"),
        ({"checkpoints": None}, "checkpoints None are none"),
        ({"checkpoints": 2.5}, "checkpoints 2.5 are none"),
        ({"checkpoints": b"5"}, "checkpoints b'5' are none"),
        ({"checkpoints": True}, "number of checkpoints True is not a whole number"),
        ({"checkpoints": [2.5]}, "checkpoint 2.5 is not a whole number"),
        ({"checkpoints": [[1], [2, 3]]}, r"checkpoint \[1\] is not a whole number"),
        ({"horizon": 10**5000}, "horizon of 16610 bits is above"),
        ({"clients": "9" * 5000 + "*ucb1"}, "9999999999... has 5000 digits"),
        ({"clients": None}, "None is not a policy"),
        ({"clients": UCB1}, "UCB1 is a class, not a policy"),
        ({"teachers": [TWL]}, "TWL is a class, not a teacher"),
        ({"exclude": [0]}, r"exclude=\[0\] does not say when"),
        ({"exclude": 5}, "exclude=5 does not say when"),
        ({"checkpoints": [0, 5]}, "checkpoint 0 is below 1"),
        ({"checkpoints": [10**9]}, "checkpoint 1000000000 is above"),
        ({"exclude": {5: 10}}, "excluded client 5 is above 4"),
        ({"exclude": {0: 0}}, "round in which client 0 excludes 0 is below 1"),
        ({"exclude": dict.fromkeys(range(5), 10)}, "leave at least one"),
    ],
)
def test_what_is_refused(wrong, said):
    """One sentence with the offending value."""
    with pytest.raises(InputError, match=said):
        lab.make_request("paper", **wrong)


def test_teachers_play_the_same_runs():
    """A teacher's runs are the same alone and beside others: differences between teachers are paired."""
    together = lab.simulate("paper", ["none", "twl", "ng"], "3*ucb1,2*ts", horizon=400, runs=3, seed=11)
    alone = lab.simulate("paper", "twl", "3*ucb1,2*ts", horizon=400, runs=3, seed=11)
    kept = together.sel(teacher="twl(gamma1=1,gamma2=0)")
    assert kept.pulls.equals(alone.pulls.isel(teacher=0))
    assert kept.cost.equals(alone.cost.isel(teacher=0))


def test_more_runs_begin_with_the_same_runs():
    """Run r of 4 is run r of 2."""
    few = lab.simulate("paper", "twl", horizon=200, runs=2)
    many = lab.simulate("paper", "twl", horizon=200, runs=4)
    assert many.isel(run=slice(2)).pulls.equals(few.pulls)


def test_excluded_clients_are_told_to_the_engine():
    """A exclusion is an event in its round and stands in the saved request."""
    dataset = lab.simulate("paper", "twl", horizon=500, runs=1, exclude={2: 100})
    assert 100 in dataset.event_round.values
    assert '"exclude": {"2": 100}' in dataset.attrs["request"]


def test_horizon_shorter_than_the_arms():
    """Two rounds on five arms: nothing is decided, nothing fails."""
    dataset = lab.simulate("paper", horizon=2, runs=2)
    assert dataset.checkpoint.values.tolist() == [1, 2]
    assert (dataset.pulls.isel(checkpoint=-1).sum("arm") == 2).all()


def test_counts_of_a_long_horizon_are_whole():
    """From 2^31 rounds on counts take 64 bits (played here only up to its first checkpoint)."""
    one = Instance("one", np.array([[0.5]]), np.array([1.0]))
    collector = lab.Collector(lab.make_request(one, "none", horizon=2**31, runs=1))
    assert collector.pulls.dtype == np.int64


@pytest.mark.parametrize("wrong", [None, 5, b"paper", ["paper"]])
def test_what_is_no_instance(wrong):
    """A sentence names what was given and what may be."""
    with pytest.raises(InputError, match=r"is not an instance: give a text such as 'paper'"):
        lab.make_request(wrong)


def test_a_path_is_a_table(tmp_path):
    """A pathlib.Path is a table of means, whatever its letters."""
    path = tmp_path / "a,b=c.csv"
    path.write_text("0.2,0.9\n0.4,0.1\n")
    assert lab.make_request(path).instance.local_means.tolist() == [[0.2, 0.9], [0.4, 0.1]]
    with pytest.raises(InputError, match="no file or folder"):
        lab.make_request(tmp_path / "nowhere.csv")


def test_what_does_not_fit_into_memory(monkeypatch):
    """Refused before anything is played; the size is that of the arrays."""
    request = lab.make_request("paper", ["twl", "none"], horizon=1000, runs=3)
    collector = lab.Collector(request)
    size = collector.pulls.nbytes + collector.regret.nbytes + collector.cost.nbytes
    monkeypatch.setattr(lab, "_memory_in_bytes", lambda: size)
    lab.make_request("paper", ["twl", "none"], horizon=1000, runs=3)
    monkeypatch.setattr(lab, "_memory_in_bytes", lambda: size - 1)
    with pytest.raises(
        InputError, match=r"3 runs of 2 teachers with 200 checkpoints .*--checkpoints.*--runs"
    ):
        lab.make_request("paper", ["twl", "none"], horizon=1000, runs=3)
    monkeypatch.setattr(lab, "_memory_in_bytes", lambda: None)
    lab.make_request("paper", runs=2**31 - 1)


def test_memory_is_told_or_unknown(monkeypatch):
    """The operating system's word, or none where it has no sysconf."""
    told = lab._memory_in_bytes()
    assert told is None or told > 2**26
    monkeypatch.delattr(lab.os, "sysconf", raising=False)
    assert lab._memory_in_bytes() is None
