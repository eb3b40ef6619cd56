"""Requests that would take years are refused, those that would take days are logged; others are not measured."""

import logging

import pytest
from tests.cli.commands import error_of

from tutelage import simulator
from tutelage.engine import runs, time_estimates
from tutelage.engine.agent_group import Cancelled
from tutelage.errors import InputError

HORIZON, RUNS = 10**15, 2_000  # a thousand years and more on any machine
EXPERIMENT = f"""
name = "long"
title = "Long"
runs = {RUNS}
seed = 1
horizons = [{HORIZON}]
teachers = ["none"]
[[instances]]
label = "a"
spec = "paper"
[[clients]]
label = "b"
spec = "ucb1"
[[panels]]
name = "c"
title = "C"
quantity = "regret"
instance = "a"
clients = "b"
"""


@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_years_are_refused(executor):
    """Before the first run of the request, whatever plays it; no time is typed in, so none is compared."""
    with pytest.raises(InputError, match=r"^At the measured rate, .* at least [0-9.,]+ years with 2 at a time: use a"):
        simulator.simulate(
            "paper", ["blt", "none"], horizon=HORIZON, runs=RUNS, workers=2, executor=executor, engine="step"
        )


@pytest.mark.parametrize("command", ["simulate paper", "plan paper", "bound paper", "reproduce fig2a", "run long.toml"])
def test_every_command_refuses_years(command, capsys, tmp_path, monkeypatch):
    """Also without a terminal, where no bar shows the remaining time; the rate is not measured here."""
    monkeypatch.setattr(time_estimates, "_measure_run", lambda request: 1e9)
    monkeypatch.setattr(runs, "warm_up", lambda *requests: None)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "long.toml").write_text(EXPERIMENT)
    options = () if command.startswith("run ") else ("--horizon", str(HORIZON), "--runs", str(RUNS))
    assert "At the measured rate, these runs would take at least " in error_of(capsys, 2, *command.split(), *options)


@pytest.mark.parametrize(("seconds", "said"), [(86_000.0, []), (200_000.0, ["2 d 7 h"])])
def test_days_are_logged(seconds, said, monkeypatch, caplog):
    """From one day on: two runs of each of two teachers, two at a time, take twice the time of one."""
    monkeypatch.setattr(time_estimates, "_measure_run", lambda request: seconds / 2)
    request = simulator.make_request("paper", ["ng", "none"], horizon=10**10, runs=2)
    with caplog.at_level(logging.WARNING, logger="tutelage.simulator"):
        time_estimates.check_duration(request, 2)
    assert [record.getMessage() for record in caplog.records] == [
        f"At the measured rate, these runs take at least {duration}." for duration in said
    ]


def test_a_small_request_is_not_measured(monkeypatch):
    """Only the product of its sizes is looked at."""
    monkeypatch.setattr(time_estimates, "_measure_run", None)
    time_estimates.check_duration(simulator.make_request("paper", "none", horizon=10**6, runs=2000), 1)


def test_a_measured_run_may_end_first():
    """A run shorter than the measurement counts as it is."""
    assert 0 < time_estimates._measure_run(simulator.make_request("paper", "blt", horizon=100, runs=9)) < 60


@pytest.mark.parametrize(("engine", "seconds"), [("step", 3.0 / (0.1 - 0.001)), ("leap", 4.0 * 2.0)])
def test_a_leaping_run_takes_less_and_less(engine, seconds, monkeypatch):
    """After 1 s a 1,000th has been played, after 4 s a tenth: 100 times as many rounds in 4 times the time.

    Stepping goes on at that rate; leaping takes twice as long for 10 times as many.
    """
    clock = iter([0.0, 1.0, 2.0, 4.0])

    def play(request, teacher, run, *, cancel, progress):
        for share in (0.001, 0.01, 0.1):
            progress(share)
        raise Cancelled

    monkeypatch.setattr(time_estimates, "simulate_run", play)
    monkeypatch.setattr(time_estimates.time, "monotonic", lambda: next(clock))
    request = simulator.make_request("paper", "none", "eps-greedy", horizon=10**9, engine=engine)
    assert time_estimates._measure_run(request) == pytest.approx(seconds)
