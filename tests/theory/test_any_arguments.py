"""Whatever the public functions of theory are given, they raise ``InputError`` or give finite numbers.

Each is called with arguments of which some are as they should be and others are not: zeros, negative, huge,
NaN, of the wrong type or shape.
"""

import dataclasses
import inspect
import math
import numbers

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tutelage import load_instance, measurement, theory
from tutelage.errors import InputError
from tutelage.policies import POLICIES
from tutelage.teachers import TEACHERS
from tutelage.theory.twl import _MOST_ARMS

PAPER = theory.setting_of(load_instance("paper"), 1000)
ODD = [
    *(0, 1, 2, -1, True, None, math.nan, math.inf, -math.inf, 0.5, -0.0, 5e-324, 1e-30, 1e308, -1e308),
    *(2**53, 2**63, 10**400, -(10**400), "1", "", b"1", 1j, [], [0.0], [math.nan], [[0.5], [0.1, 0.2]], {}),
    *([0.5, 0.5], [1e308, 1e308], np.array(3.0), np.float32(0.5), np.int64(3), np.zeros((2, 2)), object()),
]


def odd():
    """Something that is not expected."""
    return st.sampled_from(ODD)


UCB1, EPS = theory.ucb1_client(0.5, 1.0, 0.0, 3, 100), theory.eps_greedy_client(0.5, 3, 100, 2)
LISTS = [[0.2, 0.3, 0.5], [0.25] * 4, [1.0], [0.1] * 9, [0.0, 0.3]]
INSTANCES = ["paper", "uniform:clients=1,arms=2", "planted:clients=2,arms=2,gap=1", "uniform:arms=1"]
POLICY_SPECS = ["ucb1", "eps-greedy(c=0)", "eps-greedy(d=1e-200)", "ts"]
SETTINGS = [
    PAPER,
    theory.setting_of(load_instance("planted:clients=1,arms=2,gap=1,seed=1"), 1),
    theory.setting_of(load_instance("planted:clients=2,arms=3,gap=1e-12,seed=1"), 2**53),
]
USUAL = {
    "num_arms": [1, 2, 5, 300], "num_clients": [1, 5], "horizon": [1, 2, 50_000, 2**53], "epoch": [1, 4, 100],
    "last_end": [0, 13_026], "last_round": [1, 50_000], "learning_time": [1, 100_000],
    "active_pulls": [0, 154],
    "weights": LISTS, "gaps": LISTS, "gap": [1.0, 0.1, 1e-14], "best_mean": [1.0, 0.4, 1e-100],
    "gamma1": [1.0, 0.3, 0.0], "gamma2": [0.0, 0.2], "history": [0, 154.0, 1000], "excess": [1.0, 0.0],
    "lead": [1.0, 0.1, 1e-100], "c": [1.0, 0.0, 1e300], "d": [1.0, 1e-300], "setting": SETTINGS,
    "explorations": [[UCB1.exploration] * 5, [EPS.exploration]], "theorem": ["thm:tal_general"],
    "kappa": [1.0, 3.0], "beta": [0.0, 10.0], "mean": [0.0, 0.4, 1.0], "level": [0.0, 0.5], "offset": [0.0, 3.0],
    "band": [1.0, 1e-9], "rho": [1, 3.0, math.inf], "revealed_mean": [0.0, 0.7, 1.0], "round": [1, 50_000],
    "pulls": [1, 400, [10.0] * 5],
    "instance": [load_instance(name) for name in INSTANCES],
    "teacher": [TEACHERS.parse(name) for name in ("tal", "twl", "twl(gamma1=0,gamma2=0)", "ng", "blt", "known")],
    "policies": [[POLICIES.parse(name)] * count for name in POLICY_SPECS for count in (1, 2, 5)],
}  # fmt: skip
CLIENTS = {
    "teaching_phase_of_tal": [[UCB1] * 5, [EPS] * 2, [EPS]],
    "performance_of_tal": [lambda horizon: [UCB1] * 5, lambda horizon: [EPS] * 2, lambda horizon: [None]],
}
TIMES = [lambda horizon: 3, lambda horizon: horizon, lambda horizon: math.nan, lambda horizon: -1, str]
MEASURED = {"sufficient_exploration", "warm_start_pulls"}  # they play: below
FUNCTIONS = [name for name in theory.__all__ if inspect.isfunction(getattr(theory, name))]


def usual(function, name):
    """Values that this argument may have."""
    if name == "clients":
        return CLIENTS[function]
    return TIMES if (function, name) == ("horizon_needed", "learning_time") else USUAL[name]


def assert_finite(value):
    """No NaN and nothing infinite in a result."""
    if isinstance(value, numbers.Real):
        assert math.isfinite(value) or isinstance(value, int)
    elif isinstance(value, tuple | list):
        for each in value:
            assert_finite(each)
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            assert_finite(getattr(value, field.name))


@pytest.mark.parametrize("function", [name for name in FUNCTIONS if name not in MEASURED])
@given(data=st.data())
def test_any_arguments(function, data):
    """Only ``InputError`` is ever raised, warnings are errors, and what is returned is finite."""
    call = getattr(theory, function)
    names = list(inspect.signature(call).parameters)
    wrong = set(data.draw(st.lists(st.sampled_from(names), max_size=2)))
    arguments = {
        name: data.draw(odd() if name in wrong else st.sampled_from(usual(function, name)), label=name)
        for name in names
    }
    try:
        found = call(**arguments)
    except InputError:
        return
    assert_finite(found)


BOUNDS = {
    theory.ExplorationBound: {"least": len, "most": len, "needed": len, "failure": 0.1},
    theory.WarmStartBound: {"each": 3.0, "together": 5.0, "failure": 0.1},
    theory.ClientBound: {"exploration": UCB1.exploration, "warm_start": len},
    theory.TheorySetting: dict(vars(PAPER)),
}


@pytest.mark.parametrize("kind", BOUNDS)
@given(data=st.data())
def test_any_fields(kind, data):
    """What people may put together themselves is checked as it is made."""
    changed = data.draw(st.dictionaries(st.sampled_from(sorted(BOUNDS[kind])), odd(), min_size=1))
    try:
        made = kind(**(BOUNDS[kind] | changed))
    except InputError:
        return
    if isinstance(made, theory.WarmStartBound):
        values = data.draw(odd())
        try:
            assert_finite(made.weighed(values))
        except InputError:
            return


CURVES = [
    *(getattr(client.exploration, name) for client in (UCB1, EPS) for name in ("least", "most", "needed")),
    *(client.warm_start for client in (UCB1, EPS)),
]


@pytest.mark.parametrize("curve", CURVES)
@pytest.mark.parametrize("wrong", ["1", None, True, -1, math.nan, math.inf, [5], 1j, 10**400])
def test_curves_check_their_argument(curve, wrong):
    """The closed forms of the lemmas also refuse an invalid number of pulls."""
    with pytest.raises(InputError):
        curve(wrong)


EXPLORED = {"policy": "ts", "arms": 2, "gamma": 1.0, "horizon": 20, "others": (), "runs": 2, "seed": 1}
STARTED = {"policy": "ts", "history": 3, "means": [0.2, 0.7], "horizon": 20, "gamma1": 1.0, "gamma2": 0.0}
STARTED |= {"target": 1, "rewards": "bernoulli", "runs": 2, "seed": 1}
MORE = {"checkpoints": 5, "workers": 1}


@settings(max_examples=200)
@given(data=st.data())
@pytest.mark.parametrize(
    ("measure", "arguments"),
    [(measurement.sufficient_exploration, EXPLORED | MORE), (measurement.warm_start_pulls, STARTED | MORE)],
)
def test_any_arguments_of_what_is_measured(measure, arguments, data):
    """The same of the two definitions that are measured."""
    changed = data.draw(st.dictionaries(st.sampled_from(sorted(arguments)), odd(), min_size=1, max_size=2))
    try:
        found = measure(**(arguments | changed))
    except InputError:
        return
    assert_finite([*found.least.ravel().tolist()] if hasattr(found, "least") else found.iota.ravel().tolist())


def test_too_many_arms_for_twl():
    """What would take too long is refused, and by the theorem too."""
    with pytest.raises(InputError, match="number of arms"):
        theory.overshoot(3, _MOST_ARMS + 1, [0.5, 0.5])
