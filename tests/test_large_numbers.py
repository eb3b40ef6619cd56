"""Whole numbers beyond 64 bits: one sentence from every option, SPEC, file and field that takes a whole number."""

import numpy as np
import pytest

from tests.cli.commands import error_of
from tutelage.cli.options import client_rounds
from tutelage.conditions import Conditions, MeanShift
from tutelage.errors import InputError
from tutelage.instances import INSTANCES
from tutelage.instances.paper import LOCAL_MEANS
from tutelage.policies import POLICIES
from tutelage.registry import parameters_of
from tutelage.simulator import make_request
from tutelage.teachers import TEACHERS

NUMBERS = [2**63, -(2**64), 10**30, 10**400, 10**5000]
PAPER = ("simulate", "paper", "--teacher", "none", "--horizon", "9", "--runs", "1")


def written(number):
    """The digits, also of a number that Python does not write."""
    return "1" + "0" * 5000 if number == 10**5000 else str(number)


def is_sentence(text):
    """Whether this is one line that ends as a sentence, and not the digits of the number."""
    return text.count("\n") == 1 and len(text) < 400 and text.endswith((".\n", "?\n"))


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: f"{number.bit_length()} bits")
def test_options(number, capsys, tmp_path, monkeypatch):
    """Of the lab and of the server; none begins its work."""
    monkeypatch.chdir(tmp_path)
    text = written(number)
    commands = [
        *((*PAPER, f"--{name}={text}") for name in ("horizon", "runs", "workers", "delay")),
        *((*PAPER, f"--delay=0;0;0;0;{text}"), (*PAPER, f"--stop=0:{text}"), (*PAPER, f"--stop={text}:5")),
        *((*PAPER, f"--exclude=0:{text}"), (*PAPER, f"--exclude={text}:5"), (*PAPER, f"--clients={text}*ucb1")),
        *((command, "paper", f"--{name}={text}") for command in ("plan", "bound") for name in ("horizon", "workers")),
        *(("reproduce", "fig2a", f"--{name}={text}") for name in ("horizon", "runs", "workers", "runs-per-instance")),
        *(("demo", f"--{name}={text}") for name in ("horizon", "seed", "port")),
        *(("serve", f"--{name}={text}") for name in ("port", "max-body", "max-waiting-pulls", "shutdown-timeout")),
    ]
    if number != 2**63:  # a seed is below 2^64
        commands += [(command, "paper", f"--seed={text}") for command in ("simulate", "plan", "bound")]
    for command in commands:
        assert is_sentence(error_of(capsys, 2, *command)), command


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: f"{number.bit_length()} bits")
@pytest.mark.parametrize("table", [POLICIES, TEACHERS, INSTANCES], ids=lambda table: table.kind)
def test_parameters(table, number):
    """Every whole number of every policy, teacher and instance: in a SPEC, and of its class in Python."""
    for name in table:
        for parameter in parameters_of(table.cls(name)):
            if parameter.type is int and not (parameter.names_arm and number == 10**5000):  # a name, if too long
                with pytest.raises(InputError, match=f"^Invalid {parameter.name}=") as caught:
                    table.make(name, [(parameter.name, written(number))], f"{name}({parameter.name}={written(number)})")
                assert is_sentence(f"{caught.value}\n")
                assert not parameter.allows(number)


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: f"{number.bit_length()} bits")
def test_conditions_and_arguments(number):
    """From Python, where a number can be handed over as it is."""
    for conditions in (
        Conditions(delays=(0, 0, 0, 0, number)),
        Conditions(stops=((0, number),)),
        Conditions(stops=((number, 5),)),
        Conditions(shifts=(MeanShift(number, np.array(LOCAL_MEANS)),)),
    ):
        with pytest.raises(InputError) as caught:
            make_request("paper", "none", horizon=9, runs=1, conditions=conditions)
        assert is_sentence(f"{caught.value}\n")
    for name in ("horizon", "runs", "checkpoints", "seed")[: 3 if number == 2**63 else 4]:
        with pytest.raises(InputError) as caught:
            make_request("paper", "none", **({"horizon": 9, "runs": 1} | {name: number}))
        assert is_sentence(f"{caught.value}\n")
    with pytest.raises(InputError):
        make_request("paper", "none", horizon=9, runs=1, exclude={0: number})
    with pytest.raises(InputError):
        client_rounds("--stop", [f"{written(number)}:{written(10**5000)}"])


@pytest.mark.parametrize("number", NUMBERS[:4], ids=lambda number: f"{number.bit_length()} bits")
def test_files(number, capsys, tmp_path, monkeypatch):
    """Fields of an experiment, of the server's settings and of a campaign's file."""
    monkeypatch.chdir(tmp_path)
    experiment = (
        'name = "n"\ntitle = "T"\nruns = 2\nseed = 1\nhorizons = [50]\nteachers = ["none"]\n'
        '[[instances]]\nlabel = "a"\nspec = "paper"\n[[clients]]\nlabel = "b"\nspec = "ucb1"\n'
    )
    for field, line in (("runs", "runs = 2"), ("horizons", "horizons = [50]"), ("seed", "seed = 1")):
        if field != "seed" or number != 2**63:
            value = f"[{number}]" if field == "horizons" else number
            (tmp_path / "e.toml").write_text(experiment.replace(line, f"{field} = {value}"))
            assert is_sentence(error_of(capsys, 2, "run", "e.toml")), field
    for field in ("port", "max_body", "max_waiting_pulls", "max_cached_pulls", "shutdown_timeout", "body_timeout"):
        (tmp_path / "s.toml").write_text(f"{field} = {number}\n")
        assert is_sentence(error_of(capsys, 2, "config", "--config", "s.toml")), field
