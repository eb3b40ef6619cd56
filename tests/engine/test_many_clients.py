"""Runs of many clients: curves summed over them, clients played in pieces by threads."""

import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from matplotlib.figure import Figure

from tutelage import plots, request, results, simulator
from tutelage.conditions import Conditions, MeanShift
from tutelage.engine import client_shares, run_record
from tutelage.engine.client_shares import ClientCall
from tutelage.engine.kernels import Kernel, RepeatedCalls
from tutelage.engine.memory import new_memory
from tutelage.errors import InputError

CLIENTS = "2*ucb1,2*eps-greedy,1*ts"
ARGUMENTS = {"horizon": 900, "runs": 2, "seed": 3, "checkpoints": [1, 10, 500, 899, 900]}
CURVES = ("pulls", "regret", "cost")


@pytest.fixture
def few_are_many(monkeypatch):
    """Regard more than 3 clients as many, and play 2 at a time."""

    def regard():
        monkeypatch.setattr(request, "MOST_CURVES", 3)
        monkeypatch.setattr(run_record, "PIECE", 2)

    return regard


def check_sums(sums, singly):
    """Check a result whose curves are sums against the same simulation with one curve for each client."""
    for name in singly.data_vars:
        if name not in CURVES:
            assert np.array_equal(sums[name], singly[name]), name
            continue
        assert sums[name].dims == tuple(each for each in singly[name].dims if each != "client")
        assert np.allclose(sums[name], singly[name].sum("client"), rtol=1e-12, atol=0)
        assert np.array_equal(sums[f"final_{name}"], singly[name].isel(checkpoint=-1))
    assert np.array_equal(sums["pulls"], singly["pulls"].sum("client"))


@pytest.mark.parametrize("teachers", [["tal(gamma1=0,gamma2=0)", "none"], ["blt"]])
def test_curves_are_the_sums_of_the_clients(few_are_many, teachers):
    """Pulls, regret and cost are those of the same clients recorded one by one; all else is the same.

    BLT's quotas of mode "any" let several kernels go back to a copy of the memory, which many clients cannot.
    """
    singly = simulator.simulate("paper", teachers, CLIENTS, **ARGUMENTS)
    few_are_many()
    check_sums(simulator.simulate("paper", teachers, CLIENTS, **ARGUMENTS), singly)


def test_shifts_and_exclusions(few_are_many):
    """Each client's regret is that of the gaps of every phase, although its curve is not recorded."""
    means = simulator.make_request("paper").instance.local_means
    shift = MeanShift(400, np.ascontiguousarray(means[:, ::-1]))
    options = {"conditions": Conditions(shifts=(shift, MeanShift(700, means))), "exclude": {4: 400}, **ARGUMENTS}
    singly = simulator.simulate("paper", ["twl", "none"], CLIENTS, **options)
    few_are_many()
    sums = simulator.simulate("paper", ["twl", "none"], CLIENTS, **options)
    assert np.allclose(sums["final_regret"], singly["regret"].isel(checkpoint=-1), rtol=1e-12, atol=0)
    check_sums(sums.drop_vars("final_regret").assign(final_regret=singly["regret"].isel(checkpoint=-1)), singly)


@pytest.mark.parametrize("many", [False, True])
def test_one_run_in_threads(few_are_many, monkeypatch, many):
    """One run gives the same bytes whatever the number of workers, which play its clients at the same time."""
    monkeypatch.setattr(client_shares, "_LEAST_STEPS", 1)
    if many:
        few_are_many()
    options = {**ARGUMENTS, "runs": 1}
    alone, *others = (
        simulator.simulate("paper", "twl", CLIENTS, workers=workers, executor="threads", **options)
        for workers in (1, 2, 5)
    )
    assert all(other.identical(alone) for other in others)


def test_what_is_worth_dividing():
    """Calls of few clients are divided among threads where together they may be long enough."""
    memory = new_memory(2, 0, 1, np.zeros((4, 3, 4), dtype=np.uint64))
    short, long = (ClientCall(None, np.array([0, 2, 3]), end) for end in (1 << 10, 1 << 20))
    assert not client_shares.is_worth_dividing(memory, [short, short], has_many_clients=False)
    assert client_shares.is_worth_dividing(memory, [short, long], has_many_clients=False)
    assert client_shares.is_worth_dividing(memory, [short], has_many_clients=True)


@contextlib.contextmanager
def two_calls(workers):
    """Calls of clients in shares of one client, the slow ones first; a function that plays them in threads."""
    asked = simulator.make_request("paper", "none", CLIENTS, horizon=10)
    memory = new_memory(5, 0, 1, np.zeros((5, 3, 4), dtype=np.uint64))
    fast, slow = (RepeatedCalls(Kernel(function, function.__name__, {})) for function in (min, max))
    calls = [ClientCall(fast, np.array([0, 2, 4]), 10), ClientCall(slow, np.array([1, 3]), 10)]
    with ThreadPoolExecutor(workers) as pool:
        threads = client_shares.ClientThreads(pool, 2, {fast.kernel: 1.0, slow.kernel: 2.0})
        record = run_record.RunRecord(asked, 5)
        yield fast, slow, lambda play: list(client_shares.play_in_threads(threads, record, memory, calls, lambda: play))


@pytest.mark.parametrize("many", [False, True])
def test_each_client_is_in_one_share(few_are_many, monkeypatch, many):
    """Threads play each client of each call once, those first that are expected to take longest."""
    if many:
        few_are_many()
    monkeypatch.setattr(client_shares, "_MOST_IN_SHARE", 1)
    played = []
    with two_calls(1) as (fast, slow, play):
        play(lambda call, _: played.append(call))
    assert [(call.kernel, call.clients.tolist()) for call in played] == [
        (slow, [1]),
        (slow, [3]),
        (fast, [0]),
        (fast, [2]),
        (fast, [4]),
    ]


def test_a_share_that_fails_ends_the_call():
    """Its error is raised, and no share begins after it, not even one that another thread would play."""
    begun, raised = [], threading.Event()

    def fail(call, _):
        begun.append(call.clients.tolist())
        if call.clients.tolist() == [1]:
            raise IndexError("no such arm")
        raised.wait(60)

    with two_calls(2) as (*_, play):
        with pytest.raises(IndexError, match="no such arm"):
            play(fail)
        raised.set()
    assert [1] in begun
    assert len(begun) <= 2


def test_a_result_of_many_clients_is_saved_drawn_and_verified(few_are_many, tmp_path):
    """Curves and scatter are drawn of all clients; a picture of each client is refused; the file is verified."""
    few_are_many()
    data = simulator.simulate("paper", ["twl", "none"], CLIENTS, **ARGUMENTS)
    results.save(data, tmp_path / "many.nc")
    loaded = results.load(tmp_path / "many.nc")
    assert loaded.identical(data)
    assert simulator.verify(loaded).reproduced
    assert plots.drawable_kinds(loaded) == ("curves", "scatter")
    axes = plots.draw_curves(loaded.isel(run=0), Figure().add_subplot(), "regret")
    assert axes.get_ylabel() == "regret of all clients, run 0"
    assert axes.lines[0].get_ydata()[-1] == data["regret"].sel(teacher="twl").isel(run=0, checkpoint=-1)
    with pytest.raises(InputError, match="its curves are sums over 5 clients"):
        plots.draw_picture(loaded, "clients")


def test_result_size_of_many_clients(few_are_many):
    """The memory that is computed beforehand is that of the arrays."""
    few_are_many()
    asked = simulator.make_request("paper", ["twl", "none"], horizon=1000, runs=3)
    collector = results.Collector(asked)
    names = (*CURVES, "final_pulls", "final_regret", "final_cost")
    assert results.result_size(asked) == sum(getattr(collector, name).nbytes for name in names)
