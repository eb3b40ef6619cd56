"""Real conditions: valid and invalid values, options, and notes."""

from dataclasses import replace

import numpy as np
import pytest

from tutelage.conditions import Conditions, MeanShift, read_per_client, with_options
from tutelage.errors import InputError
from tutelage.instances import load

PAPER = load("paper")


@pytest.mark.parametrize(
    ("real", "words"),
    [
        (Conditions(activity=(1.0, 0.5)), "2 activities for 5 clients"),
        (Conditions(activity=(1.0, 1.0, 1.0, 1.0, 0.0)), "activity 0 of client 4"),
        (Conditions(activity=(float("nan"),) * 5), "activity nan"),
        (Conditions(delays=(0, 0, 0, 0, -1)), "delay -1 of client 4"),
        (Conditions(stops=((7, 3),)), "Invalid client 7 in stops"),
        (Conditions(stops=((0, -3),)), "after round -3"),
        (Conditions(shifts=(MeanShift(0, PAPER.local_means),)), "after round 0"),
        (Conditions(shifts=(MeanShift(5, np.zeros((2, 2))),)), "not 5 x 5"),
        (Conditions(shifts=(MeanShift(5, np.full((5, 5), 2.0)),)), "use numbers in [0, 1]"),
    ],
)
def test_invalid_conditions(real, words):
    """Numbers outside their range, and numbers for clients that do not exist."""
    with pytest.raises(InputError) as caught:
        replace(PAPER, conditions=real)
    assert words in str(caught.value)


def test_options():
    """One number is for all clients, several numbers are one for each client."""
    real = with_options(Conditions(), 5, "0.5", "0;1;2;3;4", {3: 100})
    assert real.stops == ((3, 100),)
    assert real.activity == (0.5,) * 5
    assert real.delays == (0, 1, 2, 3, 4)


@pytest.mark.parametrize("text", ["x", "1;2", "inf", "", "0.1;0.2;0.3;0.4;0,5"])
def test_invalid_list(text):
    """Neither one number nor one for each client."""
    with pytest.raises(InputError, match="activity"):
        read_per_client("activity", text, 5)


def test_conditions_are_noted():
    """The notes say when clients act, and which arm is best after a shift."""
    real = Conditions((0.5,) * 5, (0, 0, 0, 0, 9), ((1, 300),), (MeanShift(50, PAPER.local_means[:, ::-1]),))
    notes = dict(replace(PAPER, conditions=real).notes)
    assert notes["activity"].endswith("probability 0.5")
    assert "0, 0, 0, 0, 9" in notes["delay"]
    assert notes["stop"] == "client 1 after round 300"
    assert notes["shift"] == "after round 50 the best arm is arm 0"
