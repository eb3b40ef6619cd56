"""Whatever the public functions of planning are given, they raise ``InputError`` or give finite numbers."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.theory.test_any_arguments import odd

from tutelage import load_instance, planning
from tutelage.errors import InputError

GUESSES = {"num_clients": 2, "num_arms": 3, "gap": 0.2, "low": 0.1, "high": 0.9, "rewards": "beta(3)"}
GUESSES |= {"weights": "0.4;0.6", "conditions": planning.AssumedInstance(2, 2, 0.2).conditions}
OPTIONS = {"teachers": ["twl"], "clients": "ucb1", "horizon": 40, "runs": 1, "seed": 3}
OPTIONS |= {"cost_weight": 0.5, "min_decided": 0.8}


def one_odd(usual):
    """The usual arguments but for one or two."""
    return st.dictionaries(st.sampled_from(sorted(usual)), odd(), min_size=1, max_size=2).map(
        lambda changed: usual | changed
    )


@given(arguments=one_odd(GUESSES))
def test_any_guess(arguments):
    """An accepted guess can be planned for."""
    try:
        request = planning.make_request(planning.AssumedInstance(**arguments), **OPTIONS)
    except InputError:
        return
    assert request.first.instance.num_arms == arguments["num_arms"]


@settings(max_examples=150)
@given(case=st.sampled_from(["given", "guess"]), arguments=one_odd(OPTIONS))
def test_any_options(case, arguments):
    """Accepted options give a plan without NaN; long ones are not simulated."""
    known = planning.KnownInstance(load_instance("planted:clients=2,arms=2,gap=0.4"))
    cases = {"given": known, "guess": planning.AssumedInstance(2, 2, 0.4)}
    try:
        request = planning.make_request(cases[case], **arguments)
    except InputError:
        return
    if request.horizon * request.runs <= 100 and len(request.teachers) < 5:
        json.dumps(planning.make_plan(request, workers=1).summary(), allow_nan=False)


@pytest.mark.parametrize("wrong", [None, 5, "paper", [], float("nan")])
def test_no_case_and_no_request(wrong):
    """The error names what is not a case, an instance or a request."""
    for call in (planning.KnownInstance, planning.make_request, planning.make_plan):
        with pytest.raises(InputError):
            call(wrong)
    request = planning.make_request(planning.AssumedInstance(2, 2, 0.4), **OPTIONS)
    if wrong not in (None, 5):
        with pytest.raises(InputError):
            planning.make_plan(request, workers=wrong)


@pytest.mark.parametrize("teachers", [[], [None], [5], "twll", 7, ["twl", "twl"]])
def test_teachers_that_are_none(teachers):
    """An empty list, and something that is not a teacher."""
    with pytest.raises(InputError):
        planning.make_request(planning.AssumedInstance(2, 2, 0.4), teachers, horizon=40, runs=1)


def test_one_teacher_needs_no_list():
    """As in ``tutelage.simulate``."""
    request = planning.make_request(planning.AssumedInstance(2, 2, 0.4), "twl", horizon=40, runs=1)
    assert request.first.teacher_specs == ("twl(gamma1=1,gamma2=0)", "known", "none")
