"""The names of the package, loaded when they are first used."""

import json

import pytest

import tutelage
from tutelage.cli.app import execute
from tutelage.results import encode_json

EXPERIMENT = """
name = "own"
title = "Own"
runs = 1
horizons = [30]
teachers = ["none", "known"]

[[instances]]
label = "paper"
spec = "paper"

[[clients]]
label = "ucb1"
spec = "ucb1"

[[panels]]
name = "regret"
title = "Regret"
quantity = "regret"
instance = "paper"
clients = "ucb1"
"""


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


CALLS = {
    "simulate": (["paper", "none"], {"horizon": 20, "runs": 1}),
    "plan": (["paper", "blt"], {"horizon": 20, "runs": 1}),
    "bound": (["paper", "twl"], {"horizon": 20, "runs": 1}),
    "make_request": (["paper", "none"], {"horizon": 20}),
}
WRONG = [3, "x", [1, 2], {"a": 1}, object(), float("nan")]


@pytest.mark.parametrize("wrong", WRONG, ids=[type(each).__name__ for each in WRONG])
@pytest.mark.parametrize(
    ("name", "argument"),
    [
        ("simulate", "instance"), ("simulate", "conditions"), ("simulate", "progress"), ("simulate", "exclude"),
        ("simulate", "executor"), ("plan", "instance"), ("plan", "progress"), ("plan", "clients"),
        ("bound", "instance"), ("bound", "teacher"), ("bound", "progress"), ("make_request", "conditions"),
        ("make_request", "clients"),
    ],
)  # fmt: skip
def test_a_wrong_type_is_one_sentence(name, argument, wrong):
    """An argument of another type is an ``InputError``, never an error from inside."""
    places = {"instance": 0, "teacher": 1}
    values, options = CALLS[name]
    values, options = list(values), dict(options)
    if argument in places:
        values[places[argument]] = wrong
    else:
        options[argument] = wrong
    with pytest.raises(tutelage.InputError):
        getattr(tutelage, name)(*values, **options)


@pytest.mark.parametrize("wrong", WRONG, ids=[type(each).__name__ for each in WRONG])
@pytest.mark.parametrize("field", ["activity", "delays", "stops", "shifts"])
def test_a_wrong_condition_is_one_sentence(field, wrong):
    """Each field of ``Conditions`` says what it is made of."""
    if (field, wrong) == ("delays", [1, 2]) or (field, wrong) == ("activity", [1, 2]):
        wrong = ["a", "b"]
    with pytest.raises(tutelage.InputError, match=f"{field}=.* of Conditions: use "):
        tutelage.make_request("paper", conditions=tutelage.Conditions(**{field: wrong}))


@pytest.mark.parametrize("wrong", WRONG, ids=[type(each).__name__ for each in WRONG])
def test_files_and_requests_of_a_wrong_type(wrong, tmp_path):
    """Saving, loading, requests and experiments: one sentence each."""
    result = tutelage.simulate("paper", "none", horizon=5, runs=1)
    calls = [
        lambda: tutelage.save(wrong, tmp_path / "r.nc"),
        lambda: tutelage.save(result, wrong),
        lambda: tutelage.load(wrong),
        lambda: tutelage.load_instance(wrong),
        lambda: tutelage.simulate_request(wrong),
        lambda: tutelage.read_experiment(wrong),
        lambda: tutelage.run_experiment(wrong, tmp_path),
    ]
    for call in calls:
        with pytest.raises(tutelage.InputError):
            call()


def test_progress_of_a_simulation(capsys):
    """A function gets the number of finished runs up to all of them; True draws on standard error only."""
    seen = []
    tutelage.simulate("paper", ["none", "known"], horizon=50, runs=3, progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 6
    tutelage.simulate("paper", "none", horizon=50, runs=1, progress=True)
    assert capsys.readouterr().out == ""


def test_results_have_one_shape(tmp_path, capsys):
    """``plan``, ``bound`` and ``run_experiment`` have a summary of plain values; the first two that of ``--json``."""
    options = ["--horizon", "400", "--runs", "1", "--json"]
    assert execute(["bound", "paper", "--teacher", "twl", *options]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert json.loads(encode_json(tutelage.bound("paper", "twl", horizon=400, runs=1).summary())) == printed
    assert execute(["plan", "paper", "--teacher", "blt", *options]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert json.loads(json.dumps(tutelage.plan("paper", "blt", horizon=400, runs=1).summary())) == printed
    (tmp_path / "own.toml").write_text(EXPERIMENT)
    result = tutelage.run_experiment(tmp_path / "own.toml", tmp_path / "out")
    summary = json.loads(json.dumps(result.summary()))
    assert [each["panel"] for each in summary["panels"]] == [each.panel.name for each in result.panels]
    assert all(each["new"] for each in summary["cells"])
